"""A connection that listens on a channel of PostgreSQL, for as long as it is wanted."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from router.domain.errors import Unavailable
from router.store.database import Database

READY_SECONDS = 2.0
"""What a first reader waits for the connection; then it goes on without, for now."""
RETRY_SECONDS = 0.5
CHECK_SECONDS = 30.0
"""How often a silent connection is asked whether it is alive: a firewall drops it unsaid."""
CHECK_TIMEOUT = 5.0

_log = logging.getLogger(__name__)

Hear = Callable[[str], None]
"""Is given each payload; must neither wait nor raise."""


class Listening:
    """One connection of its own for a whole process, made again whenever it is lost.

    What is told between a loss and the next connection is never heard.
    """

    def __init__(self, database: Database, channel: str, hear: Hear) -> None:
        self._database = database
        self._channel = channel
        self._hear = hear
        self._task: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()

    async def begun(self) -> None:
        """Return once it listens, or when that takes too long; never raises."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._stay(), name=f"listening on {self._channel}")
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                await self._ready.wait()

    async def aclose(self) -> None:
        """Stop, and close the connection."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _stay(self) -> None:
        while True:
            try:
                await self._listen_once()
            except Unavailable as error:
                _log.warning("not listening on %s, trying again: %s", self._channel, error)
            finally:
                self._ready.clear()
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen_once(self) -> None:
        """Listen until the connection is lost; raises `Unavailable` where that shows."""
        lost = asyncio.Event()
        async with self._database.own_connection() as connection:
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(self._channel, self._heard)
            self._ready.set()
            while not lost.is_set():
                try:
                    async with asyncio.timeout(CHECK_SECONDS):
                        await lost.wait()
                except TimeoutError:
                    await connection.execute("SELECT 1", timeout=CHECK_TIMEOUT)

    def _heard(self, _connection: Any, _process: int, _channel: str, payload: str) -> None:
        self._hear(payload)
