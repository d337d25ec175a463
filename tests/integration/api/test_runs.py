from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from httpx import AsyncClient, Response
from temporalio.client import Client

from router.contracts import flow
from router.domain.locale import Locale, Localised
from router.domain.records import ApprovalRecord, RunRecord
from router.domain.run_history import HistoryEntry
from router.drawing import svg
from router.store.store import Store
from tests.integration.api.conftest import QUEUE, As, problem
from tests.unit.understanding.flows import LEAVE as LEAVE_FLOW

LEAVE = Localised(zh="请假", en="Leave")
RUNS = "/v1/flow-runs"
ARRIVED = "events/arrived"
PASSED_ON = {"to": "carol", "instead_of": "bob"}
REMEDY = {"definition": "f", "done": []}


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
        "expires": datetime.now(UTC) + timedelta(days=14),
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


async def act(
    client: AsyncClient, run: RunRecord | str, verb: str, body: Any = None, key: str = ""
) -> Response:
    """A verb said to a run, or to the approval that it waits for bob's with."""
    id_ = run if isinstance(run, str) else run.id
    if verb == "decide":
        body = {"digest": "d1", **body}
    path = f"/v1/approvals/a-{id_}-bob/decision" if verb == "decide" else f"{RUNS}/{id_}/{verb}"
    return await client.post(path, json=body, headers={"Idempotency-Key": key} if key else {})


async def listed(client: AsyncClient, path: str = "/v1/approvals") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await client.get(path, params={"limit": 200})).json()["items"]
    return items


