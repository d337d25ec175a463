"""Telling whoever watches what an activity does, while it does it; no call waits for its rows."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import cast

from pydantic import JsonValue

from router.contracts.activities import ToolCall
from router.domain.errors import Unavailable
from router.domain.messages import PREVIEW, Usage
from router.domain.progress import (
    Progress,
    ProgressPlace,
    ProgressType,
    Thinking,
    ToolCallProgress,
    ToolStatus,
)
from router.domain.records import LogEntry
from router.llm.types import ChatAnswer, OnText, TextDelta
from router.routing.decider import cost
from router.routing.excerpt import excerpt
from router.secrecy.redaction import redact, redacted
from router.store.event_log import EventLog
from router.store.live import Live

MOST_AT_ONCE = 100
MOST_WAITING = 5_000
"""Rows that wait for a database that is away; of more, the oldest go."""
RETRY_SECONDS = 1.0
LINGER = 0.005
"""Seconds that a row waits for others: the beginning of a short call is written with its end."""

_log = logging.getLogger(__name__)


@dataclass
class _Noted:
    tenant: str
    entry: LogEntry
    written: asyncio.Event = field(default_factory=asyncio.Event)


class Recording:
    """Writes to the event log in the order noted, what comes at once in one transaction."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._waiting: deque[_Noted] = deque(maxlen=MOST_WAITING)
        self._writing: asyncio.Task[None] | None = None
        self._at_once = asyncio.Event()

    def note(self, tenant: str, entry: LogEntry, *, at_once: bool = False) -> asyncio.Event:
        """Have it written with all noted before; never waits, and gives what is set once it is."""
        noted = _Noted(tenant, entry)
        self._waiting.append(noted)
        if at_once:
            self._at_once.set()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write(), name="writing to the event log")
        return noted.written

    async def _write(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER):
                    await self._at_once.wait()
            self._at_once.clear()
            several = min(len(self._waiting), MOST_AT_ONCE)
            batch = [self._waiting.popleft() for _ in range(several)]
            for tenant, rows in groupby(batch, key=lambda noted: noted.tenant):
                await self._append(tenant, list(rows))

    async def _append(self, tenant: str, rows: list[_Noted]) -> None:
        entries = [noted.entry for noted in rows]
        while True:
            try:
                await self._log.append(tenant, entries)
                break
            except Unavailable as error:
                _log.warning("%s rows wait for the event log: %s", len(rows), error)
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:  # noqa: BLE001 - whatever it is
                # What no try will ever write must not keep back what comes after it.
                _log.exception("%s rows can't be written to the event log", len(rows))
                return
        for noted in rows:
            noted.written.set()


EVERY = 0.05
"""Seconds between two pieces of one text: as fast as anybody reads."""
PATIENCE = 0.005
"""Seconds that the end of a call waits to be in the log, so that it mostly is before its turn's."""


class ProgressPublisher:
    """Tells `live` of texts being written, of models being asked and of tools being called.

    Of the last two `recording` keeps rows; without it whoever comes late has missed them.
    """

    def __init__(self, live: Live, recording: Recording | None = None) -> None:
        self._live = live
        self._recording = recording

    @asynccontextmanager
    async def of(self, tenant: str, conversation: str, message_id: str) -> AsyncIterator[OnText]:
        """What a model may tell its text to, which never waits for those who read it.

        The text goes on in about twenty pieces a second, all of it by leaving, unless by an error.
        One begun anew, here or by the next with the same message, has a higher attempt.
        """
        text = _Text()

        async def pass_on() -> None:
            async for attempt, piece in text:
                data: dict[str, JsonValue] = {"text": piece, "attempt": attempt}
                await self._tell((tenant, conversation, message_id), "text_delta", data)

        passing_on = asyncio.create_task(pass_on())
        try:
            yield text.add
            text.end()
            await passing_on
        finally:
            passing_on.cancel()
            await asyncio.gather(passing_on, return_exceptions=True)

    @asynccontextmanager
    async def thinking(self, tenant: str, about: Thinking) -> AsyncIterator["QuestionOutcome"]:
        """Tell that a model is asked, and on leaving what it took, whatever came of it."""

        async def tell(row: LogEntry) -> None:
            self._keep(tenant, row)
            await self._tell_of_row(tenant, row)

        began, answered = time.monotonic(), QuestionOutcome()
        await tell(about.started(_now()))
        try:
            yield answered
        finally:
            took = round((time.monotonic() - began) * 1000)
            await tell(about.finished(_now(), took, answered.cost, answered.model))

    async def planned(self, tenant: str, row: LogEntry) -> None:
        """Tell that a step of a plan has begun or ended."""
        self._keep(tenant, row)
        await self._tell_of_row(tenant, row)

    async def tool_started(self, call: ToolCall, attempt: int = 1) -> None:
        """Tell that the tool is being called, if in a conversation.

        Who watches is told at the first attempt; the row is made at every one, after a crash too.
        """
        if (about := _called(call)) is not None:
            row = about.started(_now(), _arguments(call))
            self._keep(call.caller.tenant, row)
            if attempt == 1:
                await self._tell_of_row(call.caller.tenant, row)

    async def tool_progress(self, call: ToolCall, text: str) -> None:
        """Tell how far the call is: that it has started, once more, with what it says."""
        if call.conversation is not None:
            place = (call.caller.tenant, call.conversation, call.message_id)
            about: dict[str, JsonValue] = {"id": call.call_id, "name": call.tool, "progress": text}
            await self._tell(place, "tool_started", about)

    async def tool_finished(
        self, call: ToolCall, status: ToolStatus, seconds: float, result: str = ""
    ) -> None:
        """Tell what became of the call, if in a conversation: its result, or why it failed."""
        if (about := _called(call)) is None:
            return
        shown = redact(result[:_LOOKED_AT])[:PREVIEW]
        row = about.finished(_now(), status, round(seconds * 1000), shown)
        written = self._keep(call.caller.tenant, row, at_once=True)
        await self._tell_of_row(call.caller.tenant, row)
        if written is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(written.wait(), PATIENCE)

    def _keep(self, tenant: str, row: LogEntry, *, at_once: bool = False) -> asyncio.Event | None:
        return self._recording.note(tenant, row, at_once=at_once) if self._recording else None

    async def _tell_of_row(self, tenant: str, row: LogEntry) -> None:
        place = (tenant, row.conversation or "", row.message_id or "")
        await self._tell(place, cast("ProgressType", row.kind), row.data)

    async def _tell(
        self, place: tuple[str, str, str], kind: ProgressType, data: dict[str, JsonValue]
    ) -> None:
        where = dict(zip(("tenant", "conversation", "message_id"), place, strict=True))
        await self._live.tell(Progress(**where, type=kind, data=data))


