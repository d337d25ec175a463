"""A front end that speaks AG-UI over HTTP, and believes nothing that the protocol doesn't allow."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from ag_ui.core import (
    Event,
    EventType,
    RunAgentInput,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    TextMessageContentEvent,
)
from httpx import AsyncClient, Response
from pydantic import TypeAdapter

EVENT: TypeAdapter[Any] = TypeAdapter(Event)


def balanced(events: list[Any]) -> None:
    """Fail where the events break the protocol's rules of order."""
    assert events[0].type in {EventType.RUN_STARTED, EventType.RUN_ERROR}
    assert events[-1].type in {EventType.RUN_FINISHED, EventType.RUN_ERROR}
    lanes = {"TEXT": "message_id", "TOOL": "tool_call_id", "STEP": "step_name"}
    opened: set[tuple[str, str]] = set()
    for event in events[1:-1]:
        lane, _, kind = event.type.value.partition("_")
        assert lane != "RUN"
        if lane not in lanes or kind.endswith("RESULT"):
            continue
        item = (lane, getattr(event, lanes[lane]))
        begins = kind.endswith(("START", "STARTED"))
        assert (item in opened) != begins
        if begins:
            opened.add(item)
        elif kind.endswith(("END", "FINISHED")):
            opened.remove(item)
    assert not opened or events[-1].type == EventType.RUN_ERROR


@dataclass
class Told:
    """A run that is over."""

    events: list[Any]

    @property
    def types(self) -> list[str]:
        return [event.type.value for event in self.events]

    @property
    def text(self) -> str:
        parts = (e.delta for e in self.events if isinstance(e, TextMessageContentEvent))
        return "\n".join(parts)

    @property
    def end(self) -> Any:
        return self.events[-1]

    @property
    def interrupts(self) -> list[Any]:
        assert isinstance(self.end, RunFinishedEvent)
        outcome = self.end.outcome
        return outcome.interrupts if isinstance(outcome, RunFinishedInterruptOutcome) else []

    def custom(self, name: str) -> list[Any]:
        return [e.value for e in self.events if e.type == EventType.CUSTOM and e.name == name]

    def one(self, type_: EventType) -> Any:
        (found,) = [event for event in self.events if event.type == type_]
        return found


@dataclass
class FrontEnd:
    """One thread of one person."""

    http: AsyncClient
    user: str = "alice"
    thread: str = field(default_factory=lambda: uuid4().hex)
    history: list[dict[str, Any]] = field(default_factory=list)

    def input(self, **more: Any) -> dict[str, Any]:
        given = {"threadId": self.thread, "runId": uuid4().hex, "messages": self.history, **more}
        RunAgentInput.model_validate(given)
        return given

    async def say(self, text: Any, **more: Any) -> Told:
        self.history.append({"id": uuid4().hex, "role": "user", "content": text})
        return await self.run(self.input(**more))

    async def resume(self, interrupt: Any, payload: Any = None, **more: Any) -> Told:
        status = "cancelled" if payload is None else "resolved"
        entry = {"interruptId": interrupt.id, "status": status, "payload": payload}
        return await self.run(self.input(resume=[entry], **more))

    async def run(self, body: dict[str, Any]) -> Told:
        async with self.stream(body) as events:
            told = Told([event async for event in events])
        balanced(told.events)
        if told.text:
            self.history.append({"id": uuid4().hex, "role": "assistant", "content": told.text})
        return told

    async def refused(self, body: Any) -> Response:
        content = body if isinstance(body, bytes) else json.dumps(body)
        headers = {**self.headers, "Content-Type": "application/json"}
        answer = await self.http.post("/ag-ui", content=content, headers=headers)
        assert answer.headers["content-type"] == "application/problem+json"
        return answer

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.user}"}

    @asynccontextmanager
    async def stream(self, body: dict[str, Any]) -> AsyncIterator[AsyncIterator[Any]]:
        headers = {**self.headers, "Accept": "text/event-stream"}
        async with self.http.stream("POST", "/ag-ui", json=body, headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield _events(answer)


async def _events(answer: Response) -> AsyncIterator[Any]:
    async for line in answer.aiter_lines():
        if line and not line.startswith(":"):
            yield EVENT.validate_json(line.removeprefix("data: "))
