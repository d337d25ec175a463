"""The way around the gate: audited, rated, remembered, paged. On both databases."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import JsonValue

from activities import provided
from activities.builtin.skill_files import read_more
from activities.progress import ProgressPublisher
from activities.tool_caller import ToolCaller, ToolLimiters
from router.contracts.activities import ToolCall
from router.domain.errors import (
    ArgumentsToolError,
    BrokenTool,
    Forbidden,
    NotFound,
    PermanentToolError,
    TooManyRequests,
)
from router.domain.file_types import MOST_BYTES
from router.domain.hooks import ToolEvent, Veto
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.domain.records import AuditRecord
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store
from router.tool.context import Dependencies, ToolContext
from router.tool.hook import hook
from router.tool.registry import Registry
from router.tool.results import ToolFile
from router.tool.tool import Tool, tool
from tests.fakes.audience import Audience

ALICE = Principal(id="alice", name="Alice")
BOB = Principal(id="bob", name="Bob")
NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)
RUN = "leave_request/default/r1"

Answering = Callable[[ToolContext, str], Awaitable[Any]]


class House:
    """A caller over one tool, `look`, which does as it is told."""

    def __init__(self, database: Database) -> None:
        self.store = Store(database)
        self.asked: list[str] = []
        self.answering: Answering = self._plainly

    async def _plainly(self, ctx: ToolContext, what: str) -> JsonValue:
        return {"by": ctx.caller.id, "what": what, "time": len(self.asked)}

    def made(self, limiters: ToolLimiters | None = None, **options: Any) -> ToolCaller:
        async def look(ctx: ToolContext, what: str = "") -> Any:
            """Look."""
            self.asked.append(what)
            return await self.answering(ctx, what)

        return self.caller_of(tool(**{"permission": "read", **options})(look), limiters=limiters)

    def caller_of(self, called: Tool, **more: Any) -> ToolCaller:
        registry, store, dependencies = Registry(), self.store, Dependencies()
        registry.add(called)
        registry.add(read_more)
        dependencies.provide(provided.results, store.results)
        dependencies.provide(provided.files, store.files)
        settings = Settings(user_files_per_day=2, _env_file=None)
        dependencies.provide(provided.settings, settings)
        return ToolCaller(registry, dependencies, store.ledger, store.audit, store.results, **more)

    async def records(self, person: str = "alice") -> list[AuditRecord]:
        return await self.store.audit.of_person("default", person, 20)

    async def audited(self, person: str = "alice") -> list[tuple[str, str, str]]:
        rows = reversed(await self.records(person))
        return [(one.tool, one.decision, one.outcome) for one in rows]


@pytest.fixture
def house(database: Database) -> House:
    return House(database)


def call(what: str = "", name: str = "look", caller: Principal = ALICE, **more: Any) -> ToolCall:
    arguments = more.pop("arguments", {"what": what})
    return ToolCall(tool=name, arguments=arguments, caller=caller, now=NOW, **more)


class TestAudit:
    @pytest.mark.slow
    async def test_every_call_leaves_a_row_and_so_does_every_refusal(self, house: House) -> None:
        caller = house.made(roles=["hr"])
        await caller.call(call(caller=Principal(id="dave", name="Dave", roles=frozenset({"hr"}))))
        with pytest.raises(Forbidden):
            await caller.call(call())
        with pytest.raises(NotFound):
            await caller.call(call(name="destroy"))
        assert await house.audited("dave") == [("look", "admitted", "done")]
        assert await house.audited() == [("look", "refused", ""), ("destroy", "refused", "")]

    async def test_what_is_wrong_with_arguments_is_refused_with_reason(self, house: House) -> None:
        with pytest.raises(ArgumentsToolError):
            await house.made().call(call(arguments={"where": "here"}))
        (record,) = await house.records()
        assert (record.decision, record.outcome) == ("refused", "")
        assert record.detail.startswith("ArgumentsToolError: look: where: ")

    @pytest.mark.slow
    async def test_a_failure_is_one_and_says_why(self, house: House) -> None:
        async def closed(_: ToolContext, __: str) -> JsonValue:
            raise PermanentToolError("closed for good")

        house.answering = closed
        with pytest.raises(PermanentToolError):
            await house.made().call(call(conversation="c1"))
        assert await house.audited() == [("look", "admitted", "failed")]
        (record,) = await house.records()
        assert (record.conversation, record.detail) == ("c1", "PermanentToolError: closed for good")

    async def test_a_call_that_is_stopped_leaves_its_row_too(self, house: House) -> None:
        reached = asyncio.Event()

        async def forever(_: ToolContext, __: str) -> JsonValue:
            reached.set()
            await asyncio.Event().wait()
            return None

        house.answering = forever
        calling = asyncio.create_task(house.made().call(call()))
        await reached.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert await house.audited() == [("look", "admitted", "failed")]
        assert (await house.records())[0].detail == "stopped while it ran"

    async def test_arguments_are_told_apart_and_not_kept(self, house: House) -> None:
        caller = house.made()
        await caller.call(call("a secret"))
        await caller.call(call("another"))
        one, other = await house.records()
        assert one.digest != other.digest
        assert "secret" not in one.model_dump_json() + other.model_dump_json()


class TestCheck:
    @pytest.fixture
    def refusing(self, house: House) -> ToolCaller:
        async def full(ctx: ToolContext, what: str) -> None:
            if what == "full":
                raise PermanentToolError(f"there is no room for {ctx.caller.id}")

        return house.made(check=full, confirm=True, per_minute=1)

    async def test_it_calls_nothing_and_is_audited(
        self, house: House, refusing: ToolCaller
    ) -> None:
        for _ in range(3):
            await refusing.check(call("room"))
        assert house.asked == []
        assert await house.audited() == [("look", "checked", "")] * 3
        await refusing.call(call("room"), confirmed=True)
        assert house.asked == ["room"]

    @pytest.mark.parametrize(
        ("asked", "error", "said"),
        [
            (call("full"), PermanentToolError, "there is no room for alice"),
            (call(arguments={"where": "here"}), ArgumentsToolError, "where: "),
            (call(name="destroy"), NotFound, "destroy"),
        ],
    )
    async def test_what_speaks_against_the_call_is_said_and_audited(
        self, house: House, refusing: ToolCaller, asked: ToolCall, error: type[Exception], said: str
    ) -> None:
        with pytest.raises(error, match=said):
            await refusing.check(asked)
        assert await house.audited() == [(asked.tool, "refused", "")]

    async def test_nobody_confirms_a_refusal(self, house: House, refusing: ToolCaller) -> None:
        for asked, confirmed, error, said in (
            ("full", False, PermanentToolError, "no room"),
            ("room", False, Forbidden, "confirmed"),
            ("full", True, PermanentToolError, "no room"),
        ):
            with pytest.raises(error, match=said):
                await refusing.call(call(asked), confirmed=confirmed)
        refused = ("look", "refused", "")
        assert await house.audited() == [refused, refused, ("look", "admitted", "failed")]
        assert house.asked == []

    async def test_a_check_that_breaks_is_not_tried_again(self, house: House) -> None:
        async def broken() -> None:
            raise ZeroDivisionError

        with pytest.raises(BrokenTool, match="look is broken, and trying again won't help"):
            await house.made(check=broken, permission="write").check(call())

    async def test_a_repeated_write_is_not_refused_for_what_it_did(self, house: House) -> None:
        async def once_only(what: str) -> None:
            if what in house.asked:
                raise PermanentToolError(f"{what} is taken")

        caller = house.made(check=once_only, permission="write")
        booking = call("room", key="k", flow_run=RUN)
        first = await caller.call(booking)
        assert await caller.call(booking) == first
        with pytest.raises(PermanentToolError, match="room is taken"):
            await caller.call(call("room", key="k2", flow_run=RUN))
        assert house.asked == ["room"]
        assert await house.store.ledger.find("k2") is None


class TestHooks:
    """Those that no workflow has asked: the command line's calls, and of hooks that are new."""

    NO = Localised(zh="不行", en="not so")

    def hooked(self, house: House, *, required: bool = False, **options: Any) -> ToolCaller:
        caller = house.made(**options)

        @hook("before_tool", tools=["look"], required=required)
        async def guard(event: ToolEvent) -> Veto | None:
            """Refuses what is rude, and breaks over nothing."""
            if not event.arguments["what"]:
                raise KeyError("what")
            return Veto(say=self.NO) if event.arguments["what"] == "rude" else None

        caller.registry.hooks.swap([], [guard])
        return caller

    async def test_a_call_is_refused_audited_and_never_made(self, house: House) -> None:
        caller = self.hooked(house)
        with pytest.raises(PermanentToolError, match="not so") as refused:
            await caller.call(call("rude"))
        assert refused.value.said == self.NO
        await caller.call(call("kind"))
        assert house.asked == ["kind"]
        assert await house.audited() == [("look", "refused", ""), ("look", "admitted", "done")]

    async def test_a_check_of_the_call_is_refused_too(self, house: House) -> None:
        with pytest.raises(PermanentToolError, match="not so"):
            await self.hooked(house, permission="write").check(call("rude"))

    @pytest.mark.parametrize("required", [False, True])
    async def test_one_that_breaks_stops_it_only_where_it_is_required(
        self, house: House, required: bool
    ) -> None:
        caller = self.hooked(house, required=required)
        if not required:
            await caller.call(call(""))
            assert house.asked == [""]
            return
        with pytest.raises(PermanentToolError, match="isn't working just now"):
            await caller.call(call(""))
        assert house.asked == []

    async def test_what_has_passed_or_was_refused_is_not_asked_again(self, house: House) -> None:
        caller = self.hooked(house)
        await caller.call(call("rude").replace(passed=("guard",)))
        assert house.asked == ["rude"]
        with pytest.raises(PermanentToolError, match="not so"):
            await caller.call(call("kind").replace(passed=("guard",), refused=self.NO))
        assert house.asked == ["rude"]

    async def test_a_write_that_was_begun_comes_to_what_it_comes_to(self, house: House) -> None:
        caller = house.made(permission="write")
        first = await caller.call(call("rude", key="k", flow_run=RUN))
        later = self.hooked(house, permission="write")
        assert await later.call(call("rude", key="k", flow_run=RUN)) == first
        assert house.asked == ["rude"]

    @pytest.mark.slow
    async def test_the_gate_stands_whatever_they_let_pass(self, house: House) -> None:
        caller = self.hooked(house, permission="write", roles=["hr"])
        for passed in ((), ("guard",)):
            with pytest.raises(Forbidden):
                await caller.call(call("kind", key="k").replace(passed=passed), confirmed=True)
        unconfirmed = self.hooked(house, permission="write")
        with pytest.raises(Forbidden, match="confirmed them"):
            await unconfirmed.call(call("kind", key="k").replace(passed=("guard",)))
        assert house.asked == []


