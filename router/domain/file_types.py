"""Files as values. What a file is, its first bytes say; what its sender says is never believed."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, JsonValue

from router.domain.value import Value
from router.domain.visible_text import visible

MOST_BYTES = 10 * 1024 * 1024
"""The largest file that is kept."""
MOST_FILES = 10
"""Of one message."""
LONGEST_NAME = 80
"""Characters: every file system takes them, in any script."""
FILE_FORMAT = "file-id"
"""The `format` of a JSON Schema's text that is the id of a file."""
OCTETS = "application/octet-stream"
"""The type of a file that nothing is known of."""

_ID = re.compile(r"[0-9a-z]{24}")
_SEPARATORS = re.compile(r"[/\\]")
_UNSAFE = re.compile(r'[<>:"|?*%]')
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,60}/[a-z0-9][a-z0-9!#$&^_.+-]{0,60}")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}\Z")


class FileKind(NamedTuple):
    """A type of file, how it begins, and what names of such files end with."""

    media_type: str
    is_one: Callable[[bytes], bool]
    extensions: tuple[str, ...]


def _begins(*with_: bytes) -> Callable[[bytes], bool]:
    return lambda content: content.startswith(with_)


def _is_webp(content: bytes) -> bool:
    return content.startswith(b"RIFF") and content[8:12] == b"WEBP"


def _is_heic(content: bytes) -> bool:
    brands = (b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1")
    return content[4:8] == b"ftyp" and content[8:12] in brands


_ZIP, _DIRECTORY_ENTRY, _ENTRY = b"PK\x03\x04", b"PK\x01\x02", 46
_INVOICE = re.compile(
    # A mark of byte order, a declaration, comments, and the root of a digital invoice.
    rb"(?:\xef\xbb\xbf)?\s{0,64}(?:<\?xml\s[^<>]{0,200}\?>)?"
    rb"(?:\s{0,64}<!--[^<>]{0,400}-->){0,4}\s{0,64}<(?:[A-Za-z][\w.-]{0,30}:)?EInvoice[\s/>]"
)
_BROWSERS_RUN = re.compile(rb"(?i)www\.w3\.org/(?:1999/xhtml|2000/svg)|<\?xml-stylesheet|<!DOCTYPE")


def _is_ofd(content: bytes) -> bool:
    """True for a zip whose directory has a file `OFD.xml` at its top."""
    if not content.startswith(_ZIP):
        return False
    name = b"OFD.xml"
    at = content.rfind(name)
    for _ in range(100):
        entry = content[max(at - _ENTRY, 0) : at] if at >= 0 else b""
        # Where the directory has it, its length is told 18 bytes before the name.
        if entry.startswith(_DIRECTORY_ENTRY) and entry[28:30] == len(name).to_bytes(2, "little"):
            return True
        at = content.rfind(name, 0, at) if at > 0 else -1
    return False


def is_invoice_xml(content: bytes) -> bool:
    """True for the XML of a digital invoice that has nothing in it which a browser would run."""
    return _INVOICE.match(content) is not None and not _BROWSERS_RUN.search(content)


DOCUMENTS = (
    FileKind("application/pdf", _begins(b"%PDF-"), (".pdf",)),
    FileKind("image/png", _begins(b"\x89PNG\r\n\x1a\n"), (".png",)),
    FileKind("image/jpeg", _begins(b"\xff\xd8\xff"), (".jpg", ".jpeg")),
    FileKind("image/webp", _is_webp, (".webp",)),
    FileKind("image/gif", _begins(b"GIF87a", b"GIF89a"), (".gif",)),
    FileKind("image/heic", _is_heic, (".heic", ".heif")),
    FileKind("application/ofd", _is_ofd, (".ofd",)),
    FileKind("application/xml", is_invoice_xml, (".xml",)),
)
"""What a person may hand in: PDF, pictures, and Chinese invoices as OFD and XML. None of them is
run by whoever opens it, as SVG and HTML are."""


def is_file_id(text: str) -> bool:
    """True for what looks like the id of a file, whether or not there is one."""
    return _ID.fullmatch(text) is not None


def document_kind(content: bytes) -> FileKind | None:
    """Which of `DOCUMENTS` it is by its first bytes; None where it is something else."""
    return next((kind for kind in DOCUMENTS if kind.is_one(content)), None)


def type_of(content: bytes, said: str = "") -> str:
    """The media type: what the bytes say, else what was said, else `application/octet-stream`."""
    kind = document_kind(content)
    if kind is not None:
        return kind.media_type
    plain = said.partition(";")[0].strip().lower()
    return plain if _MEDIA_TYPE.fullmatch(plain) else OCTETS


def safe_name(name: str, content: bytes = b"") -> str:
    r"""A name that a file may have anywhere: no path, nothing that can't be seen, not long.

    It ends as `content` wants it, so that nobody opens a picture as a program.

    >>> safe_name("../../etc/receipt\u202egpj.exe", b"\xff\xd8\xff")
    'receiptgpj.exe.jpg'
    """
    last = _SEPARATORS.split(name)[-1]
    seen = "".join(c for c in unicodedata.normalize("NFC", visible(last)) if _can_be_seen(c))
    plain = " ".join(_UNSAFE.sub("_", seen).split()).strip(". ") or "file"
    kind = document_kind(content)
    if kind is not None and not plain.lower().endswith(kind.extensions):
        plain += kind.extensions[0]
    # The name with its end, cut in the middle where it is too long.
    if len(plain) <= LONGEST_NAME:
        return plain
    found = _EXTENSION.search(plain)
    end = found[0] if found else ""
    return plain[: LONGEST_NAME - len(end)].rstrip(". ") + end


def _can_be_seen(character: str) -> bool:
    category = unicodedata.category(character)
    return category not in {"Zl", "Zp"} and (category[0] != "C" or character in "\t\n")


class FileMention(NamedTuple):
    """A file in the result of a tool: what stands there in its place."""

    id: str
    name: str
    type: str
    size: int

    @property
    def url(self) -> str:
        """Where it is fetched, with a bearer token."""
        return f"/v1/files/{self.id}"

    def as_json(self) -> dict[str, JsonValue]:
        """The one shape: `{"file": {"id", "name", "type", "size", "url"}}`."""
        return {"file": {**self._asdict(), "url": self.url}}


def mentioned(value: JsonValue) -> FileMention | None:
    """The file that this value stands for; None where it has another shape, or leads elsewhere."""
    about = value.get("file") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(about, dict) or set(about) != {*FileMention._fields, "url"}:
        return None
    mention = FileMention(
        str(about["id"]),
        str(about["name"]),
        str(about["type"]),
        about["size"] if isinstance(about["size"], int) else 0,
    )
    return mention if is_file_id(mention.id) and mention.as_json() == value else None


def mentions_in(value: JsonValue) -> Iterator[FileMention]:
    """Every file that a result stands for, however deep."""
    found = mentioned(value)
    if found is not None:
        yield found
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from mentions_in(inner)


SCRIPTS = "scripts/"
"""What the paths of a skill's programs begin with."""


def path_within(path: str) -> str:
    """The path, with slashes, if it stays in its folder; `ValueError` where it leads elsewhere."""
    if {"", ".", ".."} & set(path.split("/")) or "\0" in path:
        raise ValueError(f"{path!r} is no path within a folder")
    return path


class SkillFile(Value):
    """One file as it was when the skill was loaded, named by what is in it."""

    path: Annotated[str, AfterValidator(path_within)]
    """Within the skill's folder, with slashes: `references/limits.md`."""
    size: int
    digest: str
