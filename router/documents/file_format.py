"""A format that files come in, and what has to be known of it: extensions have them.

A format makes a `Material` of bytes that nobody vouches for. It runs in a process of its own
(`router.documents.program`), so it may be slow, run out of memory or be killed; it writes nothing,
asks nobody, and says `UnreadableFile` where there is nothing to be had.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import ClassVar, TypeVar

from pydantic import Field

from router.documents.page import Material
from router.domain.documents import DocumentProblem
from router.domain.file_types import MOST_BYTES, document_kind
from router.domain.locale import Localised
from router.domain.value import Value

MIB = 1024 * 1024
BEGUN = 0.6
"""Of the time that a reading may take: after it no further page is begun."""


class Limits(Value):
    """Bounds on the reading of one file."""

    bytes: int = MOST_BYTES
    pages: int = Field(20, ge=1)
    """The first so many are read; the material says so where there are more."""
    pixels: int = 40_000_000
    """Of one picture, as it says itself: none larger is decoded."""
    characters: int = 200_000
    """Of text, data included."""
    unpacked: int = 64 * MIB
    """Bytes that a container may hold."""
    ratio: int = 200
    """How often smaller a member of a container may have become; small ones aren't looked at."""
    members: int = 2_000
    """Files in a container."""
    depth: int = 64
    """Elements within elements."""
    nodes: int = 200_000
    """Elements and attributes of an XML file."""
    codes: int = 32
    """QR and bar codes of a page."""
    seconds: float = 60.0
    """Of wall-clock time, from its turn to its end."""
    cpu_seconds: int = 60
    memory: int = 2048 * MIB
    """Bytes of address space, of which the models of character recognition map half."""
    output: int = 8 * MIB
    """Bytes of the material, as JSON."""


UNREADABLE: Mapping[str, Localised] = {
    "encrypted": Localised(
        zh="文件设有密码，无法读取；请取消密码后再发",
        en="it is protected by a password; remove the password and send it again",
    ),
    "damaged": Localised(
        zh="文件已损坏或不完整，无法读取；请重新导出或重新拍照",
        en="it is damaged or incomplete; export it again, or take the picture again",
    ),
    "too_many_pages": Localised(
        zh="文件的页数太多，无法读取；请只发需要的几页",
        en="it has too many pages; send only those that matter",
    ),
    "too_large": Localised(
        zh="文件太大，无法读取；请发小一些的文件", en="it is too large; send a smaller file"
    ),
    "too_large_picture": Localised(
        zh="图片尺寸太大，无法读取；请缩小后再发",
        en="the picture has too many pixels; send a smaller one",
    ),
    "bomb": Localised(
        zh="文件解压后过大或结构过深，出于安全没有读取",
        en="it unpacks into far more than a document holds, so it was left unread for safety",
    ),
    "unsafe": Localised(
        zh="文件含有文档不需要的内容（定义、外部引用），出于安全没有读取",
        en="it carries what a document has no need of (definitions, references to other files), "
        "so it was left unread for safety",
    ),
    "time": Localised(
        zh="读取文件用时过长，已停止；请发更小或更简单的文件",
        en="reading it took too long and was stopped; send a smaller or simpler file",
    ),
    "memory": Localised(
        zh="读取文件需要的内存过多，已停止；请发更小或更简单的文件",
        en="reading it took too much memory and was stopped; send a smaller or simpler file",
    ),
    "unknown_format": Localised(
        zh="无法识别文件格式；请发 PDF、OFD、EInvoice XML 或图片",
        en="its format isn't known; send a PDF, an OFD, an EInvoice in XML or a picture",
    ),
    "no_reader": Localised(
        zh="这里没有安装读取这种文件的组件，文件仅作为附件保存",
        en="what reads such files isn't installed here, so it is kept as an attachment only",
    ),
}
"""Why a file isn't read: the code for programs, the words for people."""


class UnreadableFile(Exception):
    """A file that nothing could be read of, and why.

    Attributes:
        code: One of `UNREADABLE`.
        text: The same for people.
    """

    def __init__(self, code: str) -> None:
        self.code = code if code in UNREADABLE else "damaged"
        self.text = UNREADABLE[self.code]
        super().__init__(self.code)


