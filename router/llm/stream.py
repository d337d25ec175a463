"""Answers as they come over the wire, and what of an unfinished one may be said already.

Read from the bytes rather than through a client's models: servers that are only nearly
compatible send what no model of it foresaw, and a stream that breaks off has to be told from
one that is complete.

Said early is plain content, and the argument of a function that says something. Never said are
thoughts, calls written as text, and JSON; nor the beginning of what may become one of them.
"""

import json
import re
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from router.llm.calls import MARKS, without_thinking
from router.llm.json_repair import clean_text
from router.llm.types import How

MAX_BYTES = 4 * 1024 * 1024
DONE = b"[DONE]"


class UnreadableAnswer(ValueError):
    """What came isn't an answer; says why."""


async def whole(pieces: AsyncIterator[bytes]) -> Any:
    """The JSON document that the pieces make up; raises `UnreadableAnswer`."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        _check_length(len(body))
    return parsed(bytes(body))


async def events(pieces: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    """The JSON of each server-sent event, up to `[DONE]` or the end.

    Lines end with a line feed alone, as the format has it: JSON may hold other characters
    that Python takes for the end of a line, such as U+2028.
    """
    data: list[bytes] = []
    async for line in _lines(pieces):
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif not line and data:
            event, data = b"\n".join(data), []
            if event == DONE:
                yield DONE
                return
            yield parsed(event)
    if data and b"\n".join(data) == DONE:
        yield DONE


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest, length = bytearray(), 0
    async for piece in pieces:
        length += len(piece)
        _check_length(length)
        # Looked for in what is new: a line may come byte by byte.
        before = len(rest)
        rest += piece
        if (end := rest.rfind(b"\n", before)) >= 0:
            lines = bytes(rest[:end]).split(b"\n")
            del rest[: end + 1]
            for line in lines:
                yield line.rstrip(b"\r")
    yield bytes(rest).rstrip(b"\r")


def _check_length(length: int) -> None:
    if length > MAX_BYTES:
        raise UnreadableAnswer(f"it is longer than {MAX_BYTES} bytes")


def parsed(text: bytes | str) -> Any:
    """The JSON document; raises `UnreadableAnswer`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableAnswer(f"it isn't JSON: {error}") from None


class ServerAnswer(Protocol):
    """An answer that comes: its `events` where it `streams`, else the `whole` of it."""

    @property
    def streams(self) -> bool:
        """Whether the server streams it, whatever it was asked to."""

    def events(self) -> AsyncIterator[Any]:
        """The JSON of each event, and `DONE`; raises `UnreadableAnswer`."""

    async def whole(self) -> Any:
        """Its JSON document; raises `UnreadableAnswer`."""


class HttpAnswer:
    """An answer as it comes over the wire: its headers, and the pieces of its body."""

    def __init__(self, headers: Mapping[str, str], body: AsyncIterator[bytes]) -> None:
        self._headers = headers
        self._body = body

    @property
    def streams(self) -> bool:
        """By its type: some stream nothing, and some whatever they are asked."""
        return "text/event-stream" in self._headers.get("content-type", "")

    def events(self) -> AsyncIterator[Any]:
        """The JSON of each event."""
        return events(self._body)

    async def whole(self) -> Any:
        """Its JSON document."""
        return await whole(self._body)


class PartialAnswer(Protocol):
    """A streamed answer as far as it has come."""

    content: str

    @property
    def calls(self) -> Sequence[Mapping[str, Any]]:
        """Each with `name` and `arguments` as far as they have come."""

    @property
    def is_complete(self) -> bool:
        """True where the server said that this is all."""

    def add(self, event: Any) -> None:
        """Take in the JSON of one event, or `DONE`."""

    def body(self) -> dict[str, Any]:
        """The answer so far, as the body it would have been at once."""


