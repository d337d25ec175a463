"""HTTP that hangs up on whoever has stopped reading.

An application can't: it waits for room to write, and closing a connection politely waits for the
same room. Such a reader would keep a socket and its buffers for as long as it cares to.
"""

import asyncio
import logging

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 30.0
"""Seconds that a full buffer may stay full; a reader empties it in a fraction of one."""

_log = logging.getLogger(__name__)


class ImpatientProtocol(H11Protocol):
    """A connection that is dropped where what is written to it isn't read for `PATIENCE`."""

    _hanging_up: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        """The buffer is full."""
        super().pause_writing()
        self._hanging_up = self.loop.call_later(PATIENCE, self._hang_up)

    def resume_writing(self) -> None:
        """There is room again."""
        super().resume_writing()
        self._wait_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over anyway."""
        super().connection_lost(exc)
        self._wait_no_more()

    def _wait_no_more(self) -> None:
        if self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None

    def _hang_up(self) -> None:
        _log.info("%s has read nothing for %s seconds and is dropped", self.client, PATIENCE)
        self.transport.abort()
