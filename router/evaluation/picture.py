"""The confusion matrix as a picture: SVG that reads in the dark and in the light, on its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from router.evaluation.figures import Figures
from router.evaluation.templates import rendered

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
    return rendered("confusion.svg", picture=_drawn(figures))


def _drawn(figures: Figures) -> Picture:
    wanted = list(figures.confusion)
    got = [row.label for row in figures.labels]
    cell = max(min(CELL, WIDEST / max(len(got), 1)), SMALLEST)
    left, top = _room(wanted) + 34, _room(got) * 0.75 + 40
    return Picture(
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


def _room(labels: Sequence[str]) -> float:
    """What the longest name takes."""
    return _NAME_WIDTH * max((len(_cut(label)) for label in labels), default=0)


def _name(x: float, y: float, label: str) -> Name:
    return Name(x, y, _cut(label), label)


def _cut(label: str) -> str:
    return label if len(label) <= LONGEST_NAME else f"{label[: LONGEST_NAME - 1]}…"
