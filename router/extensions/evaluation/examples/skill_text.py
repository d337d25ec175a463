"""`SKILL.md` with sentences put into `router.examples` of its head: a line each.

The instructions below the head, and all else in it, stay as they are.
"""

from collections.abc import Sequence

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from router.extensions.evaluation.examples.marked_text import MarkedText, Unwritable, child

_FENCE = "---"
_KEY = "router.examples"
_METADATA = "metadata"
_STEP = 2


def with_sentences(text: str, sentences: Sequence[str]) -> str:
    """The text with these below its examples; raises `Unwritable` with what to do."""
    opening, fence, rest = text.partition("\n")
    end = _end_of_head(rest)
    if opening.strip() != _FENCE or end is None:
        raise Unwritable(f"it has no head: write {_FENCE} above and below it")
    head = MarkedText.read(rest[:end])
    return f"{opening}{fence}{_changed(head, sentences)}{rest[end:]}"


def _end_of_head(rest: str) -> int | None:
    at = 0
    for line in rest.splitlines(keepends=True):
        if line.strip() == _FENCE:
            return at
        at += len(line)
    return None


def _changed(head: MarkedText, sentences: Sequence[str]) -> str:
    found = child(head.root, _METADATA)
    if found is None:
        return _below_all(head, f"{_METADATA}:", [f"  {each}" for each in _entry(sentences)])
    metadata = found[1]
    if not isinstance(metadata, MappingNode) or metadata.flow_style or not metadata.value:
        raise Unwritable(f"{_METADATA} has no lines of its own: write its entries below it, set in")
    given = child(metadata, _KEY)
    if given is not None:
        return _with_lines(head, *given, sentences)
    last_key, last = metadata.value[-1]
    column = last_key.start_mark.column
    lines = [f"{' ' * column}{line}" for line in _entry(sentences)]
    return _below(head, _content_end(head.text, last_key, last), lines)


def _entry(sentences: Sequence[str]) -> list[str]:
    return [f"{_KEY}: |", *(f"{' ' * _STEP}{each}" for each in sentences)]


def _with_lines(head: MarkedText, key: Node, value: Node, sentences: Sequence[str]) -> str:
    if not isinstance(value, ScalarNode):
        raise Unwritable(f"{_KEY} is no text: write `{_KEY}: |` and a sentence a line below it")
    end = _content_end(head.text, key, value)
    if value.style == "|":
        last = head.text.rfind("\n", 0, end) + 1
        line = head.text[last:end]
        column = len(line) - len(line.lstrip())
        return _below(head, end, [f"{' ' * column}{each}" for each in sentences])
    if "\n" in head.text[value.start_mark.index : end]:
        raise Unwritable(f"{_KEY} is over several lines: write `{_KEY}: |` and a sentence a line")
    inner = " " * (key.start_mark.column + _STEP)
    lines = [f"{inner}{each}" for each in (*str(value.value).splitlines(), *sentences)]
    start = value.start_mark.index
    line_end = _line_end(head.text, end)
    block = "".join(f"{head.newline}{line}" for line in lines)
    return f"{head.text[:start]}|{head.text[end:line_end]}{block}{head.text[line_end:]}"


def _content_end(text: str, key: Node, value: Node) -> int:
    """Where the last character of a value is, or of its key where it has none."""
    end: int = max(key.end_mark.index + 1, value.end_mark.index)
    while isinstance(value, MappingNode) and value.value and not value.flow_style:
        key, value = value.value[-1]
        end = max(key.end_mark.index + 1, value.end_mark.index)
    return len(text[:end].rstrip())


def _below(head: MarkedText, end: int, lines: Sequence[str]) -> str:
    """Lines below the one that this place is on."""
    at = _line_end(head.text, end)
    return f"{head.text[:at]}{''.join(f'{head.newline}{line}' for line in lines)}{head.text[at:]}"


def _below_all(head: MarkedText, first: str, lines: Sequence[str]) -> str:
    return _below(head, len(head.text.rstrip()), [first, *lines])


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    end = len(text) if found < 0 else found
    return end - text[:end].endswith("\r")
