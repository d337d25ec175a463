"""All results as numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from router.domain.messages import RouteBy, Usage
from router.evaluation.results import Result


@dataclass(frozen=True)
class LabelFigures:
    """How one label fared. A figure is None where there is nothing to divide by."""

    label: str
    support: int
    """Lines with this label."""
    got: int
    """Lines that came to it, rightly or not."""
    right: int

    @property
    def precision(self) -> float | None:
        """The share of what came to it that should have."""
        return _share(self.right, self.got)

    @property
    def recall(self) -> float | None:
        """The share of its lines that came to it."""
        return _share(self.right, self.support)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two: 2 right / (support + got)."""
        return _share(2 * self.right, self.support + self.got)


@dataclass(frozen=True)
class Tally:
    """So many of so many."""

    right: int
    of: int

    @property
    def share(self) -> float | None:
        """0 to 1; None of nothing."""
        return _share(self.right, self.of)


@dataclass(frozen=True)
class Seconds:
    """How long lines took to be routed; `p95` is what 95 in 100 took at most."""

    total: float
    p50: float
    p95: float
    longest: float


@dataclass(frozen=True)
class Figures:
    """The numbers of an evaluation."""

    lines: int
    accuracy: Tally
    one_tap_away: int
    """Wrong lines whose label was among the options that the router offered."""
    labels: list[LabelFigures]
    """Those of the file first, by name; then what only came out."""
    confusion: dict[str, dict[str, int]]
    """By label, then by what it came to."""
    nearest: Tally
    """Searched lines whose label, a capability, was the first candidate."""
    preselected: Tally
    """Searched lines whose label was among the candidates: what a model had a chance at."""
    slots: dict[str, Tally]
    entities: Tally
    by: dict[RouteBy, int]
    usage: Usage
    unanswered: int
    seconds: Seconds


def figures_of(results: Sequence[Result]) -> Figures:
    """The numbers of these results, of which there is at least one."""
    judged = [result for result in results if result.label is not None]
    ranks = [result.rank for result in judged if result.rank is not None]
    usage = Usage()
    for result in results:
        usage += result.usage
    return Figures(
        lines=len(results),
        accuracy=Tally(sum(result.is_right for result in judged), len(judged)),
        one_tap_away=sum(result.is_one_tap_away for result in judged),
        labels=_labels(judged),
        confusion=_confusion(judged),
        nearest=_tally([rank == 0 for rank in ranks]),
        preselected=_tally([rank >= 0 for rank in ranks]),
        slots=_slots(judged),
        entities=_tally(
            [r.entities_are_right for r in results if r.entities_are_right is not None]
        ),
        by=dict(Counter(result.by for result in results).most_common()),
        usage=usage,
        unanswered=sum(result.unanswered for result in results),
        seconds=_seconds([result.seconds for result in results]),
    )


def _labels(judged: Sequence[Result]) -> list[LabelFigures]:
    support = Counter(str(result.label) for result in judged)
    got = Counter(result.got for result in judged)
    right = Counter(result.got for result in judged if result.is_right)
    names = [*sorted(support), *sorted(got.keys() - support.keys())]
    return [LabelFigures(name, support[name], got[name], right[name]) for name in names]


def _confusion(judged: Sequence[Result]) -> dict[str, dict[str, int]]:
    rows: dict[str, Counter[str]] = {}
    for result in judged:
        rows.setdefault(str(result.label), Counter())[result.got] += 1
    return {label: dict(rows[label].most_common()) for label in sorted(rows)}


def _slots(judged: Sequence[Result]) -> dict[str, Tally]:
    by_name: dict[str, list[bool]] = {}
    for result in judged:
        for path, right in result.slots.items():
            by_name.setdefault(f"{result.label}.{path}", []).append(right)
    return {name: _tally(by_name[name]) for name in sorted(by_name)}


def _tally(judgements: Sequence[bool]) -> Tally:
    return Tally(sum(judgements), len(judgements))


def _seconds(taken: Sequence[float]) -> Seconds:
    ordered = sorted(taken)
    return Seconds(
        total=sum(ordered),
        p50=_quantile(ordered, 0.5),
        p95=_quantile(ordered, 0.95),
        longest=ordered[-1],
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that so many are no larger than."""
    return ordered[max(ceil(share * len(ordered)), 1) - 1]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
