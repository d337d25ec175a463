"""The generated pages are those that the code gives now, and leave nothing undescribed."""

import inspect

import pytest
import typer
from pydantic import BaseModel

from docs.generate import FOLDER, PAGES, REMEDY
from docs.generate.commands import commands, commands_page
from docs.generate.models import undescribed
from docs.generate.rest import operations, rest_page
from docs.generate.tool_files import HTTP_MODELS, option_docs
from router.cli import app
from router.documents.attribute_docs import attribute_docs
from router.domain.budgets import Budget, Budgets
from router.flow.definition import FILE_MODELS
from router.runtime.app import openapi_document
from router.settings import Fallback, Settings
from router.tool.mcp.file import ServerEntry, ToolEntry
from router.tool.tool import tool


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), f"docs/reference/{name} is old: {REMEDY}"


def test_no_page_lies_there_that_nobody_makes() -> None:
    assert {page.name for page in FOLDER.iterdir()} == set(PAGES)


OTHERS = [Settings, Fallback, Budget, Budgets, ServerEntry, ToolEntry]


@pytest.mark.parametrize("model", [*FILE_MODELS, *HTTP_MODELS, *OTHERS])
def test_every_key_says_what_it_means(model: type[BaseModel]) -> None:
    assert undescribed(model) == set()


def test_every_option_of_a_tool_says_what_it_means() -> None:
    assert set(inspect.signature(tool).parameters) == set(option_docs())


def test_every_command_has_a_section() -> None:
    names = [name for name, _ in commands(typer.main.get_command(app))]
    assert {"dev", "flows validate", "tools call"} <= set(names)
    shown = commands_page()
    assert [name for name in names if f"## `{name}`" not in shown] == []


def test_every_call_of_the_api_has_a_section() -> None:
    calls = [f"### `{way} {path}`" for way, path, _ in operations(openapi_document())]
    shown = rest_page()
    assert len(calls) > 20
    assert [call for call in calls if call not in shown] == []


class Parent(BaseModel):
    one: int = 1
    """The first."""


class Child(Parent):
    two: int = 2
    """Said over
    two lines."""
    three: int = 3


def test_what_stands_below_an_attribute_is_its_meaning_inherited_ones_included() -> None:
    assert attribute_docs(Child) == {"one": "The first.", "two": "Said over two lines."}
