"""YAML and text files that people write, read so that a fault has its line.

YAML 1.2, of which the files here need mappings, lists and scalars. Nodes are read without
constructing anything, so no tag runs code; aliases are followed only as far as a file could have
been written by hand.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from router.domain.errors import Fault

Place = tuple[str | int, ...]
"""Where in a document something stands: `("states", "review", "next", 0, "to")`."""

CORE = "tag:yaml.org,2002:"
MOST_NODES = 20_000
DEEPEST = 40
MOST_OPEN = 200
"""Brackets open at once, those within texts counted too: more and the scanner takes seconds."""


class Unreadable(Exception):
    """The text can't be read as YAML at all; `line` counts from 1."""

    def __init__(self, line: int, fault: Fault) -> None:
        super().__init__(str(fault))
        self.line = line
        self.fault = fault


@dataclass
class YamlDocument:
    """Plain data, the line of every place in it, and what was wrong on the way."""

    data: Any = None
    lines: dict[Place, int] = field(default_factory=dict)
    faults: list[tuple[int, Fault]] = field(default_factory=list)

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest thing around it that is there."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def place(self, line: int) -> Place:
        r"""The innermost place that a line begins, or that begins above it; the last of several.

        >>> read_yaml("a:\n  b: 1\nc: 2").place(2)
        ('a', 'b')
        """
        above = [(at, len(place), place) for place, at in self.lines.items() if at <= line]
        return max(above, key=lambda each: each[:2])[2] if above else ()


def read_yaml(text: str, most_nodes: int = MOST_NODES, *, as_written: bool = False) -> YamlDocument:
    """The document in `text`; raises `Unreadable` where there is none, or more than so many nodes.

    With `as_written` every key and scalar is text, as in formats that know no other.
    """
    if opens_too_many(text):
        raise Unreadable(1, TOO_DEEP)
    try:
        return _Reading(most_nodes, as_written).read(nodes_of(text, most_nodes))
    except MarkedYAMLError as error:
        raise Unreadable(*_syntax_fault(error, text)) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"there is a control character, U+{ord(text[error.position]):04X}"
        raise Unreadable(line, Fault(what, "remove it")) from None
    except RecursionError:
        raise Unreadable(1, TOO_DEEP) from None


REMEMBERED = 64 * 1024
"""Characters of a text whose nodes are kept: a folder is read anew where one file of it changes."""


class _BoundedComposer(Composer):
    """Makes nodes of a text, and no more than so many: the rest of the text isn't looked at."""

    most = MOST_NODES
    made = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        is_key = isinstance(parent, MappingNode) and index is None
        self.made += not is_key
        if self.made > self.most:
            raise _too_much(self.parser.peek_event().start_mark.line + 1, self.most)
        return super().compose_node(parent, index)


def _too_much(line: int, most: int) -> Unreadable:
    what = f"the file says more than {most:,} things, counting each alias anew"
    return Unreadable(line, Fault(what, "split it, or write less by alias"))


