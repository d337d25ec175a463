"""Nobody reaches what is another's, or another tenant's: whatever takes an id answers 404."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient, Response
from temporalio.client import Client

from router.api.dependencies import Services
from router.contracts import flow
from router.directory.file import FileDirectory
from router.domain.configuration_documents import DocumentVersion
from router.domain.hand_offs import HandOffDesk, HandOffRecord
from router.domain.records import LogEntry
from router.extensions.authoring.draft_store import FlowDrafts
from router.extensions.authoring.drafts import DraftBase, FlowDraft
from router.extensions.authoring.review_store import FlowReviews
from router.extensions.authoring.reviews import FlowReview
from router.runtime.server import create_app
from router.store.store import Store
from tests.integration.api.conftest import QUEUE, As, client_of, problem, served
from tests.integration.api.test_events import AT, reading
from tests.integration.api.test_files import send
from tests.integration.api.test_runs import approval_record, run_record
from tests.table import each_row
from tests.unit.runtime.documents import SKILL, overtime

OTHER = "acme"
"""A tenant in which there is another person by each id."""
METHODS = {"get", "put", "post", "delete", "patch"}


@dataclass(frozen=True)
class Row:
    """A call that takes an id: who may make it, and what it sends."""

    owner: str = "alice"
    body: Any = None
    endless: bool = False


CONVERSATION = "/v1/conversations/{conversation}"
RUN = "/v1/flow-runs/{run}"
HAND_OFF = "/v1/handoffs/{hand_off}"
DOCUMENT = "/v1/configuration/{kind}/{document}"
REVIEW = "/v1/flow-reviews/{review}"
PUBLICATION = "/v1/flow-publications/{flow}"
FLOW_DRAFT = "/v1/flow-drafts/{flow}"
TABLE = {
    ("get", CONVERSATION): Row(),
    ("delete", CONVERSATION): Row(),
    ("post", f"{CONVERSATION}/cancel"): Row(),
    ("post", f"{CONVERSATION}/messages"): Row(body={"text": "hello"}),
    ("get", f"{CONVERSATION}/messages"): Row(),
    ("get", f"{CONVERSATION}/messages/{{message_id}}"): Row(),
    ("get", f"{CONVERSATION}/events"): Row(endless=True),
    ("get", RUN): Row(),
    ("get", f"{RUN}/graph"): Row(),
    ("post", f"{RUN}/withdraw"): Row(body={}),
    ("post", f"{RUN}/amendments"): Row(body={"slots": {"end": "2026-12-09"}}),
    ("post", f"{RUN}/nudge"): Row(body={}),
    ("post", f"{RUN}/events/{{name}}"): Row("dave", {"boxes": 1}),
    ("post", f"{RUN}/retry"): Row("olga"),
    ("post", f"{RUN}/terminate"): Row("olga", {}),
    ("post", f"{RUN}/reassign"): Row("olga", {"instead_of": "bob", "to": "carol"}),
    ("post", "/v1/approvals/{approval}/decision"): Row(
        "bob", {"decision": "approve", "digest": "d1"}
    ),
    ("get", "/v1/files/{file}"): Row(),
    ("get", "/v1/files/{file}/document"): Row(),
    ("get", "/v1/files/{file}/preview"): Row(),
    ("get", "/v1/turns/{conversation}/{message_id}"): Row("olga"),
    ("post", "/v1/webhooks/deliveries/{delivery}/retry"): Row("olga"),
    ("delete", "/v1/memory/{memory}"): Row(),
    ("get", HAND_OFF): Row("dave"),
    ("get", f"{HAND_OFF}/messages"): Row("dave"),
    ("post", f"{HAND_OFF}/take"): Row("dave"),
    ("post", f"{HAND_OFF}/reply"): Row("dave", {"text": "hello"}),
    ("post", f"{HAND_OFF}/return"): Row("dave"),
    ("post", f"{HAND_OFF}/close"): Row("dave"),
    ("get", REVIEW): Row("olga"),
    ("get", f"{REVIEW}/patch"): Row("olga"),
    ("post", f"{REVIEW}/decision"): Row("nina", {"decision": "approve"}),
    ("post", f"{REVIEW}/withdrawal"): Row("olga"),
    ("get", PUBLICATION): Row("olga"),
    ("patch", PUBLICATION): Row("olga", {"share": 50}),
    ("post", f"{PUBLICATION}/rollback"): Row("olga"),
    ("delete", f"{PUBLICATION}/upcoming"): Row("olga"),
    ("get", DOCUMENT): Row("olga"),
    ("get", f"{DOCUMENT}/versions"): Row("olga"),
    ("post", f"{DOCUMENT}/activate"): Row("olga", {"version": 1}),
    ("delete", DOCUMENT): Row("olga"),
    ("get", FLOW_DRAFT): Row("olga"),
    ("delete", FLOW_DRAFT): Row("olga"),
    ("get", f"{FLOW_DRAFT}/bpmn"): Row("olga"),
    ("post", f"{FLOW_DRAFT}/difference"): Row("olga", {"text": "flow: x", "over": "draft"}),
}
NOBODYS = {
    ("get", "/v1/models/{model}"),
    ("get", "/v1/flow-gallery/{flow}"),
    ("get", "/v1/flow-statistics/{flow}"),
    ("get", "/v1/flow-statistics/{flow}.csv"),
    ("get", "/v1/flow-statistics/{flow}/picture"),
    ("put", "/v1/prompts/{job}/shares"),
    ("post", "/v1/prompts/{job}/rollback"),
    ("put", DOCUMENT),
    ("post", PUBLICATION),
    ("put", FLOW_DRAFT),
    ("post", f"{FLOW_DRAFT}/restoration"),
}
"""Calls whose path has a name that is nobody's in particular."""

