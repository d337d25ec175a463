"""How one flow goes: how long its states take, where people leave it, what is sent back. Pure.

Everything is counted from the histories of runs, so that figures of any two sets of runs add up to
those of both. Shares of few are no shares: below `FEW` only counts are told.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise, zip_longest
from typing import NamedTuple, TypeVar

from pydantic import BaseModel

from router.domain.messages import ASKING, ENDED, FlowStatus
from router.domain.periods import Period
from router.domain.run_history import HistoryEntry
from router.extensions.statistics.traffic import (
    SILENT,
    hours_within,
)

FEW = 10
"""Of fewer leavings no shares are told."""
MOST_RUNS = 20_000
"""Of a period; more are asked for in parts."""
MOST_REASONS = 20
LONGEST_REASON = 200
SENT_BACK = frozenset({"return", "reject"})
"""Verdicts whose comment says why a request went no further."""
_HOUR = timedelta(hours=1)

T = TypeVar("T")

TransitionKey = tuple[str, str, str]
"""From a state, by an event, to a state."""


class VersionCount(NamedTuple):
    """So many runs of one version stand like this."""

    version: int
    status: FlowStatus
    number: int


class RunPath(NamedTuple):
    """What a run went through."""

    status: FlowStatus
    created_at: datetime
    updated_at: datetime
    history: Sequence[HistoryEntry]
    asked: Mapping[str, int] = {}
    """How often each slot was asked for."""


class DecisionTime(NamedTuple):
    """How long somebody took to decide on a request."""

    person: str
    verdict: str
    hours: float


class FlowVersionFigures(BaseModel):
    """Runs that were begun with a version of the flow, by how they stand."""

    version: int
    begun: int
    under_way: int
    completed: int
    rejected: int
    cancelled: int
    expired: int
    failed: int


class StateFigures(BaseModel):
    """What went on in a state."""

    state: str
    entered: int
    here: int
    """Runs that stand there now."""
    median_hours: float | None
    """Half of those that went on from there had been there no longer; None where none did."""
    p90_hours: float | None
    returned: int
    """How often somebody sent a request back, or rejected it, there."""
    cancelled: int
    """Runs that were cancelled there; so for the next three."""
    expired: int
    failed: int
    silent: int
    """Runs whose requester was asked there and hasn't said a word for a day."""


class WayFigures(BaseModel):
    """How often a way was taken."""

    source: str
    event: str
    target: str
    taken: int
    share: float | None
    """Of all leavings of its source; None where those are few."""


class SlotFigures(BaseModel):
    """How often people were asked for a slot."""

    slot: str
    runs: int
    """Runs in which it was asked for."""
    again: int
    """Those of them in which it was asked for more than once."""
    times: int


class ApproverFigures(BaseModel):
    """What one approver decided in the period, and how quickly."""

    person: str
    decided: int
    approved: int
    sent_back: int
    median_hours: float | None
    p90_hours: float | None


class ReasonFigures(BaseModel):
    """What approvers said when they sent requests back from a state."""

    state: str
    reason: str
    times: int


class FlowDay(BaseModel):
    """Runs that were begun on a day, and what came of them by now."""

    day: date
    begun: int
    completed: int
    given_up: int


class FlowStatistics(BaseModel):
    """How a flow went over some days, of all versions or of one."""

    flow: str
    since: date
    until: date
    timezone: str
    version: int | None
    versions: list[FlowVersionFigures]
    """Of every version, whichever is asked for."""
    states: list[StateFigures]
    ways: list[WayFigures]
    slots: list[SlotFigures]
    days: list[FlowDay]
    approvers: list[ApproverFigures] | None
    """None for who may not see what single people did."""
    reasons: list[ReasonFigures] | None


class Stay(NamedTuple):
    """A stay in a state, from being entered by `event` until the run went on, if it did."""

    state: str
    event: str
    since: datetime
    until: datetime | None


def stays_of(history: Sequence[HistoryEntry]) -> Iterator[Stay]:
    """The states that a run with this history was in, in order.

    A line that names the state it stands in already only tells of something there.
    """
    entered = [
        line for n, line in enumerate(history) if n == 0 or line.state != history[n - 1].state
    ]
    for line, following in zip_longest(entered, entered[1:]):
        yield Stay(line.state, line.event, line.at, following.at if following else None)


def given_up_in(stays: Sequence[Stay]) -> str:
    """Where a run with these stays was given up: what expired did so in the state before."""
    last = stays[-1]
    passed_on = last.event == "expired" and len(stays) > 1
    return stays[-2].state if passed_on else last.state


