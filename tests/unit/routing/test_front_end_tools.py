"""Tools that come with a message: what is taken, and what is refused with a clear error."""

from typing import Any

import pytest

from router.domain.errors import InvalidInput
from router.routing.front_end_tools import (
    LONGEST,
    LONGEST_DESCRIPTION,
    MOST_TOOLS,
    FrontEndTool,
    SentTool,
    read,
)
from tests.table import each_row

HOUSE = ["get_leave_balance", "policy-advisor", "leave_request"]
PLACE = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}


def sent(name: Any = "show_map", about: Any = "Shows a map.", parameters: Any = PLACE) -> SentTool:
    return SentTool("tools.0", name, about, parameters)


def test_a_tool_is_offered_as_one_that_the_front_end_calls() -> None:
    (found,) = read([sent()], HOUSE)
    tool = found.tool
    assert (tool.name, tool.description, tool.options.client) == ("show_map", "Shows a map.", True)
    assert (tool.permission, tool.outward, tool.asks_first) == ("read", True, False)
    assert tool.implementation.problems({"to": "上海"}) == []
    assert tool.implementation.problems({"to": 7})
    assert tool.implementation.problems({})


@each_row("parameters", [None, {}, {"properties": {}}, {"type": "object"}])
def test_one_without_arguments_may_leave_them_out(parameters: Any) -> None:
    (found,) = read([sent(parameters=parameters)], HOUSE)
    assert found.tool.implementation.problems({}) == []


HOSTILE: dict[str, tuple[SentTool, str]] = {
    "no name": (sent(name=None), "tools.0.name"),
    "an empty name": (sent(name=""), "tools.0.name"),
    "a number as its name": (sent(name=7), "tools.0.name"),
    "a name with a blank": (sent(name="show map"), "tools.0.name"),
    "a name in Chinese": (sent(name="地图"), "tools.0.name"),
    "a long name": (sent(name="m" * 65), "tools.0.name"),
    "a tool of the house": (sent(name="get_leave_balance"), "tools.0.name"),
    "a skill of the house": (sent(name="policy-advisor"), "tools.0.name"),
    "a flow of the house": (sent(name="leave_request"), "tools.0.name"),
    "a look-alike of one": (sent(name="Get-Leave_Balance"), "tools.0.name"),
    "a function of the desk": (sent(name="dispatch_to_flow"), "tools.0.name"),
    "an activity": (sent(name="publish"), "tools.0.name"),
    "a description that is no text": (sent(about=["x"]), "tools.0.description"),
    "a long description": (sent(about="x" * (LONGEST_DESCRIPTION + 1)), "tools.0.description"),
    "a list as its schema": (sent(parameters=[1]), "tools.0.parameters"),
    "a schema of a text": (sent(parameters={"type": "string"}), "tools.0.parameters"),
    "no schema": (sent(parameters={"type": "object", "required": 7}), "tools.0.parameters"),
    "a reference to elsewhere": (
        sent(parameters={"properties": {"x": {"$ref": "https://evil.example/x"}}}),
        "tools.0.parameters",
    ),
    "a schema without end": (
        sent(parameters={"properties": {"x": {"$ref": "#"}}}),
        "tools.0.parameters",
    ),
    "a pattern that backtracks": (
        sent(parameters={"properties": {"x": {"pattern": "(a+)+(?=b)"}}}),
        "tools.0.parameters",
    ),
    "a control character": (
        sent(parameters={"properties": {"x": {"description": "\x1b[2J"}}}),
        "tools.0.parameters",
    ),
    "a long schema": (
        sent(parameters={"properties": {"x": {"description": "x" * 20_000}}}),
        "tools.0.parameters",
    ),
}


@each_row("case", HOSTILE)
def test_what_cannot_be_offered_is_refused_by_its_field(case: str) -> None:
    tool, field = HOSTILE[case]
    with pytest.raises(InvalidInput) as refused:
        read([tool], HOUSE)
    assert [problem.field for problem in refused.value.problems] == [field]


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="something else"):
        read([sent(), sent(name="Show-Map")], HOUSE)


def test_there_are_so_many_at_most_and_so_long_in_all() -> None:
    few = [sent(name=f"tool_{n}") for n in range(MOST_TOOLS)]
    assert len(read(few, HOUSE)) == MOST_TOOLS
    with pytest.raises(InvalidInput, match=f"at most {MOST_TOOLS}"):
        read([*few, sent()], HOUSE)
    wide = {"properties": {"x": {"description": "x" * 2_000}}}
    with pytest.raises(InvalidInput, match=f"at most {LONGEST}"):
        read([sent(name=f"tool_{n}", parameters=wide) for n in range(MOST_TOOLS)], HOUSE)


def test_every_problem_is_told_at_once_and_none_is_taken() -> None:
    with pytest.raises(InvalidInput) as refused:
        read([sent(name="a b", about=1), sent(name="leave_request")], HOUSE)
    assert len(refused.value.problems) == 3


async def test_nobody_here_makes_its_call() -> None:
    tool = FrontEndTool(name="show_map").tool
    with pytest.raises(TypeError):
        await tool.call({}, None, None)  # type: ignore[arg-type]
