"""What is on record in the end, read with plain SQL: nothing here knows the engine's code."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import asyncpg  # type: ignore[import-untyped]

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
}


@dataclass(frozen=True)
class Records:
    """All rows of the tables that count, as dictionaries."""

    conversations: list[Row]
    log: list[Row]
    runs: list[Row]
    approvals: list[Row]
    effects: list[Row]
    leave: list[Row]
    claims: list[Row]
    adjustments: list[Row]

    @classmethod
    async def read(cls, address: str) -> "Records":
        """All of it, at one moment."""
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
