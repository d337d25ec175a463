"""XML of strangers as a tree: no document type, no entity, nothing outside of it, so deep and large
and no more.

It is read by expat, which comes with Python; the bounds are ours, told as it is parsed.
"""  # noqa: D205 - one sentence

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from router.documents.file_format import FileReading, UnreadableFile

CHINESE = re.compile(rb"(?i)\A<\?xml[^<>]{0,100}encoding=[\"'](?:gbk|gb2312|gb18030)[\"']")
"""Encodings that expat doesn't know, and that invoices have."""
_DECLARATION = re.compile(r"\A<\?xml[^<>]{0,200}\?>")


@dataclass
class Element:
    """An element: its name and those of its attributes without prefixes, text, what is in it."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element"] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its own text, without what surrounds it."""
        return "".join(self.parts).strip()

    def all(self, tag: str) -> list["Element"]:
        """The elements of that name right in it."""
        return [one for one in self.children if one.tag == tag]

    def first(self, *path: str) -> "Element | None":
        """The first element at the end of that path of names, from here; None without one."""
        found: Element | None = self
        for tag in path:
            found = next((one for one in found.children if one.tag == tag), None) if found else None
        return found

    def within(self) -> Iterator["Element"]:
        """It and everything in it, in the order of the file."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting.extend(reversed(one.children))


class _Builder:
    def __init__(self, reading: FileReading) -> None:
        self._limits = reading.limits
        self._open: list[Element] = []
        self._nodes = 0
        self.root: Element | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._nodes += 1 + len(attributes)
        if self._nodes > self._limits.nodes or len(self._open) >= self._limits.depth:
            raise UnreadableFile("bomb")
        named = {_plain(name): value for name, value in attributes.items()}
        element = Element(_plain(tag), named)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def end(self, _tag: str) -> None:
        self._open.pop()

    def text(self, data: str) -> None:
        if self._open:
            self._open[-1].parts.append(data)


def parsed(content: bytes, reading: FileReading) -> Element:
    """The root of the tree.

    Raises:
        UnreadableFile: `unsafe` where it has a document type, `bomb` where it is too deep or has
            too many elements, `damaged` where it isn't XML.
    """
    builder = _Builder(reading)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    # Whatever entities could do, they are declared in one.
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(_known(content), True)
    except (expat.ExpatError, ValueError, LookupError):
        raise UnreadableFile("damaged") from None
    if builder.root is None:
        raise UnreadableFile("damaged")
    return builder.root


def fields(root: Element, reading: FileReading) -> Iterator[tuple[str, str]]:
    """Every text and attribute with the path of tags that leads to it, in the order of the file.

    A path is `EInvoice/Header/EIid`; the second of two elements of one name is
    `EInvoiceData/IssuItemInformation[2]`, an attribute `Header@version`.
    """
    waiting = [(root.tag, root)]
    while waiting:
        path, element = waiting.pop()
        told = {f"{path}@{name}": value for name, value in element.attributes.items()}
        for key, value in ({path: element.text} | told).items():
            kept = reading.room_for(value.strip())
            if kept:
                yield key, kept
        waiting.extend(reversed(list(_below(path, element))))


def _below(path: str, element: Element) -> Iterator[tuple[str, Element]]:
    seen: Counter[str] = Counter()
    for child in element.children:
        seen[child.tag] += 1
        number = f"[{seen[child.tag]}]" if seen[child.tag] > 1 else ""
        yield f"{path}/{child.tag}{number}", child


def _refuse(*_: object) -> None:
    raise UnreadableFile("unsafe")


def _plain(name: str) -> str:
    return name.rpartition(":")[2]


def _known(content: bytes) -> bytes:
    """The same in an encoding that expat knows."""
    if not CHINESE.match(content):
        return content
    return _DECLARATION.sub("", content.decode("gb18030")).encode()