def only_first(pages: int, of: int) -> DocumentProblem:
    """The problem that no more than the first pages were read."""
    return DocumentProblem(
        code="pages",
        text=Localised(
            zh=f"文件共 {of} 页，只读取了前 {pages} 页",
            en=f"only the first {pages} of its {of} pages were read",
        ),
    )


@dataclass
class FileReading:
    """The reading of one file: what binds it, whom it tells how far it is, what it may still give.

    Formats ask it before they take a thing that strangers chose the size of.
    """

    limits: Limits = field(default_factory=Limits)
    tell: Callable[[int, int], None] = lambda _done, _of: None
    """Called with the pages done, and of how many."""
    _characters: int = 0
    _unpacked: int = 0
    _began: float = field(default_factory=time.monotonic)
    _used: float = field(default_factory=time.process_time)

    @property
    def has_time(self) -> bool:
        """True while another page may be begun: the rest of the time is for what was begun."""
        used = (time.monotonic() - self._began) / self.limits.seconds
        cpu = (time.process_time() - self._used) / self.limits.cpu_seconds
        return max(used, cpu) < BEGUN

    def room_for(self, text: str) -> str:
        """The text, cut to what may still be given."""
        room = max(self.limits.characters - self._characters, 0)
        self._characters += len(text)
        return text[:room]

    def unpack(self, size: int) -> None:
        """Count bytes that are unpacked; raises `UnreadableFile` where they become too many."""
        self._unpacked += size
        if self._unpacked > self.limits.unpacked:
            raise UnreadableFile("bomb")

    def picture(self, width: int, height: int) -> None:
        """Look at a picture's size; raises `UnreadableFile` where it is too large, or none."""
        if width < 1 or height < 1:
            raise UnreadableFile("damaged")
        if width * height > self.limits.pixels:
            raise UnreadableFile("too_large_picture")


class FileFormat(ABC):
    """How files of some media types are read.

    >>> @registered  # doctest: +SKIP
    ... class Spreadsheet(FileFormat):
    ...     media_types = ("application/vnd.oasis.opendocument.spreadsheet",)
    ...     needs = ("odf",)
    ...     # and what becomes of its bytes (`read`)
    """

    media_types: ClassVar[tuple[str, ...]]
    """As `router.domain.file_types.DOCUMENTS` names them."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Modules of others without which none is read."""

    @property
    def is_available(self) -> bool:
        """True where what it needs is installed."""
        return all(find_spec(module) is not None for module in self.needs)

    def load(self) -> None:
        """Import what it needs, and whatever takes long, before there is a file."""
        for module in self.needs:
            import_module(module)

    @abstractmethod
    def read(self, content: bytes, reading: FileReading) -> Material:
        """What stands in it; raises `UnreadableFile`, or anything, where nothing can be had."""


FORMATS: dict[str, FileFormat] = {}
"""Every format that was imported, by each media type that it reads."""
F = TypeVar("F", bound=type[FileFormat])


def registered(kind: F) -> F:
    """Have the format be known by its media types."""
    one = kind()
    FORMATS.update(dict.fromkeys(kind.media_types, one))
    return kind


def load_formats(packages: Iterable[str]) -> None:
    """Import all modules of these packages, whose formats are known from then on."""
    for package in packages:
        folder = import_module(package)
        for module in iter_modules(folder.__path__, f"{package}."):
            import_module(module.name)


def format_of(content: bytes) -> FileFormat:
    """What reads it, by its first bytes; raises `UnreadableFile` where nothing could."""
    kind = document_kind(content)
    if kind is None:
        raise UnreadableFile("unknown_format")
    found = FORMATS.get(kind.media_type)
    if found is None or not found.is_available:
        raise UnreadableFile("no_reader")
    return found


def read_here(content: bytes, reading: FileReading) -> Material:
    """Read it in this very process: what strangers wrote is read by `router.documents.reader`."""
    if len(content) > reading.limits.bytes:
        raise UnreadableFile("too_large")
    return format_of(content).read(content, reading)
