"""What can be said here: to whoever asks for help in the middle of a flow."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from router.domain.texts import Localised
from router.flow import amending, showing
from router.flow.changing import CHANGE
from router.flow.checking import failing
from router.flow.expressions import ExpressionError, LookupNeeded
from router.flow.model import Slot
from router.flow.paths import at, placed
from router.flow.walk import Walk
from router.flow.wording import MONTHS

Example = tuple[JsonValue, Localised]

CONFIRMING = Localised(
    zh="现在等你确认：“确认”就往下办，“不”就改；也可以直接说要改什么。",
    en="It waits for your word: “yes” and it goes on, “no” to change something; "
    "or just say what to change.",
)
YES_OR_NO = Localised(zh="回答“是”或“否”。", en="Answer yes or no.")
IN_WORDS = Localised(zh="用自己的话说一句就行。", en="A few words of your own will do.")
SKIP = Localised(zh="“跳过”这一项、", en="“skip” leaves this empty, ")
AMOUNTS: tuple[Example, ...] = (
    ({"amount": "58.00", "currency": "CNY"}, Localised(zh="58 元", en="58 CNY")),
    ({"amount": "120.50", "currency": "CNY"}, Localised(zh="120.5 元", en="120.50 CNY")),
)
MOST_EXAMPLES = 2


def explanation(walk: Walk) -> Localised:
    """What the flow is for, how what is asked can be answered, and what else can be said."""
    about, answer = walk.definition, how_to_answer(walk)
    skip = SKIP if showing.can_skip(about, walk.run) else Localised(zh="", en="")
    return Localised(
        zh=f"这是“{about.title.zh}”：{about.description.zh}\n{answer.zh}\n"
        f"随时可以说：“把……改成……”更正、{skip.zh}“再说一遍”、“从头来”、“取消”。",
        en=f"This is “{about.title.en}”: {about.description.en}\n{answer.en}\n"
        f"At any time: “change … to …” corrects something, {skip.en}“repeat that” asks again, "
        "“start over” begins anew, “cancel” gives it up.",
    )


def how_to_answer(walk: Walk) -> Localised:
    """How the question that is asked can be answered, with examples that would be taken."""
    run = walk.run
    if run.status == "confirming":
        return CONFIRMING
    slot = showing.asked_slot(walk.definition, run)
    if slot.type == "list":
        return showing.how_to_go_on(slot)
    if slot.type in _BY_TYPE:
        return _BY_TYPE[slot.type]
    shown = _examples(walk, run.asked or "", slot)
    if shown:
        zh, en = "、".join(e.zh for e in shown), ", ".join(e.en for e in shown)
        return Localised(zh=f"比如可以说：{zh}。", en=f"You could say, for example: {en}.")
    return showing.fitting(slot)


_BY_TYPE: dict[str, Localised] = {"boolean": YES_OR_NO, "text": IN_WORDS}


def say_what_stays(walk: Walk) -> None:
    """Of what was to be put right and couldn't be: what it still is, and what would be right."""
    for path in walk.refused:
        slot = walk.definition.slot_at(path)
        if walk.ended or slot is None or slot.of or slot.fields:
            continue
        if at(walk.run.slots, path) is not None:
            right = _examples(walk, path, slot)
            walk.say(amending.unchanged(walk.definition, walk.run, path, right))


def _examples(walk: Walk, path: str, slot: Slot) -> list[Localised]:
    propose = _PROPOSED.get(slot.type)
    if propose is None or path in ("", CHANGE):
        return []
    had = at(walk.run.slots, path)
    right = (
        say for value, say in propose(walk) if value != had and _would_be_taken(walk, path, value)
    )
    return list(islice(right, MOST_EXAMPLES))


def _would_be_taken(walk: Walk, path: str, value: JsonValue) -> bool:
    """False where a check refuses it; what only a lookup could tell is let pass."""
    name, *rest = path.split(".")
    slots = {**walk.run.slots, name: placed(walk.run.slots.get(name), rest, value)}
    try:
        return not failing(walk, slots, {name})
    except LookupNeeded:
        return True
    except ExpressionError:
        return False


def _days(walk: Walk) -> Iterator[Example]:
    """Days that people mean: after one that is known already, else around today."""
    today = walk.now.astimezone(ZoneInfo(walk.run.requester.timezone)).date()
    for known in _known_days(walk):
        yield _day(known + timedelta(days=1))
        yield _day(known)
    yield (today + timedelta(days=1)).isoformat(), Localised(zh="明天", en="tomorrow")
    yield _day(today + timedelta(days=7))
    yield (today - timedelta(days=1)).isoformat(), Localised(zh="昨天", en="yesterday")
    yield _day(today - timedelta(days=7))


def _known_days(walk: Walk) -> Iterator[date]:
    for name, slot in walk.definition.slots.items():
        known = walk.run.slots.get(name)
        if slot.type == "date" and isinstance(known, str):
            yield date.fromisoformat(known)


def _day(day: date) -> Example:
    words = Localised(zh=f"{day.month}月{day.day}日", en=f"{day.day} {MONTHS[day.month - 1]}")
    return day.isoformat(), words


_PROPOSED: dict[str, Callable[[Walk], Iterator[Example]]] = {
    "date": _days,
    "money": lambda _: iter(AMOUNTS),
}
