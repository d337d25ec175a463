"""What is said while a conversation is with a person: for that person, or back to the desk."""

from router.domain import commands, messages
from router.domain.hand_offs import BACK
from router.domain.locale import Localised
from router.entities.normalisation import normalise
from router.flow.paused import Situation
from router.understanding import actions
from router.understanding import dialogue_acts as acts
from router.understanding import route_reasons as why

SAY_BACK = Localised(
    zh="正由同事接待，按钮和表单暂时不起作用。要回到助手，请说“交还”。",
    en="A person has this conversation, so buttons and forms do nothing for now. Say “back to "
    "the desk” to have the desk again.",
)


def with_person(message: messages.Message, situation: Situation) -> actions.Outcome:
    """The conversation is with a person: nothing else is made of what is said, by no model."""
    action, locale = message.action, situation.locale
    if isinstance(action, messages.ChooseAction) and action.value == BACK:
        route = why.BACK_AT_DESK.route(locale).model_copy(update={"by": "action"})
        return route, commands.LeavePerson()
    if action is not None:
        text = SAY_BACK.within(locale)
        return why.NOT_MEANWHILE.route(locale), commands.ReplyText(text=text)
    if not message.files and acts.leaves_person(normalise(message.text or "").text):
        return why.BACK_AT_DESK.route(locale), commands.LeavePerson()
    return why.WITH_A_PERSON.route(locale), commands.PassOn()
