"""A flow calls out: an HTTP tool, a CloudEvent, a signal and a Nexus operation of other systems'.

The other side is real: a web server, and on a real Temporal server a workflow and a Nexus handler
that a worker of somebody else's runs.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from nexusrpc import HandlerError, HandlerErrorType
from nexusrpc.handler import StartOperationContext, service_handler, sync_operation
from temporalio import workflow
from temporalio.api.nexus.v1 import EndpointSpec, EndpointTarget
from temporalio.api.operatorservice.v1 import CreateNexusEndpointRequest
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities import provided
from router.domain.errors import DefinitionError, PermanentToolError, UnknownOutcome
from router.extensions.http.declarations import load_http_tools, tools_in_text
from router.extensions.http.nexus_workflow import NexusCallWorkflow
from router.flow.definition import FlowDefinition
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from router.runtime.composition import Parts
from router.tool.tool import Tool
from tests.fakes.web_server import WebServer, json_reply
from tests.table import each_row
from tests.unit.tool.samples import context
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk, becomes, defined, flow_of
from tests.workflow.tooled import Tooled

ENDPOINT, THEIRS = "erp", "their-queue"
CALLS: list[tuple[Mapping[str, str], Any]] = []
"""What their Nexus handler was called with: headers and input."""


@service_handler(name="Purchasing")
class Purchasing:
    @sync_operation
    async def create_order(self, ctx: StartOperationContext, order: Any) -> Any:
        CALLS.append((ctx.headers, order))
        if order["article"] == "nothing":
            raise HandlerError("no such article", type=HandlerErrorType.BAD_REQUEST)
        return {"order": {"number": f"PO-{order['amount']}"}, "internal": "x"}


@workflow.defn(sandboxed=False)
class Warehouse:
    """Somebody else's: it hears of goods that are on their way."""

    def __init__(self) -> None:
        self._expected: list[Any] = []

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)

    @workflow.signal
    def goods_expected(self, goods: Any) -> None:
        self._expected.append(goods)

    @workflow.query
    def expected(self) -> list[Any]:
        return self._expected


@pytest.fixture(scope="module")
async def others(real_client: Client) -> AsyncIterator[Client]:
    """The other company: an endpoint, a Nexus handler and a workflow, on its own queue."""
    target = EndpointTarget.Worker(namespace=real_client.namespace, task_queue=THEIRS)
    spec = EndpointSpec(name=ENDPOINT, target=EndpointTarget(worker=target))
    await real_client.operator_service.create_nexus_endpoint(CreateNexusEndpointRequest(spec=spec))
    async with Worker(
        real_client,
        task_queue=THEIRS,
        workflows=[Warehouse],
        nexus_service_handlers=[Purchasing()],
    ):
        yield real_client


PROPERTIES = {"article": {"type": "string"}, "amount": {"type": "integer"}}
NEXUS = {
    "name": "create_order",
    "title": {"zh": "建采购单", "en": "Create an order"},
    "description": "Creates a purchase order.",
    "parameters": {"type": "object", "required": [*PROPERTIES], "properties": PROPERTIES},
    "temporal": {
        "nexus": {"endpoint": ENDPOINT, "service": "Purchasing", "operation": "create_order"},
        "input": {"article": "{article}", "amount": "{amount}", "by": "{context.user_id}"},
    },
    "result": "/order",
}
SIGNAL = {
    "name": "announce_goods",
    "title": {"zh": "通知仓库", "en": "Tell the warehouse"},
    "description": "Tells the warehouse what is on its way.",
    "parameters": {
        "type": "object",
        "required": ["site", "article"],
        "properties": {"site": {"type": "string"}, "article": {"type": "string"}},
    },
    "temporal": {
        "signal": {"name": "goods_expected", "workflow_id": "warehouse-{site}"},
        "input": {"article": "{article}", "key": "{context.idempotency_key}"},
    },
}


def declared(folder: Path, *tools: Mapping[str, Any], allow: str = "") -> list[Tool]:
    (folder / "tools.json").write_text(json.dumps([*tools]), "utf-8")
    sender = Sender(OutboundGuard([allow] if allow else []))
    return load_http_tools(folder / "tools.json", {}, sender).tools


