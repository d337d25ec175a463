import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.call_tool import ToolActivity
from activities.progress import ProgressPublisher
from activities.tool_caller import ToolCaller
from activities.tool_results import RESULT_BYTES
from router.contracts.activities import LookupAnswer, ToolCall
from router.domain.errors import (
    ArgumentOffer,
    ArgumentsToolError,
    BrokenTool,
    DuplicateKey,
    Forbidden,
    MisconfiguredError,
    NotFound,
    OfferedValue,
    OutOfReach,
    PermanentToolError,
    SeveralFit,
    TransientToolError,
    Unavailable,
    UnknownOutcome,
    UnusableResult,
)
from router.domain.locale import Localised
from router.domain.messages import PREVIEW
from router.domain.principals import Principal
from router.domain.progress import Progress
from router.store.database import Database
from router.store.store import Store
from router.tool.context import Dependencies, Depends, Provider, ToolContext
from router.tool.registry import Registry
from router.tool.tool import tool
from tests.fakes.audience import Audience
from tests.one_try import run_tool

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

ALICE = Principal(id="alice", name="Alice", timezone="America/New_York")
BOB = Principal(id="bob", name="Bob")
RUN = "leave_request/default/r1"
NOW = datetime(2026, 11, 18, 2, 0, tzinfo=UTC)

Behaviour = Callable[[ToolContext], Awaitable[JsonValue]]


class World:
    """A system that tools put to: does as it is told, and remembers every call."""

    def __init__(self) -> None:
        self.calls: list[ToolContext] = []
        self.behaviour: Behaviour = self.well

    async def call(self, ctx: ToolContext) -> JsonValue:
        self.calls.append(ctx)
        return await self.behaviour(ctx)

    async def well(self, ctx: ToolContext) -> JsonValue:
        return {"by": ctx.caller.id}

    async def slowly(self, ctx: ToolContext) -> JsonValue:
        await asyncio.sleep(5)
        return None

    def fail(self, *errors: Exception) -> None:
        """Fail with each of `errors` in turn, and then do well."""
        left = list(errors)

        async def behave(ctx: ToolContext) -> JsonValue:
            if left:
                raise left.pop(0)
            return await self.well(ctx)

        self.behaviour = behave


def tools_of(world: World) -> Registry:
    async def look(ctx: ToolContext) -> JsonValue:
        """Look."""
        return await world.call(ctx)

    async def put(ctx: ToolContext, text: str = "") -> JsonValue:
        """Write, honouring the key."""
        del text
        return await world.call(ctx)

    async def shoot(ctx: ToolContext) -> JsonValue:
        """Write, whatever the key."""
        return await world.call(ctx)

    registry = Registry()
    registry.add(tool(permission="read", timeout="200ms", retries=2)(look))
    registry.add(tool(permission="write", timeout="200ms", retries=2)(put))
    registry.add(tool(permission="write", timeout="200ms", idempotent=False)(shoot))
    return registry


class LibraryError(Exception):
    """What a client library says of its own, of whatever kind."""


def caused(error: Exception, by: Exception) -> Exception:
    error.__cause__ = by
    return error


class Bench:
    """`run_tool` with everything it needs at hand."""

    def __init__(self, database: Database) -> None:
        self.world = World()
        self.registry = tools_of(self.world)
        self.store = Store(database)
        self.ledger = self.store.ledger
        self.audience = Audience()

    async def run(self, name: str, key: str = "k", caller: Principal = ALICE, **more: Any) -> Any:
        confirmed = more.pop("confirmed", False)
        fields: dict[str, Any] = {"flow_run": RUN, "arguments": {}, "now": NOW, **more}
        call = ToolCall(tool=name, caller=caller, key=key, **fields)
        return await run_tool(self.registry, self.ledger, Dependencies(), call, confirmed)

    async def crash(self, name: str) -> None:
        """End the process between what a tool does and noting it."""

        async def crash(key: str, result: JsonValue) -> None:
            raise SystemExit

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.ledger, "finish", crash)
            with pytest.raises(SystemExit):
                await self.run(name)


@pytest.fixture
def bench(database: Database) -> Bench:
    return Bench(database)