class TestFlowRuns:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("query", "kind", "drawn"),
        [
            ("", "image/svg+xml", "<svg "),
            ("?format=svg", "image/svg+xml", "<svg "),
            ("?format=mermaid", "text/vnd.mermaid; charset=utf-8", "\nflowchart TD\n"),
        ],
    )
    async def test_the_way_of_a_run_is_drawn_for_those_it_concerns(
        self, caller: As, live: RunRecord, run: RunRecord, query: str, kind: str, drawn: str
    ) -> None:
        for person in ("alice", "bob", "olga"):
            for known in (live, run):
                answer = await caller(person).get(f"{RUNS}/{known.id}/graph{query}")
                assert answer.status_code == 200, answer.text
                assert answer.headers["content-type"].startswith(kind)
                assert "sandbox" in answer.headers["content-security-policy"]
                assert drawn in answer.text
                assert "mermaid" not in query or "class s0 been" in answer.text
        assert (await caller("gina").get(f"{RUNS}/{run.id}/graph{query}")).status_code == 404
        assert (await caller("alice").get(f"{RUNS}/none/graph{query}")).status_code == 404

    async def test_more_ways_than_can_be_drawn_soon_are_drawn_as_mermaid_alone(
        self, alice: AsyncClient, run: RunRecord, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(svg, "MOST_WAYS", 1)
        path = f"{RUNS}/{run.id}/graph"
        answer = await alice.get(path, headers={"X-Locale": "en"})
        assert "ways between them" in problem(answer, 422)["detail"]
        answer = await alice.get(path, headers={"X-Locale": "zh"})
        assert "画不成图" in problem(answer, 422)["detail"]
        assert (await alice.get(f"{path}?format=mermaid")).status_code == 200

    @pytest.mark.slow
    async def test_the_document_names_both_formats(self, alice: AsyncClient) -> None:
        described = (await alice.get("/openapi.json")).json()
        drawing = described["paths"]["/v1/flow-runs/{run}/graph"]["get"]
        (wanted,) = [each for each in drawing["parameters"] if each["name"] == "format"]
        assert wanted["schema"]["enum"] == ["svg", "mermaid"]
        assert wanted["schema"]["default"] == "svg"
        assert set(drawing["responses"]["200"]["content"]) == {"image/svg+xml", "text/vnd.mermaid"}

    @pytest.mark.parametrize("wanted", ["png", "", "SVG", "mermaid ", "svg%00", "../svg"])
    async def test_in_no_other_format_is_it_drawn(
        self, alice: AsyncClient, run: RunRecord, wanted: str
    ) -> None:
        refused = problem(await alice.get(f"{RUNS}/{run.id}/graph?format={wanted}"), 422)
        assert "mermaid" in str(refused)

    async def test_a_version_that_nobody_knows_any_more_is_not_drawn(
        self, alice: AsyncClient, store: Store, unique: str
    ) -> None:
        await store.runs.publish(run_record(unique[:12], version=7), [])
        refused = await alice.get(f"/v1/flow-runs/{unique[:12]}/graph")
        assert refused.status_code == 404
        assert "Version 7 of leave_request" in refused.json()["detail"]

    async def test_a_run_is_shown_whole(self, alice: AsyncClient, run: RunRecord) -> None:
        shown = (await alice.get(f"{RUNS}/{run.id}")).json()
        page = f"namespaces/default/workflows/leave_request%2Fdefault%2F{run.id}/r%201/history"
        assert shown["temporal"] == {
            "workflow_id": run.workflow_id,
            "run_id": "r 1",
            "url": f"http://127.0.0.1:8233/{page}",
        }
        assert shown["slots"] == {"leave_type": "annual", "half": None}
        told = (shown["title"], shown["requester"], shown["version"])
        assert told == ("请假", "alice", run.version)
        assert set(shown["history"][0]) >= {"at", "state", "event", "by"}

    async def test_what_it_knows_is_shown_as_people_read_it(
        self, caller: As, store: Store, run: RunRecord, unique: str
    ) -> None:
        labels = {slot.label for slot in LEAVE_FLOW.slots.values() if slot.label}
        both: tuple[tuple[str, Locale], ...] = (("alice", "zh"), ("olga", "en"))
        for user, locale in both:
            summary = (await caller(user).get(f"{RUNS}/{run.id}")).json()["summary"]
            assert summary
            assert set(summary) <= {label.within(locale) for label in labels}
        old = run_record(f"o{unique[:11]}", version=7)
        await store.runs.publish(old, [])
        assert (await caller("alice").get(f"{RUNS}/{old.id}")).json()["summary"] == {}

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
            ({"status": "completed", "remedy": REMEDY}, True),
            ({"status": "completed", "remedy": REMEDY, "withdrawn_by": "x"}, False),
            ({"status": "rejected"}, False),
        ],
    )
    async def test_it_says_whether_it_can_be_taken_back(
        self, alice: AsyncClient, store: Store, unique: str, more: dict[str, Any], can: bool
    ) -> None:
        await store.runs.publish(run_record(unique[:12], **more), [])
        assert (await alice.get(f"{RUNS}/{unique[:12]}")).json()["can_be_withdrawn"] is can

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
        assert (await act(caller(user), run, verb)).status_code == status

    async def test_lists_are_ones_own(self, caller: As, store: Store, run: RunRecord) -> None:
        theirs = run_record(f"x{run.id}", requester="gina", status="completed", flow="other")
        looked = run_record(f"y{run.id}", flow="get_current_time")
        for record in (theirs, looked):
            await store.runs.publish(record, [])

        async def found(user: str, query: str) -> set[str]:
            answer = await caller(user).get(f"{RUNS}?limit=200&{query}")
            return {item["id"][0] for item in answer.json()["items"] if run.id in item["id"]}

        own = run.id[0]
        assert await found("alice", "") == {own}
        assert await found("alice", "status=completed") == set()
        assert await found("alice", "flow=get_current_time") == {"y"}
        assert await found("gina", "flow=other&status=completed") == {"x"}
        assert await found("olga", "") == set()
        assert await found("olga", "all=true") == {own, "x", "y"}
        assert (await caller("bob").get(f"{RUNS}?all=true")).status_code == 403

    async def test_withdrawing_tells_the_run_once_a_key(
        self, alice: AsyncClient, live: RunRecord, unique: str
    ) -> None:
        first = await act(alice, live, "withdraw", key=unique)
        assert first.json() == {"id": live.id, "status": "cancelled", "state": "manager"}
        assert (await act(alice, live, "withdraw", key=unique)).json() == first.json()
        assert (await act(alice, live, "withdraw", {"comment": "?"}, unique)).status_code == 422
        assert (await act(alice, live, "withdraw", key=f"{unique}2")).status_code == 409

    async def test_a_late_withdrawal_says_so(self, caller: As, live: RunRecord) -> None:
        """The run ends while the withdrawal is on its way, and has yet to close."""
        rejected = await act(caller("bob"), live, "decide", {"decision": "reject"})
        assert rejected.status_code == 200
        assert "rejected" in problem(await act(caller("alice"), live, "withdraw"), 409)["detail"]

    @pytest.mark.parametrize("body", [{"comment": "\x00"}, {"comment": "x" * 2001}, {"why": ""}])
    async def test_a_bad_remark_is_refused(
        self, alice: AsyncClient, live: RunRecord, body: dict[str, str]
    ) -> None:
        problem(await act(alice, live, "withdraw", body), 422)

    async def test_nudging_reaches(self, alice: AsyncClient, live: RunRecord, store: Store) -> None:
        assert (await act(alice, live, "nudge")).status_code == 200
        done = live.model_copy(update={"status": "completed", "events": 9})
        await store.runs.publish(done, [])
        assert (await act(alice, live, "nudge")).status_code == 409

    async def test_who_was_reminded_a_moment_ago_is_left_in_peace(
        self, alice: AsyncClient, live: RunRecord, store: Store, unique: str
    ) -> None:
        async def reminded(ago: timedelta, events: int) -> None:
            line = {"at": datetime.now(UTC) - ago, "state": "manager", "event": "nudged"}
            history = [*live.history, HistoryEntry.model_validate({**line, "by": "alice"})]
            later = live.model_copy(update={"history": history, "events": events})
            await store.runs.publish(later, [approval_record(later)])

        first = await act(alice, live, "nudge", key=unique)
        await reminded(timedelta(minutes=1), events=4)
        repeated = await act(alice, live, "nudge", key=unique)
        assert (first.status_code, repeated.json()) == (200, first.json())
        for _ in range(2):
            refused = problem(await act(alice, live, "nudge", key=f"{unique}2"), 409)
            assert refused["detail"] == "刚刚提醒过审批人，过一小时再试。"
        await reminded(timedelta(hours=2), events=5)
        assert (await act(alice, live, "nudge", key=f"{unique}3")).status_code == 200

    async def test_what_nothing_stands_behind_is_over(self, caller: As, run: RunRecord) -> None:
        for verb in ("withdraw", "nudge"):
            assert (await act(caller("alice"), run, verb)).status_code == 409
        approving = {"decision": "approve"}
        assert (await act(caller("bob"), run, "decide", approving)).status_code == 409
        assert (await act(caller("bob"), "none", "decide", approving)).status_code == 404


