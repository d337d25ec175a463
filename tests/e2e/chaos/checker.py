"""What people were told, compared with what plain SQL finds, without the engine's code."""

import asyncio
import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import Any, Literal, Protocol

import asyncpg  # type: ignore[import-untyped]
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client

from tests.e2e.chaos.people import PAPERS, Event, Follower, Paper, Said, Write
from tests.e2e.storm.rules import ENTITLED, WORDS, Expected

Row = dict[str, Any]
TABLES = {
    "conversations": "SELECT id, owner FROM conversations",
    "log": "SELECT sequence, kind, conversation, message_id, data FROM event_log ORDER BY sequence",
    "runs": "SELECT id, flow, status, requester, conversation, history FROM flow_runs",
    "approvals": "SELECT id, run, person, active, verdict FROM approvals",
    "effects": "SELECT key, tool, status FROM effects",
    "leave": "SELECT key, person, half_days, status FROM people_leave",
    "claims": "SELECT key, status FROM people_claims",
    "adjustments": "SELECT key, reason FROM people_adjustments",
    "files": "SELECT id, owner, name, sha256, document FROM files",
}

JSON = ("data", "history", "document")


@dataclass(frozen=True)
class Records:
    """All rows of the tables that count, as dictionaries."""

    conversations: list[Row] = field(default_factory=list)
    log: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)
    approvals: list[Row] = field(default_factory=list)
    effects: list[Row] = field(default_factory=list)
    leave: list[Row] = field(default_factory=list)
    claims: list[Row] = field(default_factory=list)
    adjustments: list[Row] = field(default_factory=list)
    files: list[Row] = field(default_factory=list)

    @classmethod
    async def read(cls, address: str) -> "Records":
        """All of it, at one moment; the address is PostgreSQL's URL or `sqlite:` and a path."""
        if address.startswith("sqlite:"):
            return cls._of_file(address.removeprefix("sqlite:"))
        connection = await asyncpg.connect(address)
        try:
            await connection.set_type_codec(
                "json", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
            )
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                read = {name: await connection.fetch(query) for name, query in TABLES.items()}
        finally:
            await connection.close()
        return cls(**{name: [dict(row) for row in rows] for name, rows in read.items()})

    @classmethod
    def _of_file(cls, path: str) -> "Records":
        with closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("BEGIN")
            read = {name: connection.execute(query).fetchall() for name, query in TABLES.items()}
        return cls(**{name: [*map(_decoded, rows)] for name, rows in read.items()})


def _decoded(row: sqlite3.Row) -> Row:
    """SQLite keeps JSON as text."""
    told = dict(row)
    return told | {name: json.loads(told[name]) for name in JSON if told.get(name) is not None}


def by(rows: Iterable[Row], *columns: str) -> dict[Any, list[Row]]:
    """The rows by the values of these columns; nothing for those that there are none of."""
    found: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        values = tuple(row[column] for column in columns)
        found[values[0] if len(values) == 1 else values].append(row)
    return found


