"""Understanding a message by rules: a local activity, CPU only, no model."""

from collections.abc import Callable, Iterable

from temporalio import activity

from activities.capabilities import Capabilities
from router.contracts import activities
from router.domain.commands import CallTool, Command, Repeat, ReplyText, RunSkill
from router.domain.locale import Localised
from router.domain.messages import Route
from router.domain.principals import Capability
from router.entities.normalisation import normalise
from router.flow.paused import Situation
from router.isolation.text_work import TextWork
from router.routing.prompts import DeskPersona
from router.understanding.dialogue_acts import asks_who_this_is, greets, thanks
from router.understanding.reader import Reader
from router.understanding.route_reasons import overview

HELLO = Localised(zh="你好！", en="Hello! ")
WELCOME = Localised(
    zh="不客气，还有什么要办的，直接说就行。",
    en="You're welcome. Just say if there is anything else.",
)
NOBODY = Localised(zh="我是这里的办事助手。", en="I'm the assistant at this desk. ")
"""Who the desk is where no persona says so."""
_REASON = Localised(
    zh="打招呼、道谢，或问我是谁", en="A greeting, thanks, or the question who this is"
)


def greeting(
    text: str,
    situation: Situation,
    usable: Iterable[Capability],
    persona: DeskPersona | None = None,
) -> tuple[Route, list[Command]] | None:
    """What is said back; a flow that asks something asks it again. None for any other message.

    To a greeting, and to who asks who it is, the desk gives the name that it has.
    """
    said, locale = normalise(text).text, situation.locale
    if not (greets(said) or thanks(said) or asks_who_this_is(said)):
        return None
    route = Route(kind="reply", by="fallback", reason=_REASON.within(locale))
    if situation.active is not None and situation.active.asking:
        return route.replace(kind="flow", target=situation.active.flow), [Repeat()]
    if thanks(said):
        return route, [ReplyText(text=WELCOME.within(locale))]
    listed = overview(usable, situation)
    if persona is not None:
        return route, [ReplyText(text=f"{persona.introduction(locale)}\n{listed}")]
    opening = HELLO if greets(said) else NOBODY
    return route, [ReplyText(text=opening.within(locale) + listed)]


def without_skills(usable: Iterable[Capability]) -> list[Capability]:
    """What there is without a model, whose work skills are."""
    return [one for one in usable if one.kind != "skill"]


def _begins_skill(understood: activities.Understood, situation: Situation) -> bool:
    """Return whether a skill is called that isn't the one that has asked something."""
    called = [each for each in understood.commands if isinstance(each, RunSkill)]
    return any(each.addressed_by == "name" or each.skill != situation.skill for each in called)


class Understander:
    """Reads messages by patterns; without a model (`alone`) it greets too, at less cost."""

    def __init__(
        self,
        reader: Reader,
        capabilities: Capabilities,
        persona_of: Callable[[str], DeskPersona | None] = lambda _: None,
        *,
        alone: bool = False,
    ) -> None:
        """`persona_of` says who the desk is to people of a tenant."""
        self._persona_of = persona_of
        self._reader = reader
        self._capabilities = capabilities
        self._alone = alone

    @activity.defn(name=activities.UNDERSTAND.name)
    async def understand(self, given: activities.Understand) -> activities.Understood:
        """What the message means as far as rules can tell."""
        caller = given.caller
        read = self._reader.of(caller.tenant, caller.id).read
        work = TextWork(caller.tenant, caller.id)
        text = given.message.text or ""
        reading = await work.run(text, read, given.message, given.situation, given.papers)
        capabilities = self._capabilities.of(caller.tenant, caller.id)
        called = [command.tool for command in reading.commands if isinstance(command, CallTool)]
        understood = activities.Understood(
            **dict(reading),
            tools={name: capabilities.limits(name) for name in called},
            plainly=self._alone,
            hooks=capabilities.hooks_about(reading.normalised),
        )
        if understood.route is not None and _begins_skill(understood, given.situation):
            return self._calling(understood, given)
        if understood.route is None and self._alone:
            usable = without_skills(capabilities.visible_to(caller))
            persona = self._persona_of(caller.tenant)
            answer = greeting(given.message.text or "", given.situation, usable, persona)
            if answer is None:
                return understood
            route, commands = answer
            return understood.replace(route=route, commands=commands)
        return understood

    def _calling(
        self, understood: activities.Understood, given: activities.Understand
    ) -> activities.Understood:
        """The same with the skill that is called, and how its tools may be called."""
        caller = given.caller
        offered = self._capabilities.of(caller.tenant, caller.id)
        named = [command.skill for command in understood.commands if isinstance(command, RunSkill)]
        skills = offered.skills_of(named)
        tools = {tool for s in skills.values() for tool in offered.tools_of(s, caller)}
        limits = {name: offered.limits(name) for name in sorted(tools)}
        return understood.replace(skills=skills, tools=limits)
