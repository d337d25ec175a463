"""Telling whoever watches what an activity does, while it does it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from pydantic import JsonValue

from router.contracts.activities import ToolCall
from router.domain.ports import Live
from router.domain.progress import Progress, ProgressType, ToolStatus
from router.llm.chat import OnText, TextDelta

EVERY = 0.05
"""Seconds between two pieces of one text: as fast as anybody reads."""


class Telling:
    """Tells `live` of texts being written and of tools being called.

    >>> async with Telling(live).of("default", "c1", "m1") as on_text:  # doctest: +SKIP
    ...     await ladder.answer(request, seconds, on_text)
    """

    def __init__(self, live: Live) -> None:
        self._live = live

    @asynccontextmanager
    async def of(self, tenant: str, conversation: str, message_id: str) -> AsyncIterator[OnText]:
        """What a model may tell its text to, which never waits for those who read it.

        The text goes on in about twenty pieces a second; all of it has been told on leaving,
        unless by an error. A text that is begun anew, here or by the next one who comes with
        the same message, has a higher attempt.
        """
        place = (tenant, conversation, message_id)
        text = _Text()
        passing_on = asyncio.create_task(self._pass_on(text, place))
        try:
            yield text.add
            text.end()
            await passing_on
        finally:
            passing_on.cancel()
            await asyncio.gather(passing_on, return_exceptions=True)

    async def tool_started(self, call: ToolCall) -> None:
        """Tell that the tool is being called, if in a conversation."""
        await self._tell_call(call, "tool_started", {})

    async def tool_progress(self, call: ToolCall, text: str) -> None:
        """Tell how far the call is: that it has started, once more, with what it says."""
        await self._tell_call(call, "tool_started", {"progress": text})

    async def tool_finished(self, call: ToolCall, status: ToolStatus, seconds: float) -> None:
        """Tell what became of the call, if in a conversation."""
        about: dict[str, JsonValue] = {"status": status, "milliseconds": round(seconds * 1000)}
        await self._tell_call(call, "tool_finished", about)

    async def _tell_call(
        self, call: ToolCall, kind: ProgressType, about: dict[str, JsonValue]
    ) -> None:
        if call.conversation is not None:
            place = (call.caller.tenant, call.conversation, call.message_id)
            await self._tell(place, kind, {"id": call.call_id, "name": call.tool, **about})

    async def _pass_on(self, text: "_Text", place: tuple[str, str, str]) -> None:
        async for attempt, piece in text:
            await self._tell(place, "text_delta", {"text": piece, "attempt": attempt})

    async def _tell(
        self, place: tuple[str, str, str], kind: ProgressType, data: dict[str, JsonValue]
    ) -> None:
        tenant, conversation, message_id = place
        await self._live.tell(
            Progress(
                tenant=tenant,
                conversation=conversation,
                message_id=message_id,
                type=kind,
                data=data,
            )
        )


class _Text:
    """A text as it is written on one side, and as it is taken away in pieces on the other."""

    def __init__(self) -> None:
        self._attempt: int | None = None
        self._number = 0
        self._waiting = ""
        self._more = asyncio.Event()
        self._ended = asyncio.Event()

    async def add(self, delta: TextDelta) -> None:
        """Take the model's next piece; never waits."""
        if delta.attempt != self._attempt:
            self._attempt = delta.attempt
            # By the clock, so that it is also above those of an activity that was tried
            # before, perhaps by another process.
            self._number = max(self._number + 1, time.time_ns() // 1000)
            self._waiting = ""
        self._waiting += delta.text
        self._more.set()

    def end(self) -> None:
        """There will be no more."""
        self._ended.set()
        self._more.set()

    async def __aiter__(self) -> AsyncIterator[tuple[int, str]]:
        """Attempt and text of each piece: what has gathered since the one before."""
        while not self._ended.is_set() or self._waiting:
            await self._more.wait()
            self._more.clear()
            if self._waiting:
                piece, self._waiting = self._waiting, ""
                yield self._number, piece
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY):
                    await self._ended.wait()
