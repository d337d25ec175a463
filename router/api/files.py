"""Files that people hand in: read from a multipart body no further than one may go, and kept."""

import hashlib
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Self
from urllib.parse import quote

from fastapi import HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.types import Message, Receive, Scope

from router.api.dependencies import Caller, Services
from router.api.idempotency import claim
from router.api.params import declared_size, derived_id, fresh_id, media_type
from router.documents.document_type import document_types
from router.domain.documents import Document, Place, Source
from router.domain.errors import InvalidInput, Unavailable
from router.domain.file_types import MOST_BYTES, document_kind
from router.domain.locale import Locale
from router.domain.principals import Principal
from router.domain.records import FileRecord
from router.flow.slot_types.slot import Slot, shown
from router.gateway.documents import DocumentReading

logger = logging.getLogger(__name__)

FILES = "/v1/files"
"""Where they are handed in and fetched."""
FIELD = "file"
ENVELOPE = 64 * 1024
"""Bytes of a multipart body beside its file: boundaries, headers, a field or two too many."""


@dataclass(frozen=True)
class Upload:
    """A file as it was sent: the name is the sender's word, the content one of `DOCUMENTS`."""

    name: str
    content: bytes


async def uploaded(request: Request, caller: Caller) -> Upload:
    """The file in the body's field `file`, of a caller who is known: no stranger's is even read.

    Raises:
        HTTPException: 413 as soon as it is too large, 415 and 400 where it is no multipart body.
        InvalidInput: there is no such field, or the file is none of `DOCUMENTS`.
    """
    del caller
    async with posted_form(request) as form:
        others = sorted(name for name in form if name != FIELD)
        if others:
            why = f"isn't known here; send the field {FIELD} alone"
            raise InvalidInput.at(others[0][:40], why)
        file = form.get(FIELD)
        if not isinstance(file, UploadFile):
            why = "there is no file in it; send one, as multipart/form-data does"
            raise InvalidInput.at(FIELD, why)
        upload = Upload(file.filename or "", await file.read())
    if len(upload.content) > MOST_BYTES:
        raise _too_large()
    check_kind(upload.content)
    return upload


@asynccontextmanager
async def posted_form(request: Request, most: int = MOST_BYTES) -> AsyncIterator[FormData]:
    """The fields of a multipart body whose one file has no more than so many bytes.

    Raises:
        HTTPException: 413 as soon as it is too large, 415 and 400 where it is no multipart body.
    """
    declared = request.headers.get("content-type", "")
    if media_type(declared) != "multipart/form-data":
        raise HTTPException(
            415, f"The body is {declared[:80]!r}; send multipart/form-data with the field {FIELD}."
        )
    bounded = Request(_in_utf8(request.scope, declared), _bounded(request, most))
    async with bounded.form(max_files=1, max_fields=8, max_part_size=ENVELOPE) as form:
        yield form


def _in_utf8(scope: Scope, declared: str) -> Scope:
    """The same, whose body is no other text, whatever it says: some take seconds, or raise."""
    boundary = parse_options_header(declared)[1].get(b"boundary")
    kind = b"multipart/form-data" + (b'; boundary="%b"' % boundary if boundary else b"")
    others = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*others, (b"content-type", kind)]}


def _bounded(request: Request, largest: int) -> Receive:
    """What receives the body, and stops where it is more than a file of the largest size takes."""
    received, most = 0, largest + ENVELOPE
    if declared_size(request.scope) > most:
        raise _too_large(largest)

    async def receive() -> Message:
        nonlocal received
        message = await request.receive()
        received += len(message.get("body", b""))
        if received > most:
            raise _too_large(largest)
        return message

    return receive


def check_kind(content: bytes, field: str = FIELD) -> None:
    """Return where the content, sent in `field`, is one of `DOCUMENTS`; else `InvalidInput`."""
    if document_kind(content) is not None:
        return
    start = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not content:
        found = "empty"
    elif b"<svg" in start:
        found = "an SVG, which can carry programs"
    elif start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<script")):
        found = "an HTML page, which can carry programs"
    else:
        found = "neither a PDF, a picture, an OFD nor an EInvoice by its content"
    wanted = "a PDF, a picture (PNG, JPEG, WebP, GIF, HEIC), an OFD, or an EInvoice in XML"
    why = f"is {found}; send {wanted}"
    raise InvalidInput.at(field, why)


def _too_large(most: int = MOST_BYTES) -> HTTPException:
    return HTTPException(413, f"The file is larger than {most} bytes; send a smaller one.")


class FileView(BaseModel):
    """A file, without its content; `id` is what a slot of type `file` takes."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    type: str
    size: int


class DocumentFieldView(BaseModel):
    """A field that was read, what it is called, where it came from and where it stands."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    label: str
    value: JsonValue
    text: str
    """The value as people read it."""
    source: Source = Field(alias="from")
    confidence: float
    place: Place | None = None


class ProblemView(BaseModel):
    """Something about the document that its reader has to know."""

    code: str
    text: str


