"""Tables of cases: one test runs every row and reports each row that fails.

A row costs nothing but its own call. As tests of their own, 16,000 rows were most of what
collecting the suite cost, in each of its processes.
"""

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest
from _pytest.mark import ParameterSet

Ids = Iterable[object] | Callable[[Any], object] | None


class Row(NamedTuple):
    """One row of a table: the arguments that it passes, and its id or an empty string."""

    arguments: dict[str, Any]
    id: str

    @property
    def title(self) -> str:
        """What a failure calls the row."""
        return self.id or "-".join(reprlib.repr(value) for value in self.arguments.values())


def each_row(
    names: str | Sequence[str], values: Iterable[Any], ids: Ids = None
) -> Callable[[Any], Any]:
    """Run the decorated test once for each row, as one test.

    Use it as `pytest.mark.parametrize`, also several times, for tests whose fixtures the rows may
    share. A row that fails does not stop the rows after it. For rows with marks, and for rows
    that each need fixtures of their own, use `pytest.mark.parametrize`.

    Args:
        names: The parameters that a row fills, as a list or separated by commas.
        values: The rows; for a single parameter the values themselves.
        ids: What a failure calls each row, or a function of its values; by default their `repr`.

    Raises:
        TypeError: There is no row, or one has marks or another number of values than names.

    Example:
        >>> @each_row("text, words", [("a b", 2), ("", 0)])
        ... def test_words_are_counted(text, words):
        ...     assert len(text.split()) == words
    """
    given = names.split(",") if isinstance(names, str) else names
    parameters = tuple(name.strip() for name in given)
    alone = isinstance(names, str) and len(parameters) == 1
    titles = () if ids is None or callable(ids) else tuple(ids)
    table = []
    for number, value in enumerate(values):
        row = ParameterSet.extract_from(value, force_tuple=alone)
        if row.marks or len(row.values) != len(parameters):
            raise TypeError(f"{value!r} is no row of {', '.join(parameters)} without marks")
        title = str(titles[number] if titles else row.id or "")
        if callable(ids):
            title = "-".join(str(ids(each)) for each in row.values)
        table.append(Row(dict(zip(parameters, row.values, strict=True)), title))
    if not table:
        raise TypeError(f"the table of {', '.join(parameters)} has no rows: such a test can't fail")

    def decorate(test: Any) -> Any:
        inner, tables = getattr(test, "table", (test, ()))
        return _over_rows(inner, (*tables, table))

    return decorate


def _over_rows(test: Any, tables: tuple[list[Row], ...]) -> Any:
    if inspect.iscoroutinefunction(test):

        @functools.wraps(test)
        async def over_rows(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for case in product(*tables):
                try:
                    await test(**_arguments(case), **fixtures)
                except OUTCOMES:
                    with subtests.test("-".join(row.title for row in case)):
                        raise
    else:

        @functools.wraps(test)
        def over_rows(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for case in product(*tables):
                try:
                    test(**_arguments(case), **fixtures)
                except OUTCOMES:
                    with subtests.test("-".join(row.title for row in case)):
                        raise

    filled = {name for table in tables for row in table for name in row.arguments}
    wanted = [p for name, p in inspect.signature(test).parameters.items() if name not in filled]
    subtests = inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    over_rows.__signature__ = inspect.Signature([*wanted, subtests])  # type: ignore[attr-defined]
    over_rows.table = (test, tables)  # type: ignore[attr-defined]
    return over_rows


def _arguments(case: Sequence[Row]) -> dict[str, Any]:
    return {name: value for row in case for name, value in row.arguments.items()}


OUTCOMES = (Exception, pytest.fail.Exception, pytest.skip.Exception)
