"""What people hand in is read once, kept beside the file, and waited for by whoever needs it."""

import asyncio
import hashlib
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic

from temporalio import activity

from activities.execution import heartbeating, temporal_failures
from router.contracts import activities
from router.contracts.activities import DocumentsOf, DocumentsRead, LookUp, LookupAnswer
from router.contracts.document import ReadFile
from router.documents.document_type import recognised
from router.documents.file_format import UnreadableFile
from router.documents.kinship import marks_of
from router.documents.page import Material
from router.domain.documents import Document
from router.domain.file_types import is_file_id
from router.domain.locale import Localised
from router.gateway.documents import DocumentReading
from router.store.store import Store

GIVEN_UP = Document.unreadable(
    "broken",
    Localised(zh="这个文件没能读出来。", en="This file couldn't be read."),
)
EASTERNMOST = timedelta(hours=14)
"""The zone in which a day begins first."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds between two looks at whether a file has been read."""
LONGEST_WAIT = 150.0
"""Seconds that a flow waits for a file; then it goes on as if nothing could be read of it."""


Reads = Callable[[bytes], Awaitable[Material]]
"""Reads the content of a file; raises `UnreadableFile`."""


class DocumentActivities:
    """The activities that read files, and wait for what was read."""

    def __init__(self, store: Store, read: Reads, reading: DocumentReading) -> None:
        self._files = store.files
        self._documents = store.documents
        self._read = read
        self._reading = reading

    @activity.defn(name=activities.READ_DOCUMENT.name)
    async def read_document(self, given: ReadFile) -> None:
        """Read the file and keep what is found; one that was read already stays as it is."""
        with temporal_failures():
            tenant, file = given.tenant, given.file
            content = await self._files.content(tenant, file)
            if content is None or await self._documents.find(tenant, file) is not None:
                return
            document, preview = (GIVEN_UP, b"") if given.given_up else await self._made_of(content)
            whole = document.model_copy(update={"content": hashlib.sha256(content).hexdigest()})
            await self._documents.keep(tenant, file, whole, marks_of(whole), preview)

    async def _made_of(self, content: bytes) -> tuple[Document, bytes]:
        try:
            async with heartbeating():
                material = await self._read(content)
        except UnreadableFile as refused:
            return Document.unreadable(refused.code, refused.text), b""
        # Where its owner is it may be tomorrow already.
        today = (datetime.now(UTC) + EASTERNMOST).date()
        return recognised(material, today), b64decode(material.preview)

    @activity.defn(name=activities.DOCUMENTS_OF.name)
    async def documents_of(self, given: DocumentsOf) -> DocumentsRead:
        """What was read of these files, as soon as that is all of them or the time is over."""
        with temporal_failures():
            until, pause = monotonic() + given.seconds, FIRST_PAUSE
            found = await self._documents.find_all(given.tenant, given.files)
            unread = [file for file in given.files if file not in found]
            await self._begin(given.tenant, unread if given.seconds else [])
            while True:
                found = await self._documents.find_all(given.tenant, given.files)
                if len(found) == len(given.files) or monotonic() + pause > until:
                    without = {"text": ""}
                    brief = {f: d.model_copy(update=without) for f, d in found.items()}
                    return DocumentsRead(documents=brief)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _begin(self, tenant: str, files: Sequence[str]) -> None:
        for file in files:
            record = await self._files.find(tenant, file)
            if record is not None:
                await self._reading.begin(tenant, file, record.owner)

    @activity.defn(name=activities.WAIT_FOR_DOCUMENT.name)
    async def wait_for_document(self, asked: LookUp) -> LookupAnswer:
        """What was read of a person's file, once it is; null where it isn't theirs, or isn't read.

        It is asked for as the lookup `document_of(person, file)`.
        """
        with temporal_failures():
            person, file = asked.arguments
            tenant = asked.requester.tenant
            known = isinstance(file, str) and is_file_id(file)
            record = await self._files.find(tenant, str(file)) if known else None
            if record is None or record.owner != person:
                return LookupAnswer(value=None)
            await self._reading.begin(tenant, record.id, record.owner)
            async with heartbeating():
                document = await self._waited_for(tenant, record.id)
            if document is None:
                return LookupAnswer(value=None)
            return LookupAnswer(value=document.model_dump(mode="json", exclude={"text"}))

    async def _waited_for(self, tenant: str, file: str) -> Document | None:
        until, pause = monotonic() + LONGEST_WAIT, FIRST_PAUSE
        while (document := await self._documents.find(tenant, file)) is None:
            if monotonic() > until:
                return None
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        return document