class TestRate:
    async def test_a_person_is_held_to_so_many_calls_a_minute(self, house: House) -> None:
        caller = house.made(per_minute=2)
        await caller.call(call("1"))
        await caller.call(call("2"))
        with pytest.raises(TooManyRequests, match="called 2 times in the last minute, 2 are"):
            await caller.call(call("3"))
        await caller.call(call("4", caller=BOB))
        assert house.asked == ["1", "2", "4"]

    async def test_a_flow_keeps_its_promise_however_often_it_calls(self, house: House) -> None:
        caller = house.made(per_minute=1)
        for number in range(3):
            await caller.call(call(str(number), flow_run=RUN))
        assert len(house.asked) == 3


class TestCache:
    async def test_the_same_question_of_the_same_person_is_asked_once(self, house: House) -> None:
        caller = house.made(cache="1m")
        first = await caller.call(call("x"))
        assert await caller.call(call("x")) == first
        await caller.call(call("y"))
        await caller.call(call("x", caller=BOB))
        assert house.asked == ["x", "y", "x"]
        assert ("look", "admitted", "cached") in await house.audited()

    async def test_what_was_found_in_one_language_stays_in_it(self, house: House) -> None:
        caller = house.made(cache="1m")
        for locale in ("zh", "en", None, "en"):
            await caller.call(call("x", locale=locale))
        assert house.asked == ["x", "x"]

    async def test_nothing_is_remembered_unless_the_tool_says_so(self, house: House) -> None:
        caller = house.made()
        assert await caller.call(call("x")) != await caller.call(call("x"))

    async def test_what_is_remembered_is_refused_to_whoever_may_not(self, house: House) -> None:
        caller = house.made(cache="1m", roles=["hr"])
        await caller.call(call(caller=ALICE.model_copy(update={"roles": frozenset({"hr"})})))
        with pytest.raises(Forbidden):
            await caller.call(call())


