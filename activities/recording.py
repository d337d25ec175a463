"""Rows of the event log, written beside what they tell of: no call of a tool waits for them."""

import asyncio
import logging
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby

from router.domain.errors import Unavailable
from router.domain.ports import EventLog
from router.domain.records import LogEntry

MOST_AT_ONCE = 100
"""Rows of one transaction."""
MOST_WAITING = 5_000
"""Rows that wait for a database that is away; of more, the oldest go."""
RETRY_SECONDS = 1.0
LINGER = 0.005
"""Seconds that a row waits for others: the beginning of a short call is written with its end."""

_log = logging.getLogger(__name__)


@dataclass
class _Noted:
    tenant: str
    entry: LogEntry
    written: asyncio.Event = field(default_factory=asyncio.Event)


class Recording:
    """Writes to the event log in the order noted, what comes at once in one transaction.

    >>> recording = Recording(store.log)  # doctest: +SKIP
    >>> noted = recording.note("default", call.started(now))  # doctest: +SKIP
    >>> await noted.wait()  # whoever wants it in the log before going on  # doctest: +SKIP
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._waiting: deque[_Noted] = deque(maxlen=MOST_WAITING)
        self._writing: asyncio.Task[None] | None = None
        self._at_once = asyncio.Event()

    def note(self, tenant: str, entry: LogEntry, *, at_once: bool = False) -> asyncio.Event:
        """Have it written, in a moment or `at_once`, with all that was noted before.

        Never waits; what is given back is set once it is in the log.
        """
        noted = _Noted(tenant, entry)
        self._waiting.append(noted)
        if at_once:
            self._at_once.set()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write(), name="writing to the event log")
        return noted.written

    async def _write(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER):
                    await self._at_once.wait()
            self._at_once.clear()
            several = min(len(self._waiting), MOST_AT_ONCE)
            batch = [self._waiting.popleft() for _ in range(several)]
            for tenant, rows in groupby(batch, key=lambda noted: noted.tenant):
                await self._append(tenant, list(rows))

    async def _append(self, tenant: str, rows: list[_Noted]) -> None:
        entries = [noted.entry for noted in rows]
        while True:
            try:
                await self._log.append(tenant, entries)
                break
            except Unavailable as error:
                _log.warning("%s rows wait for the event log: %s", len(rows), error)
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:  # noqa: BLE001 - whatever it is
                # What no try will ever write must not keep back what comes after it.
                _log.exception("%s rows can't be written to the event log", len(rows))
                return
        for noted in rows:
            noted.written.set()