MAX_TOLD = 20_000
"""Characters of an answer that are told early: all is looked at again for what is new in it."""
_OF_ALL = 64
"""The part by which it has to grow before it is: pieces may be of one character."""
_ESCAPED = r'\\["\\/bfnrt]|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}'
_WHOLE = re.compile(
    rf'(?:[^"\\\x00-\x1f\ud800-\udfff]|{_ESCAPED}|\\u(?![dD][89a-fA-F])[\da-fA-F]{{4}})*'
)
"""As much of a JSON string as has come whole, without half of an escape at its end."""
_OPENING = re.compile(
    r'\s*\{\s*"calls"\s*:\s*\[\s*\{\s*"name"\s*:\s*"(?P<name>[^"\\]*)"\s*,\s*"arguments"\s*:'
)
_HIDDEN = ("<think>", "{", "[", "```", *MARKS)


class Speech:
    """Gives the sayable text of an answer piece by piece."""

    def __init__(self, how: How, functions: Collection[str], spoken: Mapping[str, str]) -> None:
        """Take the names of the functions that the model may call.

        `spoken` has those whose argument of this name is said.
        """
        self._is_json = bool(functions) and how != "functions"
        self._calls = tuple(f"{name}(" for name in functions)
        self._spoken = spoken
        self._said = ""
        self._due = 0
        self._is_over = False

    def more(self, answer: PartialAnswer) -> str:
        """What can be said now and wasn't before; often nothing."""
        written = answer.calls[0]["arguments"] if answer.calls else ""
        length = len(answer.content) + (len(written) if isinstance(written, str) else 0)
        is_due = length >= self._due or answer.is_complete
        if not is_due or self._is_over or length > MAX_TOLD:
            return ""
        self._due, self._is_over = length + 1 + length // _OF_ALL, answer.is_complete
        sayable = self._sayable(answer)
        if not sayable.startswith(self._said):
            return ""  # it turned out to be something else; the whole answer corrects it
        more, self._said = sayable[len(self._said) :], sayable
        return clean_text(more)

    def _sayable(self, answer: PartialAnswer) -> str:
        # As the whole answer will be read: a NUL before a mark doesn't make it any less of one.
        content = answer.content.replace("\0", "")
        function, arguments = "", ""
        if self._is_json and content.lstrip().startswith("{"):
            if opening := _OPENING.match(content):
                function, arguments = opening["name"], content[opening.end() :]
        elif sayable := sayable_content(content, self._calls):
            return sayable
        elif answer.calls and isinstance(answer.calls[0]["arguments"], str):
            function, arguments = answer.calls[0]["name"], answer.calls[0]["arguments"]
        argument = self._spoken.get(function)
        return string_so_far(arguments, argument) if argument else ""


def sayable_content(content: str, calls: Iterable[str] = ()) -> str:
    """The part of unfinished content that is certainly meant for the user.

    Some models write a call as text, which begins as one of `calls` does.

    >>> sayable_content("One moment. <tool_c")
    'One moment. '
    """
    text = without_thinking(content).lstrip()
    hidden = (*_HIDDEN, *calls)
    if any(text.startswith(mark) or mark.startswith(text) for mark in hidden):
        return ""
    found = [position for mark in MARKS if (position := text.find(mark)) >= 0]
    text = text[: min(found, default=len(text))]
    text = text[: len(text) - _held_back(text)]
    return text[:-1] if "\ud800" <= text[-1:] <= "\udbff" else text  # half a character


def _held_back(text: str) -> int:
    """How many characters at the end may be the beginning of a mark."""
    lengths = (
        length
        for mark in MARKS
        for length in range(min(len(mark) - 1, len(text)), 0, -1)
        if text.endswith(mark[:length])
    )
    return max(lengths, default=0)


def string_so_far(text: str, key: str) -> str:
    r"""The value of an unfinished object's first property, as far as it has come whole.

    >>> string_so_far('{"text": "明天\\u5', "text")
    '明天'
    """
    opening = re.match(rf'\s*\{{\s*"{re.escape(key)}"\s*:\s*"', text)
    if opening is None:
        return ""
    whole = _WHOLE.match(text, opening.end())
    said: str = json.loads(f'"{whole[0] if whole else ""}"')
    return said
