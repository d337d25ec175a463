"""A turn as server-sent events: what happens in it as it happens, and at the end the turn."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.types import Receive, Scope, Send

from router.api import problems
from router.api.under_way import Failed, Happening, Silence, TakenIn, UnderWay
from router.domain.messages import Turn
from router.domain.progress import Progress
from router.telemetry.metrics import STREAMS

UNBUFFERED = {"X-Accel-Buffering": "no"}
"""Has nginx pass on each event at once."""

Part = tuple[str, dict[str, Any]]
"""An event's name and data."""

LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""To events they are letters like any other, but many a client takes them for the line's end."""


@dataclass(frozen=True)
class TurnStream:
    """One message on its way, and what its sender hears of it meanwhile.

    Events, in this order: `message`, then `thinking`, `text_delta`, `tool_started` and
    `tool_finished` as they come, then `route`, `flow`, `reply` and last `turn`; or last `error`,
    with the problem that a plain answer would have had for its body.
    """

    request: Request
    message: UnderWay

    async def response(self) -> Response:
        """The answer, which begins once it is certain that the message was taken in.

        Raises what `Turns.submit` raises, where that comes out before; the answer is then a
        problem like any other. The turn runs on whether or not anybody stays to hear of it.
        """
        events = self._events()
        return EventStream(events, await anext(events))

    async def _events(self) -> AsyncGenerator[bytes]:
        async with aclosing(self.message.happenings()) as happenings:
            async for happening in happenings:
                for name, data in await self._parts(happening):
                    yield event(name, data)

    async def _parts(self, happening: Happening) -> list[Part]:
        match happening:
            case TakenIn(message_id):
                return [("message", {"message_id": message_id, "status": "running"})]
            case Progress():
                return [(happening.type, happening.data)]
            case Silence():
                return [("ping", {})]
            case Turn():
                return list(parts_of(happening))
            case Failed(error):
                problem = await problems.answer_to(self.request, error)
                return [("error", json.loads(bytes(problem.body)))]


def parts_of(turn: Turn) -> Iterator[Part]:
    """The turn part by part, and then as one."""
    shown = turn.shown()
    for route in shown.get("routes", [shown["route"]]):
        yield "route", route
    if "flow" in shown:
        yield "flow", shown["flow"]
    for reply in shown["replies"]:
        yield "reply", reply
    yield "turn", shown


def event(name: str, data: dict[str, Any], id_: str | None = None) -> bytes:
    r"""One event as it goes over the wire.

    >>> event("ping", {})
    b'event: ping\ndata: {}\n\n'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return format_sse_event(event=name, data_str=text.translate(LINE_ENDS), id=id_)


class EventStream(EventSourceResponse):
    """Events whose source is closed when the client has gone, not when memory is cleaned up."""

    def __init__(self, events: AsyncGenerator[bytes], *already: bytes) -> None:
        """`already` are the first ones, where they were awaited before."""
        self._events = events
        super().__init__(_all(already, events), headers=UNBUFFERED)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them until they end or nobody takes them any more."""
        with STREAMS.track_inprogress():
            async with aclosing(self._events):
                await super().__call__(scope, receive, send)


async def _all(first: Iterable[bytes], rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for one in first:
        yield one
    async for one in rest:
        yield one
