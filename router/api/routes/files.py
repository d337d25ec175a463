"""Files: receipts and notes that people hand in, and what tools made for them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from router.api.dependencies import OPERATOR, Audited, Caller, Given, Services, known
from router.api.errors import problems
from router.api.files import (
    FIELD,
    FILES,
    DocumentView,
    FileView,
    Upload,
    disposition,
    hand_in,
    read_by,
    uploaded,
)
from router.api.idempotency import IdempotencyKey
from router.domain.errors import NotFound
from router.domain.file_types import DOCUMENTS
from router.domain.principals import Principal
from router.domain.records import FileRecord

PATH = FILES
BODIES = {PATH: None}

router = APIRouter(prefix=PATH, tags=["files"])

_BINARY = {"type": "string", "format": "binary"}
_FIELDS = {"type": "object", "properties": {FIELD: _BINARY}, "required": [FIELD]}
_PARTS = {
    "schema": _FIELDS | {"additionalProperties": False},
    "encoding": {FIELD: {"contentType": ", ".join(k.media_type for k in DOCUMENTS)}},
}
_BODY = {"requestBody": {"required": True, "content": {"multipart/form-data": _PARTS}}}
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The content, under the file's own type, as an attachment.",
        "content": {"*/*": {"schema": _BINARY}},
    },
    304: {"description": "It is what `If-None-Match` says; a file never changes."},
}


@router.post("", status_code=201, responses=problems(400, 413, 415), openapi_extra=_BODY)
async def create(
    services: Given,
    caller: Caller,
    key: IdempotencyKey,
    upload: Annotated[Upload, Depends(uploaded)],
) -> FileView:
    """Hand in a PDF, a picture (PNG, JPEG, WebP, GIF, HEIC), or an invoice as OFD or XML: 10 MiB.

    What it is, its content says. The name is made one that is safe anywhere.
    """
    return await hand_in(services, caller, upload, key)


async def _read_file(file: str, services: Given, caller: Caller, audit: Audited) -> FileRecord:
    record = await services.store.files.find(caller.tenant, known(file, "file"))
    if record is not None and await _concerns(services, record, caller):
        return record
    if record is None or OPERATOR not in caller.roles:
        raise NotFound("There is no such file.")
    await audit.note("file.read", record.id, whose=record.owner)
    return record


async def _concerns(services: Services, record: FileRecord, reader: Principal) -> bool:
    if record.owner == reader.id:
        return True
    runs = services.store.runs
    for run in await runs.showing(record.tenant, record.id):
        if reader.id in await runs.concerned(record.tenant, run):
            return True
    return False


@router.get("/{file}/document", response_model=DocumentView, response_model_exclude_none=True)
async def document(
    services: Given,
    record: Annotated[FileRecord, Depends(_read_file)],
    caller: Caller,
    wait: Annotated[float, Query(ge=0, le=60, allow_inf_nan=False)] = 0,
) -> DocumentView:
    """Get what was read of a file; with `wait` as soon as it is, within so many seconds.

    Amounts are with tax, and each field says where it came from: the file's own `text`, a `code`,
    a `picture` that was read, or a `model`.
    """
    return DocumentView.of(await read_by(services, record, wait), caller.locale)


_SMALL: dict[int | str, dict[str, Any]] = {
    200: {"description": "A JPEG.", "content": {"image/jpeg": {"schema": _BINARY}}},
    204: {"description": "There is no picture of it."},
}


@router.get("/{file}/preview", response_class=Response, responses={**problems(404), **_SMALL})
async def preview(
    services: Given,
    record: Annotated[FileRecord, Depends(_read_file)],
    wait: Annotated[float, Query(ge=0, le=60, allow_inf_nan=False)] = 0,
) -> Response:
    """Fetch a small picture of a file's first page, upright: places of fields are shares of it.

    It is made when the file is read; with `wait` that may take so many seconds.
    """
    await read_by(services, record, wait, whole=False)
    small = await services.store.documents.preview(record.tenant, record.id)
    if small is None:
        return Response(status_code=204)
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "private, max-age=86400"}
    return Response(small, media_type="image/jpeg", headers=headers)


@router.get("/{file}", response_class=Response, responses={**problems(404), **_CONTENT})
async def show(
    request: Request, services: Given, record: Annotated[FileRecord, Depends(_read_file)]
) -> Response:
    """Fetch a file's content, as an attachment."""
    headers = {
        "Content-Disposition": disposition(record.name),
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-cache",
        "Vary": "Authorization",
        "ETag": f'"{record.sha256}"',
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    content = await services.store.files.content(record.tenant, record.id)
    if content is None:
        raise NotFound("There is no such file.")
    return Response(content, headers={**headers, "Content-Type": record.type})
