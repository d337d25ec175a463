"""Greetings and thanks, where no model is there to return them."""

from collections.abc import Iterable

from router.domain.capabilities import Capability
from router.domain.commands import Command, Repeat, ReplyText
from router.domain.messages import Route
from router.domain.texts import Localised
from router.flow.situation import Situation
from router.understanding.acts import greets, thanks
from router.understanding.normalise import normalise
from router.understanding.overview import overview

HELLO = Localised(zh="你好！", en="Hello! ")
WELCOME = Localised(
    zh="不客气，还有什么要办的，直接说就行。",
    en="You're welcome. Just say if there is anything else.",
)
_REASON = Localised(zh="打招呼或道谢", en="A greeting, or thanks")


def answer(
    text: str, situation: Situation, usable: Iterable[Capability]
) -> tuple[Route, list[Command]] | None:
    """What is said back; a flow that asks something asks it again. None for any other message."""
    said, locale = normalise(text).text, situation.locale
    if not greets(said) and not thanks(said):
        return None
    route = Route(kind="reply", by="fallback", reason=_REASON.within(locale))
    if situation.active is not None and situation.active.asking:
        return route.model_copy(update={"kind": "flow", "target": situation.active.flow}), [
            Repeat()
        ]
    if thanks(said):
        return route, [ReplyText(text=WELCOME.within(locale))]
    listed = overview(usable, situation.roles, locale)
    return route, [ReplyText(text=HELLO.within(locale) + listed)]
