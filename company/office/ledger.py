"""What the office has on record: entries of each family, each made once for its key."""

import json
import sqlite3
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from router.domain.errors import Conflict, NotFound
from router.domain.locale import Localised
from router.domain.value import Value

IN_MEMORY = ":memory:"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    family TEXT NOT NULL,
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    person TEXT NOT NULL,
    status TEXT NOT NULL,
    fields TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    UNIQUE (tenant, family, key)
)
"""
_COLUMNS = "number, family, person, status, fields, recorded_at"


class Holder(Value):
    """Whose entries are spoken of: a person of a tenant."""

    tenant: str
    person: str


class LedgerEntry(Value):
    """One thing on record: an order, a booking, a right, whatever its family is."""

    id: str
    """Such as OT-17: what its family is called by, and its number."""
    person: str
    status: str
    fields: dict[str, JsonValue]
    recorded_at: datetime


class Ledger:
    """Entries of all families, in one SQLite file or in memory.

    >>> ledger, alice = Ledger(), Holder(tenant="default", person="alice")
    >>> made = ledger.make(alice, "OT", "key-1", {"hours": 2})
    >>> made == ledger.make(alice, "OT", "key-1", {"hours": 2})
    True
    >>> ledger.take_back(alice, "OT", "key-1").status
    'withdrawn'
    """

    def __init__(self, place: str = IN_MEMORY) -> None:
        """`place` is a file, made where there is none; without one all is forgotten at the end."""
        # One thread at a time uses it: the endpoints are coroutines of one loop.
        self._connection = sqlite3.connect(place, check_same_thread=False, isolation_level=None)
        self._connection.execute(_SCHEMA)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def make(
        self,
        holder: Holder,
        family: str,
        key: str,
        fields: dict[str, Any],
        status: str = "open",
    ) -> LedgerEntry:
        """Put something on record, or give what this key has put there before."""
        known = self.made_by(holder, family, key)
        if known is not None:
            return known
        row = (family, holder.tenant, key, holder.person, status, json.dumps(fields))
        self._connection.execute(
            "INSERT INTO entries (family, tenant, key, person, status, fields, recorded_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*row, datetime.now(UTC).isoformat()),
        )
        made = self.made_by(holder, family, key)
        assert made is not None  # noqa: S101 - it was written a line ago, by this thread
        return made

    def made_by(self, holder: Holder, family: str, key: str) -> LedgerEntry | None:
        """What this key has put on record, or None."""
        return self._one("tenant = ? AND family = ? AND key = ?", holder.tenant, family, key)

    def find(self, holder: Holder, id_: str) -> LedgerEntry:
        """The tenant's entry with this id; raises `NotFound`."""
        family, _, number = id_.rpartition("-")
        found = None
        if number.isascii() and number.isdecimal():
            where = "tenant = ? AND family = ? AND number = ?"
            found = self._one(where, holder.tenant, family, number)
        if found is None:
            raise NotFound(
                Localised(zh=f"没有编号为 {id_:.40} 的记录", en=f"there is no {id_:.40}")
            )
        return found

    def entries(
        self, holder: Holder, family: str, statuses: Collection[str] = ()
    ) -> list[LedgerEntry]:
        """The person's entries of a family, the latest first; with statuses, only such."""
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE tenant = ? AND person = ? AND family = ? "  # noqa: S608 - no value in it
            "ORDER BY number DESC",
            (holder.tenant, holder.person, family),
        )
        return [entry for entry in map(_read, rows) if not statuses or entry.status in statuses]

    def everyones(self, tenant: str, family: str, statuses: Collection[str]) -> list[LedgerEntry]:
        """The tenant's entries of a family that have one of these statuses, the latest first."""
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE tenant = ? AND family = ? "  # noqa: S608 - no value in it
            "ORDER BY number DESC",
            (tenant, family),
        )
        return [entry for entry in map(_read, rows) if entry.status in statuses]

    def move(
        self, holder: Holder, id_: str, to: str, frm: Collection[str], **fields: JsonValue
    ) -> LedgerEntry:
        """Give an entry another status, and further fields; once more is the same as once.

        Raises `NotFound`, and `Conflict` where its status is none of those it may come `frm`.
        """
        found = self.find(holder, id_)
        if found.status == to:
            return found
        if found.status not in frm:
            zh = f"{id_} 的状态是 {found.status}，不能再改为 {to}"
            en = f"{id_} is {found.status} and can't be {to} any more"
            raise Conflict(Localised(zh=zh, en=en))
        self._connection.execute(
            "UPDATE entries SET status = ?, fields = ? WHERE number = ?",
            (to, json.dumps({**found.fields, **fields}), id_.rpartition("-")[2]),
        )
        return self.find(holder, id_)

    def amend(self, holder: Holder, id_: str, **fields: JsonValue) -> LedgerEntry:
        """Give an entry further fields, or other ones; raises `NotFound`."""
        found = self.find(holder, id_)
        self._connection.execute(
            "UPDATE entries SET fields = ? WHERE number = ?",
            (json.dumps({**found.fields, **fields}), id_.rpartition("-")[2]),
        )
        return self.find(holder, id_)

    def take_back(self, holder: Holder, family: str, key: str) -> LedgerEntry | None:
        """Withdraw what this key has put on record, whatever became of it; None: it put nothing."""
        made = self.made_by(holder, family, key)
        return made and self.move(holder, made.id, "withdrawn", {made.status})

    def _one(self, where: str, *values: str) -> LedgerEntry | None:
        query = f"SELECT {_COLUMNS} FROM entries WHERE {where}"  # noqa: S608 - written here
        row = self._connection.execute(query, values).fetchone()
        return row and _read(row)


def _read(row: tuple[int, str, str, str, str, str]) -> LedgerEntry:
    number, family, person, status, fields, recorded_at = row
    return LedgerEntry(
        id=f"{family}-{number}",
        person=person,
        status=status,
        fields=json.loads(fields),
        recorded_at=datetime.fromisoformat(recorded_at),
    )
