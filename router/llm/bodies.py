"""Answers as they come over the wire: one JSON document, or a stream of pieces of it.

Read from the bytes rather than through the client's models: servers that are only nearly
compatible send what no model of it foresaw, and a stream that ends before `[DONE]` has to
be told from one that is complete.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

MAX_BYTES = 4 * 1024 * 1024
MAX_CALLS = 200
DONE = b"[DONE]"


class Unreadable(ValueError):
    """What came isn't an answer; says why."""


class BrokenOff(Unreadable):
    """The stream ended in the middle of an answer."""


async def whole(pieces: AsyncIterator[bytes]) -> Any:
    """The JSON document that the pieces make up.

    Raises:
        Unreadable: it isn't JSON, or too long.
    """
    body = bytearray()
    async for piece in pieces:
        body += piece
        _check_length(len(body))
    return _parsed(bytes(body))


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
            yield _parsed(event)
    if data and b"\n".join(data) == DONE:
        yield DONE


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest, length = b"", 0
    async for piece in pieces:
        length += len(piece)
        _check_length(length)
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.rstrip(b"\r")
    yield rest.rstrip(b"\r")


def _check_length(length: int) -> None:
    if length > MAX_BYTES:
        raise Unreadable(f"it is longer than {MAX_BYTES} bytes")


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it isn't JSON: {error}") from None


class Assembly:
    """The pieces of a streamed answer, put together to the body it would have been at once."""

    def __init__(self) -> None:
        self.content = ""
        self.calls: list[dict[str, Any]] = []
        """Each with `index`, `id`, `name` and `arguments` as far as they have come."""
        self._refusal = ""
        self._finish: Any = None
        self._rest: dict[str, Any] = {}
        self._is_done = False

    @property
    def is_complete(self) -> bool:
        """True where the server said that this is all."""
        return self._is_done or self._finish is not None

    def add(self, event: Any) -> None:
        """Take in one event."""
        if event == DONE:
            self._is_done = True
        elif isinstance(event, dict):
            for key in ("usage", "model", "error"):
                if event.get(key):
                    self._rest[key] = event[key]
            choices = event.get("choices")
            if isinstance(choices, list) and choices and isinstance(choices[0], dict):
                self._add_choice(choices[0])

    def body(self) -> dict[str, Any]:
        """The answer so far, as the body of a Chat Completion."""
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in self.calls
        ]
        message = {"content": self.content, "refusal": self._refusal, "tool_calls": calls}
        choice = {"message": message, "finish_reason": self._finish}
        return {**self._rest, "choices": [choice]}

    def _add_choice(self, choice: dict[str, Any]) -> None:
        if choice.get("finish_reason"):
            self._finish = choice["finish_reason"]
        # Some servers send the last event with the whole message instead of a delta.
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            return
        self.content += _text(delta.get("content"))
        self._refusal += _text(delta.get("refusal"))
        pieces = delta.get("tool_calls")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._add_call(piece)

    def _add_call(self, piece: dict[str, Any]) -> None:
        call = self._call_for(piece)
        function = piece.get("function")
        if call is None or not isinstance(function, dict):
            return
        call["id"] = call["id"] or piece.get("id")
        call["name"] += _text(function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, str) and isinstance(call["arguments"], str):
            call["arguments"] += arguments
        elif arguments is not None:
            call["arguments"] = arguments

    def _call_for(self, piece: dict[str, Any]) -> dict[str, Any] | None:
        """The call that a piece goes on with, or a new one.

        By its index; but an index may be missing, or the same for all, so another id begins
        another call.
        """
        index, given = piece.get("index"), piece.get("id")
        same = [call for call in self.calls if index is None or call["index"] == index]
        if same and (not given or same[-1]["id"] in (None, given)):
            return same[-1]
        if len(self.calls) >= MAX_CALLS:
            return None
        self.calls.append({"index": index, "id": given, "name": "", "arguments": ""})
        return self.calls[-1]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
