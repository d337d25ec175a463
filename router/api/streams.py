"""A message on its way: what happens in its turn, as it happens, for any channel."""

import asyncio
import json
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Self

from fastapi import Request
from fastapi.sse import EventSourceResponse, format_sse_event
from pydantic import JsonValue
from starlette.types import Receive, Scope, Send

from router.api import errors
from router.api.auth import CallerSession
from router.api.turns import TurnPending, Turns, outcome
from router.contracts.conversation import Submission
from router.domain.messages import Turn
from router.domain.progress import Progress
from router.domain.records import ConversationRecord
from router.store.live import Live
from router.telemetry.metrics import STREAMS

UNSHOWN = ("recorded", "forgotten")
"""What is told to this side of the wire alone: to look at the log, or to stop."""
HEARTBEAT = 15.0
"""Seconds of silence after which that is said: proxies close what seems dead."""


@dataclass(frozen=True)
class Accepted:
    """The message was taken in: its turn will be answered whoever stays to hear it."""

    message_id: str


@dataclass(frozen=True)
class Silence:
    """Nothing happened for `HEARTBEAT` seconds."""


@dataclass(frozen=True)
class TurnFailed:
    """The turn came to nothing for this reason, or with `TurnPending` isn't known yet."""

    error: Exception


TurnUpdate = Accepted | Progress | Silence | Turn | TurnFailed


@dataclass(frozen=True)
class MessageInProgress:
    """One message on its way, and what is heard of it meanwhile."""

    live: Live
    turns: Turns
    record: ConversationRecord
    submission: Submission

    async def happenings(self) -> AsyncGenerator[TurnUpdate]:
        """`Accepted`, then `Progress` and `Silence` as they come, and last `Turn` or `TurnFailed`.

        Attempts at a text are numbered 1, 2, 3, without stragglers, and each call that has
        started also finishes. Before the first one comes, this raises what `Turns.submit`
        raises: nothing was taken in then. Close it to hear no more; the turn runs on.
        """
        record, message_id = self.record, self.submission.message_id
        async with self.live.listen(record.tenant, record.id) as told:
            hearing = _Hearing(told, message_id)
            try:
                turn = await self.turns.take(record, self.submission, hearing.next)
                yield Accepted(message_id)
                for progress in hearing.begin():
                    yield progress
                async for happening in _while_it_runs(turn, hearing):
                    yield happening
                for ending in self._ending(turn, hearing):
                    yield ending
            finally:
                hearing.next.cancel()

    def _ending(self, task: asyncio.Task[Turn | None], hearing: "_Hearing") -> Iterator[TurnUpdate]:
        try:
            turn = outcome(task)
        except Exception as error:  # noqa: BLE001 - too late to raise it: each channel says it its own way
            yield TurnFailed(error)
            return
        if turn is None:
            yield TurnFailed(TurnPending())
            return
        place = {"tenant": self.record.tenant, "conversation": self.record.id}
        for data in hearing.ended_with(turn):
            ended = {"message_id": turn.message_id, "type": "tool_finished", "data": data}
            yield Progress.model_validate(place | ended)
        yield turn


class _Hearing:
    """What is told of one message, one by one; and its calls that began and haven't ended yet."""

    def __init__(self, told: AsyncIterator[Progress], message_id: str) -> None:
        self._told = told
        self._message_id = message_id
        self._held: list[Progress] | None = []
        self._open: dict[JsonValue, JsonValue] = {}
        self.next = asyncio.create_task(self._one())

    def begin(self) -> list[Progress]:
        """What flows have done meanwhile; what they do from now on is `next` as well.

        They do it for no message. Only the message's own progress proves that it was taken
        in, so that alone is `next` until then.
        """
        held, self._held = self._held or [], None
        return held

    def take(self) -> Progress:
        """The next one, which is there already."""
        progress = self.next.result()
        # What a flow calls for no message may outlive the turn.
        if progress.message_id == self._message_id:
            if progress.type == "tool_started":
                self._open[progress.data["id"]] = progress.data["name"]
            elif progress.type == "tool_finished":
                self._open.pop(progress.data["id"], None)
        self.next = asyncio.create_task(self._one())
        return progress

    def ended_with(self, turn: Turn) -> Iterator[dict[str, JsonValue]]:
        """The calls' ends, which nobody lived to tell, or told before the turn was over."""
        statuses = {call.id: call.status for call in turn.tool_calls}
        for id_, name in self._open.items():
            yield {"id": id_, "name": name, "status": statuses.get(str(id_), "skipped")}

    async def _one(self) -> Progress:
        while True:
            progress = await anext(self._told)
            if progress.type in UNSHOWN:
                continue
            of_a_flow = progress.message_id == ""
            if of_a_flow and self._held is not None:
                self._held.append(progress)
            elif of_a_flow or progress.message_id == self._message_id:
                return progress