class TestApprovals:
    async def test_what_waits_is_shown_in_the_readers_language(
        self, caller: As, store: Store, unique: str
    ) -> None:
        record = run_record(unique[:12])
        both = [approval_record(record), approval_record(record, "carol", due=None)]
        await store.runs.publish(record, both)
        keys = "id flow_run flow flow_title title summary requester digest since due asked"
        keys += " changes bulk decision comment decided_at status"
        for user, summary, title in (
            ("bob", {"天数": "三天"}, "请假"),
            ("carol", {"days": "three days"}, "Leave"),
        ):
            items = await listed(caller(user))
            mine = next(item for item in items if item["flow_run"] == record.id)
            assert (mine["summary"], mine["title"]) == (summary, title)
            assert set(mine) == set(keys.split())
        assert await listed(caller("gina")) == []

    async def test_what_somebody_has_decided_is_listed_with_what_became_of_it(
        self, caller: As, store: Store, unique: str
    ) -> None:
        bob = caller("bob")
        before = (await bob.get("/v1/approvals?limit=1")).json()["waiting"]
        record = run_record(unique[:12], status="completed")
        decided: dict[str, Any] = {"verdict": "approve", "comment": "好", "active": False}
        gave = approval_record(record, **decided, decided_at=datetime.now(UTC))
        passed = approval_record(record, "carol", verdict="escalated", active=False)
        await store.runs.publish(record, [gave, passed])
        page = (await bob.get("/v1/approvals?decided=true&limit=1")).json()
        (mine,) = page["items"]
        assert mine["flow_run"] == record.id
        told = (mine["decision"], mine["comment"], mine["status"])
        assert told == ("approve", "好", "completed")
        assert page["waiting"] == before
        theirs = (await caller("carol").get("/v1/approvals?decided=true&limit=200")).json()
        assert record.id not in [item["flow_run"] for item in theirs["items"]]

    async def test_what_has_changed_since_it_was_sent_back_is_said(
        self, caller: As, store: Store, unique: str
    ) -> None:
        record = run_record(unique[:12])
        summary = {"days": {"zh": "五天", "en": "five days"}}
        back = approval_record(record, id=f"b-{unique}", summary=summary, active=False)
        back = back.model_copy(update={"verdict": "return", "decided_at": datetime.now(UTC)})
        await store.runs.publish(record, [back, approval_record(record)])
        items = await listed(caller("bob"))
        mine = next(item for item in items if item["flow_run"] == record.id)
        assert mine["changes"] == [{"label": "天数", "before": "五天", "now": "三天"}]

    async def test_a_decision_counts_once(self, caller: As, live: RunRecord, unique: str) -> None:
        async def decide(user: str, key: str, decision: str = "approve") -> Response:
            return await act(caller(user), live, "decide", {"decision": decision}, key)

        for stranger in ("alice", "olga"):
            assert (await decide(stranger, "")).status_code == 404
        first = await decide("bob", unique)
        run = {"id": live.id, "status": "running", "state": "record"}
        taken = {"id": f"a-{live.id}-bob", "decision": "approve", "flow_run": run}
        assert (first.status_code, first.json()) == (200, taken)
        assert (await decide("bob", unique)).json() == taken
        assert (await decide("bob", unique, "reject")).status_code == 422
        assert (await decide("bob", f"{unique}2")).status_code == 409
        assert (await decide("bob", "")).status_code == 409

    @pytest.mark.parametrize("open_", [True, False])
    async def test_a_run_that_comes_to_its_approval_late_is_waited_for_while_it_is_open(
        self, caller: As, store: Store, temporal: Client, unique: str, open_: bool
    ) -> None:
        record = run_record(unique[:12])
        await store.runs.publish(record, [approval_record(record, active=open_)])
        id_ = record.workflow_id
        await temporal.start_workflow(flow.WORKFLOW, "bob late", id=id_, task_queue=QUEUE)
        answer = await act(caller("bob"), record, "decide", {"decision": "approve"})
        if open_:
            assert (answer.status_code, answer.json()["flow_run"]["state"]) == (200, "record")
        else:
            assert problem(answer, 409)["detail"] == "closed meanwhile"

    async def test_who_decides_as_the_run_ends_hears_who_decided_what(
        self, caller: As, store: Store, unique: str
    ) -> None:
        record = run_record(unique[:12])
        both = [approval_record(record), approval_record(record, "carol")]
        await store.runs.publish(record, both)
        line = {"at": both[0].since, "state": "manager", "event": "approve", "by": "carol"}
        history = [*record.history, HistoryEntry.model_validate(line)]
        ended = record.model_copy(update={"status": "completed", "history": history, "events": 9})
        await store.runs.publish(ended, [one.model_copy(update={"active": False}) for one in both])
        refused = problem(await act(caller("bob"), record, "decide", {"decision": "reject"}), 409)
        assert "Carol" in refused["detail"]

    async def test_a_decision_is_bound_to_what_was_shown(self, caller: As, live: RunRecord) -> None:
        for digest, status in (("d0", 409), ("d1", 200)):
            body = {"decision": "reject", "digest": digest, "comment": "不"}
            assert (await act(caller("bob"), live, "decide", body)).status_code == status

    async def test_nobody_decides_without_saying_what_they_were_shown(
        self, caller: As, live: RunRecord
    ) -> None:
        path = f"/v1/approvals/a-{live.id}-bob/decision"
        for body in ({"decision": "approve"}, {"decision": "approve", "digest": None}):
            refused = problem(await caller("bob").post(path, json=body), 422)
            assert [fault["field"] for fault in refused["errors"]] == ["digest"]
        assert live.id in {item["flow_run"] for item in await listed(caller("bob"))}

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "decision"),
            ({"decision": "perhaps"}, "decision"),
            ({"decision": "delegate"}, "body"),
            ({"decision": "add", "to": ""}, "to"),
            ({"decision": "delegate", "to": "nobody"}, "to"),
            ({"decision": "delegate", "to": "x" * 65}, "to"),
            ({"decision": "delegate", "to": "dave\0"}, "to"),
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
        refused = problem(await act(caller("bob"), live, "decide", body), 422)
        assert field in {fault["field"] for fault in refused["errors"]}
        assert live.id in {item["flow_run"] for item in await listed(caller("bob"))}

    async def test_somebody_known_is_delegated_to(self, caller: As, live: RunRecord) -> None:
        body = {"decision": "delegate", "to": "dave"}
        assert (await act(caller("bob"), live, "decide", body)).status_code == 200


