"""A house with a past: rows of so many conversations, made rather than talked.

In proportion to the conversations come messages, turns, runs, approvals and all else that grows
with use. They are spread evenly over `DAYS` before now and belong to one tenant, the worst case.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import JSON, Connection, Table, insert, text

from router.domain.locale import Localised
from router.domain.messages import Route, Turn
from router.store import tables
from router.store.database import Database, write_json

TENANT = "default"
DAYS = 380
"""With a retention of a year a little of everything is due."""
PER_PERSON = 10
"""Conversations of a person."""
PER_RUN = 5
"""Conversations for each run."""
STATUSES = ("completed",) * 15 + (
    "rejected",
    "cancelled",
    "waiting_approval",
    "collecting",
    "failed",
)
TITLE = Localised(zh="申请", en="A request").model_dump()
AT_ONCE = 2000

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Past:
    """What there is in it: `conversations` of them, and a fifth as many runs."""

    conversations: int
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def people(self) -> int:
        """How many there are, `u0` and so on."""
        return self.conversations // PER_PERSON

    @property
    def runs(self) -> int:
        """How many there are, `r0` and so on; `r0` is of `c0`, whose owner is `u0`."""
        return self.conversations // PER_RUN

    def person(self, number: int) -> str:
        """Whose a conversation, or a run's approval, of this number is."""
        return f"u{number % self.people}"

    def at(self, number: int, of: int) -> datetime:
        """When the one of this number of so many was made: the first is the oldest."""
        return self.now - timedelta(days=DAYS) * (1 - number / of)

    def rows(self) -> Iterator[tuple[Table, Iterator[Row]]]:
        """What goes into each table, in an order that its references allow."""
        yield tables.conversations, self._conversations()
        yield tables.snapshots, self._snapshots()
        yield tables.log, self._log()
        yield tables.runs, self._runs()
        yield tables.run_people, self._run_people()
        yield tables.approvals, self._approvals()
        yield tables.files, self._files()
        yield tables.run_files, self._run_files()
        yield tables.file_marks, self._marks()
        yield tables.keys, self._keys()
        yield tables.effects, self._effects()
        yield tables.spending, self._spending()
        yield tables.spending_days, self._spending_days()
        yield tables.audit, self._audit()
        yield tables.audit_trail, self._trail()
        yield tables.results, self._results()
        yield tables.mailboxes, self._mailboxes()
        yield tables.memories, self._memories()
        yield tables.hand_offs, self._hand_offs()
        yield tables.kept_answers, self._answers()
        yield tables.prompt_shares, self._shares()

    def _conversations(self) -> Iterator[Row]:
        for n in range(self.conversations):
            at = self.at(n, self.conversations)
            about: dict[str, Any] = {
                "id": f"c{n}",
                "owner": self.person(n),
                "locale": "zh",
                "created_at": at,
            }
            yield {"tenant": TENANT, **about, "metadata": {}, "forgotten_at": None}

    def _snapshots(self) -> Iterator[Row]:
        for n in range(0, self.conversations, 2):
            at = self.at(n, self.conversations)
            state = '{"turns": 2}'
            yield {"tenant": TENANT, "conversation": f"c{n}", "state": state, "saved_at": at}

    def _log(self) -> Iterator[Row]:
        turn = _turn()
        for n in range(self.conversations):
            about: dict[str, Any] = {
                "tenant": TENANT,
                "conversation": f"c{n}",
                "recipient": None,
                "about": None,
            }
            about |= {"at": self.at(n, self.conversations)}
            for message in range(2):
                id_ = f"m{message}"
                for who in ("user", "assistant"):
                    said = {"role": who, "text": "我的申请到哪一步了"}
                    yield _entry(about, f"c{n}:{id_}:{who}", "message", id_, said)
                prompt = "router-2@55f749c8" if n % 3 == 0 else None
                went = {"route_kind": "flow", "route_by": "llm", "missed": False, "prompt": prompt}
                yield {**_entry(about, f"c{n}:{id_}:turn", "turn", id_, turn), **went}
            if n % PER_RUN == 0:
                yield self._news(n)

    def _news(self, n: int) -> Row:
        """That somebody's decision is awaited in a run that was begun in this conversation."""
        person, about = self.person(n), self.person(n + 1)
        row: dict[str, Any] = {
            "tenant": TENANT,
            "conversation": None,
            "recipient": about,
            "about": person,
        }
        row["at"] = self.at(n, self.conversations)
        data = {"flow_run": f"r{n // PER_RUN}", "requester": person, "title": TITLE}
        return _entry(row, f"r{n // PER_RUN}:asked", "approval", None, data)

    def _runs(self) -> Iterator[Row]:
        for n in range(self.runs):
            at = self.at(n, self.runs)
            history = [{"at": at.isoformat(), "state": "asked", "event": "began", "by": None}]
            yield {
                "tenant": TENANT,
                "id": f"r{n}",
                "workflow_id": f"one/{TENANT}/r{n}",
                "run_id": "x",
                "flow": f"flow_{n % 7}",
                "title": TITLE,
                "version": 1,
                "status": STATUSES[n % len(STATUSES)],
                "state": "asked",
                "slots": {"days": 2},
                "requester": self.person(n * PER_RUN),
                "conversation": f"c{n * PER_RUN}",
                "parent": f"one/{TENANT}/r{n - 1}" if n % 10 == 9 else None,
                "events": 3,
                "history": history,
                "created_at": at,
                "updated_at": at,
                "readers": [],
                "files": {},
                "withdraws": None,
                "withdrawn_by": None,
                "remedy": None,
                "asked": {},
                "incident": {"kind": "call", "at": at.isoformat()} if n % 200 == 19 else None,
                "held": n % 200 == 19,
            }

    def _run_people(self) -> Iterator[Row]:
        for n in range(self.runs):
            yield {"tenant": TENANT, "person": self.person(n * PER_RUN + 1), "run": f"r{n}"}

    def _approvals(self) -> Iterator[Row]:
        for n in range(self.runs):
            at, waits = self.at(n, self.runs), STATUSES[n % len(STATUSES)] == "waiting_approval"
            yield {
                "tenant": TENANT,
                "id": f"a{n}",
                "run": f"r{n}",
                "workflow_id": f"one/{TENANT}/r{n}",
                "flow": f"flow_{n % 7}",
                "person": self.person(n * PER_RUN + 1),
                "requester": self.person(n * PER_RUN),
                "title": TITLE,
                "summary": {},
                "labels": {},
                "digest": "d",
                "since": at,
                "due": None,
                "active": waits,
                "verdict": None if waits else "approve",
                "comment": None,
                "expires": self.now + timedelta(days=n % 30 + 1),
                "decided_at": None if waits else at,
                "bulk": False,
            }

    def _files(self) -> Iterator[Row]:
        for n in range(self.runs):
            about: dict[str, Any] = {
                "tenant": TENANT,
                "id": f"f{n}",
                "owner": self.person(n),
                "name": "a.pdf",
            }
            about |= {"type": "application/pdf", "size": 1, "sha256": "0", "content": b"a"}
            yield {**about, "at": self.at(n, self.runs), "document": {}, "preview": None}

    def _run_files(self) -> Iterator[Row]:
        return ({"tenant": TENANT, "file": f"f{n}", "run": f"r{n}"} for n in range(self.runs))

    def _marks(self) -> Iterator[Row]:
        return ({"tenant": TENANT, "mark": f"k{n}", "file": f"f{n}"} for n in range(self.runs))

    def _keys(self) -> Iterator[Row]:
        for n in range(self.conversations):
            row: dict[str, Any] = {
                "tenant": TENANT,
                "user": self.person(n),
                "key": f"k{n}",
                "digest": "d",
            }
            yield {**row, "claimed_at": self.at(n, self.conversations)}

    def _effects(self) -> Iterator[Row]:
        for n in range(self.runs):
            at = self.at(n, self.runs)
            done = {"digest": "d", "status": "done", "result": None, "failure": None}
            about: dict[str, Any] = {"key": f"one/{TENANT}/r{n}:book", "tool": "book"}
            yield {**about, **done, "begun_at": at, "ended_at": at}

    def _spending(self) -> Iterator[Row]:
        for n in range(self.conversations):
            about: dict[str, Any] = {"tenant": TENANT, "day": self.at(n, self.conversations).date()}
            about |= {"user": self.person(n), "role": "router", "model": "small", "currency": ""}
            yield {**about, "prompt": f"router-{n}", **_amounts(1)}

    def _spending_days(self) -> Iterator[Row]:
        for day in range(DAYS + 1):
            at = self.now.date() - timedelta(days=day)
            yield {"day": at, "tenant": TENANT, "currency": "", **_amounts(3)}

    def _audit(self) -> Iterator[Row]:
        for n in range(self.conversations):
            row: dict[str, Any] = {
                "tenant": TENANT,
                "at": self.at(n, self.conversations),
                "tool": "look_up",
            }
            row |= {"person": self.person(n), "digest": "d", "decision": "admitted"}
            row |= {"outcome": "done", "detail": "", "key": f"one/{TENANT}/r{n}:book"}
            yield {**row, "flow_run": None, "conversation": f"c{n}"}

    def _trail(self) -> Iterator[Row]:
        for n in range(self.people):
            row: dict[str, Any] = {"tenant": TENANT, "id": f"t{n}", "at": self.at(n, self.people)}
            row |= {"who": "olga", "act": "run.read", "subject": f"r{n}", "whose": self.person(n)}
            yield {**row, "reason": "", "detail": "", "request_id": "", "trace_id": ""}

    def _results(self) -> Iterator[Row]:
        for n in range(self.people):
            row: dict[str, Any] = {
                "tenant": TENANT,
                "id": f"h{n}",
                "owner": self.person(n),
                "tool": "look_up",
            }
            yield {**row, "body": "{}", "kept_at": self.at(n, self.people)}

    def _mailboxes(self) -> Iterator[Row]:
        for n in range(0, self.conversations, 2):
            row: dict[str, Any] = {
                "tenant": TENANT,
                "platform": "chat",
                "kind": "conversation",
                "place": {},
            }
            row |= {"subject": f"c{n}", "position": 10**9, "due": self.now - timedelta(days=1)}
            yield {**row, "news": 10**9}

    def _hand_offs(self) -> Iterator[Row]:
        for n in range(self.conversations):
            at = self.at(n, self.conversations)
            going_on = n % 100 == 0
            row: dict[str, Any] = {"tenant": TENANT, "id": f"o{n}", "conversation": f"c{n}"}
            row |= {"requester": self.person(n), "cause": "asked", "reason": "", "version": 1}
            row["why"] = None
            row |= {"state": "taken" if going_on else "closed", "agent": self.person(n + 1)}
            row |= dict.fromkeys(("due", "taken_at"), at) | {"ending": None, "closed_at": at}
            yield {**row, "since": at, "waiting_since": at if going_on else None}

    def _memories(self) -> Iterator[Row]:
        for n in range(self.people):
            row: dict[str, Any] = {
                "tenant": TENANT,
                "owner": self.person(n),
                "id": f"y{n}",
                "text": "tea",
            }
            yield {**row, "locale": "en", "created_at": self.at(n, self.people)}

    def _answers(self) -> Iterator[Row]:
        for n in range(self.people):
            row: dict[str, Any] = {
                "tenant": TENANT,
                "id": f"w{n}",
                "scope": f"s{n % 20}",
                "question": "q",
            }
            row |= {"text": "t", "tools": [], "kept_at": self.at(n, self.people)}
            yield {**row, "until": self.now + timedelta(days=1)}

    def _shares(self) -> Iterator[Row]:
        for n in range(20):
            row: dict[str, Any] = {
                "tenant": TENANT,
                "job": "router",
                "shares": {"router-2": 1},
                "set_by": "olga",
            }
            yield {**row, "set_at": self.at(n, 20), "rolled_back_by": None, "rolled_back_at": None}


