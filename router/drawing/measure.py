"""How wide a text is, without its font: what any usual sans-serif takes, and a little more."""

import unicodedata
from collections.abc import Iterator

_WIDE = 1.0
_USUAL = 0.58
_WIDTHS = {
    **dict.fromkeys("iljI.,:;'|!` ", 0.32),
    **dict.fromkeys('frt()[]{}/\\"-', 0.42),
    **dict.fromkeys("ABCDEFGHKNOPQRSTUVXYZ&_<>=+~0123456789", 0.7),
    **dict.fromkeys("mwMW%@", 0.95),
}
"""In em. What isn't here is wide where East Asia has it so, else as most letters are."""
_CLINGING = frozenset("…，。、：；！？）》”")
"""Never begin a line."""


def width(text: str, size: float) -> float:
    """Pixels that the text takes in a font of `size` pixels.

    >>> width("请假", 13.0)
    26.0
    """
    return sum(_WIDTHS.get(each) or _em(each) for each in text) * size


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    return _WIDE if unicodedata.east_asian_width(character) in "WFA" else _USUAL


def wrapped(text: str, size: float, room: float, most: int) -> list[str]:
    """The text in lines no wider than `room`, the last of at most `most` cut where it has to be.

    >>> wrapped("one two three", 10.0, 45.0, 2)
    ['one two', 'three']
    """
    lines = list(_lines(text, size, room))
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    while last and width(f"{last}…", size) > room:
        last = last[:-1]
    return [*lines[: most - 1], f"{last.rstrip()}…"]


def _lines(text: str, size: float, room: float) -> Iterator[str]:
    line = ""
    for piece in _pieces(text):
        if line and width((line + piece).rstrip(), size) > room:
            yield line.rstrip()
            line = ""
        line += piece if line else piece.lstrip()
        while width(line.rstrip(), size) > room and len(line) > 1:
            fitting = _fitting(line, size, room)
            yield line[:fitting]
            line = line[fitting:]
    if line.strip():
        yield line.rstrip()


def _fitting(line: str, size: float, room: float) -> int:
    """How many characters of a word that is too long go on one line: one at least."""
    lengths = range(len(line), 1, -1)
    return next((n for n in lengths if width(line[:n], size) <= room), 1)


def _pieces(text: str) -> Iterator[str]:
    """What a line may be broken between: words with the blanks after them, wide characters."""
    piece = ""
    for character in text:
        wide = _em(character) == _WIDE and character not in _CLINGING
        if piece and (wide or (piece.endswith(" ") and character != " ")):
            yield piece
            piece = ""
        piece += character
        if wide:
            yield piece
            piece = ""
    if piece:
        yield piece
