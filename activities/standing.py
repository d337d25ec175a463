"""How requests of one's own stand, in a sentence each: what a person is told who asks."""

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from router.domain.messages import FlowStatus
from router.domain.texts import Locale
from router.flow.wording import day, moment, named

MOST_SAID = 5
_COMMON = frozenset("的了我申请单流程条在和与")
_ALSO_CALLED = {"leave": "leave vacation pto time off holiday", "expense": "expenses reimbursement"}


def is_kind(title: str, said: str) -> bool:
    """True where words for a kind of request share what tells it with a title.

    >>> is_kind("请假申请", "年假"), is_kind("费用报销", "年假"), is_kind("Leave request", "pto")
    (True, False, True)
    """
    if not said.isascii():
        return bool(set(said) & set(title) - _COMMON)
    words = {w for word in title.lower().split() for w in _ALSO_CALLED.get(word, word).split()}
    asked = {word.rstrip("s") for word in said.lower().split()}
    return bool({word.rstrip("s") for word in words - {"request", "application"}} & asked)


def standing(
    title: str,
    status: FlowStatus,
    slots: dict[str, JsonValue],
    waits_for: Sequence[str],
    since: str,
    locale: Locale,
) -> str:
    """One request in one line, such as `请假申请（11月23日 至 11月25日）：审批中，在等 王芳`."""
    days = [
        day(slots[name], locale) for name in ("start", "end") if isinstance(slots.get(name), str)
    ]
    when = (" 至 " if locale == "zh" else " to ").join(dict.fromkeys(days))
    stands = named("status", status, locale)
    at = moment(since, locale)
    people = ("、" if locale == "zh" else ", ").join(waits_for)
    if locale == "zh":
        about = f"{title}（{when}）" if when else title
        return f"{about}：{stands}" + (f"，在等 {people} 审批" if people else f"（{at}）")
    about = f"{title} ({when})" if when else title
    return f"{about}: {stands}" + (f", with {people}" if people else f" ({at})")


def in_short(lines: Iterable[str], locale: Locale) -> str:
    """The first few lines, and how many there are beside them."""
    every = list(lines)
    left = len(every) - MOST_SAID
    if not every:
        return "没有这样的申请。" if locale == "zh" else "There is no such request."
    more = f"还有 {left} 个更早的。" if locale == "zh" else f"and {left} older ones."
    return "\n".join([*every[:MOST_SAID], *([more] if left > 0 else [])])
