"""Which of the caller's own flow runs is meant, by its id or by what people say of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from activities.standing import days_of, offer_of
from router.domain.errors import ArgumentsToolError, PermanentToolError, SeveralFit
from router.domain.messages import ASKING, ENDED
from router.domain.offers import Offered
from router.domain.ports import Runs
from router.domain.records import RunRecord
from router.domain.texts import Localised
from router.tool.context import ToolContext
from router.understanding.dates import Days
from router.understanding.grammar import only
from router.understanding.naming import is_named_in, names_no_kind
from router.understanding.utterance import Utterance

ANY = "request"
"""What a request is called where nothing is said of which."""
WORDS = frozenset({"withdraw_request", "nudge_approver"})
"""The forms that only say something about another request, and are none themselves."""
MOST_LOOKED_AT = 50
"""The newest runs; what is older is named by its id."""
_SHOWN = 8

WHICH = Localised(zh="是哪一个申请？", en="Which request is it?")
NONE_OF_THESE = Localised(
    zh="没有找到说的那个申请。是下面的哪一个？", en="I found no such request. Is it one of these?"
)
NONE_AT_ALL = Localised(
    zh="你现在没有这样的申请。", en="There is no request of yours that this could be done to."
)


@dataclass(frozen=True)
class Said:
    """What was said of a request, at `now` where the caller is."""

    text: str
    now: datetime

    def fits(self, run: RunRecord) -> bool:
        """True where the run is of the kind that is named, if any, and of the days, if any."""
        if not any(sign.isalnum() for sign in self.text):
            return False
        return self.is_kind(run) and (not self._days or self._is_of_its_days(run))

    def is_kind(self, run: RunRecord) -> bool:
        """True where the kind is named, or nothing is said but that it is a request."""
        return is_named_in(self._rest, run) or names_no_kind(self._rest)

    @cached_property
    def _utterance(self) -> Utterance:
        return Utterance.of(self.text, self.now)

    @cached_property
    def _days(self) -> list[tuple[date, date]]:
        """The days that are named, however an incomplete one may be meant."""
        said = self._utterance
        found = [f.value for f in only(Days, [*said.things, *said.spent, *said.meant])]
        return [(days.first, days.last) for days in found]

    @cached_property
    def _rest(self) -> str:
        """What is said besides the days."""
        text = self._utterance.text
        for found in sorted(only(Days, self._utterance.things), key=lambda f: -f.start):
            text = f"{text[: found.start]} {text[found.end :]}"
        return text or " "

    def _is_of_its_days(self, run: RunRecord) -> bool:
        made = run.created_at.astimezone(self.now.tzinfo).date()
        its_own = [*days_of(run.slots), (made, made)]
        return any(a <= last and first <= b for a, b in self._days for first, last in its_own)


async def meant(
    name: str,
    ctx: ToolContext,
    runs: Runs,
    aside: Callable[[], frozenset[str]],
    *,
    submitted: bool = False,
    completed: bool = False,
) -> RunRecord:
    """The caller's run with this id, or the only one under way of which this is said.

    Never the run that asks, nor by name a word to another request or one of the flows `aside`,
    nor where `submitted` one whose own questions aren't answered yet. With `completed`, where
    none under way fits, one that is over and can be taken back; and never by name a run that
    does so. Raises `SeveralFit` where several are meant, or none of those that there are: a guess
    might take back the wrong one. `ArgumentsToolError` or `PermanentToolError` where there are
    none.
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
    said = Said(name, ctx.now)
    if completed:
        under_way = [run for run in under_way if run.withdraws is None]
    fitting = [run for run in under_way if said.fits(run)]
    if not fitting and completed:
        done = [run for run in found if can_be_taken_back(run)]
        fitting = [run for run in done if said.fits(run)]
        under_way += done
    if len(fitting) == 1:
        return fitting[0]
    raise _unclear(said, fitting, under_way, ctx)


def can_be_taken_back(run: RunRecord) -> bool:
    """True for a completed run that its flow knows how to take back."""
    return run.status == "completed" and run.remedy is not None


def _unclear(
    said: Said, fitting: Sequence[RunRecord], others: Sequence[RunRecord], ctx: ToolContext
) -> ArgumentsToolError | PermanentToolError:
    """Why none can be told to be meant; with those that may be, for a person to choose from."""
    if not fitting and not others:
        return PermanentToolError(NONE_AT_ALL) if said.text == ANY else _none(said.text)
    shown = (fitting or [run for run in others if said.is_kind(run)] or others)[:_SHOWN]
    offers = tuple(offer_of(run, ctx.now.tzinfo) for run in shown)
    ask = WHICH if fitting else NONE_OF_THESE
    why = _several(said.text, shown, ctx) if fitting else _no_such(said.text, shown, ctx)
    return SeveralFit(why, Offered(argument="request", ask=ask, offers=offers))


def _several(name: str, runs: Sequence[RunRecord], ctx: ToolContext) -> Localised:
    given, listed = name[:60], _listed(runs, ctx)
    return Localised(
        zh=f"request：“{given}”可能是 {listed.zh}，请用编号说明是哪一个",
        en=f"request: {given!r} may be {listed.en}; say which, by its id",
    )


def _no_such(name: str, runs: Sequence[RunRecord], ctx: ToolContext) -> Localised:
    given, listed = name[:60], _listed(runs, ctx)
    return Localised(
        zh=f"request：正在办理的申请里没有叫“{given}”的，现有：{listed.zh}",
        en=f"request: no request under way is called {given!r}; there are: {listed.en}",
    )


def _none(name: str) -> ArgumentsToolError:
    given = name[:60]
    return ArgumentsToolError(
        Localised(
            zh=f"request：没有叫“{given}”的正在办理的申请，也没有别的",
            en=f"request: no request under way is called {given!r}, nor is there any other",
        )
    )


def _listed(runs: Sequence[RunRecord], ctx: ToolContext) -> Localised:
    zone = ctx.now.tzinfo
    shown = [
        f"{run.id} ({run.title.within(ctx.locale)}, {run.created_at.astimezone(zone):%m-%d})"
        for run in runs
    ]
    return Localised(zh="、".join(shown), en=", ".join(shown))