FLOW = """\
flow: purchase
version: 1
title: {zh: 采购, en: Purchase}
description: {zh: 买东西, en: Buy something}
triggers: {patterns: [采购], roles: [employee]}
slots:
  article: {type: text, ask: {zh: 买什么, en: What}}
  amount: {type: integer, ask: {zh: 几个, en: How many}}
start: ask
states:
  ask: {collect: [article, amount], next: sure}
  sure: {confirm: {zh: 买吗, en: Buy}, confirmed: order, declined: ask}
  order:
    call: create_order
    with: {article: slots.article, amount: slots.amount}
    save: order
    next: tell
    on_error: failed
  tell:
    call: announce_goods
    with: {site: "'north'", article: slots.article}
    next: done
    on_error: failed
  done:
    say: {zh: "单号 {{ results.order.number }}", en: "{{ results.order.number }}"}
    end: completed
  failed: {say: {zh: 没买成, en: It failed}, end: failed}
"""


@asynccontextmanager
async def buying(
    tooled: Tooled, parts: Parts, client: Client, tools: list[Tool], flow: FlowDefinition
) -> AsyncIterator[Talk]:
    async with tooled(tools, flows=[flow]) as talk:

        async def connected() -> Client:
            return client

        with (
            parts.dependencies.override(provided.temporal, connected),
            parts.dependencies.override(provided.task_queue, talk.queue),
        ):
            yield talk


async def bought(talk: Talk, article: str) -> str:
    """Ask for three of an article, and confirm it; the run's id."""
    await talk.say("采购")
    await talk.say(article)
    await talk.say("3")
    return flow_of(await talk.say("确认")).id


@pytest.mark.slow
async def test_a_flow_calls_an_operation_and_signals_a_workflow_of_others(
    tooled: Tooled, parts: Parts, others: Client, tmp_path: Path
) -> None:
    theirs = await others.start_workflow(Warehouse.run, id="warehouse-north", task_queue=THEIRS)
    tools = declared(tmp_path, NEXUS, SIGNAL)
    async with buying(tooled, parts, others, tools, defined(FLOW)) as talk:
        run = await bought(talk, "螺丝")
        record = await becomes(parts, run, lambda r: r.status == "completed")
    [(headers, order)] = [call for call in CALLS if call[1]["article"] == "螺丝"]
    assert order == {"article": "螺丝", "amount": 3, "by": "alice"}
    assert headers["idempotency-key"].startswith(record.workflow_id)
    [goods] = await theirs.query(Warehouse.expected)
    assert goods["article"] == "螺丝"
    assert goods["key"].startswith(record.workflow_id)
    await theirs.terminate()


@pytest.mark.slow
async def test_what_they_refuse_is_told_and_not_tried_again(
    tooled: Tooled, parts: Parts, others: Client, tmp_path: Path
) -> None:
    tools = declared(tmp_path, NEXUS, SIGNAL)
    async with buying(tooled, parts, others, tools, defined(FLOW)) as talk:
        run = await bought(talk, "nothing")
        await becomes(parts, run, lambda r: r.status == "failed")
    assert len([call for call in CALLS if call[1]["article"] == "nothing"]) == 1


@pytest.mark.slow
async def test_a_workflow_that_is_not_there_is_said(
    tooled: Tooled, parts: Parts, others: Client, tmp_path: Path
) -> None:
    tools = declared(tmp_path, NEXUS, SIGNAL)
    async with buying(tooled, parts, others, tools, defined(FLOW)) as talk:
        run = await bought(talk, "nuts")
        await becomes(parts, run, lambda r: r.status == "failed")


