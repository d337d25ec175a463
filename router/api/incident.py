"""Why a run waits for an operator, in a sentence for whoever reads it. Pure.

It is told from the run's history: of a call, or an undo, that failed the line before says which
tool it was and what that answered; a lookup of approvers says so itself.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from router.domain.locale import Localised
from router.domain.principals import Principal
from router.domain.records import LOST, HistoryLine, RunRecord, is_held
from router.domain.visible_text import one_line, quoted
from router.flow.engine.approval import NOBODY_INSTEAD

TitleOf = Callable[[str], Localised | None]
Kind = Literal["call", "undo", "lookup", "approver", "lost", "unknown"]

LONGEST = 300
"""Characters of what a tool answered: the whole of it is in the history."""
TRIED: frozenset[Kind] = frozenset({"call", "undo", "lookup"})
HELD = "held"
CALL_FAILED, UNDO_FAILED = "call failed", "undo failed"

HAPPENED: Mapping[Kind, Localised] = {
    "call": Localised(zh="{tool}没有办成", en="{tool} failed"),
    "undo": Localised(zh="撤回时{tool}没有办成", en="taking a step back, {tool} failed"),
    "lookup": Localised(
        zh="要用{tool}查由谁审批，没有查成", en="{tool}, which finds who decides, failed"
    ),
    "approver": Localised(
        zh="该审批的人已不在通讯录里，也没有指定别人",
        en="who should decide is gone from the directory, with nobody in their place",
    ),
    "lost": Localised(
        zh="它在 Temporal 里的工作流没有了", en="its workflow in Temporal can't go on"
    ),
    "unknown": Localised(zh="有一步没有办成", en="a step didn't work out"),
}
CAME_BACK = Localised(zh="，得到的是{answer}", en=" with {answer}")
FOUND = Localised(zh="（{answer}）", en=" ({answer})")
REMEDIES: Mapping[Kind, Localised] = {
    "approver": Localised(zh="可以改派审批人，或者终止", en="reassign it, or terminate the run"),
    "lost": Localised(
        zh="请运行 intent-router reconcile 核对", en="run intent-router reconcile to see to it"
    ),
    "unknown": Localised(zh="可以重试，或者终止", en="retry it, or terminate the run"),
}
"""What an operator can do; what isn't named here can be made again."""
SEEN_TO = Localised(zh="正等管理员处理", en="an administrator has to see to it")
SENTENCE = Localised(
    zh="{happened}；从{since}起等管理员，{remedy}。",
    en="{happened}; it has waited since {since}: {remedy}.",
)


def held_because(
    run: RunRecord, reader: Principal, title_of: TitleOf, *, operates: bool
) -> str | None:
    """What was tried, what came back, since when, and what can be done; None where it isn't held.

    Who doesn't operate is told what was tried, and that an administrator sees to it: what came back
    may name what is nobody's business but theirs.
    """
    if not is_held(run.status, run.history):
        return None
    here = next(n for n, line in reversed([*enumerate(run.history)]) if line.event in {HELD, LOST})
    kind, tool, answer = _incident(run.history[: here + 1])
    locale, title = reader.locale, title_of(tool)
    came = CAME_BACK if kind in TRIED else FOUND
    happened = (
        HAPPENED[kind]
        .within(locale)
        .replace("{tool}", quoted(title.within(locale) if title else tool))
    )
    if operates and answer:
        happened += came.within(locale).replace("{answer}", answer)
    remedy = REMEDIES.get(kind, REMEDIES["unknown"]) if operates else SEEN_TO
    return (
        SENTENCE.within(locale)
        .replace("{since}", _moment(run.history[here].at, reader))
        .replace("{remedy}", remedy.within(locale))
        .replace("{happened}", happened[:1].upper() + happened[1:])
    )


def _incident(history: Sequence[HistoryLine]) -> tuple[Kind, str, str]:
    """What the last line is there for: its kind, the tool by name, and what came back."""
    line, before = history[-1], history[-2] if len(history) > 1 else None
    if line.event == LOST:
        return "lost", "", _shown(line.comment)
    if line.comment and ": " in line.comment and not line.comment.startswith(NOBODY_INSTEAD):
        tool, _, answer = line.comment.partition(": ")
        return "lookup", tool, quoted(_shown(answer))
    if line.comment:
        who = line.comment.removeprefix(NOBODY_INSTEAD).partition(";")[0]
        return "approver", "", _shown(who)
    if before is None or before.event not in {CALL_FAILED, UNDO_FAILED}:
        return "unknown", "", ""
    step, _, answer = (before.comment or "").partition(": ")
    if before.event == CALL_FAILED:
        return "call", step, quoted(_shown(answer))
    return "undo", step.rpartition(" (")[2].removesuffix(")"), quoted(_shown(answer))


def _shown(text: str | None) -> str:
    return one_line(text or "", LONGEST)


def _moment(at: datetime, reader: Principal) -> str:
    return f"{at.astimezone(ZoneInfo(reader.timezone)):%Y-%m-%d %H:%M}"
