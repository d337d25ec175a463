"""Progress passed on between processes, through PostgreSQL's NOTIFY and LISTEN.

Every process that has readers hears everything on one channel and picks out what is for
them: a few hundred short payloads a second cost less than a LISTEN for each reader.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError
from sqlalchemy import text

from router.domain.errors import Unavailable
from router.domain.progress import Progress
from router.store.database import Database
from router.store.listening import Listening
from router.store.live import Readers

CHANNEL = "router_live"
PAYLOAD_BYTES = 7999
"""The longest payload that PostgreSQL takes."""
TELL_SECONDS = 1.0
"""For one event: whoever tells is in the middle of a turn."""

# A NOTIFY is a transaction that is flushed to the disk like any other. Nobody misses progress
# that a crash of the server took along, so this one needn't be.
_NOTIFY = text("SELECT set_config('synchronous_commit', 'off', true), pg_notify(:channel, :said)")

_log = logging.getLogger(__name__)


class PostgresLive:
    """`router.domain.ports.Live` for any number of processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._readers = Readers()
        self._listening = Listening(database, CHANNEL, self._hear)
        self._failing = False

    async def tell(self, progress: Progress) -> None:
        """Pass it on, after what the same caller told before."""
        try:
            async with asyncio.timeout(TELL_SECONDS):
                for payload in payloads(progress):
                    await self._notify(payload)
        except (Unavailable, TimeoutError) as error:
            self._note(error)
        else:
            self._failing = False

    @asynccontextmanager
    async def listen(
        self, tenant: str, conversation: str
    ) -> AsyncIterator[AsyncIterator[Progress]]:
        """Everything that is told of the conversation from now on, for as long as one stays."""
        with self._readers.reading(tenant, conversation) as inbox:
            await self._listening.begun()
            yield inbox

    @asynccontextmanager
    async def listen_for(self, tenant: str, person: str) -> AsyncIterator[AsyncIterator[Progress]]:
        """The same of what is told for a person."""
        with self._readers.reading(tenant, person=person) as inbox:
            await self._listening.begun()
            yield inbox

    async def aclose(self) -> None:
        """Stop listening and close the connection."""
        await self._listening.aclose()

    async def _notify(self, payload: str) -> None:
        given = {"channel": CHANNEL, "said": payload}
        await self._database.read(lambda c: c.execute(_NOTIFY, given))

    def _note(self, error: Exception) -> None:
        """Log the first failure in a row: text comes twenty times a second."""
        if not self._failing:
            _log.warning("progress is lost until the database answers again: %r", error)
        self._failing = True

    def _hear(self, payload: str) -> None:
        try:
            progress = Progress.model_validate_json(payload)
        except ValidationError:
            # A newer version of this program may tell what this one doesn't know yet.
            _log.warning("progress that can't be read was passed over: %s characters", len(payload))
        else:
            self._readers.give(progress)


def payloads(progress: Progress) -> Iterator[str]:
    """The event as one payload, or as several where it is a text too long for one.

    Whatever else is too long, or can't be written as JSON, is passed over.
    """
    try:
        # Without defaults it is what processes of an earlier version can read as well.
        payload = progress.model_dump_json(exclude_defaults=True)
    except PydanticSerializationError as error:
        _log.warning("%s can't be told: %s", progress.type, error)
        return
    if len(payload.encode()) <= PAYLOAD_BYTES:
        yield payload
    elif progress.type == "text_delta":
        for half in _halves(progress):
            yield from payloads(half)
    else:
        _log.warning("%s is too long to be told: %d characters", progress.type, len(payload))


def _halves(progress: Progress) -> list[Progress]:
    said = str(progress.data["text"])
    middle = len(said) // 2
    parts = (said[:middle], said[middle:])
    return [progress.model_copy(update={"data": {**progress.data, "text": p}}) for p in parts]