class TestEvents:
    async def test_whom_it_names_tells_it(self, caller: As, live: RunRecord, unique: str) -> None:
        dave = caller("dave")
        told = {"id": live.id, "status": "waiting", "state": "after 2"}
        for _ in range(2):
            assert (await act(dave, live, ARRIVED, {"boxes": 2}, unique)).json() == told
        assert (await act(dave, live, ARRIVED, {"boxes": 3}, unique)).status_code == 422
        assert (await act(dave, live, ARRIVED, {"boxes": 2}, f"{unique}2")).status_code == 409

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("user", "name", "status"),
        [
            *((user, "arrived", 404) for user in ("alice", "bob", "carol", "olga")),
            *(("dave", name, 404) for name in ("departed", "a" * 64)),
            *(("dave", name, 422) for name in ("Arrived", "1a", "a" * 65, "a-b", "%00", "选")),
        ],
    )
    async def test_nobody_else_tells_it_nor_anything_else(
        self, caller: As, live: RunRecord, user: str, name: str, status: int
    ) -> None:
        problem(await act(caller(user), live, f"events/{name}", {"boxes": 2}), status)

    async def test_of_an_absent_run_nothing_is_told(self, caller: As, run: RunRecord) -> None:
        for missing in ("nothing", run):
            problem(await act(caller("dave"), missing, ARRIVED, {"boxes": 2}), 404)

    async def test_what_ended_says_so(self, caller: As, live: RunRecord, temporal: Client) -> None:
        assert (await act(caller("alice"), live, "withdraw")).is_success
        await temporal.get_workflow_handle(live.workflow_id).result()
        for user, status in (("dave", 409), ("olga", 404)):
            problem(await act(caller(user), live, ARRIVED, {"boxes": 2}), status)

    @pytest.mark.slow
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
        where, headers = f"{RUNS}/{live.id}/{ARRIVED}", {"Content-Type": "application/json"}
        refused = problem(await caller("dave").post(where, content=body, headers=headers), status)
        assert field is None or [fault["field"] for fault in refused["errors"]] == [field]
        assert (await act(caller("dave"), live, ARRIVED, {"boxes": 1})).status_code == 200


