"""YAML and JSON texts with sentences put in: not a character beside them is touched.

Writing a document anew would lose how its author set it. Where things stand is asked of the YAML
reader, whose marks are exact for JSON too, and the sentences go in between.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from router.domain.errors import InvalidInput
from router.formats.yaml_document import Place

_NULL = "tag:yaml.org,2002:null"
_STEP = 2
_BLOCK = ("|", ">")


class Unwritable(InvalidInput):
    """Sentences can't be put in there as the file is; says what to do."""


@dataclass(frozen=True)
class MarkedText:
    """A text, and the nodes that are in it."""

    text: str
    root: Node

    @classmethod
    def read(cls, text: str) -> "MarkedText":
        """The text of a document; raises `Unwritable` where it isn't one."""
        try:
            # No part of any JSON; in YAML only of texts, whose places stay the same.
            root = YAML(typ="safe", pure=True).compose(text.replace("\t", " "))
        except YAMLError as error:
            raise Unwritable(f"it can't be read ({error}): mend it first") from None
        if root is None:
            raise Unwritable("it is empty: write what it declares first")
        return cls(text, root)

    def with_items(self, place: Place, items: Sequence[str]) -> str:
        """The text with these at the end of the list at `place`, which is made where it isn't."""
        node: Node = self.root
        for depth, part in enumerate(place):
            found = _child(node, part)
            if found is None:
                if not isinstance(node, MappingNode):
                    raise Unwritable(f"{_written(place[:depth])} is no mapping: write it as one")
                return self._with_entry(node, place[depth:], items)
            key, node = found
            if key is not None and node.start_mark.index < key.end_mark.index:
                raise Unwritable(f"{_written(place[: depth + 1])} is an alias: write it out")
        return self._with_more(node, place, items)

    def _with_more(self, node: Node, place: Place, items: Sequence[str]) -> str:
        start, end = node.start_mark.index, node.end_mark.index
        if isinstance(node, SequenceNode) and not node.value:
            return self._replaced(start, end, _in_line(items))
        if isinstance(node, SequenceNode) and node.flow_style:
            last = node.value[-1]
            return self._inserted(_end(last), self._among(last, list(map(_quoted, items))))
        if isinstance(node, SequenceNode):
            return self._below(node, items)
        if node.tag == _NULL and start < end:
            return self._replaced(start, end, _in_line(items))
        raise Unwritable(f"{_written(place)} is no list: write [] there")

    def _below(self, node: SequenceNode, items: Sequence[str]) -> str:
        """Lines like that of the last item: set in alike, and in its quotes."""
        last = node.value[-1]
        if not isinstance(last, ScalarNode):
            raise Unwritable("the last of its examples is no text: write it as one")
        line = self.text.rfind("\n", 0, last.start_mark.index) + 1
        dash = self.text[line : last.start_mark.index]
        if dash.strip() != "-":
            raise Unwritable("its last example doesn't begin on the line of its dash: put it there")
        quote = last.style if last.style in {"'", '"'} else '"'
        lines = [f"{dash}{_quoted(item, quote)}" for item in items]
        return self._after_line(last, lines)

    def _with_entry(self, node: MappingNode, path: Place, items: Sequence[str]) -> str:
        """A mapping with one entry more: the list, within what has to be around it."""
        if node.flow_style or not node.value:
            return self._with_flow_entry(node, path, items)
        key, value = node.value[-1]
        lines = _block_lines(path, items, key.start_mark.column)
        return self._after_line(_last(value) or key, lines)

    def _with_flow_entry(self, node: MappingNode, path: Place, items: Sequence[str]) -> str:
        if not node.value:
            inside = _in_line(items)
            for part in reversed(path):
                inside = f"{{{json.dumps(part)}: {inside}}}"
            return self._replaced(node.start_mark.index, node.end_mark.index, inside)
        key, value = node.value[-1]
        is_set_out = self._is_on_own_line(key)
        column = self._column(key) if is_set_out else None
        written = _flow_entry(path, items, column, self.newline, key.style == '"')
        return self._inserted(_end(value), self._among(key, [written]))

    def _among(self, last: Node, written: Sequence[str]) -> str:
        """More of a list or mapping in brackets, on lines of their own where the last has one."""
        gap = ", "
        if self._is_on_own_line(last):
            gap = f",{self.newline}{' ' * self._column(last)}"
        return "".join(f"{gap}{each}" for each in written)

    def _is_on_own_line(self, node: Node) -> bool:
        return not self.text[self._line(node) : node.start_mark.index].strip()

    def _column(self, node: Node) -> int:
        return int(node.start_mark.index) - self._line(node)

    def _line(self, node: Node) -> int:
        return self.text.rfind("\n", 0, node.start_mark.index) + 1

    @property
    def newline(self) -> str:
        """How its lines end."""
        return "\r\n" if "\r\n" in self.text else "\n"

    def _after_line(self, last: Node, lines: Sequence[str]) -> str:
        """Lines below the one on which a block's last scalar ends, whatever is behind it there."""
        end = _end(last)
        if isinstance(last, ScalarNode) and last.style in _BLOCK:
            end = len(self.text[:end].rstrip())
        at = self.text.find("\n", end)
        at = len(self.text) if at < 0 else at
        if self.text[:at].endswith("\r"):
            at -= 1
        return self._inserted(at, "".join(f"{self.newline}{line}" for line in lines))

    def _inserted(self, at: int, more: str) -> str:
        return self._replaced(at, at, more)

    def _replaced(self, start: int, end: int, by: str) -> str:
        return f"{self.text[:start]}{by}{self.text[end:]}"


