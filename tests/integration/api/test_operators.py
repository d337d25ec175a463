"""Operators: what they find and are told; each look and each act is in the audit trail."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from temporalio.client import Client

from router.api.dependencies import Services
from router.contracts import flow
from router.directory.file import FileDirectory
from router.domain.errors import Unavailable
from router.domain.messages import Candidate, Route, TextReply, Turn
from router.domain.principals import Principal
from router.domain.records import (
    ACTS,
    TITLES,
    AuditEntry,
    AuditFilter,
    ConversationRecord,
    LogEntry,
    RunRecord,
)
from router.domain.run_history import Incident
from router.runtime.server import create_app
from router.store.store import Store
from tests.integration.api.conftest import QUEUE, As, client_of, desk, problem
from tests.integration.api.test_events import AT
from tests.integration.api.test_files import send
from tests.integration.api.test_runs import PASSED_ON, act, approval_record, run_record

SAID = "下周一帮我请假，外婆九十大寿"
ANSWERED = "祝外婆生日快乐"


async def lines(client: AsyncClient, **wanted: str) -> list[dict[str, Any]]:
    answer = await client.get("/v1/audit", params=wanted)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


@pytest.fixture
def olga(caller: As) -> AsyncClient:
    return caller("olga")


def among_us(services: Services, name: str, role: str) -> Services:
    """With one more person of the company."""
    person = Principal(id=name, name=name, roles=frozenset({"employee", role}))
    people = [*FileDirectory.load().everyone(), person]
    return replace(services, directory=FileDirectory(people))


@pytest.fixture
async def run(store: Store, temporal: Client, unique: str) -> RunRecord:
    """A run of alice's that waits for bob, and for an operator."""
    incident = Incident(kind="call", at=AT, name="file_leave", detail="no answer")
    record = run_record(unique[:12], incident=incident)
    await temporal.start_workflow(flow.WORKFLOW, "bob", id=record.workflow_id, task_queue=QUEUE)
    await store.runs.publish(record, [approval_record(record)])
    return record


@pytest.fixture
async def turn(store: Store, unique: str) -> str:
    """`conversation/message id` of something that alice said, and a model decided."""
    conversation = f"c{unique[:11]}"
    await store.conversations.create(
        ConversationRecord(
            id=conversation, tenant="default", owner="alice", locale="zh", created_at=AT
        )
    )
    route = Route(
        kind="flow",
        target="leave_request",
        by="llm",
        reason="由 qwen 选定，提示词 router-1@3b9c1c4d",
        candidates=[Candidate(kind="flow", name="leave_request", score=0.83)],
    )
    recorded = Turn(message_id="m1", turn=1, route=route, replies=[TextReply(text=ANSWERED)])
    rows = {
        "message": {"role": "user", "text": SAID, "message_id": "m1"},
        "turn": {"digest": "d", "turn": recorded.model_dump(mode="json")},
    }
    place = {"at": AT, "conversation": conversation, "message_id": "m1"}
    entries = [
        {"key": f"{conversation}:{kind}", "kind": kind, "data": data} | place
        for kind, data in rows.items()
    ]
    await store.log.append("default", [LogEntry.model_validate(each) for each in entries])
    return f"{conversation}/m1"


