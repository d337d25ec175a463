from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from temporalio.client import Client

from router.contracts import flow
from router.domain.locale import Locale, Localised
from router.domain.records import ApprovalRecord, HistoryLine, RunRecord
from router.store.store import Store
from tests.integration.api.conftest import QUEUE, As
from tests.unit.understanding.flows import LEAVE as LEAVE_FLOW

LEAVE = Localised(zh="请假", en="Leave")


def run_record(id_: str, run_id: str = "", **more: Any) -> RunRecord:
    now = datetime.now(UTC)
    whole: dict[str, Any] = {
        "id": id_,
        "tenant": "default",
        "workflow_id": flow.workflow_id("leave_request", "default", id_),
        "run_id": run_id or "r 1",
        "flow": "leave_request",
        "title": LEAVE,
        "version": LEAVE_FLOW.version,
        "status": "waiting_approval",
        "state": "manager",
        "slots": {"leave_type": "annual", "half": None},
        "requester": "alice",
        "conversation": None,
        "history": [{"at": now, "state": "details", "event": "began", "by": "alice"}],
        "events": 3,
        "created_at": now,
        "updated_at": now,
    }
    return RunRecord.model_validate(whole | more)


def approval_record(run: RunRecord, person: str = "bob", **more: Any) -> ApprovalRecord:
    whole: dict[str, Any] = {
        "id": f"a-{run.id}-{person}",
        "tenant": "default",
        "run": run.id,
        "workflow_id": run.workflow_id,
        "flow": run.flow,
        "person": person,
        "requester": run.requester,
        "title": LEAVE,
        "summary": {"days": Localised(zh="三天", en="three days")},
        "labels": {"days": Localised(zh="天数", en="days")},
        "digest": "d1",
        "since": datetime.now(UTC),
        "due": datetime.now(UTC) + timedelta(days=3),
    }
    return ApprovalRecord.model_validate(whole | more)


@pytest.fixture
async def run(store: Store, unique: str) -> RunRecord:
    """A run on record that no workflow stands behind."""
    record = run_record(unique[:12])
    await store.runs.publish(record, [approval_record(record)])
    return record


@pytest.fixture
async def live(store: Store, temporal: Client, unique: str) -> RunRecord:
    """A run on record with a workflow that waits for bob's decision."""
    record = run_record(unique[:12])
    await temporal.start_workflow(flow.WORKFLOW, "bob", id=record.workflow_id, task_queue=QUEUE)
    await store.runs.publish(record, [approval_record(record)])
    return record