@each_row(("permission", "error"), [("write", UnknownOutcome), ("read", PermanentToolError)])
async def test_a_call_that_somebody_stops_is_no_refusal(
    parts: Parts, others: Client, tmp_path: Path, permission: str, error: type[Exception]
) -> None:
    """What was changed there by then nobody knows."""
    [made] = declared(tmp_path, {**NEXUS, "permission": permission})
    queue, key = uuid4().hex, uuid4().hex

    async def connected() -> Client:
        return others

    with (
        parts.dependencies.override(provided.temporal, connected),
        parts.dependencies.override(provided.task_queue, queue),  # where nobody works
    ):
        given: dict[str, Any] = {"article": "bolts", "amount": 1}
        call = made.implementation.call(given, context(key=key), parts.dependencies)
        calling = asyncio.create_task(call)
        known = hashlib.sha256(key.encode()).hexdigest()[:32]
        handle = others.get_workflow_handle(f"nexus/default/{known}")
        async with asyncio.timeout(HANGS_AFTER_S):
            while not calling.done():
                with suppress(RPCError):  # it has yet to begin
                    await handle.terminate("an operator's doing")
                await asyncio.wait({calling}, timeout=0.1)
    with pytest.raises(error, match="somebody stopped it"):
        await calling


class TestOnce:
    """The same call made again, as after a worker's death, does nothing twice."""

    @pytest.fixture
    def again(self, parts: Parts, others: Client, tmp_path: Path) -> Any:
        async def called(tool: Mapping[str, Any], **arguments: Any) -> list[Any]:
            [made] = declared(tmp_path, tool)
            queue, key = uuid4().hex, uuid4().hex

            async def connected() -> Client:
                return others

            with (
                parts.dependencies.override(provided.temporal, connected),
                parts.dependencies.override(provided.task_queue, queue),
            ):
                async with Worker(
                    others,
                    task_queue=queue,
                    workflows=[NexusCallWorkflow],
                    workflow_runner=UnsandboxedWorkflowRunner(),
                ):
                    return [
                        await made.implementation.call(
                            arguments, context(key=key), parts.dependencies
                        )
                        for _ in range(3)
                    ]

        return called

    async def test_an_operation(self, again: Any) -> None:
        results = await again(NEXUS, article="washers", amount=7)
        assert results == [{"number": "PO-7"}] * 3
        assert len([call for call in CALLS if call[1]["article"] == "washers"]) == 1

    async def test_a_signal(self, again: Any, others: Client) -> None:
        theirs = await others.start_workflow(Warehouse.run, id="warehouse-east", task_queue=THEIRS)
        results = await again(SIGNAL, site="east", article="washers")
        assert results == [{"signalled": "warehouse-east"}] * 3
        assert len(await theirs.query(Warehouse.expected)) == 1
        await theirs.terminate()


EVENT = {
    "name": "order_wanted",
    "title": {"zh": "发事件", "en": "Send an event"},
    "description": "Says that an order is wanted.",
    "parameters": {
        "type": "object",
        "required": ["article"],
        "properties": {"article": {"type": "string"}},
    },
    "endpoint": {"method": "POST", "body": {"article": "{article}"}},
    "cloudevent": {
        "type": "com.example.order.wanted",
        "source": "/desk",
        "subject": "articles/{article}",
    },
}
EVENT_FLOW = """\
flow: wanted
version: 1
title: {zh: 想要, en: Want}
description: {zh: 想要东西, en: Want something}
triggers: {patterns: [想要], roles: [employee]}
slots:
  article: {type: text, ask: {zh: 什么, en: What}}
start: ask
states:
  ask: {collect: [article], next: send}
  send: {call: order_wanted, with: {article: slots.article}, next: done, on_error: failed}
  done: {say: {zh: 发了, en: Sent}, end: completed}
  failed: {say: {zh: 没发成, en: It failed}, end: failed}
"""