class TestPages:
    @pytest.fixture
    def caller(self, house: House) -> ToolCaller:
        async def answer(_: ToolContext, __: str) -> JsonValue:
            return ["一行" * 50 for _ in range(300)]

        house.answering = answer
        return house.made()

    async def read_on(
        self, caller: ToolCaller, first: Any, page: Any, person: Principal = ALICE
    ) -> Any:
        given = {"handle": first["read_more"], "page": page}
        return await caller.call(call(name="read_more", caller=person, arguments=given))

    async def test_a_long_result_is_read_on_page_by_page(self, caller: ToolCaller) -> None:
        first: Any = await caller.call(call())
        rest = [await self.read_on(caller, first, n) for n in range(2, first["pages"] + 1)]
        assert rest[-1]["read_more"] is None
        text = "".join(page["text"] for page in [first, *rest])
        assert json.loads(text) == ["一行" * 50 for _ in range(300)]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("page", "person", "said"),
        [
            (2, BOB, "there is no result"),
            (9999, ALICE, "has {pages} pages"),
            *((page, ALICE, "page") for page in (0, -1, 10_001, "2nd")),
        ],
    )
    async def test_a_page_that_is_none_or_anothers_is_refused(
        self, caller: ToolCaller, page: Any, person: Principal, said: str
    ) -> None:
        first: Any = await caller.call(call())
        with pytest.raises(ArgumentsToolError, match=said.format(pages=first["pages"])):
            await self.read_on(caller, first, page, person)

    async def test_a_flow_is_never_given_a_page_for_the_whole(self, caller: ToolCaller) -> None:
        with pytest.raises(PermanentToolError, match="ask it for less"):
            await caller.call(call(flow_run=RUN))


