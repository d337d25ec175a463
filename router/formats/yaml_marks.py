"""Where in a YAML text everything stands, to the character: keys, dashes, values and their ends."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from router.domain.errors import Fault
from router.formats.data_edit import EditRefused
from router.formats.yaml_document import Place, nodes_of

UNWRITABLE = Fault(
    "this can't be changed by itself: an alias repeats it, or it is written in an unusual way",
    "change it in the text",
)


REPEATED = Fault(
    "this stands here by an alias, and elsewhere as well",
    "change it where it is written, or write it out here first",
)


@dataclass(frozen=True)
class MarkedEntry:
    """An entry of a mapping or list in the text."""

    key: str | int
    start: int
    """Where its key begins, or its dash; in brackets the value of an item."""
    colon: int
    """Behind the colon or the dash."""
    value: int
    """Where its value begins."""
    end: int
    """Where it ends, less comments and blank lines."""
    node: Node
    is_alias: bool = False

    @property
    def in_brackets(self) -> bool:
        """True of a collection that is written in brackets."""
        return bool(getattr(self.node, "flow_style", False))


_ALIAS = re.compile(r"\*[^\s,\[\]{}]+")
_BEFORE_DASH = re.compile(r"(?:[&!]\S*|\s+|#[^\r\n]*)*")
"""An anchor, a tag and comments, which stand before the first dash and where the list's mark is."""


def is_json(text: str) -> bool:
    """Return whether a YAML text is JSON as well: a mapping or list in brackets, all in quotes."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def without_tabs(json_text: str) -> str:
    """Return a JSON text with a blank for each tab: between JSON's tokens, YAML takes none."""
    return json_text.replace("\t", " ")


