"""A turn as AG-UI events. Pure, and balanced: nothing is left open at its end."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui import core

from router.api.markdown import MarkdownText, markdown
from router.domain.locale import Locale
from router.domain.messages import (
    Reply,
    TextReply,
    ToolCallView,
    Turn,
    as_plain_text,
    without_notices,
)
from router.domain.progress import Progress


def whole(id_: str, text: str) -> Iterator[core.BaseEvent]:
    """A text that nobody saw being written."""
    yield core.TextMessageStartEvent(message_id=id_, role="assistant")
    yield core.TextMessageContentEvent(message_id=id_, delta=markdown(text))
    yield core.TextMessageEndEvent(message_id=id_)


@dataclass
class _Draft:
    """A text that was heard while it was written; what became of it, the turn says."""

    id: str
    attempt: int
    text: str = ""
    shown: MarkdownText = field(default_factory=MarkdownText)


@dataclass
class TurnTexts:
    """The texts of one turn, whose ids begin with its message's.

    What a model writes is shown at once. A text that it begins anew is another message, for
    events take nothing back; the one before is then among those `thrown_away`.
    """

    message_id: str
    locale: Locale
    _drafts: list[_Draft] = field(default_factory=list)
    _open: _Draft | None = None

    @property
    def thrown_away(self) -> bool:
        """True where something was shown that the turn doesn't say."""
        return bool(self._drafts)

    def delta(self, data: dict[str, Any]) -> Iterator[core.BaseEvent]:
        """A model wrote on, or began anew."""
        if self._open is None or self._open.attempt != data["attempt"]:
            yield from self.end()
            id_ = f"{self.message_id}.draft{data['attempt']}"
            self._open = _Draft(id_, data["attempt"])
            self._drafts.append(self._open)
            yield core.TextMessageStartEvent(message_id=id_, role="assistant")
        self._open.text += data["text"]
        if piece := self._open.shown.add(data["text"]):
            yield core.TextMessageContentEvent(message_id=self._open.id, delta=piece)

    def end(self) -> Iterator[core.BaseEvent]:
        """Nothing more is written to what is open."""
        if self._open is not None:
            if piece := self._open.shown.end():
                yield core.TextMessageContentEvent(message_id=self._open.id, delta=piece)
            yield core.TextMessageEndEvent(message_id=self._open.id)
            self._open = None

    def said(
        self, replies: Sequence[Reply], history: list[core.Message]
    ) -> Iterator[core.BaseEvent]:
        """What the turn says and wasn't shown; all of it goes to `history`, questions in words."""
        yield from self.end()
        for number, reply in enumerate(replies):
            text = as_plain_text([reply], self.locale)
            if not text:
                continue
            alike = (draft for draft in self._drafts if draft.text.strip() == text.strip())
            draft = next(alike, None) if isinstance(reply, TextReply) else None
            id_ = draft.id if draft else f"{self.message_id}.reply{number}"
            history.append(core.AssistantMessage(id=id_, content=markdown(text)))
            if draft is None:
                yield from whole(id_, text)
            else:
                self._drafts.remove(draft)


