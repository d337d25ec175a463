"""Which of the caller's own flow runs is meant, by its id or by what people call it."""

from collections.abc import Callable, Sequence

from router.domain.errors import ArgumentsToolError
from router.domain.messages import ASKING, ENDED
from router.domain.ports import Runs
from router.domain.records import RunRecord
from router.domain.texts import Localised
from router.tool.context import ToolContext

WORDS = frozenset({"withdraw_request", "nudge_approver"})
"""The forms that only say something about another request, and are none themselves."""
MOST_LOOKED_AT = 50
"""The newest runs; what is older is named by its id."""
_SHOWN = 5


async def meant(
    name: str,
    ctx: ToolContext,
    runs: Runs,
    aside: Callable[[], frozenset[str]],
    *,
    submitted: bool = False,
    completed: bool = False,
) -> RunRecord:
    """The caller's run with this id, or the only one under way that is called so.

    Never the run that asks, nor by name a word to another request or one of the flows `aside`,
    nor where `submitted` one whose own questions aren't answered yet. With `completed`, where
    none under way fits, one that is over and can be taken back; and never by name a run that
    does so. Raises `ArgumentsToolError` where it is none or several, with those that are under
    way: a guess might take back the wrong one.
    """
    caller = ctx.caller
    known = await runs.find(caller.tenant, name.strip())
    if known is not None and known.requester == caller.id and known.workflow_id != ctx.flow_run:
        return known
    found, _ = await runs.listed(
        caller.tenant, caller.id, None, None, None, MOST_LOOKED_AT, aside() | WORDS
    )
    passed_over = {*ENDED, *(ASKING if submitted else ())}
    under_way = [
        run
        for run in found
        if run.workflow_id != ctx.flow_run and run.status not in passed_over and not run.is_branch
    ]
    if completed:
        under_way = [run for run in under_way if run.withdraws is None]
    fitting = [run for run in under_way if _is_called(run, name)]
    if not fitting and completed:
        done = [run for run in found if can_be_taken_back(run)]
        fitting = [run for run in done if _is_called(run, name)]
        under_way += done
    if len(fitting) == 1:
        return fitting[0]
    raise ArgumentsToolError(_why(name, fitting, under_way, ctx))


def can_be_taken_back(run: RunRecord) -> bool:
    """True for a completed run that its flow knows how to take back."""
    return run.status == "completed" and run.remedy is not None


def _is_called(run: RunRecord, name: str) -> bool:
    """True where one of the run's names is in `name`, or the other way round.

    A single letter or sign is in too many names to mean one.
    """
    wanted = name.strip().casefold()
    names = (run.flow, run.flow.replace("_", " "), run.title.zh, run.title.en)
    return len(wanted) > 1 and any(wanted in n.casefold() or n.casefold() in wanted for n in names)


def _why(
    name: str, fitting: Sequence[RunRecord], under_way: Sequence[RunRecord], ctx: ToolContext
) -> Localised:
    given, listed = name[:60], _listed(fitting or under_way, ctx)
    if fitting:
        return Localised(
            zh=f"request：“{given}”可能是 {listed.zh}，请用编号说明是哪一个",
            en=f"request: {given!r} may be {listed.en}; say which, by its id",
        )
    if under_way:
        return Localised(
            zh=f"request：正在办理的申请里没有叫“{given}”的，现有：{listed.zh}",
            en=f"request: no request under way is called {given!r}; there are: {listed.en}",
        )
    return Localised(
        zh=f"request：没有叫“{given}”的正在办理的申请，也没有别的",
        en=f"request: no request under way is called {given!r}, nor is there any other",
    )


def _listed(runs: Sequence[RunRecord], ctx: ToolContext) -> Localised:
    zone = ctx.now.tzinfo
    shown = [
        f"{run.id} ({run.title.within(ctx.locale)}, {run.created_at.astimezone(zone):%m-%d})"
        for run in runs[:_SHOWN]
    ]
    more = len(runs) - _SHOWN
    return Localised(
        zh="、".join([*shown, *([f"还有 {more} 个"] if more > 0 else [])]),
        en=", ".join([*shown, *([f"{more} more"] if more > 0 else [])]),
    )
