"""A tool's own rules: read at import, and asked before anybody is asked to confirm."""

from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field

from router.domain.errors import ArgumentsToolError, DefinitionError
from router.tool.context import Dependencies, Depends, Provider, ToolContext
from router.tool.registry import Registry
from router.tool.tool import Tool, tool
from tests.unit.tool.samples import context

seats: Provider[int] = Provider("seats")
Days = Annotated[Decimal, Field(gt=0)]


def book_with(check: Any, **options: Any) -> Tool:
    async def book(room: str, days: Days, ctx: ToolContext, note: str = "") -> None:
        """Book a room."""

    return tool(**{"permission": "write", "check": check, **options})(book)


async def no_room(days: Decimal, ctx: ToolContext, most: Annotated[int, Depends(seats)]) -> None:
    if days > most:
        raise ArgumentsToolError(f"days: {days!r} of {most} for {ctx.caller.id}")


async def test_it_takes_some_of_the_arguments_validated_its_context_and_what_is_provided() -> None:
    dependencies = Dependencies()
    dependencies.provide(seats, 2)
    made = book_with(no_room)
    assert made.check is not None
    await made.check({"room": "a", "days": "1.5"}, context(), dependencies)
    with pytest.raises(ArgumentsToolError, match=r"days: Decimal\('3'\) of 2 for alice"):
        await made.check({"room": "a", "days": 3}, context(), dependencies)


def test_what_it_needs_has_to_be_provided_like_what_its_tool_needs() -> None:
    registry = Registry()
    registry.add(book_with(no_room))
    assert registry.providers() == {seats}
    registry.withhold(seats)
    assert registry.visible_to(context().caller) == []


def sync(room: str) -> None: ...
async def unknown(rooms: str) -> None: ...
async def injected(ctx_: ToolContext, ctx: ToolContext) -> None: ...
async def optional(ctx: ToolContext | None) -> None: ...
async def other(room: int) -> None: ...
async def looser(days: Decimal | None) -> None: ...
async def bare(room) -> None: ...  # type: ignore[no-untyped-def]
async def silent(room: str): ...  # type: ignore[no-untyped-def]
async def answering(room: str) -> bool: ...  # type: ignore[empty-body]
async def endless(*room: str) -> None: ...
async def positional(room: str, /) -> None: ...
async def unreadable(room: "Roooom") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (sync, "isn't asynchronous; write `async def`"),
        ("no function", "isn't asynchronous; write `async def`"),
        (unknown, "'rooms', which the tool doesn't have; it may take room, days, note"),
        (injected, "asks for its context twice; leave out the parameter 'ctx'"),
        (optional, "is made of ToolContext and isn't one; write `ctx: ToolContext`"),
        (other, "takes 'room' as int, the tool as str; write the tool's type"),
        (looser, "the tool as Decimal; write the tool's type"),
        (bare, "'room' without an annotation; write its type, as in `room: str`"),
        (silent, "doesn't say that it gives nothing, or a text; annotate it with `-> None`"),
        (answering, "doesn't say that it gives nothing, or a text; annotate it with `-> None`"),
        (endless, "declare each parameter by itself"),
        (positional, "declare each parameter by itself"),
        (unreadable, "can't be read: name 'Roooom' is not defined"),
    ],
)
def test_a_function_that_cannot_be_the_check_is_refused_with_the_remedy(
    check: Any, said: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        book_with(check)
    assert said in str(caught.value)
    assert " of the tool book " in str(caught.value)
    assert str(caught.value).startswith(f"{__file__}:")


def test_what_the_front_end_calls_is_not_checked_here() -> None:
    with pytest.raises(DefinitionError, match="checked here and called there"):
        book_with(no_room, permission="read", client=True)
