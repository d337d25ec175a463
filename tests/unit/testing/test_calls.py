"""Calls of tools, hooks and lookups in a project's tests: one line each."""

from datetime import timedelta
from typing import Annotated

import pytest
from pydantic import JsonValue

from router.domain.errors import Forbidden, InvalidInput
from router.sdk import (
    ArgumentsToolError,
    DecisionEvent,
    Depends,
    Directory,
    Localised,
    ToolContext,
    ToolEvent,
    ToolFile,
    Veto,
    hook,
    lookup,
    people_directory,
    tool,
)
from router.testing import NOW, call_hook, call_lookup, call_tool, make_caller, make_context
from tests.table import each_row


def get_prices() -> dict[str, int]:
    raise AssertionError("the real prices are asked for in a test")


Prices = Annotated[dict[str, int], Depends(get_prices)]


def _is_sold(ware: str, prices: Prices) -> None:
    if ware not in prices:
        raise ArgumentsToolError(Localised(zh="没有", en=f"ware: there is no {ware}"))


@tool("What a ware costs.", permission="read", check=_is_sold, roles=["buyer"])
async def price_of(
    ware: str,
    ctx: ToolContext,
    prices: Prices,
    directory: Annotated[Directory, Depends(people_directory)],
) -> list[JsonValue]:
    """Look up a price."""
    caller = await directory.find(ctx.caller.tenant, ctx.caller.id)
    return [prices[ware], caller.name if caller else None, ctx.key, ctx.now.isoformat()]


BUYER = make_context(make_caller("bob", roles=["buyer"], name="Bob B."))
FAKES = {get_prices: lambda: {"tea": 3}}


def test_a_tool_is_called_with_a_caller_a_moment_and_other_dependencies() -> None:
    found = call_tool(price_of, {"ware": "tea"}, context=BUYER, overrides=FAKES)
    assert found == [3, "Bob B.", "test", "2026-11-18T10:00:00+08:00"]


@each_row(
    ("arguments", "context", "error", "said"),
    [
        ({"ware": "tea"}, make_context("alice"), Forbidden, "it is for buyer"),
        ({}, BUYER, ArgumentsToolError, "price_of: ware: Field required"),
        ({"ware": "ink"}, BUYER, ArgumentsToolError, "ware: there is no ink"),
    ],
)
def test_what_the_gate_would_refuse_is_refused(
    arguments: dict[str, JsonValue], context: ToolContext, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        call_tool(price_of, arguments, context=context, overrides=FAKES)


def test_files_and_tools_of_flows_can_be_tried() -> None:
    @tool("Stamps a file.", permission="write", roles=["flow"])
    async def stamp(file: str, ctx: ToolContext) -> ToolFile:
        given = await ctx.file(file)
        assert ctx.flow_run is not None
        return ToolFile(given.name, given.type, given.content + b" stamped")

    context = make_context(files={"f1": ToolFile("a.txt", "text/plain", b"text")})
    found = call_tool(stamp, {"file": "f1"}, context=context)
    assert isinstance(found, dict)
    assert found["file"]["size"] == len(b"text stamped")  # type: ignore[index, call-overload]
    with pytest.raises(ArgumentsToolError, match="there is no file f2"):
        call_tool(stamp, {"file": "f2"}, context=context)


CLOSED = Localised(zh="星期五不办", en="closed on Fridays")


@hook("before_decision")
def keep_fridays_free(event: DecisionEvent) -> Veto | None:
    """Refuses everything on Fridays."""
    return Veto(say=CLOSED) if event.now.strftime("%A") == "Friday" else None


def test_a_hook_is_called_with_the_event_of_its_point() -> None:
    assert call_hook(keep_fridays_free, text="hello") is None
    assert call_hook(keep_fridays_free, now=NOW + timedelta(days=2)) == Veto(say=CLOSED)
    with pytest.raises(InvalidInput, match=r"DecisionEvent has no words; it has .*text"):
        call_hook(keep_fridays_free, words="hello")


def test_an_event_that_lacks_something_says_what() -> None:
    @hook("before_tool")
    def look(event: ToolEvent) -> None:
        """Looks on."""

    with pytest.raises(InvalidInput, match=r"ToolEvent needs tool, arguments, writes: call_hook"):
        call_hook(look)
    assert call_hook(look, tool="pay", arguments={}, writes=True) is None


def test_a_lookup_is_called_as_an_expression_does() -> None:
    @lookup("a price, as a number")
    async def listed_price(tenant: str, ware: JsonValue, *, prices: Prices) -> JsonValue:
        return [tenant, prices[str(ware)]]

    assert call_lookup(listed_price, "tea", tenant="acme", overrides=FAKES) == ["acme", 3]
    with pytest.raises(InvalidInput, match="get_prices is no lookup; decorate it"):
        call_lookup(get_prices)


async def test_in_a_test_that_runs_an_event_loop_it_says_what_to_write() -> None:
    with pytest.raises(InvalidInput, match="write `def test_…`, or await the decorated function"):
        call_tool(price_of, {"ware": "tea"}, context=BUYER, overrides=FAKES)
