"""Pieces of text as they are placed on a page, made into lines as people read them.

Files place characters, words or whole sentences, in an order of their own. What stands on one
height is a row; what stands close together in a row is a line, what stands apart (a column, the
value beside its label) is a line of its own. Chinese has no spaces, so that a gap between two of
its characters becomes none.
"""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from router.documents.page import TextLine
from router.domain.documents import Place, Source

APART = 0.9
"""Of the height of its letters: a wider gap ends a line."""
SPACE = 0.18
"""From so wide a gap on it is a space between words."""
OVERLAP = 0.5
"""Of the lower one's height: so much is shared by two pieces of one row."""


class Edges(NamedTuple):
    """Edges, in the units of the page, from its top left corner."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top

    def around(self, other: "Edges") -> "Edges":
        """The smallest that holds both."""
        return Edges(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )


@dataclass(frozen=True)
class Piece:
    """Some text, where it stands, and how sure that is."""

    text: str
    box: Edges
    confidence: float = 1.0


@dataclass(frozen=True)
class Sheet:
    """The page that pieces stand on: its number from 0 and its size."""

    number: int
    width: float
    height: float

    def place(self, box: Edges) -> Place:
        """Where the box is, in shares of the page; what hangs over its edge is cut."""
        left, right = (min(max(x / self.width, 0.0), 1.0) for x in (box.left, box.right))
        top, bottom = (min(max(y / self.height, 0.0), 1.0) for y in (box.top, box.bottom))
        return Place(page=self.number, left=left, top=top, right=right, bottom=bottom)

    def line(self, piece: Piece, source: Source) -> TextLine:
        """The piece as a line of this page."""
        confidence = min(max(piece.confidence, 0.0), 1.0)
        return TextLine(piece.text.strip(), self.place(piece.box), source, confidence)


def rows(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Pieces by the height that they stand on, from the top; within a row, from the left."""
    found: list[list[Piece]] = []
    edges: list[tuple[float, float]] = []
    for piece in sorted(pieces, key=lambda one: (one.box.top + one.box.bottom, one.box.left)):
        # Only the last few rows can be meant: pieces come from the top.
        for at in range(len(found) - 1, max(len(found) - 4, -1), -1):
            top, bottom = edges[at]
            shared = min(bottom, piece.box.bottom) - max(top, piece.box.top)
            if shared >= OVERLAP * max(min(bottom - top, piece.box.height), 1e-6):
                found[at].append(piece)
                break
        else:
            found.append([piece])
            edges.append((piece.box.top, piece.box.bottom))
    return [sorted(row, key=lambda one: one.box.left) for row in found]


def joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces of all rows, those that stand close together made one, in reading order."""
    return _upright(list(_joined(pieces)))


def _joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    for row in rows(pieces):
        line = row[0]
        for piece in row[1:]:
            height = statistics.mean((line.box.height, piece.box.height))
            gap = piece.box.left - line.box.right
            blank = line.text[-1:].isspace() or piece.text[:1].isspace()
            if gap > (2 * APART if blank else APART) * height:
                yield line
                line = piece
            else:
                between = " " if gap > SPACE * height and _words(line.text, piece.text) else ""
                line = _one(line, piece, between)
        yield line


def _one(line: Piece, piece: Piece, between: str) -> Piece:
    confidence = min(line.confidence, piece.confidence)
    return Piece(line.text + between + piece.text, line.box.around(piece.box), confidence)


def _words(before: str, after: str) -> bool:
    """True where a gap between the two is a space."""
    return not (before[-1:].isspace() or is_cjk(before[-1:]) or is_cjk(after[:1]))


def is_cjk(sign: str) -> bool:
    """True for a character of the Chinese script, or its punctuation and full-width forms."""
    return "\u2e80" <= sign[:1] <= "\u9fff" or "\uf900" <= sign[:1] <= "\uffef"


def _upright(lines: list[Piece]) -> list[Piece]:
    """The same, single Chinese characters that stand one above the other made one line."""
    found: list[Piece] = []
    open_ones: list[int] = []
    for line in lines:
        alone = len(line.text.strip()) == 1 and is_cjk(line.text.strip())
        above = next((i for i in open_ones if _below(line.box, found[i].box)), None)
        if alone and above is not None:
            found[above] = _one(found[above], replace(line, text=line.text.strip()), "")
        else:
            found.append(line)
            open_ones = [*open_ones[-20:], len(found) - 1] if alone else open_ones
    return found


def _below(lower: Edges, upper: Edges) -> bool:
    width = lower.right - lower.left
    beside = abs(lower.left + lower.right - upper.left - upper.right) / 2
    return beside < 0.3 * width and -0.3 * width < lower.top - upper.bottom < 0.8 * lower.height


def lines_of(
    pieces: Sequence[Piece], sheet: Sheet, source: Source = "text"
) -> tuple[TextLine, ...]:
    """What the pieces say on that page, line by line; blank ones are left out."""
    return tuple(sheet.line(piece, source) for piece in joined(pieces) if piece.text.strip())