class TestRuns:
    async def test_are_found_by_what_they_wait_for_which_their_own_are_not_told(
        self, caller: As, olga: AsyncClient, run: RunRecord
    ) -> None:
        for narrowed in (
            {"held": "true", "requester": "alice"},
            {"waiting_for": "bob", "since": "2020-01-01T00:00:00Z"},
            {"quiet_since": "2999-01-01T00:00:00Z"},
            {"expires_before": "2999-01-01T00:00:00Z"},
        ):
            query = {"all": "true", "limit": "200", "flow": run.flow, "status": run.status}
            found = (await olga.get("/v1/flow-runs", params=query | narrowed)).json()["items"]
            (one,) = (each for each in found if each["id"] == run.id)
            assert (one["held"], one["waiting_for"]) == (True, ["bob"])
        before = {"expires_before": "2020-01-01T00:00:00Z"}
        for narrowed in ({"held": "false"}, {"waiting_for": "carol"}, {"requester": "bob"}, before):
            found = (await olga.get("/v1/flow-runs?all=true", params=narrowed)).json()["items"]
            assert run.id not in [each["id"] for each in found]
        assert (await caller("alice").get(f"/v1/flow-runs/{run.id}")).json()["waiting_for"] == []

    @pytest.mark.parametrize(
        "query",
        [
            "since=yesterday",
            "since=2026-11-23T09:00:00",
            "since=0001-01-01T00:00:00%2B14:00",
            "quiet_since=9999-12-31T23:59:59-14:00",
            "held=perhaps",
            "requester=",
            "requester=%00",
            "waiting_for=b%20ob",
            "waiting_for=" + "x" * 201,
        ],
    )
    async def test_what_narrows_nothing_is_refused(self, olga: AsyncClient, query: str) -> None:
        answer = await olga.get(f"/v1/flow-runs?all=true&{query}")
        assert answer.status_code == 422, answer.text
        assert query.partition("=")[0] in answer.json()["detail"]


