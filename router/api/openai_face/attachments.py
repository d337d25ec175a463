"""Pictures and documents in a message: taken out of it and kept as files of the speaker's."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import HTTPException
from pydantic import JsonValue

from router.api.identifiers import derived_id
from router.api.openai_face.asked import Completion
from router.api.uploads import check_kind
from router.domain.errors import FieldProblem, InvalidInput
from router.domain.files import MOST_BYTES, safe_name, type_of
from router.domain.principals import Principal
from router.domain.records import FileRecord

_DATA_URL = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_AS_DATA = "send it as a data: URL with base64; nothing is fetched from elsewhere"


@dataclass(frozen=True)
class Attachment:
    """A file as it was sent: the name is the sender's word, the content a PDF or a picture."""

    name: str
    content: bytes

    def record(self, owner: Principal) -> FileRecord:
        """The file's row. The same content of the same person is the same file."""
        sha256 = hashlib.sha256(self.content).hexdigest()
        return FileRecord(
            id=derived_id("attachment", owner.tenant, owner.id, sha256),
            tenant=owner.tenant,
            owner=owner.id,
            name=safe_name(self.name, self.content),
            type=type_of(self.content),
            size=len(self.content),
            sha256=sha256,
            at=datetime.now(UTC),
        )


def attached(asked: Completion) -> Attachment | None:
    """The file in the message that is to be answered, if there is one.

    Those of earlier messages, which a client sends again each time, are passed over.

    Raises:
        InvalidInput: a part can't be used, or there are several files.
        HTTPException: 413, the file is too large.
    """
    found = list(_files(asked))
    if len(found) > 1:
        raise _unusable(asked.where, "there are several files; send one with a message")
    return found[0] if found else None


def _files(asked: Completion) -> Iterator[Attachment]:
    parts = asked.said.content
    for number, part in enumerate(parts if isinstance(parts, list) else []):
        if part.get("type") != "text":
            yield _file(part, f"{asked.where}.{number}")
        elif not isinstance(part.get("text"), str):
            raise _unusable(f"{asked.where}.{number}.text", "isn't text")


def _file(part: dict[str, JsonValue], where: str) -> Attachment:
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return Attachment("", _content(url, where))
        case {"type": "file", "file": {"file_data": str(url), **rest}}:
            return Attachment(str(rest.get("filename") or ""), _content(url, where))
    kind = str(part.get("type"))[:40]
    raise _unusable(where, f"a part {kind!r} like this can't be read; send text, image_url or file")


def _content(url: str, where: str) -> bytes:
    head = _DATA_URL.match(url)
    if head is None:
        raise _unusable(where, _AS_DATA)
    if (len(url) - head.end()) * 3 // 4 > MOST_BYTES + 2:
        raise HTTPException(413, f"{where}: the file is larger than {MOST_BYTES} bytes.")
    try:
        content = base64.b64decode(url[head.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise _unusable(where, "what follows `base64,` isn't base64") from None
    check_kind(content, where)
    return content


def _unusable(field: str, detail: str) -> InvalidInput:
    return InvalidInput(f"{field}: {detail}.", [FieldProblem(field, detail)])
