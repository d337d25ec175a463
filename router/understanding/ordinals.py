"""Places in a row: `第二`, `the second`, `2nd`, `#2`."""

from router.understanding.numbers import parse_number

_WORDS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth"),
)
ORDINAL = "(?:" + "|".join(_WORDS) + r"|\d{1,2}(?:st|nd|rd|th))"
"""An English ordinal, in words or figures."""


def place_of(ordinal: str) -> int | None:
    """The place from 0 that an ordinal, or the figure of one, names; None for no ordinal.

    >>> place_of("second"), place_of("3rd"), place_of("二"), place_of("0")
    (1, 2, 1, None)
    """
    if ordinal in _WORDS:
        return _WORDS.index(ordinal)
    number = parse_number(ordinal[:-2] if ordinal[-2:] in {"st", "nd", "rd", "th"} else ordinal)
    return int(number) - 1 if number is not None and number >= 1 else None