class TestEachActIsALine:
    @pytest.mark.parametrize(
        ("verb", "body", "detail"),
        [
            ("retry", {"comment": "the server is back"}, ""),
            ("terminate", {"comment": "it was a mistake"}, ""),
            ("reassign", PASSED_ON | {"comment": "bob left"}, "bob ▸ carol"),
        ],
    )
    async def test_of_what_they_do_to_a_run(
        self, olga: AsyncClient, run: RunRecord, verb: str, body: Any, detail: str
    ) -> None:
        headers = {"X-Request-Id": "ticket-7", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
        await olga.post(f"/v1/flow-runs/{run.id}/{verb}", json=body, headers=headers)
        (line,) = await lines(olga, subject=run.id)
        who = {"who": "olga", "act": f"run.{verb}", "whose": "alice", "detail": detail}
        request = {"request_id": "ticket-7", "trace_id": "a" * 32, "reason": body["comment"]}
        assert line.items() >= (who | request).items()

    @pytest.mark.parametrize("path", ["", "/graph"])
    async def test_of_a_run_that_they_look_at(
        self, caller: As, olga: AsyncClient, run: RunRecord, path: str
    ) -> None:
        for user in ("alice", "bob"):
            assert (await caller(user).get(f"/v1/flow-runs/{run.id}{path}")).status_code == 200
        assert await lines(olga, subject=run.id) == []
        await olga.get(f"/v1/flow-runs/{run.id}{path}")
        assert [line["act"] for line in await lines(olga, subject=run.id)] == ["run.read"]

    async def test_of_a_file_that_they_open(self, caller: As, olga: AsyncClient) -> None:
        file = (await send(caller("alice"))).json()["id"]
        assert (await caller("alice").get(f"/v1/files/{file}")).status_code == 200
        assert await lines(olga, subject=file) == []
        assert (await olga.get(f"/v1/files/{file}")).status_code == 200
        (line,) = await lines(olga, subject=file)
        assert (line["act"], line["whose"]) == ("file.read", "alice")

    async def test_of_lists_of_everybodys(self, olga: AsyncClient) -> None:
        await olga.get("/v1/flow-runs?all=true&held=true")
        await olga.get("/v1/turns?person=alice")
        assert (await lines(olga, act="runs.list"))[0]["detail"] == "held=True"
        assert (await lines(olga, act="routes.list"))[0]["detail"] == "person=alice"

    @pytest.mark.parametrize("way", ["decode", "encode"])
    async def test_of_payloads(self, olga: AsyncClient, way: str) -> None:
        body = {"payloads": [{"data": base64.b64encode(b"{}").decode()}]}
        before = len(await lines(olga, act=f"payloads.{way}", limit="200"))
        assert (await olga.post(f"/codec/{way}", json=body)).status_code == 200
        after = await lines(olga, act=f"payloads.{way}", limit="200")
        assert (len(after) - before, after[0]["detail"]) == (1, "1 payloads")

    async def test_of_who_comes_in_without_a_proof_once(self, services: Services) -> None:
        app = create_app(services)
        async with client_of(app, "gina") as gina, client_of(app, "olga") as olga:
            before = len(await lines(olga, who="gina", act="person.sign_in"))
            for _ in range(3):
                assert (await gina.get("/v1/me")).status_code == 200
            first, *more = await lines(olga, who="gina", act="person.sign_in")
        assert len(more) == before
        assert first["detail"].startswith("from ")

    async def test_of_who_speaks_for_somebody(self, services: Services, unique: str) -> None:
        account = f"ui-{unique}"
        app = create_app(among_us(services, account, "service"))
        said = {"model": "intent-router", "messages": [{"role": "user", "content": "hello"}]}
        async with client_of(app, account) as webui, client_of(app, "olga") as olga:
            headers = {"X-OpenWebUI-User-Id": "frank"}
            for _ in range(2):
                await webui.post("/v1/chat/completions", json=said, headers=headers)
            found = await lines(olga, who=account, act="person.speak_for")
        assert [line["whose"] for line in found] == ["frank"]

    async def test_hostile_request_ids_are_renamed(self, olga: AsyncClient, run: RunRecord) -> None:
        for hostile in ("x" * 65, "a b", "é"):
            headers = {"X-Request-Id": hostile.encode()}
            await olga.get(f"/v1/flow-runs/{run.id}", headers=headers)  # type: ignore[arg-type]
        named = {line["request_id"] for line in await lines(olga, subject=run.id)}
        assert len(named) == 3
        assert all(name.isalnum() and len(name) == 24 for name in named)


class Full:
    """A trail that takes no line: its disk is full."""

    async def note(self, deed: AuditEntry) -> None:
        raise Unavailable(f"no room for {deed.act}")

    async def listed(
        self, tenant: str, wanted: AuditFilter, before: str | None, limit: int
    ) -> tuple[list[AuditEntry], str | None]:
        raise NotImplementedError


class TestWithoutALineThereIsNoAct:
    @pytest.fixture
    async def trailless(self, services: Services, app: FastAPI) -> AsyncClient:
        """Olga where nothing can be noted, after she has signed in."""
        other = create_app(services)
        client = client_of(other, "olga")
        await client.get("/v1/me")
        full = type("StoreWithoutTrail", (), dict(vars(services.store)) | {"live": None})()
        full.trail = Full()
        object.__setattr__(other.state.shared, "services", replace(services, store=full))
        return client

    @pytest.mark.parametrize(
        ("verb", "body"), [("retry", {}), ("terminate", {}), ("reassign", PASSED_ON)]
    )
    async def test_nothing_is_done(
        self, trailless: AsyncClient, temporal: Client, run: RunRecord, verb: str, body: Any
    ) -> None:
        problem(await act(trailless, run, verb, body), 503)
        handle = temporal.get_workflow_handle(run.workflow_id)
        events = [event.event_type async for event in handle.fetch_history_events()]
        assert not [kind for kind in events if "UPDATE" in str(kind)]

    async def test_nothing_is_shown_or_decrypted(
        self, trailless: AsyncClient, run: RunRecord, turn: str
    ) -> None:
        for path in (f"flow-runs/{run.id}", "flow-runs?all=true", f"turns/{turn}", "turns"):
            assert "alice" not in str(problem(await trailless.get(f"/v1/{path}"), 503))
        sent = {"payloads": [{"data": base64.b64encode(b"{}").decode()}]}
        problem(await trailless.post("/codec/decode", json=sent), 503)


class TestWhy:
    async def test_is_told_without_words(self, olga: AsyncClient, turn: str) -> None:
        answer = await olga.get(f"/v1/turns/{turn}")
        shown = answer.json()
        (route,) = shown["routes"]
        assert route["candidates"] == [{"kind": "flow", "name": "leave_request", "score": 0.83}]
        assert "router-1@3b9c1c4d" in route["reason"]
        assert shown["patterns"][0]["flow"] == "leave_request"
        assert (shown["person"], shown["text"], shown["replies"]) == ("alice", None, None)
        assert "外婆" not in answer.text
        (line,) = await lines(olga, subject=turn)
        assert (line["act"], line["whose"]) == ("route.read", "alice")

    async def test_has_words_where_they_may_be_read(self, services: Services, turn: str) -> None:
        async with desk(services, "olga", operators_read_words=True) as olga:
            shown = (await olga.get(f"/v1/turns/{turn}")).json()
        assert (shown["text"], shown["replies"][0]["text"]) == (SAID, ANSWERED)

    async def test_turns_are_found(self, olga: AsyncClient, turn: str) -> None:
        conversation = turn.partition("/")[0]
        query = {"conversation": conversation, "person": "alice", "kind": "flow", "by": "llm"}
        found = await olga.get("/v1/turns", params=query | {"target": "leave_request"})
        assert [f"{t['conversation']}/{t['message_id']}" for t in found.json()["items"]] == [turn]
        assert "外婆" not in found.text
        for other in ({"by": "slot"}, {"person": "bob"}, {"since": "2999-01-01T00:00:00Z"}):
            none = await olga.get("/v1/turns", params={"conversation": conversation} | other)
            assert none.json() == {"items": [], "next": None}

    async def test_a_list_is_leafed_through(self, olga: AsyncClient, turn: str) -> None:
        first = (await olga.get("/v1/turns?limit=1")).json()
        assert len(first["items"]) == 1
        if first["next"]:
            second = (await olga.get(f"/v1/turns?limit=1&after={first['next']}")).json()
            assert second["items"] != first["items"]

    @pytest.mark.parametrize("path", ["never/was", "c/%00", "c/" + "x" * 201])
    async def test_a_turn_that_never_was_is_not_there(self, olga: AsyncClient, path: str) -> None:
        problem(await olga.get(f"/v1/turns/{path}"), 404)


class TestWhoMayRead:
    @pytest.mark.parametrize("path", ["/v1/audit", "/v1/turns", "/v1/turns/a/b"])
    async def test_for_anybody_else_it_is_not_there(self, caller: As, path: str) -> None:
        for user, said in (("alice", "这里没有"), ("frank", "There is nothing")):
            assert said in problem(await caller(user).get(path), 404)["detail"]

    async def test_an_auditor_reads_the_trail_and_does_nothing_by_it(
        self, services: Services, run: RunRecord
    ) -> None:
        async with desk(among_us(services, "ann", "auditor"), "ann") as ann:
            assert (await ann.get("/v1/audit")).status_code == 200
            for path in ("turns", f"flow-runs/{run.id}"):
                problem(await ann.get(f"/v1/{path}"), 404)

    async def test_lines_have_titles(self, caller: As, services: Services, run: RunRecord) -> None:
        await caller("olga").get(f"/v1/flow-runs/{run.id}")
        people = [
            person.model_copy(update={"roles": person.roles | {"auditor"}})
            for person in FileDirectory.load().everyone()
        ]
        app = create_app(replace(services, directory=FileDirectory(people)))
        titles = {"alice": "查看他人的流程实例", "frank": "looked at somebody else's run"}
        for user, title in titles.items():
            async with client_of(app, user) as client:
                assert (await lines(client, subject=run.id))[0]["title"] == title

    def test_every_act_has_a_title(self) -> None:
        assert set(TITLES) == set(ACTS)

    @pytest.mark.parametrize(
        "query",
        [f"audit?{each}" for each in ("act=anything", "who=", "since=x", "after=!", "limit=201")]
        + [f"turns?{each}" for each in ("after=x", "after=-1", "limit=0", "by=magic", "kind=x")],
    )
    async def test_a_question_that_is_none_is_refused(self, olga: AsyncClient, query: str) -> None:
        problem(await olga.get(f"/v1/{query}"), 422)