@dataclass
class _Calls:
    """The calls of one turn.

    Their arguments and results are only known from the turn, so that a call ends with it; that
    a tool has finished is told when it has, as a `CUSTOM` event. `answered` are the front end's
    calls whose results came in with this run: it shows them already.
    """

    message_id: str
    answered: frozenset[str]
    _open: list[str] = field(default_factory=list)
    _statuses: dict[str, str] = field(default_factory=dict)

    def started(self, data: dict[str, Any]) -> Iterator[core.BaseEvent]:
        id_ = self._id_of(data["id"])
        yield from self._begun(id_, data["name"])
        if "progress" in data:
            yield core.CustomEvent(name="tool_progress", value={**data, "id": id_})

    def finished(self, data: dict[str, Any]) -> Iterator[core.BaseEvent]:
        id_ = self._id_of(data["id"])
        self._statuses[id_] = data["status"]
        yield core.CustomEvent(name="tool_finished", value={**data, "id": id_})

    def made(
        self, calls: Sequence[ToolCallView], history: list[core.Message]
    ) -> Iterator[core.BaseEvent]:
        """The turn's calls with arguments and results, and the ends of all others."""
        for call in calls:
            if call.id not in self.answered:
                yield from self._whole(call, history)
        for id_ in self._open:
            yield core.ToolCallEndEvent(tool_call_id=id_)
            yield _result(id_, self._statuses.get(id_, "skipped"))
        self._open.clear()

    def _whole(self, call: ToolCallView, history: list[core.Message]) -> Iterator[core.BaseEvent]:
        waits = call.status == "waiting"
        id_ = call.id if waits else self._id_of(call.id)
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        yield from self._begun(id_, call.name)
        yield core.ToolCallArgsEvent(tool_call_id=id_, delta=arguments)
        yield core.ToolCallEndEvent(tool_call_id=id_)
        self._open.remove(id_)
        made = core.ToolCall(
            id=id_, function=core.FunctionCall(name=call.name, arguments=arguments)
        )
        history.append(core.AssistantMessage(id=id_, tool_calls=[made]))
        if not waits:
            said = call.result_preview or call.status
            history.append(core.ToolMessage(id=f"{id_}.result", tool_call_id=id_, content=said))
            yield _result(id_, said)

    def _begun(self, id_: str, name: str) -> Iterator[core.BaseEvent]:
        if id_ not in self._open:
            self._open.append(id_)
            yield core.ToolCallStartEvent(tool_call_id=id_, tool_call_name=name)

    def _id_of(self, call: str) -> str:
        """A model's own ids are unique within one answer alone; a thread needs more."""
        return f"{self.message_id}.{call}"


def _result(id_: str, content: str) -> core.ToolCallResultEvent:
    return core.ToolCallResultEvent(message_id=f"{id_}.result", tool_call_id=id_, content=content)


class TurnEvents:
    """What is told of one turn; `history` is what it comes to as messages, by the events' ids."""

    def __init__(
        self, message_id: str, locale: Locale, answered: frozenset[str] = frozenset()
    ) -> None:
        self.history: list[core.Message] = []
        self.texts = TurnTexts(message_id, locale)
        self._calls = _Calls(message_id, answered)
        self._steps: list[str] = []

    def progress(self, heard: Progress) -> Iterator[core.BaseEvent]:
        """What happened just now. A flow that goes on by itself does it in nobody's turn."""
        if not heard.message_id:
            yield core.CustomEvent(name=f"flow_{heard.type}", value=heard.data)
            return
        match heard.type:
            case "text_delta":
                yield from self.texts.delta(heard.data)
            case "thinking":
                yield from self._thinking(heard.data)
            case "plan":
                yield from self._step(heard.data)
            case "tool_started":
                yield from self._calls.started(heard.data)
            case "tool_finished":
                yield from self._calls.finished(heard.data)

    def turn(self, turn: Turn) -> Iterator[core.BaseEvent]:
        """All that came of it and wasn't told before."""
        yield from self.texts.end()
        for name in self._steps:
            yield core.StepFinishedEvent(step_name=name)
        self._steps.clear()
        for route in turn.routes or [turn.route]:
            yield core.CustomEvent(
                name="route", value=route.model_dump(mode="json", exclude_none=True)
            )
        yield from self._calls.made(turn.tool_calls, self.history)
        waits = any(call.status == "waiting" for call in turn.tool_calls)
        # That it waits for calls of the front end's, those say by themselves.
        spoken = without_notices(turn.replies) if waits else turn.replies
        yield from self.texts.said(spoken, self.history)

    def _thinking(self, data: dict[str, Any]) -> Iterator[core.BaseEvent]:
        """A step, which a question that is asked anew doesn't begin anew."""
        of_skill = f"{data['skill']} {data['step']}: " if data["skill"] else ""
        yield from self._stepped(f"{of_skill}{data['task']}", data["status"])

    def _step(self, data: dict[str, Any]) -> Iterator[core.BaseEvent]:
        """A step of a plan."""
        of_all = f"{data['skill']} {data['number']}/{data['steps']}"
        yield from self._stepped(f"{of_all}: {data['title']}", data["status"])

    def _stepped(self, name: str, status: str) -> Iterator[core.BaseEvent]:
        if status == "started" and name not in self._steps:
            self._steps.append(name)
            yield core.StepStartedEvent(step_name=name)
        elif status == "finished" and name in self._steps:
            self._steps.remove(name)
            yield core.StepFinishedEvent(step_name=name)
