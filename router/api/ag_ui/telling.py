"""A turn as AG-UI events: pure, and balanced, so that nothing is left open at its end."""

from collections.abc import Iterator
from typing import Any

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    Message,
    StepFinishedEvent,
    StepStartedEvent,
)

from router.api.ag_ui.calls import Calls
from router.api.ag_ui.texts import Texts
from router.domain.messages import Turn
from router.domain.progress import Progress
from router.domain.texts import Locale


class Telling:
    """What is told of one turn, and what of it was begun and not ended yet.

    `history` is what it comes to as messages, in the ids that the events had.
    """

    def __init__(
        self, message_id: str, locale: Locale, answered: frozenset[str] = frozenset()
    ) -> None:
        self.history: list[Message] = []
        self.texts = Texts(message_id, locale)
        self._calls = Calls(message_id, answered)
        self._steps: list[str] = []

    def progress(self, heard: Progress) -> Iterator[BaseEvent]:
        """What happened just now. A flow that goes on by itself does it in nobody's turn."""
        if not heard.message_id:
            yield CustomEvent(name=f"flow_{heard.type}", value=heard.data)
            return
        match heard.type:
            case "text_delta":
                yield from self.texts.delta(heard.data)
            case "thinking":
                yield from self._thinking(heard.data)
            case "tool_started":
                yield from self._calls.started(heard.data)
            case "tool_finished":
                yield from self._calls.finished(heard.data)

    def turn(self, turn: Turn) -> Iterator[BaseEvent]:
        """All that came of it and wasn't told before."""
        yield from self.texts.end()
        yield from map(self._step_done, list(self._steps))
        for route in turn.routes or [turn.route]:
            yield CustomEvent(name="route", value=route.model_dump(mode="json", exclude_none=True))
        yield from self._calls.made(turn.tool_calls, self.history)
        yield from self.texts.said(turn.replies, self.history)

    def _thinking(self, data: dict[str, Any]) -> Iterator[BaseEvent]:
        """A step, which a question that is asked anew doesn't begin anew."""
        of_skill = f"{data['skill']} {data['step']}: " if data["skill"] else ""
        name = f"{of_skill}{data['task']}"
        if data["status"] == "started" and name not in self._steps:
            self._steps.append(name)
            yield StepStartedEvent(step_name=name)
        elif data["status"] == "finished" and name in self._steps:
            yield self._step_done(name)

    def _step_done(self, name: str) -> BaseEvent:
        self._steps.remove(name)
        return StepFinishedEvent(step_name=name)