class Attempts:
    """Numbers the times that a turn's text was begun 1, 2, 3, whoever wrote it."""

    def __init__(self) -> None:
        self._newest = 0
        self._count = 0

    def shown(self, data: dict[str, Any]) -> dict[str, Any] | None:
        """The delta as a client sees it; None for a straggler of an earlier attempt."""
        if data["attempt"] < self._newest:
            return None
        self._count += data["attempt"] > self._newest
        self._newest = data["attempt"]
        return {**data, "attempt": self._count}


async def _while_it_runs(
    turn: asyncio.Task[Turn | None], hearing: _Hearing
) -> AsyncIterator[Progress | Silence]:
    attempts = Attempts()
    while True:
        await asyncio.wait({turn, hearing.next}, timeout=HEARTBEAT, return_when=FIRST_COMPLETED)
        if hearing.next.done():
            progress = hearing.take()
            data = attempts.shown(progress.data) if progress.type == "text_delta" else progress.data
            if data is not None:
                yield progress.replace(data=data)
        elif turn.done():
            return
        else:
            yield Silence()


UNBUFFERED = {"X-Accel-Buffering": "no"}
"""Has nginx pass on each event at once."""

EventPart = tuple[str, dict[str, Any]]
"""An event's name and data."""

LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""To events they are letters like any other, but many a client takes them for the line's end."""


async def turn_events(request: Request, message: MessageInProgress) -> AsyncGenerator[bytes]:
    """What the sender of a message hears of it, raising before that as `Turns.submit` does.

    Events, in this order: `message`, then `thinking`, `plan`, `text_delta`, `tool_started` and
    `tool_finished` as they come, then `route`, `flow`, `reply` and last `turn`; or last `error`,
    with the problem that a plain answer would have had for its body. The last one is `message`
    again where the turn can't be asked for any more: it goes on, and is to be asked for later.
    """
    async with aclosing(message.happenings()) as happenings:
        async for happening in happenings:
            match happening:
                case Accepted(message_id):
                    yield event("message", _running(message_id))
                case Progress():
                    yield event(happening.type, happening.data)
                case Silence():
                    yield event("ping", {})
                case Turn():
                    for part in parts_of(happening):
                        yield event(*part)
                case TurnFailed(TurnPending()):
                    yield event("message", _running(message.submission.message_id))
                case TurnFailed(error):
                    problem = await errors.answer_to(request, error)
                    yield event("error", json.loads(bytes(problem.body)))


def _running(message_id: str) -> dict[str, Any]:
    return {"message_id": message_id, "status": "running"}


def parts_of(turn: Turn) -> Iterator[EventPart]:
    """The turn part by part, and then as one."""
    shown = turn.shown()
    for route in shown.get("routes", [shown["route"]]):
        yield "route", route
    yield from replies_in(shown)
    yield "turn", shown


def replies_in(shown: dict[str, Any]) -> Iterator[EventPart]:
    """What is said in it, after the flow that it is about, if any."""
    if "flow" in shown:
        yield "flow", shown["flow"]
    by = {"author": shown["author"]} if "author" in shown else {}
    for reply in shown.get("replies", []):
        yield "reply", {**reply, **by}


def event(name: str, data: dict[str, Any], id_: str | None = None) -> bytes:
    """One event as it goes over the wire."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return format_sse_event(event=name, data_str=text.translate(LINE_ENDS), id=id_)


class EventStream(EventSourceResponse):
    """Events whose source is closed when the client has gone, not when memory is cleaned up.

    They end with the caller's token, and once the directory no longer has the caller: it is asked
    before each, so at each heartbeat. Who comes again is told why they can't.
    """

    def __init__(self, first: bytes, events: AsyncGenerator[bytes]) -> None:
        self._first, self._events = first, events
        super().__init__((), headers=UNBUFFERED)

    @classmethod
    async def begun(cls, events: AsyncGenerator[bytes]) -> Self:
        """The answer, once there is a first event; raises what is raised before that."""
        return cls(await anext(events), events)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them until they end, nobody takes them any more, or they may no longer be sent."""
        self.body_iterator = self._while_it_lasts(scope["state"]["session"])
        with STREAMS.track_inprogress():
            async with aclosing(self._events):
                await super().__call__(scope, receive, send)

    async def _while_it_lasts(self, session: CallerSession) -> AsyncIterator[bytes]:
        one = self._first
        while await session.lasts():
            yield one
            try:
                async with asyncio.timeout(session.seconds_left) as end:
                    one = await anext(self._events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if end.expired():
                    return
                raise