def by_run(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows with a key of an effect, by the id of the run whose effect it was."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["key"].partition(":")[0].rsplit("/", 1)[-1]].append(row)
    return found


Kind = Literal["lost", "doubled", "wrong", "orphan"]
OVER = {"completed", "rejected", "cancelled", "failed", "expired"}
VERDICTS = {"approve", "reject", "return"}
ADJUST = "adjust_leave_balance"


@dataclass(frozen=True)
class Finding:
    """Something that may not be."""

    kind: Kind
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


def of_messages(said: Sequence[Said], records: Records) -> Iterator[Finding]:
    """Every acknowledged message has one turn, one bubble of each side, and one answer for ever."""
    turns = by((row for row in records.log if row["kind"] == "turn"), "conversation", "message_id")
    spoken = [row for row in records.log if row["kind"] == "message" and row["message_id"]]
    bubbles = by(spoken, "conversation", "message_id")
    for one in said:
        place = (one.conversation, one.id)
        if one.acknowledged or place in turns or place in bubbles:
            yield from _of_message(one, turns.get(place, []), bubbles.get(place, []))
    sent = {(one.conversation, one.id) for one in said}
    for place in {*turns, *bubbles} - sent:
        yield Finding("wrong", f"message {place} is on record and nobody sent it")


def _of_message(one: Said, turns: list[Row], bubbles: list[Row]) -> Iterator[Finding]:
    about = f"message {one.id} of {one.user} in {one.conversation}"
    yield from _once(len(turns), f"the turn of {about}")
    for role in ("user", "assistant"):
        there = sum(row["data"]["role"] == role for row in bubbles)
        yield from _once(there, f"the {role}'s bubble of {about}")
    answers = [turn for turn in one.turns if turn != one.turns[0]]
    if answers:
        yield Finding("doubled", f"{about} was answered differently: {one.turns[0]}, {answers[0]}")
    if turns and one.turns and turns[0]["data"]["turn"]["turn"] != one.turns[0]["turn"]:
        yield Finding("wrong", f"{about} has another turn on record than was answered")


def _once(count: int, what: str) -> Iterator[Finding]:
    if count == 0:
        yield Finding("lost", what)
    if count > 1:
        yield Finding("doubled", f"{count} times {what}")


def of_conversations(opened: dict[str, str], records: Records) -> Iterator[Finding]:
    """As many as were opened; turns are numbered from one on; no news is told twice."""
    there = {row["id"]: row["owner"] for row in records.conversations}
    for id_, user in opened.items():
        if there.get(id_) != user:
            yield Finding("lost", f"conversation {id_} of {user}")
    for id_ in there.keys() - opened.keys():
        yield Finding("doubled", f"conversation {id_}, which nobody was told of")
    for id_, rows in by(records.log, "conversation").items():
        numbers = [row["data"]["turn"]["turn"] for row in rows if row["kind"] == "turn"]
        if numbers != [*range(1, len(numbers) + 1)]:
            yield Finding("wrong", f"the turns of conversation {id_} are {numbers}")
        news = Counter(
            (row["data"]["flow"]["id"], row["data"]["text"])
            for row in rows
            if row["kind"] == "message" and row["data"].get("flow", {}).get("status") in OVER
        )
        for (run, text), count in news.items():
            if count > 1:
                yield Finding("doubled", f"{count} times {text!r} of run {run} in {id_}")


def of_events(
    followers: Sequence[Follower], again: Sequence[list[Event]], records: Records
) -> Iterator[Finding]:
    """Whoever followed through it all heard what is heard who reads now: all, once, in order."""
    for follower, anew in zip(followers, again, strict=True):
        heard = Counter(event[0] for event in follower.heard)
        about = f"of conversation {follower.conversation}"
        for id_ in {event[0] for event in anew} - heard.keys():
            yield Finding("lost", f"event {id_} {about} was never heard")
        for id_, count in heard.items():
            if count > 1:
                yield Finding("doubled", f"event {id_} {about} was heard {count} times")
        if not any(count > 1 for count in heard.values()) and follower.heard != anew:
            yield Finding("wrong", f"the events {about} read differently now")
        places = [tuple(map(int, event[0].split("."))) for event in anew]
        if any(after <= before for before, after in pairwise(places)):
            yield Finding("wrong", f"the events {about} are out of order: {places}")
        rows = {place[0] for place in places}
        for row in records.log:
            told = row["kind"] == "turn" or row["data"].get("role") == "user"
            if (
                row["conversation"] == follower.conversation
                and told
                and row["sequence"] not in rows
            ):
                yield Finding("lost", f"row {row['sequence']} {about} is no event")


class Asked(Protocol):
    """A request, however it was made."""

    expected: Expected
    run: str

    @property
    def me(self) -> str:
        """Whose it is."""


def of_requests(requests: Sequence[Asked], records: Records) -> Iterator[Finding]:
    """Every request stands where its approvals say, and did to the world what was accepted."""
    runs, approvals = {row["id"]: row for row in records.runs}, by(records.approvals, "run")
    for one in requests:
        about, wanted = _about(one), one.expected
        run = runs.get(one.run)
        if run is None:
            yield Finding("lost", about)
            continue
        if run["status"] != wanted.status:
            yield Finding("wrong", f"{about} is {run['status']}, and should be {wanted.status}")
        words = [(line["event"], line["by"]) for line in run["history"] if line["event"] in WORDS]
        if words not in wanted.histories:
            yield Finding("wrong", f"{about} has heard {words}, and should have {wanted.words}")
        kept = Counter((row["verdict"], row["person"]) for row in approvals[one.run])
        for verdict, person in Counter(w for w in words if w[0] in VERDICTS) - kept:
            yield Finding("lost", f"that {person} said {verdict} of {about} is on no approval")
    yield from of_effects([one for one in requests if one.run in runs], records)
    yield from _of_balances(requests, records)


def _about(request: Asked) -> str:
    return f"{request.expected.flow} {request.run} of {request.me}"


def of_effects(requests: Sequence[Asked], records: Records) -> Iterator[Finding]:
    """What every request did to the world is what was accepted, each once."""
    effects, leave, claims = map(by_run, (records.effects, records.leave, records.claims))
    for one in requests:
        about, wanted = _about(one), one.expected
        yield from _of_calls(about, wanted, effects[one.run])
        there = sum(row["status"] == "standing" for row in leave[one.run])
        holds = wanted.is_leave and wanted.holds
        if there != holds:
            kind: Kind = "lost" if there < holds else "doubled"
            yield Finding(kind, f"{there} leaves on record of {about}, not {int(holds)}")
        found = Counter(row["status"] for row in claims[one.run])
        if found != wanted.claims:
            yield Finding("wrong", f"{about} has claims {found}, not {wanted.claims}")


def _of_calls(about: str, expected: Expected, rows: list[Row]) -> Iterator[Finding]:
    calls = Counter(row["tool"] for row in rows)
    for tool, count in (+expected.calls - calls).items():
        yield Finding("lost", f"{count} × {tool} of {about}")
    for tool, count in (calls - (+expected.calls + expected.perhaps)).items():
        yield Finding("doubled", f"{count} × {tool} of {about} too many")


def _of_balances(requests: Sequence[Asked], records: Records) -> Iterator[Finding]:
    taken, wanted = Counter[str](), Counter[str]()
    for row in records.leave:
        taken[row["person"]] += row["half_days"] * (row["status"] == "standing")
    for one in requests:
        wanted[one.me] += 2 * one.expected.size * (one.expected.is_leave and one.expected.holds)
    if +taken != +wanted or max(taken.values(), default=0) > 2 * ENTITLED:
        yield Finding("wrong", f"half days taken are {taken}, and should be {wanted}")


def of_writes(writes: Sequence[Write], records: Records) -> Iterator[Finding]:
    """Every write that was said to be done is on record once; none is there twice or unasked."""
    there = Counter(row["reason"] for row in records.adjustments)
    runs = {row["id"]: row["status"] for row in records.runs}
    for one in writes:
        if (one.told_done or runs.get(one.run) == "completed") and not there[one.mark]:
            yield Finding("lost", f"the adjustment {one.mark}")
    for mark, count in there.items():
        if count > 1:
            yield Finding("doubled", f"{count} times the adjustment {mark}")
        if mark not in {one.mark for one in writes}:
            yield Finding("wrong", f"the adjustment {mark}, which nobody confirmed")
    known = sum(row["tool"] == ADJUST for row in records.effects)
    if known != sum(there.values()):
        yield Finding("wrong", f"{known} × {ADJUST} in the ledger, {sum(there.values())} made")


def of_papers(papers: Mapping[str, Paper], records: Records) -> Iterator[Finding]:
    """Every file that was taken is there as it was, once, and has been read."""
    there = {row["id"]: row for row in records.files if row["name"].startswith(PAPERS)}
    for id_, paper in papers.items():
        row, about = there.get(id_), f"the file {paper.name} of {paper.user}"
        if row is None:
            yield Finding("lost", about)
        elif (row["owner"], row["sha256"]) != (paper.user, sha256(paper.content).hexdigest()):
            yield Finding("wrong", f"{about} is another one now")
        elif row["document"] is None:
            yield Finding("orphan", f"{about} was never read")
    for id_ in there.keys() - papers.keys():
        yield Finding("doubled", f"the file {there[id_]['name']}, whose id nobody was told")


def of_rest(records: Records) -> Iterator[Finding]:
    """Nothing waits for anybody, and no effect is left half done."""
    for row in records.runs:
        if row["status"] not in OVER:
            yield Finding("orphan", f"{row['flow']} {row['id']} is {row['status']}")
    for row in records.approvals:
        if row["active"] and row["verdict"] is None:
            yield Finding("orphan", f"approval {row['id']} of run {row['run']} waits")
    for row in records.effects:
        if row["status"] != "done":
            yield Finding("orphan", f"the effect {row['key']} of {row['tool']} is {row['status']}")


REST_WITHIN = 60.0
"""Seconds for what is under way at the last word."""


async def of_temporal(address: str) -> list[Finding]:
    """What is still under way there once it has had `REST_WITHIN` seconds, or nothing is."""
    client, began = await Client.connect(address), time.monotonic()
    while True:
        found = [one async for one in _unrest(client)]
        if not found or time.monotonic() - began > REST_WITHIN:
            ends = "ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut')"
            async for one in client.list_workflows(ends):
                end = one.status and one.status.name
                found.append(Finding("wrong", f"workflow {one.id} ended as {end}"))
            return found
        await asyncio.sleep(1)


async def _unrest(client: Client) -> AsyncIterator[Finding]:
    async for one in client.list_workflows("ExecutionStatus='Running'"):
        if one.workflow_type != "Conversation":
            yield Finding("orphan", f"workflow {one.id} is still open")
            continue
        shown = (await client.get_workflow_handle(one.id).describe()).raw_description
        for activity in shown.pending_activities:
            state = PendingActivityState.Name(activity.state)
            name = activity.activity_type.name
            yield Finding("orphan", f"{name} of {one.id} is {state}, try {activity.attempt}")
        for child in shown.pending_children:
            yield Finding("orphan", f"child {child.workflow_id} of {one.id}")
        if shown.HasField("pending_workflow_task"):
            tries = shown.pending_workflow_task.attempt
            yield Finding("orphan", f"a task of {one.id} is stuck, try {tries}")
