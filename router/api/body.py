"""What may be in the body of a request: bounded in size, and JSON in the strict sense.

Python's own parser accepts NaN, doubled keys, halves of surrogate pairs and any depth; each
of them would break something further in (the database, a signature, the stack), so they end
here with 400.
"""

import json
import math
from collections.abc import Callable, Collection, Coroutine, Mapping
from email.message import Message as Headers
from types import MappingProxyType
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from router.api.problems import problem

MAX_BODY = 64 * 1024
MAX_DEPTH = 32


def strict_json(raw: bytes) -> Any:
    """The JSON value that the bytes are.

    Raises:
        ValueError: they are none, and this is why.

    >>> strict_json(b'{"text": "hi"}')
    {'text': 'hi'}
    """
    try:
        value = json.loads(
            raw.decode(),
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_unique,
        )
    except RecursionError:
        _too_deep()
    _check(value, MAX_DEPTH)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:40]} is out of range")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object has the same key twice")
    return value


def _too_deep() -> NoReturn:
    raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")


def _check(value: Any, depth: int) -> None:
    if depth < 0:
        _too_deep()
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth - 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(key)
            _check(item, depth - 1)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("a string has half of a surrogate pair") from error


class _StrictRequest(Request):
    async def json(self) -> Any:
        """The body as JSON; 400 where it isn't."""
        try:
            return strict_json(await self.body())
        except ValueError as error:
            raise HTTPException(400, f"The body isn't JSON: {error}.") from error


class StrictRoute(APIRoute):
    """A route whose body is JSON in the strict sense, and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with the strict reading of the body."""
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def strictly(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            if takes_body and await strict.body():
                check_media_type(strict)
            return await handle(strict)

        return strictly


def check_media_type(request: Request) -> None:
    """Return where the body says that it is JSON, or doesn't say what it is.

    Raises:
        HTTPException: 415, it is something else.
    """
    declared = request.headers.get("content-type")
    if declared is None:
        return
    header = Headers()
    header["content-type"] = declared
    if header.get_content_type() != "application/json":
        raise HTTPException(
            415, f"The body is {declared[:80]!r}; send the header Content-Type: application/json."
        )


class BodyLimit:
    """ASGI middleware: takes in at most `limit` bytes of a body, counted as they arrive.

    The body is complete before anything behind this runs, so that what is refused was never
    half processed. Some have `limits` of their own, by method and path. What is `read_elsewhere`
    is passed on as it comes, and bounded there.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: int = MAX_BODY,
        read_elsewhere: Collection[tuple[str, str]] = (),
        limits: Mapping[tuple[str, str], int] = MappingProxyType({}),
    ) -> None:
        self._app = app
        self._limit = limit
        self._limits = limits
        self._read_elsewhere = read_elsewhere

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body read, or refuse it."""
        if scope["type"] != "http" or (scope["method"], scope["path"]) in self._read_elsewhere:
            await self._app(scope, receive, send)
            return
        limit = self._limits.get((scope["method"], scope["path"]), self._limit)
        body = None if _declared(scope) > limit else await _read(receive, limit)
        if body is None:
            refusal = problem(413, f"The body is larger than {limit} bytes.")
            await refusal(scope, receive, send)
            return
        await self._app(scope, _again(body, receive), send)


async def _read(receive: Receive, limit: int) -> list[Message] | None:
    """The messages that make up the body; None where they are too much."""
    messages: list[Message] = []
    size = 0
    while True:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if size > limit:
            return None
        if not message.get("more_body", False):
            return messages


def _declared(scope: Scope) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else 0


def _again(messages: list[Message], receive: Receive) -> Receive:
    """What gives the messages that were read, and then whatever comes after them."""
    waiting = iter(messages)

    async def replay() -> Message:
        for message in waiting:
            return message
        return await receive()

    return replay
