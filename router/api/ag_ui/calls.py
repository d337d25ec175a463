"""Tool calls of a turn: begun when they begin, and whole once the turn says what they were."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    BaseEvent,
    CustomEvent,
    FunctionCall,
    Message,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from router.domain.messages import ToolCallView


class Calls:
    """The calls of one turn.

    Their arguments and results are only known from the turn, so that a call ends with it; that
    a tool has finished is told when it has, as a `CUSTOM` event. `answered` are the front end's
    calls whose results came in with this run: it shows them already.
    """

    def __init__(self, message_id: str, answered: frozenset[str] = frozenset()) -> None:
        self._message_id = message_id
        self._answered = answered
        self._open: dict[str, str] = {}
        self._statuses: dict[str, str] = {}

    def started(self, data: dict[str, Any]) -> Iterator[BaseEvent]:
        """A call began; told of once more, it is how far it has come."""
        id_ = self._id_of(data["id"])
        yield from self._begun(id_, data["name"])
        if "progress" in data:
            yield CustomEvent(name="tool_progress", value={**data, "id": id_})

    def finished(self, data: dict[str, Any]) -> Iterator[BaseEvent]:
        """A tool is done, or won't be."""
        id_ = self._id_of(data["id"])
        self._statuses[id_] = data["status"]
        yield CustomEvent(name="tool_finished", value={**data, "id": id_})

    def made(self, calls: Sequence[ToolCallView], history: list[Message]) -> Iterator[BaseEvent]:
        """The turn's calls with arguments and results, and the ends of all others."""
        for call in calls:
            if call.id not in self._answered:
                yield from self._whole(call, history)
        for id_ in list(self._open):
            yield from self._ended(id_)
            yield _result(id_, self._statuses.get(id_, "skipped"))

    def _whole(self, call: ToolCallView, history: list[Message]) -> Iterator[BaseEvent]:
        waits = call.status == "waiting"
        id_ = call.id if waits else self._id_of(call.id)
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        yield from self._begun(id_, call.name)
        yield ToolCallArgsEvent(tool_call_id=id_, delta=arguments)
        yield from self._ended(id_)
        made = ToolCall(id=id_, function=FunctionCall(name=call.name, arguments=arguments))
        history.append(AssistantMessage(id=id_, tool_calls=[made]))
        if not waits:
            result = _result(id_, call.result_preview or call.status)
            history.append(
                ToolMessage(id=result.message_id, tool_call_id=id_, content=result.content)
            )
            yield result

    def _begun(self, id_: str, name: str) -> Iterator[BaseEvent]:
        if id_ not in self._open:
            self._open[id_] = name
            yield ToolCallStartEvent(tool_call_id=id_, tool_call_name=name)

    def _ended(self, id_: str) -> Iterator[BaseEvent]:
        del self._open[id_]
        yield ToolCallEndEvent(tool_call_id=id_)

    def _id_of(self, call: str) -> str:
        """A model's own ids are unique within one answer alone; a thread needs more."""
        return f"{self._message_id}.{call}"


def _result(id_: str, content: str) -> ToolCallResultEvent:
    return ToolCallResultEvent(message_id=f"{id_}.result", tool_call_id=id_, content=content)
