"""Hand-offs on chat platforms: who takes them is told there, and answers there.

Every post is a `Statement`, which each platform can show: its buttons name the hand-off where those
of a conversation name that. What an employee says is looked up when it is posted, so that nothing
of what was forgotten meanwhile is.
"""

from dataclasses import dataclass

from router.api.dependencies import Services
from router.api.hand_offs import attend, helps, said_in
from router.api.params import said_text
from router.domain.errors import InvalidInput, NotFound, RouterError, Unavailable
from router.domain.hand_offs import DeedKind, HandOffRecord
from router.domain.locale import Localised
from router.domain.messages import (
    Action,
    ChoicesReply,
    ChooseAction,
    Option,
    Reply,
    TextReply,
    offer_question,
)
from router.domain.principals import Principal
from router.domain.records import LogEntry
from router.domain.visible_text import isolated, labelled, one_line
from router.entities.normalisation import normalise
from router.extensions.channels.base import Statement
from router.understanding.dialogue_acts import hands_back

_PREFIX = "hand_off:"
_DEEDS: dict[str, DeedKind] = {"take": "take", "return": "return", "close": "close"}
SHOWN = 6
"""Of what was said before, to whoever has just taken it."""

WANTED = Localised(zh="{name} 想找人帮忙：{reason}", en="{name} wants a person: {reason}")
STILL_WAITS = Localised(zh="{name} 还在等人回复。", en="{name} still waits for an answer.")
TAKEN = Localised(
    zh="您接手了 {name} 的对话。在这里直接回复，就是对 {name} 说话；说“交还”就回到助手。",
    en="You have {name}'s conversation. What you write here goes to {name}; “back to the "
    "desk” gives it back.",
)
OVER = Localised(
    zh="和 {name} 的对话已经回到助手。", en="{name}'s conversation is back with the desk."
)
TAKE = Localised(zh="接手", en="Take it")
GIVE_BACK = Localised(zh="交还助手", en="Back to the desk")
DONE = Localised(zh="已解决", en="Done")
SEVERAL = Localised(
    zh="没有转达：您手上有几个对话（{names}），不知道是对谁说的。请在网页上回复，或先交还其他的。",
    en="Not passed on: you have several conversations ({names}), so it isn't clear whom this is "
    "for. Answer on the page, or give the others back first.",
)
NO_FILES = Localised(
    zh="没有转达：这里只能转达文字。", en="Not passed on: only words can be passed on from here."
)
GONE = Localised(zh="这个转交已经没有了。", en="That hand-off isn't there any more.")


@dataclass(frozen=True)
class Passed:
    """What became of something that a person who helps did; `say` is told to them, if anything."""

    say: Localised | None = None


def hand_off_in(conversation: str) -> str | None:
    """The hand-off that a button names in place of a conversation; None where it names none."""
    return conversation.removeprefix(_PREFIX) if conversation.startswith(_PREFIX) else None


async def statement(services: Services, person: Principal, row: LogEntry) -> Statement | None:
    """What a row of the log tells somebody who takes hand-offs; None where that is nothing."""
    id_, event = str(row.data.get("hand_off")), row.data.get("event")
    record = await services.store.hand_offs.find(person.tenant, id_)
    if record is None or not helps(services, person):
        return None
    if record.state == "open" and event in {"requested", "reminded"}:
        name = isolated(one_line(await _name(services, record)))
        said = _filled(WANTED, person, name, record.reason_in(person.locale))
        return _told(record, person, [_buttons(person, said, (TAKE, "take"))])
    if record.agent != person.id:
        return None
    return await _to_agent(services, record, person, row)


async def _to_agent(
    services: Services, record: HandOffRecord, person: Principal, row: LogEntry
) -> Statement | None:
    """The same for whoever has it."""
    event = str(row.data.get("event"))
    name = isolated(one_line(await _name(services, record)))
    if event == "said":
        return await _heard(services, record, person, row)
    if event == "taken" and record.state == "taken":
        return await _given(services, record, person, name)
    said_of = {"reminded": STILL_WAITS, "closed": OVER}.get(event)
    if said_of is None:
        return None
    return _told(record, person, [TextReply(text=_filled(said_of, person, name))])