STRANGERS = ["frank", *(f"{OTHER}/{user}" for user in ("alice", "bob", "dave", "olga"))]
"""A colleague whom nothing of it concerns; and in the other tenant those of the same ids."""


@pytest.fixture(scope="module")
def tenants(services: Services) -> Services:
    """The sample company twice: as the default tenant and as the other one, with one more."""
    sample = FileDirectory.load().everyone()
    there = [person.model_copy(update={"tenant": OTHER}) for person in sample]
    zed = sample[0].model_copy(update={"id": "zed", "tenant": OTHER})
    helps = HandOffDesk(roles=frozenset({"hr"}))
    # A second operator, who may review what olga has submitted.
    olga = next(person for person in sample if person.id == "olga")
    nina = olga.model_copy(update={"id": "nina"})
    everybody = FileDirectory([*sample, *there, zed, nina])
    return replace(services, directory=everybody, hand_off_desk=lambda _: helps)


@pytest.fixture(scope="module")
def app(tenants: Services) -> FastAPI:
    return create_app(tenants)


def document(name: str) -> DocumentVersion:
    return DocumentVersion(
        tenant="default",
        kind="skills",
        name=name,
        version=1,
        digest="d",
        text=SKILL.replace("travel-tips", name),
        author="olga",
        written_at=AT,
    )


def turn_of(conversation: str, message_id: str, turn: Any) -> LogEntry:
    return LogEntry(
        key=message_id,
        kind="turn",
        at=AT,
        conversation=conversation,
        message_id=message_id,
        data={"digest": "d", "turn": turn},
    )


def draft_of_olga(flow: str) -> FlowDraft:
    return FlowDraft(
        flow=flow,
        author="olga",
        text=overtime(),
        revision=1,
        base=DraftBase(source="draft"),
        updated_at=AT,
    )


def submitted_by_olga(id_: str, flow: str) -> FlowReview:
    return FlowReview(
        id=id_,
        tenant="default",
        flow=flow,
        version=1,
        author="olga",
        note="",
        text="",
        stories="",
        digest="d",
        held=None,
        held_text="",
        held_stories="",
        submitted_at=AT,
        status="open",
        passed=1,
        failed=0,
    )


def handed_to_dave(id_: str, conversation: str) -> HandOffRecord:
    return HandOffRecord(
        id=id_,
        tenant="default",
        conversation=conversation,
        requester="alice",
        cause="asked",
        reason="a word of alice's",
        state="taken",
        agent="dave",
        since=AT,
        waiting_since=AT,
        due=AT,
        version=1,
    )