class TestFlowRuns:
    async def test_the_way_of_a_run_is_drawn_for_those_it_concerns(
        self, caller: As, live: RunRecord, run: RunRecord
    ) -> None:
        for person in ("alice", "bob", "olga"):
            for known in (live, run):
                drawn = await caller(person).get(f"/v1/flow-runs/{known.id}/graph")
                assert drawn.status_code == 200, drawn.text
                assert drawn.headers["content-type"].startswith("image/svg+xml")
                assert "sandbox" in drawn.headers["content-security-policy"]
                assert drawn.text.startswith("<svg ")
        assert (await caller("gina").get(f"/v1/flow-runs/{run.id}/graph")).status_code == 404
        assert (await caller("alice").get("/v1/flow-runs/none/graph")).status_code == 404

    async def test_it_is_drawn_as_mermaid_where_that_is_asked_for(
        self, caller: As, live: RunRecord
    ) -> None:
        drawn = await caller("bob").get(f"/v1/flow-runs/{live.id}/graph?format=mermaid")
        assert drawn.status_code == 200, drawn.text
        assert drawn.headers["content-type"] == "text/vnd.mermaid; charset=utf-8"
        assert "sandbox" in drawn.headers["content-security-policy"]
        assert "\nflowchart TD\n" in drawn.text
        assert "class s0 been" in drawn.text
        as_svg = await caller("bob").get(f"/v1/flow-runs/{live.id}/graph?format=svg")
        assert as_svg.headers["content-type"].startswith("image/svg+xml")
        hidden = await caller("gina").get(f"/v1/flow-runs/{live.id}/graph?format=mermaid")
        assert hidden.status_code == 404

    @pytest.mark.parametrize("wanted", ["png", "", "SVG", "mermaid ", "svg%00", "../svg"])
    async def test_in_no_other_format_is_it_drawn(
        self, alice: httpx.AsyncClient, run: RunRecord, wanted: str
    ) -> None:
        refused = await alice.get(f"/v1/flow-runs/{run.id}/graph?format={wanted}")
        assert refused.status_code == 422, refused.text
        assert refused.headers["content-type"] == "application/problem+json"
        assert "mermaid" in refused.text

    async def test_the_description_of_the_api_names_both_formats(
        self, alice: httpx.AsyncClient
    ) -> None:
        described = (await alice.get("/openapi.json")).json()
        drawing = described["paths"]["/v1/flow-runs/{run}/graph"]["get"]
        (wanted,) = [each for each in drawing["parameters"] if each["name"] == "format"]
        assert wanted["schema"]["enum"] == ["svg", "mermaid"]
        assert wanted["schema"]["default"] == "svg"
        assert set(drawing["responses"]["200"]["content"]) == {"image/svg+xml", "text/vnd.mermaid"}

    async def test_a_version_that_nobody_knows_any_more_is_not_drawn(
        self, alice: httpx.AsyncClient, store: Store, unique: str
    ) -> None:
        await store.runs.publish(run_record(unique[:12], version=7), [])
        refused = await alice.get(f"/v1/flow-runs/{unique[:12]}/graph")
        assert refused.status_code == 404
        assert "Version 7 of leave_request" in refused.json()["detail"]

    async def test_a_run_is_shown_whole(self, alice: httpx.AsyncClient, run: RunRecord) -> None:
        shown = (await alice.get(f"/v1/flow-runs/{run.id}")).json()
        assert shown["temporal"] == {
            "workflow_id": run.workflow_id,
            "run_id": "r 1",
            "url": (
                "http://127.0.0.1:8233/namespaces/default/workflows/"
                f"leave_request%2Fdefault%2F{run.id}/r%201/history"
            ),
        }
        assert shown["slots"] == {"leave_type": "annual", "half": None}
        assert (shown["title"], shown["requester"], shown["version"]) == (
            "请假",
            "alice",
            run.version,
        )
        assert set(shown["history"][0]) >= {"at", "state", "event", "by"}

    async def test_what_it_knows_is_shown_as_people_read_it(
        self, caller: As, store: Store, run: RunRecord, unique: str
    ) -> None:
        alice, olga = caller("alice"), caller("olga")
        labels = {slot.label for slot in LEAVE_FLOW.slots.values() if slot.label}
        both: tuple[tuple[httpx.AsyncClient, Locale], ...] = ((alice, "zh"), (olga, "en"))
        for client, locale in both:
            summary = (await client.get(f"/v1/flow-runs/{run.id}")).json()["summary"]
            assert summary
            assert set(summary) <= {label.within(locale) for label in labels}
        old = run_record(f"o{unique[:11]}", version=7)
        await store.runs.publish(old, [])
        assert (await alice.get(f"/v1/flow-runs/{old.id}")).json()["summary"] == {}

    async def test_where_it_was_begun_is_its_requesters_alone(
        self, caller: As, store: Store, unique: str
    ) -> None:
        begun = run_record(unique[:12], conversation="c1")
        await store.runs.publish(begun, [approval_record(begun)])
        for user, conversation in (("alice", "c1"), ("bob", None), ("olga", None)):
            shown = (await caller(user).get(f"/v1/flow-runs/{begun.id}")).json()
            assert shown["conversation"] == conversation

    @pytest.mark.parametrize(
        ("more", "can"),
        [
            ({"status": "waiting_approval"}, True),
            ({"status": "completed"}, False),
            ({"status": "completed", "remedy": {"definition": "f", "done": []}}, True),
            (
                {
                    "status": "completed",
                    "remedy": {"definition": "f", "done": []},
                    "withdrawn_by": "x",
                },
                False,
            ),
            ({"status": "rejected"}, False),
        ],
    )
    async def test_it_says_whether_it_can_be_taken_back(
        self,
        alice: httpx.AsyncClient,
        store: Store,
        unique: str,
        more: dict[str, Any],
        can: bool,
    ) -> None:
        record = run_record(unique[:12], **more)
        await store.runs.publish(record, [])
        assert (await alice.get(f"/v1/flow-runs/{record.id}")).json()["can_be_withdrawn"] is can

    @pytest.mark.parametrize(
        ("user", "status"),
        [("alice", 200), ("bob", 200), ("olga", 200), ("carol", 404), ("gina", 404)],
    )
    async def test_it_concerns_requester_approvers_and_operators(
        self, caller: As, run: RunRecord, user: str, status: int
    ) -> None:
        assert (await caller(user).get(f"/v1/flow-runs/{run.id}")).status_code == status

    @pytest.mark.parametrize("verb", ["withdraw", "nudge"])
    @pytest.mark.parametrize(("user", "status"), [("bob", 403), ("olga", 403), ("gina", 404)])
    async def test_only_the_requester_takes_back_or_hurries(
        self, caller: As, run: RunRecord, verb: str, user: str, status: int
    ) -> None:
        answer = await caller(user).post(f"/v1/flow-runs/{run.id}/{verb}")
        assert answer.status_code == status

    async def test_lists_are_ones_own_and_everyones_for_operators(
        self, caller: As, store: Store, run: RunRecord
    ) -> None:
        theirs = run_record(f"x{run.id}", requester="gina", status="completed", flow="other")
        await store.runs.publish(theirs, [])

        async def ids(user: str, query: str) -> set[str]:
            answer = await caller(user).get(f"/v1/flow-runs?limit=200&{query}")
            return {item["id"] for item in answer.json()["items"]} & {run.id, theirs.id}

        assert await ids("alice", "") == {run.id}
        assert await ids("alice", "status=completed") == set()
        assert await ids("gina", "flow=other&status=completed") == {theirs.id}
        assert await ids("olga", "") == set()
        assert await ids("olga", "all=true") == {run.id, theirs.id}
        assert (await caller("bob").get("/v1/flow-runs?all=true")).status_code == 403

    async def test_withdrawing_tells_the_run_once_a_key(
        self, alice: httpx.AsyncClient, live: RunRecord, unique: str
    ) -> None:
        async def withdraw(key: str, body: dict[str, str] | None = None) -> httpx.Response:
            return await alice.post(
                f"/v1/flow-runs/{live.id}/withdraw", json=body, headers={"Idempotency-Key": key}
            )

        first = await withdraw(unique)
        assert first.json() == {"id": live.id, "status": "cancelled", "state": "manager"}
        assert (await withdraw(unique)).json() == first.json()
        assert (await withdraw(unique, {"comment": "why"})).status_code == 422
        assert (await withdraw(f"{unique}2")).status_code == 409

    async def test_a_withdrawal_that_comes_too_late_says_so(
        self, alice: httpx.AsyncClient, caller: As, live: RunRecord
    ) -> None:
        """The run ends while the withdrawal is on its way, and has yet to close."""
        (approval,) = [
            item
            for item in (await caller("bob").get("/v1/approvals?limit=200")).json()["items"]
            if item["flow_run"] == live.id
        ]
        where = f"/v1/approvals/{approval['id']}/decision"
        assert (await caller("bob").post(where, json={"decision": "reject"})).status_code == 200
        answer = await alice.post(f"/v1/flow-runs/{live.id}/withdraw")
        assert answer.status_code == 409
        assert "rejected" in answer.json()["detail"]

    @pytest.mark.parametrize("body", [{"comment": "\x00"}, {"comment": "x" * 2001}, {"why": ""}])
    async def test_a_bad_remark_is_refused(
        self, alice: httpx.AsyncClient, live: RunRecord, body: dict[str, str]
    ) -> None:
        answer = await alice.post(f"/v1/flow-runs/{live.id}/withdraw", json=body)
        assert answer.status_code == 422

    async def test_nudging_reaches_a_run_that_waits(
        self, alice: httpx.AsyncClient, live: RunRecord, store: Store
    ) -> None:
        assert (await alice.post(f"/v1/flow-runs/{live.id}/nudge")).status_code == 200
        done = live.model_copy(update={"status": "completed", "events": 9})
        await store.runs.publish(done, [])
        assert (await alice.post(f"/v1/flow-runs/{live.id}/nudge")).status_code == 409

    async def test_who_was_reminded_a_moment_ago_is_left_in_peace(
        self, alice: httpx.AsyncClient, live: RunRecord, store: Store, unique: str
    ) -> None:
        async def nudge(key: str) -> httpx.Response:
            where = f"/v1/flow-runs/{live.id}/nudge"
            return await alice.post(where, headers={"Idempotency-Key": key})

        async def reminded(ago: timedelta, events: int) -> None:
            line = {"at": datetime.now(UTC) - ago, "state": "manager", "event": "nudged"}
            history = [*live.history, HistoryLine.model_validate({**line, "by": "alice"})]
            later = live.model_copy(update={"history": history, "events": events})
            await store.runs.publish(later, [approval_record(later)])

        first = await nudge(unique)
        await reminded(timedelta(minutes=1), events=4)
        assert (first.status_code, (await nudge(unique)).json()) == (200, first.json())
        again = await nudge(f"{unique}2")
        assert (again.status_code, again.json()["detail"]) == (
            409,
            "刚刚提醒过审批人，过一小时再试。",
        )
        assert (await nudge(f"{unique}2")).status_code == 409
        await reminded(timedelta(hours=2), events=5)
        assert (await nudge(f"{unique}3")).status_code == 200

    async def test_what_only_looked_something_up_is_listed_where_it_is_named(
        self, caller: As, store: Store, unique: str
    ) -> None:
        looked = run_record(f"y{unique[:10]}", flow="get_current_time")
        await store.runs.publish(looked, [])

        async def listed(user: str, query: str) -> bool:
            answer = await caller(user).get(f"/v1/flow-runs?limit=200&{query}")
            return looked.id in {item["id"] for item in answer.json()["items"]}

        assert not await listed("alice", "")
        assert await listed("alice", "flow=get_current_time")
        assert await listed("olga", "all=true")

    async def test_a_run_that_nothing_stands_behind_is_over(
        self, alice: httpx.AsyncClient, run: RunRecord
    ) -> None:
        for verb in ("withdraw", "nudge"):
            assert (await alice.post(f"/v1/flow-runs/{run.id}/{verb}")).status_code == 409


