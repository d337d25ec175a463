"""Keeping what people hand in: the one way, whichever face it comes by."""

import hashlib
from datetime import UTC, datetime

from pydantic import BaseModel

from router.api.deps import Services
from router.api.idempotency import claim
from router.api.identifiers import derived_id, fresh_id
from router.api.uploads import Upload
from router.domain.files import safe_name, type_of
from router.domain.principals import Principal
from router.domain.records import FileRecord


class FileView(BaseModel):
    """A file, without its content; `id` is what a slot of type `file` takes."""

    id: str
    name: str
    type: str
    size: int

    @classmethod
    def of(cls, record: FileRecord) -> "FileView":
        """The part of the row that its owner sees."""
        return cls(id=record.id, name=record.name, type=record.type, size=record.size)


async def hand_in(
    services: Services, caller: Principal, upload: Upload, key: str | None
) -> FileView:
    """Keep the file; the same key with the same content gives the same one again.

    Raises:
        DuplicateKey: the key came with another content before.
    """
    record = _record(caller, upload, key)
    await claim(services, caller, key, "create file", record.sha256)
    return FileView.of(await services.store.files.keep(record, upload.content))


def _record(caller: Principal, upload: Upload, key: str | None) -> FileRecord:
    return FileRecord(
        id=derived_id("file", caller.tenant, caller.id, key) if key else fresh_id(),
        tenant=caller.tenant,
        owner=caller.id,
        name=safe_name(upload.name, upload.content),
        type=type_of(upload.content),
        size=len(upload.content),
        sha256=hashlib.sha256(upload.content).hexdigest(),
        at=datetime.now(UTC),
    )