_CLAUSE_ENDS = "，。！？；：,.!?;:\n"

Holds = Callable[[str], bool]
"""Whether what a text comes to so far may be told."""


class ClauseByClause:
    """Passes a text on by whole clauses, as far as it holds: what was told can't be unsaid."""

    def __init__(self, tell: OnText, holds: Holds) -> None:
        self._tell = tell
        self._holds = holds
        self._attempt: int | None = None
        self._text = ""
        self._told = 0

    async def add(self, delta: TextDelta) -> None:
        """Take in what was written; one of another attempt begins the text anew."""
        if delta.attempt != self._attempt:
            self._attempt, self._text, self._told = delta.attempt, "", 0
        self._text += delta.text
        await self._pass_on(self._whole())

    async def end(self) -> None:
        """The text is whole: pass on the rest, if it holds."""
        await self._pass_on(len(self._text))

    async def _pass_on(self, end: int) -> None:
        if self._attempt is not None and end > self._told and self._holds(self._text[:end]):
            piece, self._told = self._text[self._told : end], end
            await self._tell(TextDelta(attempt=self._attempt, text=piece))

    def _whole(self) -> int:
        """Where its last whole clause ends; a point before a figure ends none."""
        for end in range(len(self._text) - 1, self._told, -1):
            if self._text[end - 1] in _CLAUSE_ENDS and not self._text[end].isdigit():
                return end
        return self._told


class QuestionOutcome:
    """What came of a question: nothing, until a model has answered."""

    def __init__(self) -> None:
        self.cost = Usage()
        self.model: str | None = None

    def by(self, answer: ChatAnswer) -> None:
        """Take the answer in."""
        self.cost, self.model = cost(answer), answer.model


_LOOKED_AT = 4 * PREVIEW
"""Characters of a result that are looked at for what is secret in them."""


def _arguments(call: ToolCall) -> JsonValue:
    return excerpt(redacted(call.arguments), 2 * PREVIEW).value


def _called(call: ToolCall) -> ToolCallProgress | None:
    if call.conversation is None:
        return None
    place = ProgressPlace(call.conversation, call.message_id, call.flow_run or "")
    return ToolCallProgress(place, call.call_id, call.tool)


def _now() -> datetime:
    return datetime.now(UTC)


class _Text:
    def __init__(self) -> None:
        self._attempt: int | None = None
        self._number = 0
        self._waiting = ""
        self._more = asyncio.Event()
        self._ended = asyncio.Event()

    async def add(self, delta: TextDelta) -> None:
        if delta.attempt != self._attempt:
            self._attempt = delta.attempt
            # By the clock, so that it is also above those of an activity that was tried
            # before, perhaps by another process.
            self._number = max(self._number + 1, time.time_ns() // 1000)
            self._waiting = ""
        self._waiting += delta.text
        self._more.set()

    def end(self) -> None:
        self._ended.set()
        self._more.set()

    async def __aiter__(self) -> AsyncIterator[tuple[int, str]]:
        while not self._ended.is_set() or self._waiting:
            await self._more.wait()
            self._more.clear()
            if self._waiting:
                piece, self._waiting = self._waiting, ""
                yield self._number, piece
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await self._ended.wait()
