"""What is wrong with a piece of a file, before anyone knows which line it stands on."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple


class Fault(NamedTuple):
    """One thing wrong, and what would be right.

    >>> str(Fault("there is no slot strat", "did you mean start?"))
    'there is no slot strat; did you mean start?'
    """

    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"


def nearest(name: str, known: Iterable[str]) -> str:
    """The question whether the most similar known name was meant; empty where none is similar."""
    found = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {found[0]}?" if found else ""