class TestApprovals:
    async def test_what_waits_is_shown_in_the_readers_language(
        self, caller: As, store: Store, unique: str
    ) -> None:
        record = run_record(unique[:12])
        await store.runs.publish(
            record, [approval_record(record), approval_record(record, "carol", due=None)]
        )
        for user, summary, title in (
            ("bob", {"天数": "三天"}, "请假"),
            ("carol", {"days": "three days"}, "Leave"),
        ):
            items = (await caller(user).get("/v1/approvals?limit=200")).json()["items"]
            mine = next(item for item in items if item["flow_run"] == record.id)
            assert (mine["summary"], mine["title"]) == (summary, title)
            assert set(mine) == {
                "id", "flow_run", "flow", "title", "summary", "requester", "digest", "since", "due",
                "asked",
            }  # fmt: skip
        items = (await caller("gina").get("/v1/approvals")).json()["items"]
        assert items == []

    async def test_a_decision_counts_once(self, caller: As, live: RunRecord, unique: str) -> None:
        path = f"/v1/approvals/a-{live.id}-bob/decision"

        async def decide(user: str, key: str | None, decision: str = "approve") -> httpx.Response:
            headers = {"Idempotency-Key": key} if key else {}
            return await caller(user).post(path, json={"decision": decision}, headers=headers)

        assert (await decide("alice", None)).status_code == 404
        assert (await decide("olga", None)).status_code == 404
        first = await decide("bob", unique)
        assert (first.status_code, first.json()) == (
            200,
            {
                "id": f"a-{live.id}-bob",
                "decision": "approve",
                "flow_run": {"id": live.id, "status": "running", "state": "record"},
            },
        )
        assert (await decide("bob", unique)).json() == first.json()
        assert (await decide("bob", unique, "reject")).status_code == 422
        assert (await decide("bob", f"{unique}2")).status_code == 409
        assert (await decide("bob", None)).status_code == 409

    async def test_a_run_that_comes_to_its_approval_once_more_is_waited_for(
        self, caller: As, store: Store, temporal: Client, unique: str
    ) -> None:
        record = run_record(unique[:12])
        await store.runs.publish(record, [approval_record(record)])
        id_ = record.workflow_id
        await temporal.start_workflow(flow.WORKFLOW, "bob late", id=id_, task_queue=QUEUE)
        path = f"/v1/approvals/a-{record.id}-bob/decision"
        answer = await caller("bob").post(path, json={"decision": "approve"})
        assert (answer.status_code, answer.json()["flow_run"]["state"]) == (200, "record")

    async def test_an_approval_that_was_closed_is_said_to_be(
        self, caller: As, store: Store, temporal: Client, unique: str
    ) -> None:
        record = run_record(unique[:12])
        closed = approval_record(record, active=False)
        await store.runs.publish(record, [closed])
        id_ = record.workflow_id
        await temporal.start_workflow(flow.WORKFLOW, "bob late", id=id_, task_queue=QUEUE)
        path = f"/v1/approvals/a-{record.id}-bob/decision"
        answer = await caller("bob").post(path, json={"decision": "approve"})
        assert (answer.status_code, answer.json()["detail"]) == (409, "closed meanwhile")

    async def test_a_decision_is_bound_to_what_was_shown(self, caller: As, live: RunRecord) -> None:
        path = f"/v1/approvals/a-{live.id}-bob/decision"
        bob = caller("bob")
        stale = await bob.post(path, json={"decision": "approve", "digest": "d0"})
        fresh = await bob.post(path, json={"decision": "reject", "digest": "d1", "comment": "不"})
        assert (stale.status_code, fresh.status_code) == (409, 200)

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "decision"),
            ({"decision": "perhaps"}, "decision"),
            ({"decision": "delegate"}, "body"),
            ({"decision": "add", "to": ""}, "body"),
            ({"decision": "delegate", "to": "nobody"}, "to"),
            ({"decision": "delegate", "to": "x" * 65}, "to"),
            ({"decision": "approve", "to": "carol"}, "body"),
            ({"decision": "approve", "comment": "\x1b[2J"}, "comment"),
            ({"decision": "approve", "comment": "x" * 2001}, "comment"),
            ({"decision": "approve", "digest": "d 1"}, "digest"),
            ({"decision": "approve", "by": "carol"}, "by"),
        ],
    )
    async def test_a_bad_decision_is_refused(
        self, caller: As, live: RunRecord, body: dict[str, str], field: str
    ) -> None:
        path = f"/v1/approvals/a-{live.id}-bob/decision"
        answer = await caller("bob").post(path, json=body)
        assert answer.status_code == 422
        assert field in {fault["field"] for fault in answer.json()["errors"]}
        waiting = (await caller("bob").get("/v1/approvals?limit=200")).json()["items"]
        assert any(item["flow_run"] == live.id for item in waiting)

    async def test_delegating_names_someone_of_the_directory(
        self, caller: As, live: RunRecord
    ) -> None:
        path = f"/v1/approvals/a-{live.id}-bob/decision"
        answer = await caller("bob").post(path, json={"decision": "delegate", "to": "dave"})
        assert answer.status_code == 200

    async def test_one_that_nothing_stands_behind_is_over(self, caller: As, run: RunRecord) -> None:
        path = f"/v1/approvals/a-{run.id}-bob/decision"
        assert (await caller("bob").post(path, json={"decision": "approve"})).status_code == 409
        nobodys = await caller("bob").post("/v1/approvals/none/decision", json={"decision": "add"})
        assert nobodys.status_code == 404


