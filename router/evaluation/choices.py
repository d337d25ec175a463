"""Labels out of the event log: what a person chose is what the message before it meant.

Where the router asked which of several things is meant, and the answer was one of them, the
message that led to the question has got a label, from whoever knows best.
"""

from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from router.domain.messages import ChoicesReply, Message, Route, Turn
from router.domain.records import LogEntry, RecordedTurn


@dataclass(frozen=True)
class Choice:
    """A message and what it turned out to mean."""

    conversation: str
    text: str
    label: str
    at: datetime
    """When the message was said."""


@dataclass(frozen=True)
class _Asked:
    text: str
    at: datetime
    turn: Turn


class ChoiceReader:
    """Takes the log's entries, each conversation oldest first, and finds the choices.

    Only what is certain counts: a typed message (not a pressed button), asked about at once,
    and answered by one of the options that were offered.
    """

    def __init__(self) -> None:
        self._conversation: str | None = None
        self._said: dict[str | None, LogEntry] = {}
        self._asked: _Asked | None = None

    def take(self, entry: LogEntry) -> Choice | None:
        """What this entry reveals of a message before it; None where it reveals nothing."""
        if entry.conversation != self._conversation:
            self._conversation, self._said, self._asked = entry.conversation, {}, None
        if entry.kind == "message" and entry.data.get("role") == "user":
            self._said = {entry.message_id: entry}
        if entry.kind != "turn":
            return None
        recorded = RecordedTurn.model_validate(entry.data)
        choice = self._chosen(recorded.turn)
        self._asked = self._question(recorded, self._said.get(entry.message_id))
        return choice

    def _chosen(self, turn: Turn) -> Choice | None:
        asked, route = self._asked, turn.route
        if asked is None or not _takes_offer(route) or route.target not in _options(asked.turn):
            return None
        return Choice(str(self._conversation), asked.text, str(route.target), asked.at)

    def _question(self, recorded: RecordedTurn, said: LogEntry | None) -> _Asked | None:
        if recorded.turn.route.kind != "clarify" or said is None:
            return None
        text = str(said.data.get("text", ""))
        if Message(text=text).digest != recorded.digest:
            return None
        return _Asked(text, said.at, recorded.turn)


def _takes_offer(route: Route) -> bool:
    return route.kind in ("flow", "skill", "tool") and route.by in ("action", "slot")


def _options(turn: Turn) -> list[JsonValue]:
    replies = [reply for reply in turn.replies if isinstance(reply, ChoicesReply)]
    return [option.value for reply in replies for option in reply.options]
