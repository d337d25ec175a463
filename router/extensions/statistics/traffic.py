"""What went on in a house over some days: figures from what was counted. Pure.

A day is one of the reader's calendar; what models cost is kept by the day of whom it was for.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from math import ceil
from typing import NamedTuple

from pydantic import BaseModel

from router.domain.locale import Locale, Localised
from router.domain.messages import ENDED, FlowStatus, RouteBy, RouteKind

SILENT = timedelta(days=1)
"""Without a word for so long, whoever was asked for something isn't expected to answer."""
HANDED_IN = "confirmed"
"""The event in a run's history by which its requester handed in what they had filled in."""


class TurnCount(NamedTuple):
    """So many turns of one day went one way by one means; `missed` where that was nowhere."""

    day: date
    kind: RouteKind
    by: RouteBy
    missed: bool
    number: int


class RunCount(NamedTuple):
    """So many runs of a flow that were begun stand like this."""

    flow: str
    title: Localised
    status: FlowStatus
    number: int


class Unfinished(NamedTuple):
    """A run that was cancelled, expired, or has been silent: each state, and how it got there."""

    flow: str
    way: Sequence[tuple[str, str]]


class AwaitedCount(NamedTuple):
    """What the approvals of a flow are called, and how many of them nobody has decided yet."""

    flow: str
    title: Localised
    waiting: int


class ModelDay(BaseModel):
    """What models cost on one day, in questions and tokens."""

    day: date
    calls: int
    prompt_tokens: int
    completion_tokens: int


class TurnDay(BaseModel):
    """Where the messages of one day went."""

    day: date
    turns: int
    routes: dict[RouteKind, int]
    """How many went each way; of a turn with several wishes its first counts."""
    by: dict[RouteBy, int]
    """How many were decided by each means."""
    misses: int
    """Turns that went nowhere: what was meant was asked back with nothing chosen (`clarify`
    without a target), or an error ended them. An answer that a flow doesn't understand is none:
    it went to the flow."""
    handoffs: int
    """Turns that were handed to a person, because that was asked for or nothing else was left."""


class FlowTraffic(BaseModel):
    """How the runs of one flow that were begun in the period stand by now."""

    flow: str
    title: str
    begun: int
    completed: int
    rejected: int
    cancelled: int
    expired: int
    failed: int
    under_way: int
    """Those that have not ended, silent ones included."""
    abandoned: int
    """Those of which the form was given up: cancelled, expired, or still being filled in and
    without a word for a day, and never handed in. Handed in is what its requester has confirmed,
    what has entered a state that asks for approval, waits, or starts others, and where the flow
    has nothing confirmed, what has called a tool."""


class ApprovalTraffic(BaseModel):
    """How quickly the approvals of one flow are decided."""

    flow: str
    title: str
    decided: int
    """Decisions that people gave within the period; what the clock passed on is none."""
    waiting: int
    """Asked for before the end of the period, and not decided by now."""
    median_hours: float | None
    """Half of those decisions took no longer, from being asked to the verdict; None without any."""
    p90_hours: float | None
    """Nine in ten of them took no longer."""


class Traffic(BaseModel):
    """What went on in the house over some days."""

    since: date
    until: date
    """The last day, which is included."""
    timezone: str
    days: list[TurnDay]
    flows: list[FlowTraffic]
    approvals: list[ApprovalTraffic]
    median_hours: float | None
    """Of all decisions of the period."""
    model: list[ModelDay]


def turn_days(days: Iterable[date], counted: Iterable[TurnCount]) -> list[TurnDay]:
    """Every one of these days, also such as had no turn."""
    found: dict[date, TurnDay] = {
        day: TurnDay(day=day, turns=0, routes={}, by={}, misses=0, handoffs=0) for day in days
    }
    for day, kind, by, missed, number in counted:
        here = found[day]
        here.turns += number
        here.routes[kind] = here.routes.get(kind, 0) + number
        here.by[by] = here.by.get(by, 0) + number
        here.misses += missed and number
        here.handoffs += (kind == "handoff") and number
    return list(found.values())


def flow_traffic(
    counted: Iterable[RunCount], abandoned: Mapping[str, int], locale: Locale
) -> list[FlowTraffic]:
    """A line for each flow, what was begun most often first."""
    titles: dict[str, Localised] = {}
    stands: dict[str, Counter[FlowStatus]] = defaultdict(Counter)
    for flow, title, status, number in counted:
        titles[flow] = title
        stands[flow][status] += number
    lines = [
        FlowTraffic(
            flow=flow,
            title=titles[flow].within(locale),
            begun=stood.total(),
            under_way=sum(n for status, n in stood.items() if status not in ENDED),
            abandoned=abandoned.get(flow, 0),
            **{status: stood[status] for status in ENDED},
        )
        for flow, stood in stands.items()
    ]
    return sorted(lines, key=lambda line: (-line.begun, line.flow))


def is_abandoned(run: Unfinished, handing_in: Collection[str]) -> bool:
    """True where it was never handed in; `handing_in` are the states by which it was."""
    return not any(event == HANDED_IN or state in handing_in for state, event in run.way)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The least of the values that so large a share of them doesn't exceed; None of none.

    >>> percentile([4.0, 1.0, 2.0, 3.0], 0.5)
    2.0
    """
    if not values:
        return None
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def hours_within(hours: Sequence[float], share: float) -> float | None:
    """Within how many hours so large a share was, to hundredths; None of none."""
    found = percentile(hours, share)
    return None if found is None else round(found, 2)


def approval_traffic(
    asked: Iterable[AwaitedCount], taken: Mapping[str, Sequence[float]], locale: Locale
) -> list[ApprovalTraffic]:
    """A line for each flow, what is decided most often first; `taken` are hours, by flow."""
    lines = [
        ApprovalTraffic(
            flow=flow,
            title=title.within(locale),
            decided=len(taken.get(flow, ())),
            waiting=waiting,
            median_hours=hours_within(taken.get(flow, ()), 0.5),
            p90_hours=hours_within(taken.get(flow, ()), 0.9),
        )
        for flow, title, waiting in asked
    ]
    return sorted(lines, key=lambda line: (-line.decided, -line.waiting, line.flow))


def overall_median(taken: Mapping[str, Sequence[float]]) -> float | None:
    """Of the decisions of all flows, in hours; None where there was none."""
    return hours_within([hours for each in taken.values() for hours in each], 0.5)