@pytest.mark.slow
async def test_a_flow_sends_a_cloud_event_under_one_id(
    tooled: Tooled, parts: Parts, others: Client, tmp_path: Path
) -> None:
    """A first try that isn't taken, and the second one with the same id."""
    answers = [json_reply({}, 503), json_reply({"taken": True}, 202)]
    async with WebServer(lambda _: answers.pop(0)) as broker:
        entry = {**EVENT, "idempotent": True}
        entry["endpoint"] = {**EVENT["endpoint"], "url": f"{broker.origin}/events"}  # type: ignore[dict-item]
        tools = declared(tmp_path, entry, allow=broker.origin)
        async with buying(tooled, parts, others, tools, defined(EVENT_FLOW)) as talk:
            await talk.say("想要")
            run = flow_of(await talk.say("screws")).id
            record = await becomes(parts, run, lambda r: r.status == "completed")
        first, second = broker.requests
    attributes = {name: value for name, value in second.headers.items() if name.startswith("ce-")}
    assert attributes.pop("ce-time")
    assert attributes.pop("ce-id").startswith(record.workflow_id)
    assert attributes == {
        "ce-specversion": "1.0",
        "ce-type": "com.example.order.wanted",
        "ce-source": "/desk",
        "ce-subject": "articles/screws",
    }
    assert second.headers["content-type"] == "application/json"
    assert json.loads(second.body) == {"article": "screws"}
    assert first.headers["ce-id"] == second.headers["ce-id"]
    assert second.headers["idempotency-key"] == second.headers["ce-id"]


URL = {"url": "https://broker.example/events", "method": "POST", "body": {"a": 1}}
CLOUD = {"name": "tell", "description": "Tells.", "endpoint": URL}
NEXT = {"endpoint": "e", "service": "s", "operation": "o"}
HOSTILE: list[tuple[Mapping[str, Any], str]] = [
    ({**CLOUD, "cloudevent": {"type": "a", "source": "/a", "id": "1"}}, "there is no id"),
    ({**CLOUD, "cloudevent": {"source": "/a"}}, "there is no type"),
    ({**CLOUD, "cloudevent": {"type": "a {b}", "source": "/a"}}, "no attribute of a CloudEvent"),
    ({**CLOUD, "cloudevent": {"type": "a", "source": 'x"y'}}, "no attribute of a CloudEvent"),
    ({**CLOUD, "cloudevent": {"type": "类型", "source": "/a"}}, "no attribute of a CloudEvent"),
    (
        {**CLOUD, "cloudevent": {"type": "a", "source": "/a", "subject": "{who}"}},
        "there is no parameter who",
    ),
    (
        {**CLOUD, "endpoint": {**URL, "method": "PUT"}, "cloudevent": {"type": "a", "source": "/"}},
        "sent by PUT",
    ),
    ({**CLOUD, "permission": "read", "cloudevent": {"type": "a", "source": "/"}}, "is a read"),
    (
        {
            **CLOUD,
            "endpoint": {**URL, "headers": {"Ce-Id": "1"}},
            "cloudevent": {"type": "a", "source": "/"},
        },
        "is the CloudEvent's",
    ),
    ({**NEXUS, "temporal": {}}, "write either signal or nexus"),
    ({**NEXUS, "temporal": {"nexus": NEXT, "signal": {"name": "a", "workflow_id": "b"}}}, "either"),
    ({**NEXUS, "temporal": {"nexus": {"endpoint": "e"}}}, "there is no service"),
    ({**NEXUS, "temporal": {"nexus": NEXT}}, "the parameter article is used nowhere"),
    ({**NEXUS, "temporal": {"nexus": NEXT, "input": "{who}"}}, "there is no parameter who"),
    ({**NEXUS, "temporal": {"nexus": {**NEXT, "url": "x"}}}, "there is no url"),
    ({**NEXUS, "idempotent": False}, "done more than once"),
    ({**NEXUS, "name": "decide"}, "means something else"),
    ({**SIGNAL, "permission": "read"}, "a signal is a read"),
    (
        {**SIGNAL, "temporal": {"signal": {"name": "a", "workflow_id": "{site}"}}},
        "the id begins with a hole",
    ),
    ({**SIGNAL, "endpoint": URL}, "there is no endpoint"),
]


@each_row(("entry", "why"), HOSTILE)
def test_what_can_not_be_declared_is_said(
    tmp_path: Path, entry: Mapping[str, Any], why: str
) -> None:
    with pytest.raises(DefinitionError, match=why):
        declared(tmp_path, entry)


def test_a_tenants_document_reaches_no_workflow() -> None:
    sender = Sender(OutboundGuard())
    with pytest.raises(DefinitionError, match="reaches no workflows"):
        tools_in_text(Path("tools.json"), json.dumps(SIGNAL), {}, sender)