def _turn() -> dict[str, Any]:
    route = Route(kind="flow", by="llm", target="flow_1")
    done = Turn(message_id="m0", turn=1, route=route)
    return {"digest": "d", "turn": done.model_dump(mode="json")}


def _entry(about: Row, key: str, kind: str, message_id: str | None, data: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("route_kind", "route_by", "missed", "prompt"))
    return {**about, "key": key, "kind": kind, "message_id": message_id, "data": data, **nothing}


def _amounts(calls: int) -> dict[str, int]:
    tokens = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens")
    return {"calls": calls, **dict.fromkeys((*tokens, "reasoning_tokens"), 100 * calls), "cost": 0}


async def fill(database: Database, past: Past) -> None:
    """Put all of it into the database, and have it know how much it has, as a server sees to."""
    for table, rows in past.rows():
        if database.dialect == "sqlite":
            await database.write(lambda c, t=table, r=rows: _insert(c, t, r))  # type: ignore[misc]
        else:
            await _copy(database, table, rows)
    if database.dialect == "postgresql":
        await database.read(lambda connection: connection.execute(text("ANALYZE")))


def _insert(connection: Connection, table: Table, rows: Iterator[Row]) -> None:
    while some := [row for row, _ in zip(rows, range(AT_ONCE), strict=False)]:
        connection.execute(insert(table), some)


async def _copy(database: Database, table: Table, rows: Iterator[Row]) -> None:
    names = [c.name for c in table.c if c.name != "sequence"]
    written = {c.name for c in table.c if isinstance(c.type, JSON)}
    records = (
        tuple(write_json(row[name]) if name in written else row[name] for name in names)
        for row in rows
    )
    async with database.own_connection() as connection:
        await connection.copy_records_to_table(table.name, records=records, columns=names)
