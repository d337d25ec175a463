"""What is wrong with a piece of a flow file, before anyone knows which line it stands on."""

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
