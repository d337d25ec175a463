"""What people hand in is read once, kept beside the file, and waited for by whoever needs it."""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from temporalio import activity

from activities.execution import heartbeating, temporal_failures
from activities.models import Models, again_soon
from router.contracts import activities
from router.contracts.activities import Account, LookUp, LookupAnswer
from router.contracts.document import (
    MODEL_SECONDS,
    DocumentKept,
    DocumentsOf,
    DocumentsRead,
    ReadFile,
)
from router.documents.document_type import recognised
from router.documents.file_format import UnreadableFile
from router.documents.kinship import marks_of
from router.documents.page import Material
from router.domain.documents import OTHER, Document
from router.domain.errors import Overloaded
from router.domain.file_types import is_file_id
from router.domain.locale import Localised
from router.domain.principals import Directory
from router.domain.records import FileRecord
from router.gateway.documents import DocumentReading
from router.isolation.fair_queue import QueueFull
from router.llm.fallback import FallbackChain
from router.llm.types import BudgetSpent, ChatAnswer, ModelRefused, ModelUnavailable
from router.routing import paper_question
from router.routing.prompts import Prompts
from router.store.store import Store

GIVEN_UP = Document.unreadable(
    "broken",
    Localised(zh="这个文件没能读出来。", en="This file couldn't be read."),
)
EASTERNMOST = timedelta(hours=14)
"""The zone in which a day begins first."""
LONGEST_WAIT = 150.0
"""Seconds that a flow waits for a file; then it goes on as if nothing could be read of it."""


ReadDocument = Callable[[bytes, str, str], Awaitable[Material]]
"""Reads the content of a file of a tenant's person; raises `UnreadableFile` and `QueueFull`."""
READING_SECONDS_PER_FILE = 2.5
"""Of a photograph, on one core."""
RECENTLY = timedelta(minutes=15)
"""Files that were handed in before this and aren't read aren't being waited for."""


class DocumentActivities:
    """The activities that read files, and wait for what was read."""

    def __init__(
        self,
        store: Store,
        read: ReadDocument,
        reading: DocumentReading,
        chain: FallbackChain | None = None,
    ) -> None:
        """Read with `read`; what the models of the `chain` may be asked for is left open."""
        self._files = store.files
        self._documents = store.documents
        self._read = read
        self._reading = reading
        self._chain = chain

    @activity.defn(name=activities.READ_DOCUMENT.name)
    async def read_document(self, given: ReadFile) -> DocumentKept:
        """Read the file and keep what is found; one that was read already stays as it is."""
        with temporal_failures():
            tenant, file = given.tenant, given.file
            kept = await self._documents.find(tenant, file)
            if kept is None:
                record = await self._files.find(tenant, file)
                content = await self._files.content(tenant, file)
                if record is None or content is None:
                    return DocumentKept()
                kept, preview = (GIVEN_UP, b"")
                if not given.given_up:
                    kept, preview = await self._made_of(content, record)
                kept = kept.replace(content=record.sha256)
                await self._documents.keep(tenant, file, kept, marks_of(kept), preview)
            return DocumentKept(asks=kept.is_open(datetime.now(UTC)))

    async def _made_of(self, content: bytes, record: FileRecord) -> tuple[Document, bytes]:
        media_type = record.type
        try:
            async with heartbeating():
                material = await self._read(content, record.tenant, record.owner)
        except QueueFull as full:
            # Its workflow asks again: files that wait there take nobody's place in the worker.
            raise Overloaded(full.said) from None
        except UnreadableFile as refused:
            unread = Document.unreadable(refused.code, refused.text)
            return self._opened(unread, None, media_type), b""
        document = self._opened(recognised(material, _today()), material, media_type)
        return document, b64decode(material.preview)

    def _opened(self, document: Document, material: Material | None, media_type: str) -> Document:
        """The document, open for a while where a model is going to look at it.

        Kept as it is it would be taken for all there is: a flow would ask for an amount that is
        found two seconds later. Only what a model will be asked about is waited for, only by who
        needs all of it, and never for longer than this.
        """
        if self._chain is None or not self._chain.may_see:
            return document
        if not paper_question.is_worth_asking(document, material, media_type):
            return document
        until = datetime.now(UTC) + timedelta(seconds=MODEL_SECONDS)
        return document.replace(open_until=until)

    @activity.defn(name=activities.DOCUMENTS_OF.name)
    async def documents_of(self, given: DocumentsOf) -> DocumentsRead:
        """What was read of these files, as soon as that is all of them or the time is over."""
        with temporal_failures():
            tenant, files = given.tenant, given.files

            def is_enough(found: Mapping[str, Document]) -> bool:
                # What rules read of it is shown at once; only its type may be worth a wait.
                open_ = any(_may_become_something(d) for d in found.values() if given.types)
                return len(found) == len(files) and not open_

            if given.seconds:
                read = await self._documents.find_all(tenant, files)
                await self._begin(tenant, [file for file in files if file not in read])
            found = await self._documents.wait(tenant, files, given.seconds, is_enough)
            brief = {f: d.replace(text="") for f, d in found.items()}
            unread = next((f for f in files if f not in found and given.estimate), None)
            seconds = await self._seconds_until_read(tenant, unread) if unread else 0.0
            return DocumentsRead(documents=brief, seconds_left=seconds)

    async def _seconds_until_read(self, tenant: str, file: str) -> float:
        """Estimate when all files of this one's owner are read, of whom each has a turn."""
        record = await self._files.find(tenant, file)
        if record is None:
            return 0.0
        since = datetime.now(UTC) - RECENTLY
        own, people = await self._documents.unread(tenant, record.owner, since)
        return own * max(1, people) * READING_SECONDS_PER_FILE

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
            hidden = {"text", "open_until"}
            return LookupAnswer(value=document.model_dump(mode="json", exclude=hidden))

    async def _waited_for(self, tenant: str, file: str) -> Document | None:
        def is_enough(found: Mapping[str, Document]) -> bool:
            return file in found and not found[file].is_open(datetime.now(UTC))

        return (await self._documents.wait(tenant, [file], LONGEST_WAIT, is_enough)).get(file)