@pytest.fixture
async def ids(
    caller: As, store: Store, temporal: Client, unique: str
) -> AsyncIterator[dict[str, str]]:
    """Ids of alice's, of each kind; her run waits for bob."""
    alice = caller("alice")
    conversation = (await alice.post("/v1/conversations", json={})).json()["id"]
    path = f"/v1/conversations/{conversation}/messages"
    said = {"text": "a word of alice's", "message_id": unique}
    turn = (await alice.post(path, json=said)).json()
    await store.log.append("default", [turn_of(conversation, unique, turn)])
    record = run_record(unique[:12])
    approval = approval_record(record)
    await temporal.start_workflow(flow.WORKFLOW, "bob", id=record.workflow_id, task_queue=QUEUE)
    await store.runs.publish(record, [approval])
    kept = document(f"s{unique}")
    await store.configuration.write(kept, await store.configuration.mark("default"))
    draft = draft_of_olga(f"f{unique}")
    await FlowDrafts(store.database).save("default", draft)
    review = submitted_by_olga(f"r{unique}", draft.flow)
    await FlowReviews(store.database).submit(review)
    handed_off = handed_to_dave(f"h{unique}", conversation)
    await store.hand_offs.publish(handed_off)
    yield {
        "kind": kept.kind,
        "document": kept.name,
        "flow": draft.flow,
        "review": review.id,
        "conversation": conversation,
        "message_id": unique,
        "run": record.id,
        "name": "arrived",
        "delivery": await _told(store, record.id),
        "approval": approval.id,
        "hand_off": handed_off.id,
        "file": (await send(alice)).json()["id"],
        "memory": (await alice.post("/v1/memory", json={"text": unique})).json()["id"],
    }
    # Nobody has room for as many drafts as there are tests.
    await FlowDrafts(store.database).discard("default", "olga", draft.flow)


async def _told(store: Store, run: str) -> str:
    """An event of the run's that another system has yet to hear of."""
    found, _ = await store.webhooks.listed("default", "waiting", None, 200)
    return next(one.id for one in found if one.subject == run)


async def asked(
    client: AsyncClient, method: str, path: str, row: Row, ids: dict[str, str]
) -> Response:
    return await client.request(method, path.format(**ids), json=row.body)


def test_every_call_that_takes_an_id_is_in_the_table(app: FastAPI) -> None:
    paths = app.openapi()["paths"]
    found = {
        (method, path)
        for path, operations in paths.items()
        for method in METHODS & operations.keys()
        if "{" in path
    }
    assert found == TABLE.keys() | NOBODYS


@pytest.mark.parametrize(("method", "path"), TABLE, ids=map(" ".join, TABLE))
async def test_what_is_anothers_is_not_there(
    caller: As, ids: dict[str, str], method: str, path: str
) -> None:
    row = TABLE[method, path]
    never_was = dict.fromkeys(ids, "never-was") | {"name": ids["name"]}
    for stranger in [*STRANGERS, "olga"] if path.startswith(CONVERSATION) else STRANGERS:
        answer = await asked(caller(stranger), method, path, row, ids)
        unknown = await asked(caller(stranger), method, path, row, never_was)
        assert (answer.status_code, answer.text) == (404, unknown.text), stranger
    if row.endless:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await asked(caller(row.owner), method, path, row, ids)
        return
    answer = await asked(caller(row.owner), method, path, row, ids)
    assert answer.status_code in {200, 202, 204, 409}, answer.text


@pytest.mark.slow
@each_row("stranger", STRANGERS)
async def test_no_list_has_what_is_anothers(caller: As, ids: dict[str, str], stranger: str) -> None:
    for path in ("conversations", "flow-runs", "approvals", "people", "capabilities", "memory"):
        answer = await caller(stranger).get(f"/v1/{path}")
        assert answer.status_code == 200
        assert not [id_ for id_ in ids.values() if f'"{id_}"' in answer.text], path


async def test_an_operators_lists_are_of_one_tenant(caller: As, ids: dict[str, str]) -> None:
    here, there = caller("olga"), caller(f"{OTHER}/olga")
    await here.get(f"/v1/flow-runs/{ids['run']}")
    for path, id_ in (("audit", "run"), ("turns", "conversation"), ("flow-runs", "run")):
        query = f"/v1/{path}?limit=200" + "&all=true" * (path == "flow-runs")
        assert ids[id_] in (await here.get(query)).text
        assert ids[id_] not in (await there.get(query)).text


async def test_one_key_in_two_tenants_makes_two_conversations(caller: As, unique: str) -> None:
    made = [
        (await caller(user).post("/v1/conversations", headers={"Idempotency-Key": unique})).json()
        for user in ("alice", f"{OTHER}/alice", "alice")
    ]
    assert made[0]["id"] == made[2]["id"] != made[1]["id"]


@pytest.mark.slow
async def test_one_name_of_a_chat_is_anothers_for_each(caller: As, ids: dict[str, str]) -> None:
    """Faces that name a chat themselves: to know alice's id opens nothing of hers."""
    path = f"/v1/conversations/{ids['conversation']}/messages"
    before = (await caller("alice").get(path)).json()
    messages = [{"id": "m", "role": "user", "content": "a stranger's word"}]
    run = {"threadId": ids["conversation"], "runId": ids["message_id"], "messages": messages}
    chat = {"model": "intent-router", "messages": messages}
    named = {"X-Conversation-Id": ids["conversation"], "X-Message-Id": ids["message_id"]}
    for stranger in STRANGERS:
        for face, body in (("/ag-ui", run), ("/v1/chat/completions", chat)):
            told = await caller(stranger).post(face, json=body, headers=named)
            assert told.status_code == 200
            assert "alice's" not in told.text
    assert (await caller("alice").get(path)).json() == before


