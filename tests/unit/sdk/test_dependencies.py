"""What `Depends` names: made for each call, as FastAPI's users expect, and closed after it."""

import asyncio
import inspect
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from router.domain.errors import DefinitionError, MisconfiguredError
from router.sdk import Depends, ToolContext, TurnEvent, hook, lookup, provider, tool
from router.sdk.lookups import DECLARED_LOOKUPS
from router.tool.context import Dependencies
from tests.table import each_row
from tests.unit.tool.samples import context

events: list[str] = []


@pytest.fixture(autouse=True)
def _no_events() -> None:
    events.clear()


def plain() -> str:
    return "made"


async def coroutine() -> str:
    return "made"


def generator() -> Iterator[str]:
    yield "made"
    events.append("closed")


async def async_generator() -> AsyncIterator[str]:
    yield "made"
    events.append("closed")


class Made:
    def __str__(self) -> str:
        return "made"


class Service:
    def __init__(self, word: Annotated[str, Depends(plain)], size: int = 3) -> None:
        self.word, self.size = word, size


def reading(dependency: Any, *, plainly: bool) -> Any:
    """A tool that depends on it, as a plain function or as `async def`."""
    if plainly:

        @tool("Says it.", permission="read", name="say")
        def say(what: Annotated[Any, Depends(dependency)]) -> list[Any]:
            events.append("called")
            return [str(what)]

        return say

    @tool("Says it.", permission="read", name="say")
    async def say_async(what: Annotated[Any, Depends(dependency)]) -> list[Any]:
        events.append("called")
        return [str(what)]

    return say_async


@each_row("plainly", [False, True])
@each_row(
    ("dependency", "closes"),
    [
        (plain, False),
        (coroutine, False),
        (generator, True),
        (async_generator, True),
        (Made, False),
        (lambda: "made", False),
    ],
)
async def test_each_kind_is_made_for_the_call_and_closed_after_it(
    dependency: Any, closes: bool, plainly: bool
) -> None:
    events.clear()
    said = reading(dependency, plainly=plainly)
    async with Dependencies() as dependencies:
        for _ in range(2):
            assert await said.call({}, context(), dependencies) == ["made"]
    assert events == ["called", *["closed"] * closes] * 2


async def test_a_class_is_named_by_the_annotation_and_given_what_it_needs() -> None:
    @tool("Counts.", permission="read")
    async def count(service: Annotated[Service, Depends()]) -> str:
        return f"{service.word} {service.size}"

    assert await count.call({}, context(), Dependencies()) == "made 3"
    assert count.parameters["properties"] == {}


async def test_what_two_parameters_depend_on_is_made_once_in_a_call() -> None:
    def numbered() -> int:
        events.append("made")
        return len(events)

    def doubled(number: Annotated[int, Depends(numbered)]) -> int:
        return 2 * number

    @tool("Adds.", permission="read")
    def add(
        one: Annotated[int, Depends(numbered)], two: Annotated[int, Depends(doubled)]
    ) -> list[int]:
        return [one, two]

    assert await add.call({}, context(), Dependencies()) == [1, 2]
    assert await add.call({}, context(), Dependencies()) == [2, 4]


async def test_a_dependency_learns_who_calls() -> None:
    def who(ctx: ToolContext) -> str:
        return ctx.caller.id

    @tool("Says who.", permission="read")
    def say(name: str = Depends(who)) -> str:
        return name

    assert await say.call({}, context(), Dependencies()) == "alice"


@each_row("plainly", [False, True])
async def test_a_connection_of_sqlite_is_opened_used_and_closed_in_one_thread(
    plainly: bool,
) -> None:
    def get_db() -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(":memory:")) as db:
            yield db

    def select(db: Annotated[sqlite3.Connection, Depends(get_db)]) -> int:
        return int(db.execute("select 7").fetchone()[0])

    async def select_async(db: Annotated[sqlite3.Connection, Depends(get_db)]) -> int:
        return select(db)

    read = tool("Reads.", permission="read", name="read")(select if plainly else select_async)
    assert await read.call({}, context(), Dependencies()) == 7


async def test_a_generator_sees_the_error_and_can_neither_hide_nor_outlive_it() -> None:
    def transaction() -> Iterator[int]:
        try:
            yield 1
        except LookupError:
            events.append("rolled back")

    @tool("Fails.", permission="write")
    def fail(_one: Annotated[int, Depends(transaction)]) -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        await fail.call({}, context(), Dependencies())
    assert events == ["rolled back"]


@each_row("held_up_in", ["the generator", "the function"])
async def test_a_call_that_takes_too_long_is_left_and_its_generator_closed_when_it_is_over(
    held_up_in: str,
) -> None:
    waiting, going, over = threading.Event(), threading.Event(), threading.Event()

    def hold_up_in(place: str) -> None:
        if place == held_up_in:
            waiting.set()
            going.wait(30)

    def held() -> Iterator[int]:
        hold_up_in("the generator")
        try:
            yield 1
        finally:
            over.set()

    @tool("Waits.", permission="read")
    def wait(_one: Annotated[int, Depends(held)]) -> None:
        hold_up_in("the function")

    call = asyncio.create_task(wait.call({}, context(), Dependencies()))
    assert await asyncio.to_thread(waiting.wait, 30)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not over.is_set()
    going.set()
    assert await asyncio.to_thread(over.wait, 30)


