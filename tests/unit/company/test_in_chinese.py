"""What a person who is addressed in Chinese sees of the tools that ship."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import JsonValue

import activities.builtin
import company.tools
from router.domain.principals import FLOW_ROLE
from router.extensions.http.declarations import HttpImplementation, load_http_tools
from router.flow.engine.events import Began, Called
from router.flow.prompts.field_names import FIELDS, VALUES
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from router.routing.tool_form import form_of
from router.runtime.extensions import import_packages, load_extensions
from router.tool.implementation import FunctionImplementation
from router.tool.labels import LABEL
from router.tool.registry import Registry
from router.tool.tool import Tool
from tests.table import each_row
from tests.unit.flow.definitions import Driver

HTTP = Path(next(iter(company.tools.__path__))) / "http"
SEARCH = {"ROUTER_TOOL_SEARCH_URL": "https://search.example.com"}
HAN = re.compile(r"[\u4e00-\u9fff]")
LATIN = re.compile(r"[A-Za-z]")


def callable_by_people() -> dict[str, Tool]:
    declared = load_http_tools(HTTP, SEARCH, Sender(OutboundGuard())).tools
    of_extensions = chain.from_iterable(map(import_packages, load_extensions()))
    packages = (activities.builtin, company.tools, *of_extensions)
    found = [*Registry().discover(*packages), *declared]
    return {tool.name: tool for tool in found if tool.roles != {FLOW_ROLE}}


def _properties(tool: Tool) -> dict[str, Any]:
    found: Any = tool.parameters["properties"]
    return dict(found)


TOOLS = callable_by_people()
ARGUMENTS = {
    f"{tool.name}.{name}": schema
    for tool in TOOLS.values()
    for name, schema in _properties(tool).items()
}


def test_code_and_declared_tools_are_among_them() -> None:
    assert {"calculate", "get_leave_balance", "get_weather", "web_search"} <= set(TOOLS)
    assert "record_leave" not in TOOLS


@each_row("argument", ARGUMENTS)
def test_every_argument_has_a_chinese_label(argument: str) -> None:
    label = ARGUMENTS[argument].get(LABEL, "")
    assert HAN.search(label)
    assert not LATIN.search(label)
    assert len(label) <= 12


@each_row("name", TOOLS)
def test_every_tool_is_described_in_chinese_for_its_listing(name: str) -> None:
    about = TOOLS[name].capability.description
    assert HAN.search(about.zh)
    assert not LATIN.search(about.zh)
    assert about.en == TOOLS[name].description


@each_row("name", TOOLS)
def test_a_form_asks_and_offers_choices_without_a_word_of_english(name: str) -> None:
    form = form_of(TOOLS[name])
    assert form is not None
    for slot in form.slots.values():
        assert slot.label is not None
        assert slot.ask is not None
        choices = [choice.label.zh for choice in slot.choices.values()]
        assert not LATIN.search("".join([slot.label.zh, slot.ask.zh, *choices]))
        assert slot.ask.en.endswith("?")


def test_a_balance_is_asked_for_and_told_in_chinese() -> None:
    form = form_of(TOOLS["get_leave_balance"])
    assert form is not None
    driver = Driver(form)
    driver.run.locale = "zh"
    driver.take(Began(by="alice", slots={}), answer=False)
    (task,) = driver.run.work.tasks
    found: dict[str, JsonValue] = {"leave_type": "annual", "days": 12.0, "used": 3}
    driver.take(Called(task=task, value=found))
    assert driver.said == ["类型：年假\n天数：12\n已用：3"]


@each_row("name", TOOLS)
def test_every_field_of_a_result_and_every_choice_has_a_chinese_word(name: str) -> None:
    fields = _fields(TOOLS[name])
    assert {field for field, _ in fields} <= set(FIELDS)
    fixed = [(field, value) for field, values in fields for value in values if value]
    assert [pair for pair in fixed if pair[1] not in VALUES.get(pair[0], {})] == []


def _fields(tool: Tool) -> list[tuple[str, list[str]]]:
    behind = tool.implementation
    if isinstance(behind, FunctionImplementation):
        return list(_in_schema(behind.signature.result.json_schema(mode="serialization")))
    assert isinstance(behind, HttpImplementation)
    places = behind.wanted.places
    return [(name, []) for name in (places if isinstance(places, dict) else behind.wanted.keep)]


def _in_schema(schema: Any) -> Iterator[tuple[str, list[str]]]:
    if isinstance(schema, list):
        for inner in schema:
            yield from _in_schema(inner)
    if isinstance(schema, dict):
        for name, inner in schema.get("properties", {}).items():
            yield name, list(_choices(inner))
        for inner in schema.values():
            yield from _in_schema(inner)


def _choices(schema: Any) -> Iterator[str]:
    yield from schema.get("enum", [])
    for inner in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        yield from _choices(inner)