@pytest.mark.slow
async def test_an_assistant_reaches_nothing_of_anothers(caller: As, ids: dict[str, str]) -> None:
    place = {"conversation": ids["conversation"]}
    calls: dict[str, dict[str, Any]] = {
        "say": {"text": "a stranger's word", **place},
        "turn": {"message_id": ids["message_id"], **place},
        "confirm": {"value": True, "question": "q", **place},
        "choose": {"value": "annual", "question": "q", **place},
        "fill": {"values": {}, "question": "q", **place},
        "leave_request": {"request": "a stranger's word", **place},
        "decide": {"approval": ids["approval"]},
    }
    for stranger in STRANGERS:
        for tool, arguments in calls.items():
            never_was = {n: "never-was" if v in ids.values() else v for n, v in arguments.items()}
            forms: Any = {"elicitation": {"form": {}}} if tool == "decide" else {}
            told = await called(caller(stranger), tool, arguments, forms)
            assert told == await called(caller(stranger), tool, never_was, forms)
            assert "no such" in told
        for lists in ("flow_runs", "approvals"):
            told = await called(caller(stranger), lists, {}, {})
            assert not [id_ for id_ in ids.values() if f'"{id_}"' in told], lists
        answer = {"question": {"action": "accept", "content": {"confirmed": True}}}
        state = f'{{"question": "q", "conversation": "{ids["conversation"]}"}}'
        brought = {"requestState": state, "inputResponses": answer}
        told = await called(caller(stranger), "say", {"text": "hi"}, {}, **brought)
        assert "no such conversation" in told
    path = f"/v1/conversations/{ids['conversation']}/messages"
    assert "stranger" not in (await caller("alice").get(path)).text


async def called(
    client: AsyncClient, tool: str, arguments: Any, capabilities: Any, **more: Any
) -> str:
    """What a tool of the desk's says to an assistant."""
    revision = "2026-07-28"
    about = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    params = {"name": tool, "arguments": arguments, "_meta": about, **more}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": revision,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    answer = await client.post("/mcp", json=message, headers=headers)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["result"]["content"][0]["text"])


@pytest.mark.slow
async def test_nobody_hands_in_anothers_file(caller: As, ids: dict[str, str]) -> None:
    part = {"type": "document", "source": {"type": "file", "value": ids["file"]}}
    said = {"id": "m", "role": "user", "content": [{"type": "text", "text": "look"}, part]}
    for user in ("alice", *STRANGERS):
        run = {"threadId": f"files of {user}", "runId": ids["message_id"], "messages": [said]}
        told = await caller(user).post("/ag-ui", json=run)
        assert told.status_code == 200
        assert ("part 0 was left out" in told.text) == (user != "alice"), told.text


@each_row(
    ("user", "path", "body"),
    [
        ("bob", "approvals/{approval}/decision", {"decision": "delegate", "digest": "d1"}),
        ("olga", "flow-runs/{run}/reassign", {"instead_of": "bob"}),
    ],
)
async def test_nothing_is_passed_on_to_another_tenant(
    caller: As, ids: dict[str, str], user: str, path: str, body: dict[str, str]
) -> None:
    answer = await caller(user).post(f"/v1/{path.format(**ids)}", json=body | {"to": "zed"})
    assert "nobody" in str(problem(answer, 422))


@pytest.fixture(scope="module")
async def address(app: FastAPI) -> AsyncIterator[str]:
    async with served(app) as address:
        yield address


async def test_news_are_of_ones_own_tenant(address: str, store: Store, unique: str) -> None:
    for tenant in ("default", OTHER):
        news: Any = {"role": "assistant", "text": f"for {tenant} alone"}
        place = {"key": unique, "at": AT, "conversation": unique, "recipient": "bob"}
        entry = LogEntry.model_validate({"kind": "message", "data": news} | place)
        await store.log.append(tenant, [entry])
    async with reading(address, f"{OTHER}/bob", after="0") as reader:
        assert (await reader.take(1))[0].data["text"] == f"for {OTHER} alone"


@each_row("token", ["acme/", "/alice", "acme/alice/x", "nowhere/alice", "acme"])
async def test_a_tenant_that_is_none_lets_nobody_in(app: FastAPI, token: str) -> None:
    async with client_of(app, token) as client:
        assert (await client.get("/v1/me")).status_code == 401
