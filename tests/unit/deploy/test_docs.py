"""Pages that must keep up with the code."""

import re
import tomllib
from pathlib import Path

import pytest

from router.flow.definition import (
    Approve,
    FlowDefinition,
    Retry,
    Slot,
    State,
    Triggers,
    Wait,
    Withdrawal,
)
from router.flow.language.functions import FUNCTIONS, LOOKUPS

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LIBRARIES = (ROOT / "docs" / "libraries.md").read_text()
FLOWS = (ROOT / "docs" / "flows.md").read_text()


EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = [*PROJECT["dependencies"], *EXTRAS["adapters"], *EXTRAS["docs"], *EXTRAS["test"]]


@pytest.mark.parametrize(
    "requirement", [name for name in REQUIREMENTS if not name.startswith("intent-router[")]
)
def test_every_dependency_says_why_it_is_here(requirement: str) -> None:
    name = re.split(r"[<>=]", requirement)[0]
    if not name.startswith("types-"):
        assert f"`{name}`" in LIBRARIES


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_every_dependency_stops_before_an_incompatible_version(requirement: str) -> None:
    """But tzdata, whose versions are years: an old one has the wrong time somewhere."""
    assert "<" in requirement or requirement.startswith("tzdata>=")


@pytest.mark.parametrize(
    "model", [FlowDefinition, Triggers, Slot, State, Approve, Wait, Retry, Withdrawal]
)
def test_every_key_of_a_flow_file_is_described(model: type) -> None:
    keys = {field.alias or name for name, field in model.model_fields.items()}  # type: ignore[attr-defined]
    keys = {key for key in keys if not key.startswith("=")}  # no file has those
    assert {key for key in keys if not re.search(rf"`[^`]*\b{key}\b[^`]*`", FLOWS)} == set()


@pytest.mark.parametrize("name", [*FUNCTIONS, *LOOKUPS])
def test_every_function_of_expressions_is_described(name: str) -> None:
    assert f"`{name}(" in FLOWS
