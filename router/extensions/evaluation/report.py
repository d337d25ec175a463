"""The report: a page for people with the confusion matrix, and the same numbers for programs.

The matrix is SVG that reads in the dark and in the light, on its own. What is filled in is escaped.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from router.extensions.evaluation.figures import Figures, LineResult, Tally, rendered

CELL = 34.0
SMALLEST = 12.0
"""Pixels of a cell: large while there are few labels, at least enough to see which it is."""
WIDEST = 900.0
"""Pixels that all cells together may take, before they are made smaller."""
LONGEST_NAME = 28
_NAME_WIDTH = 7.2
"""Pixels of a character of a name, in the font that the template sets."""


@dataclass(frozen=True)
class Cell:
    """So many lines of the label `wanted` came to `got`; `shade` is their share of the row."""

    x: float
    y: float
    wanted: str
    got: str
    count: int
    shade: float

    @property
    def is_right(self) -> bool:
        """Whether the cell is on the diagonal."""
        return self.wanted == self.got


@dataclass(frozen=True)
class Name:
    """A label beside the matrix, `full` where it had to be cut."""

    x: float
    y: float
    shown: str
    full: str


@dataclass(frozen=True)
class Picture:
    """Everything that is drawn, in pixels."""

    width: float
    height: float
    cell: float
    left: float
    top: float
    rows: Sequence[Name]
    columns: Sequence[Name]
    cells: Sequence[Cell]


def svg_of(figures: Figures) -> str:
    """The picture: a row for each label, a column for everything that came out."""
    wanted = list(figures.confusion)
    got = [row.label for row in figures.labels]
    cell = max(min(CELL, WIDEST / max(len(got), 1)), SMALLEST)
    left, top = _room(wanted) + 34, _room(got) * 0.75 + 40
    picture = Picture(
        width=left + cell * len(got) + _room(got) * 0.7 + 12,
        height=top + cell * len(wanted) + 12,
        cell=cell,
        left=left,
        top=top,
        rows=[_name(left - 8, top + cell * (n + 0.5), label) for n, label in enumerate(wanted)],
        columns=[_name(left + cell * (n + 0.5), top - 8, label) for n, label in enumerate(got)],
        cells=[
            Cell(
                x=left + cell * got.index(came_to),
                y=top + cell * row,
                wanted=label,
                got=came_to,
                count=count,
                shade=count / sum(figures.confusion[label].values()),
            )
            for row, label in enumerate(wanted)
            for came_to, count in figures.confusion[label].items()
        ],
    )
    return rendered("confusion.svg", picture=picture)


def _room(labels: Sequence[str]) -> float:
    """What the longest name takes."""
    return _NAME_WIDTH * max((len(_cut(label)) for label in labels), default=0)


def _name(x: float, y: float, label: str) -> Name:
    return Name(x, y, _cut(label), label)


def _cut(label: str) -> str:
    return label if len(label) <= LONGEST_NAME else f"{label[: LONGEST_NAME - 1]}…"


@dataclass(frozen=True)
class EvaluationContext:
    """What was evaluated, when and how."""

    file: str
    at: datetime
    model: str | None
    """The model that decided; None where none did."""
    user: str
    """Who said what no line says who said it."""
    repeated: int = 0
    """Lines that only repeat another, and weren't counted."""


def page_of(about: EvaluationContext, figures: Figures, results: Sequence[LineResult]) -> str:
    """The report as one HTML page that asks nothing of any server."""
    return rendered(
        "report.html",
        about=about,
        figures=figures,
        wrong=[result for result in results if not result.is_right],
        slips=list(slips_of(results)),
        picture=Markup(svg_of(figures)) if figures.confusion else None,  # noqa: S704 - ours, escaped
    )


def slips_of(results: Sequence[LineResult]) -> list[tuple[LineResult, str, Any, Any]]:
    """Where a line went right and a value didn't: the result, what, expected and understood."""
    slips: list[tuple[LineResult, str, Any, Any]] = []
    for result in results:
        line = result.labelled.line
        for path, right in result.slots.items():
            if result.is_right and not right:
                slips.append((result, path, line.slots[path], result.value(path)))
        if result.entities_are_right is False:
            slips.append((result, "entities", _plain(line.entities), _plain(result.scored)))
    return slips


_LABEL_FIGURES = ("support", "got", "right", "precision", "recall", "f1")


def report_of(
    about: EvaluationContext, figures: Figures, results: Sequence[LineResult]
) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "about": {**asdict(about), "at": about.at.isoformat(timespec="seconds")},
        "lines": figures.lines,
        "accuracy": _tally(figures.accuracy),
        "one_tap_away": figures.one_tap_away,
        "labels": {
            row.label: {name: getattr(row, name) for name in _LABEL_FIGURES}
            for row in figures.labels
        },
        "confusion": figures.confusion,
        "nearest": _tally(figures.nearest),
        "preselected": _tally(figures.preselected),
        "slots": {name: _tally(tally) for name, tally in figures.slots.items()},
        "entities": _tally(figures.entities),
        "by": figures.by,
        "usage": figures.usage.model_dump(),
        "unanswered": figures.unanswered,
        "seconds": asdict(figures.seconds),
        "results": [_result(result) for result in results],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {**asdict(tally), "share": tally.share}


def _result(result: LineResult) -> dict[str, Any]:
    return {
        "line": result.labelled.number,
        "text": result.labelled.line.text,
        "label": result.label,
        "got": result.got,
        "right": result.is_right,
        "by": result.by,
        "offered": result.is_one_tap_away,
        "rank": result.rank,
        "reason": result.reason,
        "slots": result.slots,
        "usage": result.usage.model_dump(),
        "seconds": round(result.seconds, 4),
    }


def _plain(entities: Any) -> list[dict[str, Any]]:
    return [entity.model_dump() for entity in entities or ()]