async def _name(services: Services, record: HandOffRecord) -> str:
    found = await services.directory.find(record.tenant, record.requester)
    return found.name if found else record.requester


def _filled(text: Localised, person: Principal, name: str, reason: str = "") -> str:
    said = text.within(person.locale).replace("{reason}", one_line(reason))
    return said.replace("{name}", name)


def _told(record: HandOffRecord, person: Principal, replies: list[Reply]) -> Statement:
    return Statement(replies, f"{_PREFIX}{record.id}", person.locale)


def _buttons(person: Principal, text: str, *deeds: tuple[Localised, str]) -> ChoicesReply:
    options = [Option(label=label.within(person.locale), value=value) for label, value in deeds]
    return ChoicesReply(text=text, options=options, question=offer_question(options))


async def _given(
    services: Services, record: HandOffRecord, person: Principal, name: str
) -> Statement:
    """What was said last, for whoever has taken it."""
    entries = await said_in(services, record, None, 200)
    before = [entry for entry in entries if "agent" not in entry.data][-SHOWN:]
    lines = [
        labelled(await _name(services, record) if e.data["role"] == "user" else "◦", _text(e))
        for e in before
    ]
    replies: list[Reply] = [TextReply(text="\n".join(lines))] if lines else []
    said = _filled(TAKEN, person, name)
    return _told(record, person, [*replies, _buttons(person, said, *_ENDS)])


_ENDS = ((GIVE_BACK, "return"), (DONE, "close"))


def _text(entry: LogEntry) -> str:
    return str(entry.data.get("text", ""))


async def _heard(
    services: Services, record: HandOffRecord, person: Principal, row: LogEntry
) -> Statement | None:
    message = str(row.data.get("message_id") or "")
    said = await services.store.routed.said(record.tenant, record.conversation, message)
    if said is None:
        return None
    line = labelled(await _name(services, record), said)
    return _told(record, person, [TextReply(text=line)])


async def pressed(
    services: Services, person: Principal, hand_off: str, action: Action, word: str
) -> Passed:
    """Do what a button of a hand-off says; `word` makes a press one.

    Raises `Unavailable` where the conversation can't be reached: the press is delivered again.
    """
    record = await services.store.hand_offs.find(person.tenant, hand_off)
    value = action.value if isinstance(action, ChooseAction) else None
    kind = _DEEDS.get(value) if isinstance(value, str) else None
    if record is None or kind is None or not helps(services, person):
        return Passed(GONE)
    return await _done(services, person, record, kind, word)


async def passed_on(
    services: Services, person: Principal, text: str | None, word: str, *, files: bool
) -> Passed | None:
    """Pass on what was said to the bot alone by somebody who has a conversation; None: they don't.

    Of somebody who has several it can't be told whom it is for.
    Raises `Unavailable` where the conversation can't be reached.
    """
    if not helps(services, person):
        return None
    held = await services.store.hand_offs.held_by(person.tenant, person.id)
    if not held:
        return None
    if len(held) > 1 or files:
        names = ", ".join([one_line(await _name(services, one)) for one in held])
        why = SEVERAL if len(held) > 1 else NO_FILES
        zh, en = why.zh.replace("{names}", names), why.en.replace("{names}", names)
        return Passed(Localised(zh=zh, en=en))
    if hands_back(normalise(text or "").text):
        return await _done(services, person, held[0], "return", word)
    try:
        said = said_text(text or "", "text")
    except InvalidInput as error:
        return Passed(error.said)
    return await _done(services, person, held[0], "reply", word, said)


async def _done(
    services: Services,
    person: Principal,
    record: HandOffRecord,
    kind: DeedKind,
    word: str,
    text: str = "",
) -> Passed:
    try:
        await attend(services, person, record, kind, text=text, key=word)
    except Unavailable:
        raise
    except NotFound:
        return Passed(GONE)
    except RouterError as error:
        return Passed(error.said)
    return Passed()