class TestEvents:
    async def test_whoever_the_flow_names_tells_it_once_a_key(
        self, caller: As, live: RunRecord, unique: str
    ) -> None:
        async def tell(key: str, boxes: int) -> httpx.Response:
            return await caller("dave").post(
                f"/v1/flow-runs/{live.id}/events/arrived",
                json={"boxes": boxes},
                headers={"Idempotency-Key": key},
            )

        first = await tell(unique, 2)
        assert first.json() == {"id": live.id, "status": "waiting", "state": "after 2"}
        assert (await tell(unique, 2)).json() == first.json()
        assert (await tell(unique, 3)).status_code == 422
        assert (await tell(f"{unique}2", 2)).status_code == 409

    @pytest.mark.parametrize("user", ["alice", "bob", "carol", "olga"])
    async def test_for_anybody_else_there_is_no_such_event(
        self, caller: As, live: RunRecord, user: str
    ) -> None:
        where = f"/v1/flow-runs/{live.id}/events/arrived"
        assert (await caller(user).post(where, json={"boxes": 2})).status_code == 404

    @pytest.mark.parametrize("name", ["departed", "a" * 64])
    async def test_an_event_that_the_flow_does_not_know_is_not_found(
        self, caller: As, live: RunRecord, name: str
    ) -> None:
        where = f"/v1/flow-runs/{live.id}/events/{name}"
        assert (await caller("dave").post(where, json={"boxes": 2})).status_code == 404

    @pytest.mark.parametrize("name", ["Arrived", "1a", "a" * 65, "a-b", "%00", "选"])
    async def test_what_is_no_name_is_refused(self, caller: As, live: RunRecord, name: str) -> None:
        where = f"/v1/flow-runs/{live.id}/events/{name}"
        assert (await caller("dave").post(where, json={"boxes": 2})).status_code == 422

    async def test_of_a_run_that_is_not_there_nothing_is_told(
        self, caller: As, run: RunRecord
    ) -> None:
        for id_ in ("nothing", run.id):
            where = f"/v1/flow-runs/{id_}/events/arrived"
            assert (await caller("dave").post(where, json={"boxes": 2})).status_code == 404

    async def test_a_run_that_is_over_says_so(
        self, caller: As, live: RunRecord, temporal: Client
    ) -> None:
        assert (await caller("alice").post(f"/v1/flow-runs/{live.id}/withdraw")).is_success
        await temporal.get_workflow_handle(live.workflow_id).result()
        where = f"/v1/flow-runs/{live.id}/events/arrived"
        assert (await caller("dave").post(where, json={"boxes": 2})).status_code == 409
        assert (await caller("olga").post(where, json={"boxes": 2})).status_code == 404

    @pytest.mark.parametrize(
        ("body", "status", "field"),
        [
            (b"{}", 422, "boxes"),
            (b"", 422, "boxes"),
            (b"null", 422, "boxes"),
            (b'{"boxes": "2"}', 422, "boxes"),
            (b'{"boxes": 1e400}', 400, None),
            (b'{"boxes": 2, "more": 1}', 422, "more"),
            (b'{"boxes": 2, "note": "\\u0000"}', 422, None),
            (b"[2]", 422, None),
            (b"2", 422, None),
            (b"{", 400, None),
            (b'{"boxes": 2, "note": "' + b"x" * 70_000 + b'"}', 413, None),
        ],
    )
    async def test_what_it_brings_must_be_what_the_flow_wants(
        self, caller: As, live: RunRecord, body: bytes, status: int, field: str | None
    ) -> None:
        where = f"/v1/flow-runs/{live.id}/events/arrived"
        headers = {"Content-Type": "application/json"}
        answer = await caller("dave").post(where, content=body, headers=headers)
        assert answer.status_code == status, answer.text
        if field is not None:
            assert [fault["field"] for fault in answer.json()["errors"]] == [field]
        assert (await caller("dave").post(where, json={"boxes": 1})).status_code == 200