def _may_become_something(document: Document) -> bool:
    return document.type == OTHER and document.is_open(datetime.now(UTC))


def _today() -> date:
    """The day where its owner may be: it may be tomorrow already."""
    return (datetime.now(UTC) + EASTERNMOST).date()


@dataclass(frozen=True)
class DocumentModel:
    """Looks at documents with a model, on the account of those who handed them in."""

    store: Store
    directory: Directory
    chain: FallbackChain | None
    prompts: Prompts
    models: Models

    @activity.defn(name=activities.LOOK_AT_DOCUMENT.name)
    async def look_at_document(self, given: ReadFile) -> None:
        """Have a model look for what isn't found yet, and close the document.

        Nothing is lost where none answers; one that answers too late is not heard, for by then
        somebody may have gone on with the document as it was.
        """
        with temporal_failures():
            tenant, file = given.tenant, given.file
            document = await self.store.documents.find(tenant, file)
            if document is None or not document.is_open(datetime.now(UTC)):
                return
            answer = await self._answered(tenant, file, document)
            if not document.is_open(datetime.now(UTC)):
                return
            if answer is not None:
                document = paper_question.completed(document, answer, _today())
            closed = document.replace(open_until=None)
            await self.store.documents.keep(tenant, file, closed, marks_of(closed))

    async def _answered(self, tenant: str, file: str, document: Document) -> ChatAnswer | None:
        record = await self.store.files.find(tenant, file)
        owner = await self.directory.find(tenant, record.owner) if record is not None else None
        if owner is None:
            return None
        now = datetime.now(ZoneInfo(owner.timezone))
        account = Account(caller=owner, now=now, seconds=MODEL_SECONDS, files=[file])
        asking = self.models.unheard.asking(self.chain, account)
        shown = [picture for one in (await asking.files()).files for picture in one.pictures]
        if not shown:
            return None
        prompt = self.prompts.of("document", file, owner.locale, tenant)
        try:
            return await asking(paper_question.request(prompt, document, shown))
        except (BudgetSpent, ModelRefused):
            return None
        except ModelUnavailable as error:
            again_soon(error)
            return None