async def test_a_tool_says_how_far_it_is_to_whoever_watches(house: House) -> None:
    @tool(permission="read")
    async def count(ctx: ToolContext) -> None:
        """Count."""
        ctx.heartbeat()
        await ctx.progress("half" * 500)

    audience = Audience()
    caller = house.caller_of(count, telling=ProgressPublisher(audience))
    await caller.call(call(name="count", arguments={}, conversation="c1", call_id="1"))
    (told,) = audience.told
    about = {"id": "1", "name": "count", "progress": ("half" * 500)[:500]}
    assert (told.type, told.data) == ("tool_started", about)


CSV = ToolFile("days.csv", "text/csv", b"type,days\n")


async def give_csv(_: ToolContext, __: str) -> Any:
    return {"rows": 1, "csv": CSV}


class TestFiles:
    async def test_a_file_of_a_result_is_the_callers(self, house: House) -> None:
        house.answering = give_csv
        found: Any = await house.made().call(call(caller=BOB))
        about = found["csv"]["file"]
        kept = await house.store.files.find("default", about["id"])
        assert kept is not None
        assert (kept.owner, kept.name, kept.type, kept.size) == ("bob", "days.csv", "text/csv", 10)
        assert await house.store.files.content("default", kept.id) == CSV.content

    @pytest.mark.parametrize("remembering", [{"permission": "write"}, {"cache": "1m"}])
    async def test_repeated_it_gives_the_same_file(
        self, house: House, remembering: dict[str, Any]
    ) -> None:
        house.answering = give_csv
        caller = house.made(**remembering)
        one = call(key="k", flow_run=RUN) if "permission" in remembering else call()
        assert await caller.call(one, confirmed=True) == await caller.call(one, confirmed=True)
        assert len(house.asked) == 1

    async def test_a_write_whose_file_is_too_large_says_it_was_done(self, house: House) -> None:
        async def too_large(_: ToolContext, __: str) -> Any:
            return ToolFile("a.bin", "", b"0" * (MOST_BYTES + 1))

        house.answering = too_large
        caller = house.made(permission="write")
        for _ in range(2):
            found: Any = await caller.call(call(key="k", flow_run=RUN), confirmed=True)
            assert found["note"].startswith("已经办成了，只是结果给不出来：“Look”给出的文件")
        assert len(house.asked) == 1

    async def test_a_write_whose_file_is_one_too_many_of_a_day_says_it_was_done(
        self, house: House
    ) -> None:
        house.answering = give_csv
        caller = house.made(permission="write")
        asked = [call(key=f"k{n}", flow_run=RUN) for n in range(3)]
        *_, found = [await caller.call(one, confirmed=True) for one in asked]
        assert isinstance(found, dict)
        assert "24 小时内最多可以有 2 个" in str(found["note"])

    async def test_the_largest_file_is_kept_and_a_byte_more_keeps_none(self, house: House) -> None:
        async def several(_: ToolContext, what: str) -> Any:
            return [CSV, ToolFile("a.bin", "", b"0" * (MOST_BYTES + int(what)))]

        house.answering = several
        found: Any = await house.made().call(call("0"))
        assert [one["file"]["size"] for one in found] == [10, MOST_BYTES]
        with pytest.raises(PermanentToolError, match=r"look gave the file 'a\.bin' of 10485761"):
            await house.made().call(call("1"))
