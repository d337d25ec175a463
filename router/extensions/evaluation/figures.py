"""Labelled lines beside what they came to, as numbers, and as a terminal shows them."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import JsonValue

from router.domain.messages import RouteBy, Usage
from router.extensions.evaluation.dataset import TARGETLESS, LabelledEntity, NumberedLine
from router.retrieval.selection import Judged, Selection


def rendered(name: str, **values: Any) -> str:
    """The template of this name, filled in."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("router.extensions.evaluation"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    environment.filters["percent"] = percent
    environment.filters["language"] = language
    return environment


def percent(share: float | None) -> str:
    """A share as people read it."""
    return "–" if share is None else f"{100 * share:.1f} %"


def language(text: str) -> str:
    """The language to read a text aloud in, or to choose its characters' shapes by."""
    return "zh" if any("\u4e00" <= character <= "\u9fff" for character in text) else "en"


SCORED_ENTITIES = frozenset({"date", "date_range", "duration", "money"})
"""Types that a line with `entities` lists completely; others may be found besides."""


@dataclass(frozen=True)
class LineResult:
    """What the line came to, and whether that was right."""

    labelled: NumberedLine
    got: str
    """The label that the route amounts to."""
    by: RouteBy
    reason: str = ""
    offered: tuple[str, ...] = ()
    """What it offered to choose from, where it asked back."""
    candidates: tuple[str, ...] = ()
    """What was searched and found, nearest first; nothing where rules took the line."""
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    """The slots that were filled."""
    entities: Sequence[LabelledEntity] = ()
    """Everything that was found in the text."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    unanswered: bool = False
    """True where a model was asked, failed, and the decision was made without it."""

    @property
    def label(self) -> str | None:
        """What it should have come to."""
        return self.labelled.line.label

    @property
    def is_right(self) -> bool:
        """Whether it did; a line without label can't be wrong."""
        return self.label is None or self.got == self.label

    @property
    def is_one_tap_away(self) -> bool:
        """Whether the router asked back, and what was meant is among the options."""
        return not self.is_right and self.label in self.offered

    @property
    def rank(self) -> int | None:
        """The place of the label among the candidates, 0 the first.

        -1 where it isn't among them; None where nothing was searched, or for nothing.
        """
        if not self.candidates or self.label is None or self.label in TARGETLESS:
            return None
        return self.candidates.index(self.label) if self.label in self.candidates else -1

    @property
    def slots(self) -> dict[str, bool]:
        """Whether exactly the value of each slot was understood; elsewhere nothing was."""
        expected = self.labelled.line.slots.items()
        return {path: self.is_right and self.value(path) == wanted for path, wanted in expected}

    def value(self, path: str) -> JsonValue:
        """What was understood for the slot at this path; None where nothing was."""
        return value_at(self.values, path)

    @property
    def scored(self) -> list[LabelledEntity]:
        """What was found of the types that lines list completely."""
        return [entity for entity in self.entities if entity.type in SCORED_ENTITIES]

    @property
    def entities_are_right(self) -> bool | None:
        """Whether exactly the line's entities were found, in order; None where it lists none."""
        expected = self.labelled.line.entities
        return None if expected is None else self.scored == expected


def value_at(values: JsonValue | Mapping[str, JsonValue], path: str) -> JsonValue:
    """The value at a path such as `items.0.amount`; None where there is nothing."""
    found: object = values
    for part in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found  # type: ignore[return-value]  # a part of JSON is JSON


def judged(label: str, found: Selection, capabilities: Collection[str]) -> Judged:
    """A line's label beside what was searched for its text.

    A label that names no capability (`none`, `reply`, …) says that nothing here is meant.
    """
    places = {one.name: place for place, one in enumerate(found.candidates)}
    place = places.get(label)
    return Judged(
        signs=found.signs,
        wanted=label in capabilities,
        right=place == 0,
        place=place,
        score=0.0 if place is None else found.candidates[place].score,
    )


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