class TestReads:
    async def test_a_read_runs_each_time_with_its_context(self, bench: Bench) -> None:
        for _ in range(2):
            assert await bench.run("look", key="", conversation="c1") == {"by": "alice"}
        assert len(bench.world.calls) == 2
        ctx = bench.world.calls[0]
        assert (ctx.caller, ctx.flow_run, ctx.conversation) == (ALICE, RUN, "c1")
        assert ctx.now == NOW
        assert ctx.now.utcoffset() == timedelta(hours=-5)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("raised", "comes_out"),
        [
            (KeyError("bug"), BrokenTool),
            (TypeError("bug"), BrokenTool),
            (Exception("bug"), BrokenTool),
            (OSError("reset"), TransientToolError),
            (caused(ValueError("no answer"), by=ConnectionError("reset")), TransientToolError),
            (LibraryError("no connection"), TransientToolError),
            (TransientToolError("later"), TransientToolError),
            (Unavailable("down"), Unavailable),
            (ArgumentsToolError("wrong"), ArgumentsToolError),
            (PermanentToolError("no"), PermanentToolError),
        ],
    )
    async def test_what_a_read_raises_says_whether_to_try_again(
        self, bench: Bench, raised: Exception, comes_out: type[Exception]
    ) -> None:
        bench.world.fail(raised)
        with pytest.raises(comes_out):
            await bench.run("look")

    async def test_a_read_that_takes_too_long_may_be_tried_again(self, bench: Bench) -> None:
        bench.world.behaviour = bench.world.slowly
        with pytest.raises(TransientToolError, match=r"look took longer than 0\.2 s"):
            await bench.run("look")

    @pytest.mark.parametrize(
        ("result", "said"),
        [
            ("x" * RESULT_BYTES, "more than 65536"),
            ("假" * 30_000, "90002 bytes"),
            (float("nan"), "a number that is no JSON: nan"),
        ],
    )
    async def test_results_are_short_json(self, bench: Bench, result: JsonValue, said: str) -> None:
        async def odd(ctx: ToolContext) -> JsonValue:
            return result

        bench.world.behaviour = odd
        with pytest.raises(UnusableResult, match=said):
            await bench.run("look")


class TestWrites:
    @pytest.mark.parametrize("name", ["put", "shoot"])
    async def test_a_write_happens_once_for_its_key(self, bench: Bench, name: str) -> None:
        assert [await bench.run(name) for _ in range(3)] == [{"by": "alice"}] * 3
        assert [ctx.key for ctx in bench.world.calls] == ["k"]

    async def test_a_crash_before_it_was_noted_repeats_with_its_key(self, bench: Bench) -> None:
        await bench.crash("put")
        await bench.run("put")
        await bench.run("put")
        assert [ctx.key for ctx in bench.world.calls] == ["k", "k"]

    async def test_one_that_does_not_honour_its_key_is_never_repeated(self, bench: Bench) -> None:
        await bench.crash("shoot")
        for _ in range(2):
            with pytest.raises(UnknownOutcome, match="never heard of again"):
                await bench.run("shoot")
        assert len(bench.world.calls) == 1

    @pytest.mark.parametrize("raised", [KeyError("bug"), Unavailable("down"), None])
    async def test_what_it_did_is_unknown(self, bench: Bench, raised: Exception | None) -> None:
        bench.world.behaviour = bench.world.slowly
        if raised is not None:
            bench.world.fail(raised)
        for _ in range(2):
            with pytest.raises(UnknownOutcome, match="shoot may or may not have happened"):
                await bench.run("shoot")
        assert len(bench.world.calls) == 1

    async def test_what_a_broken_write_did_is_unknown(self, bench: Bench) -> None:
        bench.world.fail(KeyError("bug"))
        with pytest.raises(UnknownOutcome, match=r"put may or may not have .*put is broken"):
            await bench.run("put")
        # Whoever has mended it may have it made: it honours its key.
        assert await bench.run("put") == {"by": "alice"}

    async def test_a_write_that_honours_its_key_is_tried_again(self, bench: Bench) -> None:
        bench.world.fail(ConnectionError("cut"), Unavailable("down"))
        with pytest.raises(TransientToolError, match="put failed unexpectedly"):
            await bench.run("put")
        with pytest.raises(Unavailable):
            await bench.run("put")
        assert await bench.run("put") == {"by": "alice"}

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["put", "shoot"])
    @pytest.mark.parametrize(
        ("raised", "told"),
        [
            (ArgumentsToolError, ArgumentsToolError),
            (PermanentToolError, PermanentToolError),
            (OutOfReach, OutOfReach),
            (NotFound, PermanentToolError),
        ],
    )
    async def test_a_refusal_stands_and_is_not_asked_for_again(
        self, bench: Bench, name: str, raised: type[Exception], told: type[Exception]
    ) -> None:
        bench.world.fail(raised("only 2 days: left"))
        for _ in range(2):
            with pytest.raises(told, match="only 2 days: left"):
                await bench.run(name)
        assert len(bench.world.calls) == 1

    async def test_a_refused_write_offers_its_choice_each_time(self, bench: Bench) -> None:
        which, either = Localised(zh="哪一个？", en="Which one?"), Localised(zh="甲", en="A")
        offers = (OfferedValue(value="a", label=either),)
        offered = ArgumentOffer(argument="text", ask=which, offers=offers)
        bench.world.fail(SeveralFit("Which one?", offered))
        for _ in range(2):
            with pytest.raises(SeveralFit) as refused:
                await bench.run("put")
            assert refused.value.offered == offered
        assert len(bench.world.calls) == 1

    async def test_an_unknown_outcome_that_a_tool_reports_passes(self, bench: Bench) -> None:
        bench.world.fail(UnknownOutcome("the bank hung up"))
        with pytest.raises(UnknownOutcome, match="the bank hung up"):
            await bench.run("put")

    @pytest.mark.parametrize(
        "other", [{"arguments": {"text": "other"}}, {"caller": BOB}, {"undoes": "j"}]
    )
    async def test_a_key_is_for_one_call(self, bench: Bench, other: dict[str, Any]) -> None:
        await bench.run("put")
        with pytest.raises(DuplicateKey, match="'k'"):
            await bench.run("put", **other)

    async def test_two_people_may_use_the_same_key(self, bench: Bench) -> None:
        for person in (ALICE, BOB):
            result = await bench.run("put", caller=person, flow_run=None, confirmed=True)
            assert result == {"by": person.id}
        await bench.run("put", flow_run=None, confirmed=True, key="k2", undoes="k")
        assert [ctx.key for ctx in bench.world.calls][:2] == ["default/alice/k", "default/bob/k"]
        assert bench.world.calls[2].undoes == "default/alice/k"

    async def test_an_unconfirmed_write_of_a_person_leaves_no_trace(self, bench: Bench) -> None:
        with pytest.raises(Forbidden, match="confirmed"):
            await bench.run("put", flow_run=None)
        assert bench.world.calls == []
        assert await bench.ledger.begin("default/alice/k", "put", "d") is None