class DocumentView(BaseModel):
    """What was read of a file: nothing while it is being read, or where it can't be."""

    status: Literal["reading", "read", "unreadable"]
    type: str | None = None
    title: str | None = None
    """What such a document is called."""
    fields: dict[str, DocumentFieldView] = {}
    problems: list[ProblemView] = []

    @classmethod
    def of(cls, document: Document | None, locale: Locale) -> Self:
        """The document in the reader's language."""
        if document is None:
            return cls(status="reading")
        kind = document_types().get(document.type)
        labels = kind.fields if kind is not None else {}
        return cls(
            status="read" if document.readable else "unreadable",
            type=document.type,
            title=kind.label.within(locale) if kind is not None else None,
            fields={
                name: DocumentFieldView(
                    label=labels[name].within(locale) if name in labels else name,
                    value=field.value,
                    text=_worded(field.value, locale),
                    source=field.source,
                    confidence=field.confidence,
                    place=field.place,
                )
                for name, field in document.fields.items()
            },
            problems=[
                ProblemView(code=problem.code, text=problem.text.within(locale))
                for problem in document.problems
            ],
        )


_MONEY, _DAY, _TEXT = (Slot(type=name) for name in ("money", "date", "text"))
_IS_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def _worded(value: JsonValue, locale: Locale) -> str:
    if isinstance(value, dict):
        return shown(_MONEY, value, locale)
    is_day = isinstance(value, str) and _IS_DAY.fullmatch(value)
    return shown(_DAY if is_day else _TEXT, value, locale)


async def have_read(services: Services, record: FileRecord) -> None:
    """Have the file read; where that can't be begun now, whoever needs it begins it."""
    reading = DocumentReading(services.temporal, services.settings.task_queue)
    share = services.fairness.share(record.tenant, record.owner)
    try:
        await reading.begin(record.tenant, record.id, record.owner, share)
    except Unavailable as away:
        logger.warning("file %s isn't being read yet: %s", record.id, away)


async def read_by(
    services: Services, record: FileRecord, seconds: float, *, whole: bool = True
) -> Document | None:
    """What was read of the file, as soon as it is or the time is over; None: it isn't yet.

    While a model may find more it isn't, unless it need not be `whole`.
    """
    tenant, file, documents = record.tenant, record.id, services.store.documents

    def is_enough(found: Mapping[str, Document]) -> bool:
        return file in found and not (whole and found[file].is_open(datetime.now(UTC)))

    found = await documents.find_all(tenant, [file])
    if not found:
        await have_read(services, record)
    if seconds and not is_enough(found):
        found = await documents.wait(tenant, [file], seconds, is_enough)
    return found[file] if is_enough(found) else None


async def hand_in(
    services: Services, caller: Principal, upload: Upload, key: str | None
) -> FileView:
    """Keep the file, once for one key; `DuplicateKey` where the key came with another content.

    Raises `TooManyRequests` where the caller has handed in as many as one may within a day.
    """
    id_ = derived_id("file", caller.tenant, caller.id, key) if key else fresh_id()
    record = FileRecord.of(id_, caller, upload.name, upload.content, datetime.now(UTC))
    await claim(services, caller, key, "create file", record.sha256)
    return FileView.model_validate(await _kept(services, record, upload))


async def _kept(services: Services, record: FileRecord, upload: Upload) -> FileRecord:
    most = services.settings.user_files_per_day
    kept = await services.store.files.keep(record, upload.content, most)
    await have_read(services, kept)
    return kept


_NAMED = re.compile(rf"{FILES}/([0-9a-z]{{24}})(?![0-9a-z])")
MOST_NAMED = 20


async def files_named(services: Services, tenant: str, reader: str, text: str) -> list[FileRecord]:
    """The files that a text says can be fetched, in its order, as far as they are the reader's.

    Whoever wrote it: a tool's result, a model, or somebody whose words are repeated.
    """
    ids = list(dict.fromkeys(_NAMED.findall(text)))[:MOST_NAMED]
    found = [await services.store.files.find(tenant, id_) for id_ in ids]
    return [one for one in found if one is not None and one.owner == reader]


def attached_id(caller: Principal, *place: str) -> str:
    """What a file that came in this place is known by."""
    return derived_id("attachment", caller.tenant, caller.id, *place)


async def keep_attached(
    services: Services, caller: Principal, upload: Upload, *place: str
) -> FileRecord:
    """Keep a file that came along with a message, once for the `place` that it came in.

    Without one, the same content of the same person is one file: chat clients send all of a chat
    each time. Raises `TooManyRequests` as `hand_in`.
    """
    id_ = attached_id(caller, *(place or (hashlib.sha256(upload.content).hexdigest(),)))
    new = FileRecord.of(id_, caller, upload.name, upload.content, datetime.now(UTC))
    return await _kept(services, new, upload)


def disposition(name: str) -> str:
    """`Content-Disposition` of an attachment, its name in ASCII and as it is (RFC 5987)."""
    ascii_name = "".join(c if c.isascii() and c not in '"\\' else "_" for c in name)
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"