def figures_of(results: Sequence[LineResult]) -> Figures:
    """The numbers of these results, of which there is at least one."""
    judged = [result for result in results if result.label is not None]
    ranks = [result.rank for result in judged if result.rank is not None]
    exact = [right for result in results if (right := result.entities_are_right) is not None]
    confusion = {str(result.label): Counter[str]() for result in judged}
    slots: dict[str, list[bool]] = {}
    for result in judged:
        confusion[str(result.label)][result.got] += 1
        for path, right in result.slots.items():
            slots.setdefault(f"{result.label}.{path}", []).append(right)
    taken = sorted(result.seconds for result in results)
    p50, p95 = (taken[max(ceil(share * len(taken)), 1) - 1] for share in (0.5, 0.95))
    return Figures(
        lines=len(results),
        accuracy=Tally(sum(result.is_right for result in judged), len(judged)),
        one_tap_away=sum(result.is_one_tap_away for result in judged),
        labels=_labels(judged),
        confusion={label: dict(confusion[label].most_common()) for label in sorted(confusion)},
        nearest=_tally([rank == 0 for rank in ranks]),
        preselected=_tally([rank >= 0 for rank in ranks]),
        slots={name: _tally(slots[name]) for name in sorted(slots)},
        entities=_tally(exact),
        by=dict(Counter(result.by for result in results).most_common()),
        usage=sum((result.usage for result in results), Usage()),
        unanswered=sum(result.unanswered for result in results),
        seconds=Seconds(total=sum(taken), p50=p50, p95=p95, longest=taken[-1]),
    )


def _labels(judged: Sequence[LineResult]) -> list[LabelFigures]:
    support = Counter(str(result.label) for result in judged)
    got = Counter(result.got for result in judged)
    right = Counter(result.got for result in judged if result.is_right)
    names = [*sorted(support), *sorted(got.keys() - support.keys())]
    return [LabelFigures(name, support[name], got[name], right[name]) for name in names]


def _tally(judgements: Sequence[bool]) -> Tally:
    return Tally(sum(judgements), len(judgements))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


MOST_WRONG = 20
"""Wrong lines that are printed; the report has all of them."""
_LONGEST_TEXT = 60


def printed(figures: Figures, results: Sequence[LineResult]) -> str:
    """A table of the labels, what is wrong, and a line for each further number."""
    wrong = [result for result in results if not result.is_right]
    parts = [_label_rows(figures.labels), _wrong(wrong), _numbers(figures)]
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines)


def _label_rows(labels: Sequence[LabelFigures]) -> Iterator[str]:
    if not labels:
        return
    width = max(5, *(len(row.label) for row in labels))
    yield f"{'label':<{width}}  {'lines':>5} {'precision':>9} {'recall':>7} {'F1':>7}"
    for row in labels:
        shares = f"{percent(row.precision):>9} {percent(row.recall):>7} {percent(row.f1):>7}"
        yield f"{row.label:<{width}}  {row.support:>5} {shares}"


def _wrong(wrong: Sequence[LineResult]) -> Iterator[str]:
    for result in wrong[:MOST_WRONG]:
        text = " ".join(result.labelled.line.text.split())
        shown = text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
        tap = ", and offered it" if result.is_one_tap_away else ""
        yield f"line {result.labelled.number}: {result.label}, came to {result.got}{tap}: {shown}"
    if len(wrong) > MOST_WRONG:
        yield f"and {len(wrong) - MOST_WRONG} more; --report lists all of them"


def _numbers(figures: Figures) -> Iterator[str]:
    seconds, usage = figures.seconds, figures.usage
    if figures.accuracy.of:
        accuracy, tap = figures.accuracy, figures.one_tap_away
        of = f"{accuracy.right} of {accuracy.of}; {tap} more offered"
        yield f"accuracy    {percent(accuracy.share)} ({of})"
    if figures.nearest.of:
        near, among = figures.nearest, figures.preselected
        yield (
            f"selection   {percent(near.share)} nearest, {percent(among.share)} among the "
            f"candidates, of {near.of} lines that were searched"
        )
    for name, tally in figures.slots.items():
        yield f"slot        {percent(tally.share)} ({tally.right} of {tally.of}) {name}"
    if figures.entities.of:
        exact = figures.entities
        yield f"entities    {percent(exact.share)} ({exact.right} of {exact.of} lines exact)"
    yield "decided by  " + ", ".join(f"{by} {count}" for by, count in figures.by.items())
    yield (
        f"model       {usage.llm_calls} calls, {usage.prompt_tokens} + "
        f"{usage.completion_tokens} tokens"
        + (f"; {figures.unanswered} lines without an answer" if figures.unanswered else "")
    )
    yield (
        f"seconds     {seconds.total:.1f}; a line p50 {seconds.p50:.3f}, p95 {seconds.p95:.3f}, "
        f"longest {seconds.longest:.3f}"
    )