@dataclass
class FlowTally:
    """Counts runs one by one, and tells what was counted. Memory grows with stays, not lines."""

    now: datetime
    _hours: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _entered: Counter[str] = field(default_factory=Counter)
    _here: Counter[str] = field(default_factory=Counter)
    _left: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _returned: Counter[str] = field(default_factory=Counter)
    _ways: Counter[TransitionKey] = field(default_factory=Counter)
    _asked: dict[str, Counter[bool]] = field(default_factory=lambda: defaultdict(Counter))
    _times: Counter[str] = field(default_factory=Counter)
    _reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    _days: dict[date, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, run: RunPath, day: date) -> None:
        """Count a run that was begun on this day."""
        self._days[day]["begun"] += 1
        self._days[day]["completed"] += run.status == "completed"
        self._days[day]["given_up"] += run.status in ("cancelled", "expired")
        for slot, times in run.asked.items():
            self._asked[slot][times > 1] += 1
            self._times[slot] += times
        for line in run.history:
            if line.event in SENT_BACK:
                self._returned[line.state] += 1
                if reason := " ".join((line.comment or "").split()):
                    self._reasons[line.state, reason[:LONGEST_REASON]] += 1
        if stays := [*stays_of(run.history)]:
            self._walk(stays)
            self._note_stand(run, stays)

    def _walk(self, stays: Sequence[Stay]) -> None:
        for stay in stays:
            self._entered[stay.state] += 1
            if stay.until is not None:
                self._hours[stay.state].append((stay.until - stay.since) / _HOUR)
        for stay, following in pairwise(stays):
            self._ways[stay.state, following.event, following.state] += 1

    def _note_stand(self, run: RunPath, stays: Sequence[Stay]) -> None:
        if run.status in ENDED:
            if run.status in ("cancelled", "expired", "failed"):
                self._left[given_up_in(stays)][run.status] += 1
            return
        self._here[stays[-1].state] += 1
        if run.status in ASKING and run.updated_at < self.now - SILENT:
            self._left[stays[-1].state]["silent"] += 1

    @property
    def states(self) -> list[StateFigures]:
        """Every state that a run was in, what was entered most often first."""
        return [
            StateFigures(
                state=state,
                entered=entered,
                here=self._here[state],
                median_hours=hours_within(self._hours.get(state, ()), 0.5),
                p90_hours=hours_within(self._hours.get(state, ()), 0.9),
                returned=self._returned[state],
                cancelled=self._left[state]["cancelled"],
                expired=self._left[state]["expired"],
                failed=self._left[state]["failed"],
                silent=self._left[state]["silent"],
            )
            for state, entered in _most_first(self._entered)
        ]

    @property
    def ways(self) -> list[WayFigures]:
        """Every way that was taken, most often first."""
        leavings = Counter[str]()
        for (source, _, _), taken in self._ways.items():
            leavings[source] += taken
        return [
            WayFigures(
                source=way[0],
                event=way[1],
                target=way[2],
                taken=taken,
                share=round(taken / leavings[way[0]], 4) if leavings[way[0]] >= FEW else None,
            )
            for way, taken in _most_first(self._ways)
        ]

    @property
    def slots(self) -> list[SlotFigures]:
        """Every slot that was asked for, what was asked again most often first."""
        found = [
            SlotFigures(
                slot=slot, runs=counted.total(), again=counted[True], times=self._times[slot]
            )
            for slot, counted in self._asked.items()
        ]
        return sorted(found, key=lambda each: (-each.again, -each.runs, each.slot))

    @property
    def reasons(self) -> list[ReasonFigures]:
        """What was said most often when requests were sent back."""
        said = _most_first(self._reasons)[:MOST_REASONS]
        return [ReasonFigures(state=at, reason=why, times=n) for (at, why), n in said]

    def days(self, period: Period) -> list[FlowDay]:
        """Every day of the period."""
        names = ("begun", "completed", "given_up")
        return [
            FlowDay(day=day, **{name: self._days[day][name] for name in names})
            for day in period.days
        ]


def version_figures(counted: Iterable[VersionCount]) -> list[FlowVersionFigures]:
    """A line for each version, the newest first."""
    stands: dict[int, Counter[FlowStatus]] = defaultdict(Counter)
    for version, status, number in counted:
        stands[version][status] += number
    return [
        FlowVersionFigures(
            version=version,
            begun=stood.total(),
            under_way=sum(n for status, n in stood.items() if status not in ENDED),
            **{status: stood[status] for status in ENDED},
        )
        for version, stood in sorted(stands.items(), reverse=True)
    ]


def approver_figures(decisions: Iterable[DecisionTime]) -> list[ApproverFigures]:
    """A line for each approver, who decided most first."""
    found: dict[str, list[DecisionTime]] = defaultdict(list)
    for decision in decisions:
        found[decision.person].append(decision)
    lines = [
        ApproverFigures(
            person=person,
            decided=len(theirs),
            approved=sum(each.verdict == "approve" for each in theirs),
            sent_back=sum(each.verdict in SENT_BACK for each in theirs),
            median_hours=hours_within([each.hours for each in theirs], 0.5),
            p90_hours=hours_within([each.hours for each in theirs], 0.9),
        )
        for person, theirs in found.items()
    ]
    return sorted(lines, key=lambda line: (-line.decided, line.person))


def _most_first(counted: Counter[T]) -> list[tuple[T, int]]:
    return sorted(counted.items(), key=lambda each: (-each[1], str(each[0])))
