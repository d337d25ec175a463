"""Tables that `make test` takes a sample of, and `make test-all` the rest."""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet

__all__ = ["one_in"]


def one_in(every: int, cases: Iterable[Any]) -> list[ParameterSet]:
    """The cases for `parametrize`: the first of each `every` is quick, the others are slow.

    For tables whose rows go one way through the code and cost a tenth of a second or more each.
    What of the sample is broken `make test` sees at once; who changes that code runs
    `make test-all` on the file. A case that is a tuple gives several arguments.

    >>> [len(case.marks) for case in one_in(3, "abcde")]
    [0, 1, 1, 0, 1]
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=pytest.mark.slow if at % every else (),
        )
        for at, case in enumerate(cases)
    ]