@lru_cache(maxsize=256)
def _composed(text: str, most_nodes: int) -> Node | None:
    """The nodes of the text, which whoever reads them leaves as they are."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _BoundedComposer
    yaml.composer.most = most_nodes
    node: Node | None = yaml.compose(text)
    return node


def nodes_of(text: str, most_nodes: int = MOST_NODES) -> Node | None:
    """The nodes of a text that `read_yaml` has read, with their marks; None where it is empty."""
    return (_composed if len(text) <= REMEMBERED else _composed.__wrapped__)(text, most_nodes)


def opens_too_many(text: str) -> bool:
    """Whether brackets are nested so deep that only looking for the first token takes seconds."""
    open_now = accumulate((char in "[{") - (char in "]}") for char in text)
    return max(open_now, default=0) > MOST_OPEN


TOO_DEEP = Fault(
    f"things are nested more than {DEEPEST} deep", "a flow needs less than ten; flatten it"
)


_FULL_WIDTH_COLON = re.compile(r"[\s{-]*[\w.-]+：")


def _syntax_fault(error: MarkedYAMLError, text: str) -> tuple[int, Fault]:
    """The line and what is wrong there: of a full-width colon the reader notices too late."""
    mark = error.problem_mark or error.context_mark
    line, lines = mark.line + 1 if mark else 1, text.splitlines()
    for number in range(line, max(line - 2, 0), -1):
        if number <= len(lines) and _FULL_WIDTH_COLON.match(lines[number - 1]):
            remedy = "write : and a space, with the keyboard in English"
            return number, Fault("the colon after the key is the full-width one, ：", remedy)
    problem = str(error.problem or error.context or "it can't be read")
    if "'\\t'" in problem:
        remedy = "indent with spaces, two for each level"
        return line, Fault("a line is indented with a tab", remedy)
    if "mapping values" in problem:
        remedy = "put a text that has a colon in quotes"
        return line, Fault("a colon stands where none can", remedy)
    what = f"this isn't YAML: {problem}{f', {error.context}' if error.context else ''}"
    remedy = "look at brackets, quotes, commas and indentation just before here"
    return line, Fault(what, remedy)


class _Reading:
    """One reading: counts nodes and keeps the way down, so that aliases can't explode."""

    def __init__(self, most_nodes: int, as_written: bool) -> None:
        self.document = YamlDocument()
        self.seen = 0
        self.most = most_nodes
        self.as_written = as_written
        self.above: list[int] = []

    def read(self, node: Node | None) -> YamlDocument:
        if node is not None:
            self.document.data = self._value(node, ())
        return self.document

    def _value(self, node: Node, place: Place) -> Any:
        self.seen += 1
        line, tag = node.start_mark.line + 1, str(node.tag)
        if id(node) in self.above:
            raise Unreadable(line, Fault("an alias contains itself", "write the value out"))
        if len(self.above) >= DEEPEST:
            raise Unreadable(line, TOO_DEEP)
        if self.seen > self.most:
            raise _too_much(line, self.most)
        if not tag.startswith(CORE) or "/" in tag.removeprefix(CORE):
            self._fault(node, f"the tag {tag} isn't allowed", "write plain values, no tags")
        self.above.append(id(node))
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, place)
            return (
                self._sequence(node, place)
                if isinstance(node, SequenceNode)
                else self._scalar(node)
            )
        finally:
            self.above.pop()

    def _mapping(self, node: MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key is None:
                continue
            if key in found:
                self._fault(key_node, f"{key} comes twice", "keep one of the two")
                continue
            here = (*place, key)
            self.document.lines[here] = key_node.start_mark.line + 1
            found[key] = self._value(value_node, here)
        return found

    def _key(self, node: Node) -> str | None:
        if not isinstance(node, ScalarNode) or node.tag == f"{CORE}merge":
            self._fault(node, "a key must be a plain word", "write keys out, one by one")
            return None
        if node.tag != f"{CORE}str" and not self.as_written:
            self._fault(node, f"the key {node.value} isn't text", f'write it as "{node.value}"')
            return None
        return self._whole(node)

    def _sequence(self, node: SequenceNode, place: Place) -> list[Any]:
        found = []
        for number, item in enumerate(node.value):
            here = (*place, number)
            self.document.lines[here] = item.start_mark.line + 1
            found.append(self._value(item, here))
        return found

    def _scalar(self, node: Node) -> Any:
        kind, written = str(node.tag).removeprefix(CORE), self._whole(node)
        if self.as_written:
            return written
        try:
            return _SCALARS[kind](written) if kind in _SCALARS else written
        except ValueError:
            return written

    def _whole(self, node: Node) -> str:
        """What is written there, without halves of characters, which nothing could be said in.

        Two halves that are escaped one after the other are one character, as JSON has it.
        """
        written = str(node.value)
        if written.isascii() or not _HALF.search(written):
            return written
        written = _PAIR.sub(_joined, written)
        if not _HALF.search(written):
            return written
        what = f"there is half of a character, \\u{ord(_HALF.findall(written)[0]):04x}"
        self._fault(node, what, "write the character itself")
        return _HALF.sub("\ufffd", written)

    def _fault(self, node: Node, what: str, remedy: str) -> None:
        self.document.faults.append((node.start_mark.line + 1, Fault(what, remedy)))


_HALF = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


_SCALARS: dict[str, Callable[[str], Any]] = {
    "null": lambda _: None,
    "bool": lambda written: written.lower() == "true",
    "int": lambda written: int(written.replace("_", ""), 0),
    "float": float,
}


def read_text(path: Path, largest: int, remedy: str) -> str:
    """The file's text, less a byte-order mark; raises `Unreadable`, with `remedy` if too large."""
    try:
        if not path.is_file():
            link = f" as {path.readlink()}, which it links to" if path.is_symlink() else ""
            raise Unreadable(1, Fault(f"there is no such file{link}", "check the path"))
        with path.open("rb") as file:
            raw = file.read(largest + 1)
    except OSError as error:
        raise Unreadable(1, Fault(f"it can't be read: {error.strerror}", "check it")) from None
    if len(raw) > largest:
        raise Unreadable(1, Fault(f"it is over {largest // 1024} KiB", remedy))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, Fault("this isn't UTF-8", "save the file as UTF-8")) from None
