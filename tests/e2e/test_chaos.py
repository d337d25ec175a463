"""What finds out that something was lost, doubled, done wrong or left behind in a chaos run."""

import json
import random
from dataclasses import replace
from datetime import date
from hashlib import sha256
from typing import Any

import httpx

from tests.e2e.chaos import checker
from tests.e2e.chaos.checker import Records, Row
from tests.e2e.chaos.consumer import of_webhooks
from tests.e2e.chaos.people import PAPERS, Event, Follower, Paper, Said, Witness, Write
from tests.e2e.storm.requests import Desk, Request
from tests.e2e.storm.rules import Expected


def told(*names: str, approval: str = "a1") -> list[dict[str, Any]]:
    about: dict[str, Any] = {
        "flow_run": "r1",
        "approval": {"id": approval, "person": "bob", "verdict": "approve"},
    }
    return [{"id": f"m{n}", "type": name, "data": about} for n, name in enumerate(names)]


RUNS = Records(
    runs=[{"id": "r1", "status": "completed"}],
    approvals=[{"id": "a1", "run": "r1", "verdict": "approve"}],
)
WHOLE = (
    *("flow.started", "flow.waiting_approval", "approval.requested"),
    *("approval.decided", "flow.completed"),
)


def test_a_run_that_is_told_whole_is_fine_however_often_each_comes() -> None:
    events = told(*WHOLE)
    assert not [*of_webhooks(events, RUNS)]
    assert not [*of_webhooks([*events, events[0], events[3]], RUNS)]


def test_what_other_systems_were_not_told_is_lost() -> None:
    for missing in ("approval.requested", "approval.decided", "flow.completed"):
        events = told(*(name for name in WHOLE if name != missing))
        assert kinds(of_webhooks(events, RUNS)) == ["lost"], missing
    assert kinds(of_webhooks([], RUNS)) == ["lost", "lost"]


def test_what_they_were_told_in_another_order_or_twice_is_found() -> None:
    assert kinds(of_webhooks(told(*WHOLE[1:], WHOLE[0]), RUNS)) == ["wrong", "lost"]
    assert kinds(of_webhooks(told("flow.started", *WHOLE), RUNS)) == ["doubled"]
    assert kinds(of_webhooks(told(*WHOLE[:4], *WHOLE[3:]), RUNS)) == ["doubled"]


NOTHING = Records()
TURN = {"turn": 1, "replies": []}
SAID = Said("alice", "c1", "m1", [503, 200], [TURN])


def log(*rows: tuple[str, str | None, dict[str, Any]]) -> list[Row]:
    return [
        {"sequence": n, "kind": kind, "conversation": "c1", "message_id": id_, "data": data}
        for n, (kind, id_, data) in enumerate(rows, start=1)
    ]


ANSWERED = log(
    ("message", "m1", {"role": "user", "text": "?"}),
    ("message", "m1", {"role": "assistant", "text": "!"}),
    ("turn", "m1", {"turn": TURN}),
)
EVENTS: list[Event] = [("1.1", "message", "{}"), ("3.1", "route", "{}"), ("3.2", "turn", "{}")]


def kinds(found: Any) -> list[str]:
    return [finding.kind for finding in found]


def test_a_message_that_was_answered_once_is_fine() -> None:
    records = replace(NOTHING, log=ANSWERED, conversations=[{"id": "c1", "owner": "alice"}])
    assert not [*checker.of_messages([SAID], records)]
    assert not [*checker.of_conversations({"c1": "alice"}, records)]
    follower = Follower("alice", "c1", [*EVENTS])
    assert not [*checker.of_events([follower], [EVENTS], records)]


def test_a_message_without_a_turn_is_lost_if_it_was_acknowledged() -> None:
    records = replace(NOTHING, log=ANSWERED[:2])
    assert kinds(checker.of_messages([SAID], records)) == ["lost"]
    assert kinds(checker.of_messages([Said("alice", "c1", "m2", [202])], NOTHING)) == ["lost"] * 3
    assert not [*checker.of_messages([Said("alice", "c1", "m1", [503])], NOTHING)]


def test_a_second_bubble_and_a_second_answer_are_doubled() -> None:
    bubble = {**ANSWERED[1], "sequence": 4}
    records = replace(NOTHING, log=[*ANSWERED, bubble])
    assert kinds(checker.of_messages([SAID], records)) == ["doubled"]
    other = replace(SAID, turns=[TURN, {**TURN, "replies": [{"type": "text", "text": "?"}]}])
    assert kinds(checker.of_messages([other], replace(NOTHING, log=ANSWERED))) == ["doubled"]


def test_what_nobody_sent_and_nobody_opened_is_found() -> None:
    records = replace(NOTHING, log=ANSWERED, conversations=[{"id": "c1", "owner": "alice"}])
    assert kinds(checker.of_messages([], records)) == ["wrong"]
    assert kinds(checker.of_conversations({"c2": "bob"}, records)) == ["lost", "doubled"]


def test_a_gap_in_the_numbers_of_turns_is_wrong_and_news_that_come_twice_are_doubled() -> None:
    later = log(("turn", "m1", {"turn": {**TURN, "turn": 2}}))
    assert kinds(checker.of_conversations({}, replace(NOTHING, log=later))) == ["wrong"]
    news = {"role": "assistant", "text": "好消息", "flow": {"id": "r1", "status": "completed"}}
    twice = log(("message", None, news), ("message", None, news))
    assert kinds(checker.of_conversations({}, replace(NOTHING, log=twice))) == ["doubled"]


