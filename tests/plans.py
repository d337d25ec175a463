"""What a database does for a statement: how it gets at the rows of tables that grow with use."""

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event, text

from router.store.database import Database

GROWING = frozenset(
    {
        *("conversations", "snapshots", "event_log", "flow_runs", "run_people", "approvals"),
        *("run_files", "idempotency_keys", "effects", "spending", "audit", "audit_trail"),
        *("results", "files", "file_marks", "mailboxes", "memories", "kept_answers"),
    }
)
"""Tables with rows for what people do: over the years any number of them."""
OF_WHAT_WAITS = frozenset(
    {"approvals_waiting", "approvals_expiring", "flow_runs_held", "mailboxes_waiting"}
)
"""Indexes of nothing but what waits for somebody: all of one is as much as is under way."""

Statement = tuple[str, Any]


@contextmanager
def statements(database: Database) -> Iterator[list[Statement]]:
    """What a database is asked within, as it is asked; of many rows at once, with the first."""
    seen: list[Statement] = []

    def note(at: Connection, _: object, said: str, given: Any, _c: object, many: bool) -> None:
        # Others of this process may be at work too, those of other tests as well.
        if at.engine.url.database != database.name:
            return
        if re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", said) and "pg_" not in said:
            seen.append((said, given[0] if many else given))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def find_scans(
    database: Database,
    calls: Iterable[Callable[[], Awaitable[object]]],
    growing: Collection[str] = GROWING,
) -> list[str]:
    """Make the calls and return the scans of `growing` tables in all of their statements."""
    found: list[str] = []
    for call in calls:
        with statements(database) as seen:
            await call()
        for statement in seen:
            found += await scans(database, statement, growing)
    return found


async def scans(
    database: Database, statement: Statement, growing: Collection[str] = GROWING
) -> list[str]:
    """Return the `growing` tables of which a statement may read any number of rows, and how.

    Nothing is wrong with all of an index of what waits, nor with the beginning of one that is in
    the order asked for, where the statement is bounded. Of tables that aren't large yet PostgreSQL
    reads all with good reason: it is kept from that, to see what it has for when they are.
    """
    said, given = statement

    def explain(connection: Connection) -> list[str]:
        if connection.dialect.name == "sqlite":
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {said}", given)
            return _sqlite([str(row[-1]) for row in rows], said, growing)
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {said}", given).scalar_one()
        read = json.loads(plan) if isinstance(plan, str) else plan
        return list(_postgresql(read[0]["Plan"], growing, bounded=False))

    return await database.write(explain)


def _sqlite(lines: list[str], said: str, growing: Collection[str]) -> list[str]:
    ordered = not any("TEMP B-TREE FOR ORDER BY" in line for line in lines)
    bounded = ordered and re.search(r"\bLIMIT\b", said) is not None
    return [line for line in lines if _is_scan(line, growing) and not bounded]


def _is_scan(line: str, growing: Collection[str]) -> bool:
    found = re.match(r"(SCAN|SEARCH) (\w+?)(_\d+)?(?: |$)", line)
    if found is None or found[2] not in growing:
        return False
    index = re.search(r"INDEX (\w+)", line)
    if index is not None and index[1] in OF_WHAT_WAITS:
        return False
    return found[1] == "SCAN" or "AUTOMATIC" in line or line.endswith("(tenant=?)")


def _postgresql(
    node: Mapping[str, Any], growing: Collection[str], *, bounded: bool
) -> Iterator[str]:
    kind = str(node["Node Type"])
    bounded = (bounded or kind == "Limit") and kind not in {"Sort", "Aggregate", "Hash"}
    if kind == "Seq Scan" and node["Relation Name"] in growing:
        yield f"{kind} on {node['Relation Name']}"
    elif "Index" in kind and "Scan" in kind and _is_wide(node, growing) and not bounded:
        yield f"{kind} of {node['Index Name']} by {node.get('Index Cond', 'nothing')}"
    for part in node.get("Plans", ()):
        yield from _postgresql(part, growing, bounded=bounded)


def _is_wide(node: Mapping[str, Any], growing: Collection[str]) -> bool:
    """True where an index is read by no more than the tenant."""
    if node["Index Name"] in OF_WHAT_WAITS or _table(node, growing) not in growing:
        return False
    by = re.sub(r"\((\w+\.)?tenant = [^()]*\)", "", str(node.get("Index Cond", "")))
    return re.search(r"[a-z]", by) is None


def _table(node: Mapping[str, Any], growing: Collection[str]) -> str:
    """Of an index alone, which a bitmap is made of, the table that its name begins with."""
    named = node.get("Relation Name")
    if named is not None:
        return str(named)
    fitting = [table for table in growing if str(node["Index Name"]).startswith(table)]
    return max(fitting, key=len, default="")