class YamlMarks:
    """A text with what is needed to find one's way in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.quote = '"' if is_json(text) else None
        """In which all texts and keys have to stand; `None` if they may stand bare."""
        root = nodes_of(without_tabs(text) if self.quote else text)
        if root is None:
            raise EditRefused(UNWRITABLE)
        start = root.start_mark.index
        self.root = MarkedEntry("", start, start, start, self._end(root, start), root)

    def way(self, place: Place) -> list[MarkedEntry]:
        """The entries down to the place, the whole text first."""
        found = [self.root]
        for part in place:
            below = {entry.key: entry for entry in self.entries(found[-1])}
            if part not in below or found[-1].is_alias:
                raise EditRefused(REPEATED if found[-1].is_alias else UNWRITABLE)
            found.append(below[part])
        return found

    def own(self, place: Place) -> MarkedEntry | None:
        """The entry at the place; None where it stands there by an alias."""
        try:
            entry = self.way(place)[-1]
        except EditRefused:
            return None
        return None if entry.is_alias else entry

    def key_of(self, entry: MarkedEntry) -> tuple[int, int]:
        """Where the key of an entry of a mapping is written."""
        return entry.start, entry.start + len(self.text[entry.start : entry.colon - 1].rstrip())

    def entries(self, holder: MarkedEntry) -> list[MarkedEntry]:
        """What is in the mapping or list, in its order."""
        node = holder.node
        if isinstance(node, ScalarNode):
            return []
        return list(
            self._pairs(node) if isinstance(node, MappingNode) else self._items(holder, node)
        )

    def _pairs(self, node: MappingNode) -> Iterator[MarkedEntry]:
        seen: set[str] = set()
        for key, value in node.value:
            colon = self.text.find(":", key.end_mark.index) + 1
            if str(key.value) not in seen:
                seen.add(str(key.value))
                yield self._entry(str(key.value), key.start_mark.index, colon, value)

    def _items(self, holder: MarkedEntry, node: Node) -> Iterator[MarkedEntry]:
        behind, column = holder.value, self._column(node)
        for number, value in enumerate(node.value):
            is_alias = value.start_mark.index < behind
            if holder.in_brackets:
                start = self._alias(behind)[0] if is_alias else value.start_mark.index
                colon = start
            else:
                at = self._alias(behind)[0] if is_alias else value.start_mark.index
                start = self._dash(at, column, behind)
                colon = start + 1
            entry = self._entry(number, start, colon, value, is_alias=is_alias)
            behind = max(entry.end, behind)
            yield entry

    def _column(self, node: Node) -> int:
        """The column of the dashes of a list."""
        first = node.start_mark.index
        found = _BEFORE_DASH.match(self.text, first)
        dash = found.end() if found else first
        return int(node.start_mark.column) if dash == first else dash - self.line_start(dash)

    def _entry(
        self, key: str | int, start: int, colon: int, node: Node, *, is_alias: bool | None = None
    ) -> MarkedEntry:
        if is_alias is None:
            is_alias = node.start_mark.index < colon
        if is_alias:
            return MarkedEntry(key, start, colon, *self._alias(colon), node, is_alias=True)
        begins, end = node.start_mark.index, node.end_mark.index
        if begins == end:
            # Nothing at all, whose mark is that of what comes next.
            return MarkedEntry(key, start, colon, colon, colon, node)
        return MarkedEntry(key, start, colon, begins, self._end(node, colon), node)

    def _alias(self, behind: int) -> tuple[int, int]:
        """Where the alias stands that comes next: behind blanks, comments, a comma or a dash."""
        at = behind
        while self.text[at : at + 1] in {" ", "\t", "\r", "\n", ",", "[", "-", "#"}:
            at = self.line_end(at) if self.text[at] == "#" else at + 1
        found = _ALIAS.match(self.text, at)
        if found is None:
            raise EditRefused(UNWRITABLE)
        return found.span()

    def _dash(self, at: int, column: int, behind: int) -> int:
        """The dash of an item that begins there: in its line, or one above it."""
        while at >= behind:
            line = self.line_start(at)
            if self.text[line + column : line + column + 1] == "-":
                return line + column
            at = line - 1
        raise EditRefused(UNWRITABLE)

    def _end(self, node: Node, behind: int) -> int:
        """Where a node ends, less the blank lines and comments that its mark counts to it."""
        if isinstance(node, ScalarNode):
            start, end = node.start_mark.index, node.end_mark.index
            if node.style in {"|", ">"}:
                keeps = "+" in self.text[start : self.line_end(start)]
                body = self.text[start:end]
                return int(start) + len(body.removesuffix("\n") if keeps else body.rstrip(" \r\n"))
            return int(end)
        if getattr(node, "flow_style", False) or not node.value:
            return int(node.end_mark.index)
        if isinstance(node, MappingNode):
            # Its last one, without looking at all before: this is asked for at every level.
            key, value = node.value[-1]
            colon = self.text.find(":", key.end_mark.index) + 1
            return self._entry(str(key.value), key.start_mark.index, colon, value).end
        last = MarkedEntry("", 0, behind, node.start_mark.index, 0, node)
        return max(entry.end for entry in self.entries(last))

    def line_start(self, at: int) -> int:
        """Where the line of a position begins."""
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Where the line of a position ends, before its line break."""
        end = self.text.find("\n", at)
        end = len(self.text) if end < 0 else end
        return end - 1 if self.text[end - 1 : end] == "\r" and end > at else end

    def next_line(self, at: int) -> int:
        """Where the line after that of a position begins."""
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def leads_line(self, at: int) -> bool:
        """Whether nothing but blanks stands before it in its line."""
        return not self.text[self.line_start(at) : at].strip()

    def chunk(self, entry: MarkedEntry) -> tuple[int, int]:
        """The lines of an entry that leads its line, with comments right above it."""
        start = self.line_start(entry.start)
        indent = entry.start - start
        while start:
            above = self.line_start(start - 1)
            line = self.text[above : start - 1]
            if not line.lstrip().startswith("#") or len(line) - len(line.lstrip()) != indent:
                break
            start = above
        # The first lines of a file tell of the whole.
        return (start or self.line_start(entry.start)), self.next_line(entry.end)