async def test_what_yields_nothing_says_so_with_its_line() -> None:
    def empty() -> Iterator[int]:
        yield from ()

    with pytest.raises(MisconfiguredError, match=r"\.py:\d+: the dependency empty yields"):
        await reading(empty, plainly=False).call({}, context(), Dependencies())


async def test_a_provider_is_made_once_of_any_kind_of_function() -> None:
    @provider
    def shared() -> Iterator[str]:
        events.append("made")
        yield "shared"
        events.append("closed")

    def worded(word: Annotated[str, Depends(shared)]) -> str:
        return word

    async with Dependencies() as dependencies:
        for dependency in (shared, worded, worded):
            said = reading(dependency, plainly=True)
            assert await said.call({}, context(), dependencies) == ["shared"]
    assert events == ["made", "called", "called", "called", "closed"]


@provider
async def shared_word() -> AsyncIterator[str]:
    yield "shared"


@each_row("dependency", [plain, generator, shared_word, Made])
async def test_every_kind_can_be_replaced_in_tests(dependency: Any) -> None:
    said, dependencies = reading(dependency, plainly=False), Dependencies()
    with dependencies.replace({dependency: lambda: "fake"}):
        assert await said.call({}, context(), dependencies) == ["fake"]
    assert await said.call({}, context(), dependencies) in (["made"], ["shared"])


async def test_what_replaces_a_dependency_may_depend_on_others_and_is_closed() -> None:
    def fake(word: Annotated[str, Depends(coroutine)]) -> Iterator[str]:
        yield f"fake {word}"
        events.append("closed")

    said, dependencies = reading(plain, plainly=False), Dependencies()
    with dependencies.replace({plain: fake}):
        assert await said.call({}, context(), dependencies) == ["fake made"]
    assert events == ["called", "closed"]


def of_a_call(word: Annotated[str, Depends(coroutine)]) -> str:
    return word


def itself(word: Annotated[str, Depends(plain)]) -> str:
    return word


@each_row(
    ("dependency", "replacement", "said"),
    [
        (plain, 5, "plain is replaced by 5, which can't be called; name a function"),
        (plain, itself, "plain is replaced by itself, which depends on it; call plain in itself"),
        (5, plain, "Depends(5) names a int"),
        (shared_word, of_a_call, "and needs coroutine, made for each"),
    ],
)
def test_what_can_t_replace_a_dependency_is_told(
    dependency: Any, replacement: Any, said: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        Dependencies().replace({dependency: replacement})
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{__file__}:")


class Row(TypedDict):
    text: str


async def test_a_decorated_tool_can_still_be_called_as_the_function_it_was() -> None:
    @tool("Repeats a text.", permission="read", name="repeat_text")
    def repeat(text: str, times: int = 2) -> Row:
        return {"text": text * times}

    @tool(permission="read")
    async def waits(text: str) -> str:
        """Wait."""
        return text

    row: Row = repeat("a", times=3)
    assert row == {"text": "aaa"}
    assert await waits("a") == "a"
    assert (repeat.name, repeat.description) == ("repeat_text", "Repeats a text.")
    assert [*inspect.signature(repeat).parameters] == ["text", "times"]
    assert await repeat.call({"text": "b"}, context(), Dependencies()) == {"text": "bb"}


async def test_a_plain_function_runs_in_a_thread_of_its_own_and_may_give_signs_of_life() -> None:
    loop_thread, beats = threading.get_ident(), list[int]()

    @tool("Works.", permission="read")
    def work(ctx: ToolContext) -> bool:
        ctx.heartbeat()
        return threading.get_ident() != loop_thread

    def beat() -> None:
        beats.append(threading.get_ident())

    called = context()
    object.__setattr__(called, "beat", beat)
    assert await work.call({}, called, Dependencies()) is True
    await asyncio.sleep(0)
    assert beats == [loop_thread]


async def test_hooks_and_lookups_are_given_the_same() -> None:
    @hook("after_turn")
    def look(event: TurnEvent, word: Annotated[str, Depends(generator)]) -> None:
        """Looks on."""
        events.append(f"{event.text} {word}")

    @lookup("what was made")
    def made_of(tenant: str, thing: str, word: Annotated[str, Depends(generator)]) -> str:
        return f"{tenant} {thing} {word}"

    dependencies, ctx = Dependencies(), context()
    about: dict[str, Any] = {"point": "after_turn", "caller": ctx.caller, "text": "hello"}
    event = TurnEvent.model_construct(**about)
    assert await look.call(event, dependencies) is None
    declared = DECLARED_LOOKUPS.pop("made_of")
    async with dependencies.call_scope(declared.function) as scope:
        assert await declared.answer("acme", ["box"], scope) == "acme box made"
    assert events == ["hello made", "closed", "closed"]
    assert made_of("acme", "box", "self") == "acme box self"