class TestOperators:
    @pytest.mark.parametrize("verb", ["retry", "terminate", "reassign"])
    @pytest.mark.parametrize(("user", "status"), [("alice", 403), ("bob", 403), ("gina", 404)])
    async def test_nobody_else_may(
        self, caller: As, run: RunRecord, verb: str, user: str, status: int
    ) -> None:
        body = {"to": "carol", "instead_of": "bob"} if verb == "reassign" else None
        answer = await caller(user).post(f"/v1/flow-runs/{run.id}/{verb}", json=body)
        assert answer.status_code == status

    async def test_a_call_is_made_again_once_a_key(
        self, caller: As, live: RunRecord, unique: str
    ) -> None:
        async def retry(key: str) -> httpx.Response:
            return await caller("olga").post(
                f"/v1/flow-runs/{live.id}/retry", headers={"Idempotency-Key": key}
            )

        first = await retry(unique)
        assert first.json() == {"id": live.id, "status": "running", "state": "record"}
        assert (await retry(unique)).json() == first.json()
        assert (await retry(f"{unique}2")).status_code == 409

    async def test_a_run_is_ended(self, caller: As, live: RunRecord) -> None:
        where = f"/v1/flow-runs/{live.id}/terminate"
        answer = await caller("olga").post(where, json={"comment": "stuck"})
        assert answer.json() == {"id": live.id, "status": "cancelled", "state": "manager"}

    async def test_someone_else_is_asked(self, caller: As, live: RunRecord) -> None:
        where = f"/v1/flow-runs/{live.id}/reassign"
        answer = await caller("olga").post(where, json={"to": "carol", "instead_of": "bob"})
        assert answer.status_code == 200

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"to": "carol"},
            {"to": "nobody", "instead_of": "bob"},
            {"to": "", "instead_of": "bob"},
            {"to": "x" * 65, "instead_of": "bob"},
            {"to": "carol", "instead_of": None},
            {"to": "carol", "instead_of": "bob", "why": "?"},
            ["carol"],
        ],
    )
    async def test_who_is_asked_instead_must_be_somebody(
        self, caller: As, live: RunRecord, body: Any
    ) -> None:
        where = f"/v1/flow-runs/{live.id}/reassign"
        assert (await caller("olga").post(where, json=body)).status_code == 422
        live_still = {"to": "carol", "instead_of": "bob"}
        assert (await caller("olga").post(where, json=live_still)).status_code == 200