def test_a_worker_with_something_missing_does_not_start(database_url: str) -> None:
    registry = tools_of(World())
    missing: Provider[int] = Provider("payroll")

    @tool(permission="read")
    async def pay(count: Annotated[int, Depends(missing)]) -> int:
        """Pay."""
        return count

    registry.add(pay)
    with pytest.raises(MisconfiguredError, match="payroll"):
        ToolCaller(registry, Dependencies(), None, None, None)  # type: ignore[arg-type]


@workflow.defn
class CallsTools:
    @workflow.run
    async def run(self, call: ToolCall, name: str) -> LookupAnswer:
        answer: LookupAnswer = await workflow.execute_activity(
            name or call.tool,
            call,
            result_type=LookupAnswer,
            start_to_close_timeout=timedelta(seconds=10),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10)),
        )
        return answer


@pytest.fixture
def temporal(temporal_client: Client) -> Client:
    return temporal_client


class TestActivity:
    async def execute(
        self, temporal: Client, bench: Bench, name: str, activity: str = "", **more: Any
    ) -> Any:
        store = bench.store
        kept = (store.ledger, store.audit, store.results)
        caller = ToolCaller(bench.registry, Dependencies(), *kept)
        call_tool = ToolActivity(caller, ProgressPublisher(bench.audience))
        fields: dict[str, Any] = {"arguments": {}, "key": "k", "flow_run": RUN, "now": NOW, **more}
        call = ToolCall(tool=name, caller=ALICE, **fields)
        queue = uuid4().hex
        async with Worker(
            temporal,
            task_queue=queue,
            workflows=[CallsTools],
            activities=[call_tool.call_tool],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ):
            return await temporal.execute_workflow(
                CallsTools.run, args=[call, activity], id=queue, task_queue=queue
            )

    async def failure(self, *arguments: Any, **more: Any) -> ApplicationError:
        with pytest.raises(WorkflowFailureError) as caught:
            await self.execute(*arguments, **more)
        cause = caught.value.cause
        assert isinstance(cause, ActivityError)
        assert isinstance(cause.cause, ApplicationError)
        return cause.cause

    async def test_what_may_pass_is_tried_again(self, temporal: Client, bench: Bench) -> None:
        bench.world.fail(ConnectionError("cut"), Unavailable("down"))
        assert await self.execute(temporal, bench, "put") == LookupAnswer(
            value={"by": "alice"}, attempts=3
        )
        assert len(bench.world.calls) == 3

    @pytest.mark.parametrize(("name", "kind"), [("look", "BrokenTool"), ("put", "UnknownOutcome")])
    async def test_what_is_broken_is_not(
        self, temporal: Client, bench: Bench, name: str, kind: str
    ) -> None:
        bench.world.fail(TypeError("bug"))
        assert (await self.failure(temporal, bench, name)).type == kind
        assert len(bench.world.calls) == 1

    async def test_what_is_refused_is_not(self, temporal: Client, bench: Bench) -> None:
        bench.world.fail(PermanentToolError("no"))
        assert (await self.failure(temporal, bench, "put")).type == "PermanentToolError"
        assert len(bench.world.calls) == 1

    @pytest.mark.parametrize(("name", "kind"), [("look", "OutOfReach"), ("put", "UnknownOutcome")])
    async def test_a_tool_that_keeps_failing_is_given_up_after_its_retries(
        self, temporal: Client, bench: Bench, name: str, kind: str
    ) -> None:
        bench.world.fail(*[Unavailable("down")] * 10)
        failure = await self.failure(temporal, bench, name)
        assert failure.type == kind
        assert "failed 3 times" in failure.message
        assert len(bench.world.calls) == 3

    async def test_what_nobody_knows_fails_by_name(self, temporal: Client, bench: Bench) -> None:
        unknown = await self.failure(temporal, bench, "nothing")
        mixed_up = await self.failure(temporal, bench, "put", "look")
        assert "'nothing'" in unknown.message
        assert unknown.type == "NotDeployed"
        assert "the activity look was sent a call of the tool put" in mixed_up.message


