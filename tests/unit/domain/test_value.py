"""Copies of values: each change is validated, and checked by mypy before that."""

from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from mypy import api
from pydantic import TypeAdapter, ValidationError, model_validator

import activities
import router
import workflows
from router.contracts.conversation_state import Transcript
from router.domain.value import Value, _field

WRONG = """
from router.contracts.conversation_state import Transcript

Transcript().replace(mode=None, turn_count="three")
Transcript().replace(turn_count=3)
"""


class Span(Value):
    start: int
    end: int = 9

    @cached_property
    def length(self) -> int:
        return self.end - self.start

    @model_validator(mode="after")
    def _in_order(self) -> "Span":
        if self.start > self.end:
            raise ValueError("start: it is after the end")
        return self


def test_a_copy_has_the_new_values_and_the_original_keeps_its_own() -> None:
    span = Span(start=1)

    copy = span.replace(start=2)

    assert (copy, span) == (Span(start=2), Span(start=1))
    assert copy.model_fields_set == {"start"}


def test_a_copy_derives_its_cached_properties_from_its_own_fields() -> None:
    span = Span(start=1)
    assert span.length == 8

    assert span.replace(start=2).length == 7


def test_a_field_that_does_not_exist_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="Transcript has no field 'mode'; it has: turn_count, "):
        Transcript().replace(mode=None)  # type: ignore[call-arg]


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(ValidationError, match="valid integer"):
        Transcript().replace(turn_count="three")  # type: ignore[arg-type]


def test_fields_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ValidationError, match="it is after the end"):
        Span(start=1).replace(end=0)


@pytest.mark.slow
class Chain(Value):
    links: dict[str, "Link"] = {}


class Link(Value):
    name: str


def test_a_value_that_was_only_read_is_copied_whatever_its_class_names_before_it_is_defined() -> (
    None
):
    read = TypeAdapter(Chain).validate_python({})

    longer = read.replace(links={"a": Link(name="a")})

    assert longer.links["a"].name == "a"


def test_each_field_of_each_value_can_be_replaced() -> None:
    for package in (router, workflows, activities):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(NOT_IMPORTED):
                import_module(module.name)

    unusable = [
        f"{kind.__module__}.{kind.__name__}.{name}"
        for kind in subclasses(Value)
        for name in kind.model_fields
        if not _field(kind, name).pydantic_complete
    ]

    assert unusable == []


def subclasses(kind: type[Value]) -> Iterator[type[Value]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


NOT_IMPORTED = ("router.__main__", "router.extensions", "router.cli", "router.store.migrations")
"""Programs, optional code, and revisions, which only alembic imports."""


def test_mypy_refuses_both(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG)

    found, _, status = api.run(["--config-file", "pyproject.toml", str(file)])

    assert status == 1
    assert 'wrong.py:4: error: Unexpected keyword argument "mode" for "replace"' in found
    assert 'wrong.py:4: error: Argument "turn_count" to "replace" of "Value" has' in found
    assert "wrong.py:5" not in found