def test_events_that_were_missed_or_heard_twice_are_found() -> None:
    records = replace(NOTHING, log=ANSWERED)
    missed = Follower("alice", "c1", EVENTS[:2])
    assert kinds(checker.of_events([missed], [EVENTS], records))[0] == "lost"
    twice = Follower("alice", "c1", [*EVENTS, EVENTS[-1]])
    assert kinds(checker.of_events([twice], [EVENTS], records)) == ["doubled"]
    silent = Follower("alice", "c1", EVENTS[:1])
    assert "lost" in kinds(checker.of_events([silent], [EVENTS[:1]], records))


def test_a_write_is_on_record_once_where_it_was_told_as_done() -> None:
    row = {"key": "k", "reason": "#adjust-1-1"}
    ledger = {"key": "k", "tool": "adjust_leave_balance", "status": "done"}
    done, perhaps = Write("#adjust-1-1", told_done=True), Write("#adjust-1-1")
    once = replace(NOTHING, adjustments=[row], effects=[ledger])
    twice = replace(NOTHING, adjustments=[row, row], effects=[ledger, ledger])
    assert not [*checker.of_writes([done], once)]
    assert not [*checker.of_writes([perhaps], NOTHING)]
    assert kinds(checker.of_writes([done], NOTHING)) == ["lost"]
    assert kinds(checker.of_writes([perhaps], twice)) == ["doubled"]
    assert kinds(checker.of_writes([], once)) == ["wrong"]


def test_a_file_that_was_taken_is_there_once_unchanged_and_read() -> None:
    name = f"{PAPERS}1.xml"
    paper = Paper("alice", name, b"<EInvoice/>")
    digest = sha256(paper.content).hexdigest()
    row = {"id": "f1", "owner": "alice", "name": name, "sha256": digest, "document": {}}
    others = {**row, "id": "f9", "name": "made by a tool.ics"}
    assert not [*checker.of_papers({"f1": paper}, replace(NOTHING, files=[row, others]))]
    found: dict[str, list[Row]] = {
        "lost": [],
        "wrong": [{**row, "sha256": "other"}],
        "orphan": [{**row, "document": None}],
        "doubled": [row, {**row, "id": "f2"}],
    }
    for kind, rows in found.items():
        records = replace(NOTHING, files=rows)
        assert kinds(checker.of_papers({"f1": paper}, records)) == [kind]


def test_whatever_waits_in_the_end_is_an_orphan() -> None:
    records = replace(
        NOTHING,
        runs=[{"id": "r1", "flow": "leave_request", "status": "waiting_approval"}],
        approvals=[{"id": "a1", "run": "r1", "active": True, "verdict": None}],
        effects=[{"key": "k", "tool": "record_leave", "status": "begun"}],
    )
    assert kinds(checker.of_rest(records)) == ["orphan"] * 3


def granted() -> tuple[Request, Records]:
    """Two days of Frank's that Bob has agreed to, and what is on record of them."""
    desk = Witness(httpx.AsyncClient(), 1, random.Random(1))
    request = Request(1, desk, random.Random(1), date(2026, 12, 7))
    request.run, request.expected = "r1", Expected("leave_request", "frank", 2)
    request.expected.sent()
    request.expected.approved("bob")
    key = "leave_request/default/r1:record:1"
    run = {"id": "r1", "status": "completed", "history": [{"event": "approve", "by": "bob"}]}
    leave = {"key": key, "person": "frank", "half_days": 4, "status": "standing"}
    ledger = {"key": key, "tool": "record_leave", "status": "done"}
    agreed = {"run": "r1", "person": "bob", "verdict": "approve"}
    found: dict[str, Any] = {
        "runs": [run],
        "approvals": [agreed],
        "leave": [leave],
        "effects": [ledger],
    }
    return request, replace(NOTHING, **found)


def test_a_request_that_stands_otherwise_than_was_decided_is_found() -> None:
    request, records = granted()
    assert not [*checker.of_requests([request], records)]
    other = {**records.runs[0], "status": "rejected", "history": []}
    assert kinds(checker.of_requests([request], replace(records, runs=[other]))) == ["wrong"] * 2
    assert kinds(checker.of_requests([request], replace(records, runs=[])))[0] == "lost"
    unrecorded = replace(records, leave=[], effects=[])
    assert kinds(checker.of_requests([request], unrecorded)) == ["lost", "lost", "wrong"]
    twice = replace(records, leave=records.leave * 2, effects=records.effects * 2)
    assert kinds(checker.of_requests([request], twice)) == ["doubled", "doubled", "wrong"]


async def test_whoever_decides_on_a_withdrawal_says_what_they_were_shown() -> None:
    told: list[dict[str, Any]] = []

    def answered(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            told.append(json.loads(request.content))
            return httpx.Response(200, json={})
        if "flow-runs" in request.url.path:
            return httpx.Response(200, json={"status": "completed"})
        waiting = {"id": "a2", "flow_run": "w1", "digest": "as it was shown"}
        return httpx.Response(200, json={"items": [waiting], "next": None})

    transport = httpx.MockTransport(answered)
    async with httpx.AsyncClient(base_url="http://api.test", transport=transport) as http:
        request = Request(1, Desk(http), random.Random(1), date(2026, 12, 7))
        request.withdrawal, request.expected = "w1", Expected("reimbursement", "frank", 12000)
        request.expected.withdrawal_asked()
        await request._decide_withdrawal()
    assert [body["digest"] for body in told] == ["as it was shown"]