class TestOperators:
    @pytest.mark.parametrize("verb", ["retry", "terminate", "reassign"])
    @pytest.mark.parametrize(("user", "status"), [("alice", 403), ("bob", 403), ("gina", 404)])
    async def test_nobody_else_may(
        self, caller: As, run: RunRecord, verb: str, user: str, status: int
    ) -> None:
        body = PASSED_ON if verb == "reassign" else None
        problem(await act(caller(user), run, verb, body), status)

    async def test_a_call_is_made_again(self, caller: As, live: RunRecord, unique: str) -> None:
        for _ in range(2):
            made = (await act(caller("olga"), live, "retry", key=unique)).json()
            assert made == {"id": live.id, "status": "running", "state": "record"}
        assert (await act(caller("olga"), live, "retry", key=f"{unique}2")).status_code == 409

    async def test_a_run_is_ended(self, caller: As, live: RunRecord) -> None:
        answer = await act(caller("olga"), live, "terminate", {"comment": "stuck"})
        assert answer.json() == {"id": live.id, "status": "cancelled", "state": "manager"}

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"to": "carol"},
            {"to": "nobody", "instead_of": "bob"},
            {"to": "", "instead_of": "bob"},
            {"to": "x" * 65, "instead_of": "bob"},
            {"to": "carol", "instead_of": None},
            {"to": "carol", "instead_of": "bob\0"},
            {"to": "carol", "instead_of": "bob\ndave ▸ erin"},
            {"to": "carol", "instead_of": "\u202ebob"},
            {"to": "carol\0", "instead_of": "bob"},
            {"to": "carol", "instead_of": "bob", "why": "?"},
            ["carol"],
        ],
    )
    async def test_somebody_else_is_asked(self, caller: As, live: RunRecord, body: Any) -> None:
        problem(await act(caller("olga"), live, "reassign", body), 422)
        assert (await act(caller("olga"), live, "reassign", PASSED_ON)).status_code == 200