class TestWatched:
    async def watched(
        self, temporal: Client, bench: Bench, name: str = "put", **more: Any
    ) -> list[Progress]:
        where = {"conversation": "c1", "message_id": "m1", "call_id": "call_0", **more}
        with suppress(WorkflowFailureError):
            await TestActivity().execute(temporal, bench, name, **where)
        return bench.audience.told

    async def test_it_starts_and_ends_once(self, temporal: Client, bench: Bench) -> None:
        bench.world.fail(ConnectionError("cut"), Unavailable("down"))
        began, ended = await self.watched(temporal, bench)
        about: dict[str, JsonValue] = {"id": "call_0", "name": "put"}
        assert (began.type, began.data) == ("tool_started", {**about, "arguments": {}})
        assert (began.tenant, began.conversation, began.message_id) == ("default", "c1", "m1")
        assert ended.data["milliseconds"] in range(10_000)
        about |= {"status": "done", "milliseconds": ended.data["milliseconds"]}
        about |= {"result": '{"by": "alice"}'}
        assert (ended.type, ended.data) == ("tool_finished", about)

    async def test_what_is_personal_or_secret_in_a_call_is_not_told(
        self, temporal: Client, bench: Bench
    ) -> None:
        async def found(ctx: ToolContext) -> JsonValue:
            return {"mail": "bob@corp.example", "token": "abc123", "days": 3}

        bench.world.behaviour = found
        text = "call me: 13812345678" + " and on" * 400
        began, ended = await self.watched(temporal, bench, arguments={"text": text})
        assert isinstance(told := began.data["arguments"], dict)
        assert str(told["text"]).startswith("call me: [phone] and on")
        assert len(json.dumps(told, ensure_ascii=False)) <= 2 * PREVIEW
        assert ended.data["result"] == '{"mail": "[email]", "token": "[secret]", "days": 3}'

    async def test_why_it_failed_is_told(self, temporal: Client, bench: Bench) -> None:
        bench.world.fail(PermanentToolError("there is no such room"))
        told = await self.watched(temporal, bench, "look")
        assert told[-1].data["result"] == "there is no such room"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "error", "status", "arguments"),
        [
            ("look", PermanentToolError("no"), "failed", {}),
            ("look", ArgumentsToolError("no"), "failed", {}),
            ("put", UnknownOutcome("perhaps"), "unknown", {}),
            ("look", Unavailable("down"), "failed", {}),
            ("put", Unavailable("down"), "unknown", {}),
            ("put", Unavailable("what the gate refuses ends too"), "failed", {"colour": "red"}),
        ],
    )
    async def test_how_it_failed_is_told(
        self,
        temporal: Client,
        bench: Bench,
        name: str,
        error: Exception,
        status: str,
        arguments: Any,
    ) -> None:
        bench.world.fail(*[error] * 10)
        told = await self.watched(temporal, bench, name, arguments=arguments)
        assert [one.type for one in told] == ["tool_started", "tool_finished"]
        assert told[-1].data["status"] == status

    @pytest.mark.slow
    async def test_a_flow_is_watched_in_a_conversation(
        self, temporal: Client, bench: Bench
    ) -> None:
        assert await self.watched(temporal, bench, conversation=None) == []
        told = await self.watched(temporal, bench, key="k2", message_id="")
        assert [one.message_id for one in told] == ["", ""]