def child(node: Node, key: str) -> tuple[Node, Node] | None:
    """The key and value of an entry; None where the node has none such."""
    for one, value in node.value if isinstance(node, MappingNode) else ():
        if one.value == key:
            return one, value
    return None


def _child(node: Node, part: str | int) -> tuple[Node | None, Node] | None:
    if isinstance(part, str):
        return child(node, part)
    items = node.value if isinstance(node, SequenceNode) else []
    return (None, items[part]) if part < len(items) else None


def _last(node: Node) -> Node | None:
    """What a value's text ends with; None where it is left out."""
    if isinstance(node, CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        key, value = last if isinstance(last, tuple) else (None, last)
        return _last(value) or key
    is_absent = isinstance(node, ScalarNode) and node.tag == _NULL and not node.value
    return None if is_absent else node


def _end(node: Node) -> int:
    index: int = node.end_mark.index
    return index


def _quoted(text: str, quote: str = '"') -> str:
    if quote == "'":
        doubled = text.replace("'", "''")
        return f"'{doubled}'"
    return json.dumps(text, ensure_ascii=False)


def _in_line(items: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, items))}]"


def _block_lines(path: Place, items: Sequence[str], column: int) -> list[str]:
    keys = [f"{' ' * (column + _STEP * depth)}{part}:" for depth, part in enumerate(path)]
    inner = " " * (column + _STEP * len(path))
    return [*keys, *(f"{inner}- {_quoted(item)}" for item in items)]


def _flow_entry(
    path: Place, items: Sequence[str], column: int | None, newline: str, quotes: bool
) -> str:
    """`"examples": […]`, set out from the column on, or on one line where there is none."""
    first, *inner = path
    name = json.dumps(first) if quotes else str(first)
    if column is None:
        value = _flow_entry(tuple(inner), items, None, newline, quotes) if inner else ""
        return f"{name}: {{{value}}}" if inner else f"{name}: {_in_line(items)}"
    deeper = column + _STEP
    edge, gap = f"{newline}{' ' * column}", f"{newline}{' ' * deeper}"
    if inner:
        value = _flow_entry(tuple(inner), items, deeper, newline, quotes)
        return f"{name}: {{{gap}{value}{edge}}}"
    return f"{name}: [{gap}{f',{gap}'.join(map(_quoted, items))}{edge}]"


def _written(place: Place) -> str:
    return ".".join(map(str, place)) or "the file"
