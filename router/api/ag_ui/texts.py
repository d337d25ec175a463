"""What a turn says, as text messages: while a model writes it, and once it is certain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    BaseEvent,
    Message,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from router.domain.messages import Reply, TextReply
from router.domain.plain_replies import as_plain_text
from router.domain.texts import Locale


def whole(id_: str, text: str) -> Iterator[BaseEvent]:
    """A text that nobody saw being written."""
    yield TextMessageStartEvent(message_id=id_, role="assistant")
    yield TextMessageContentEvent(message_id=id_, delta=text)
    yield TextMessageEndEvent(message_id=id_)


@dataclass
class _Draft:
    """A text that was heard while it was written; what became of it, the turn says."""

    id: str
    attempt: int
    text: str = ""


class Texts:
    """The texts of one turn, whose ids begin with its message's.

    What a model writes is shown at once. A text that it begins anew is another message, for
    events take nothing back; the one before is then among those `thrown_away`.
    """

    def __init__(self, message_id: str, locale: Locale) -> None:
        self._message_id = message_id
        self._locale: Locale = locale
        self._drafts: list[_Draft] = []
        self._open: _Draft | None = None

    @property
    def thrown_away(self) -> bool:
        """True where something was shown that the turn doesn't say."""
        return bool(self._drafts)

    def delta(self, data: dict[str, Any]) -> Iterator[BaseEvent]:
        """A model wrote on, or began anew."""
        if self._open is None or self._open.attempt != data["attempt"]:
            yield from self.end()
            id_ = f"{self._message_id}.draft{data['attempt']}"
            self._open = _Draft(id_, data["attempt"])
            self._drafts.append(self._open)
            yield TextMessageStartEvent(message_id=id_, role="assistant")
        self._open.text += data["text"]
        yield TextMessageContentEvent(message_id=self._open.id, delta=data["text"])

    def end(self) -> Iterator[BaseEvent]:
        """Nothing more is written to what is open."""
        if self._open is not None:
            yield TextMessageEndEvent(message_id=self._open.id)
            self._open = None

    def said(self, replies: Sequence[Reply], history: list[Message]) -> Iterator[BaseEvent]:
        """What the turn says, but for what was shown already; all of it is added to `history`.

        Questions are said in words as well, for front ends that don't know interrupts.
        """
        yield from self.end()
        for number, reply in enumerate(replies):
            text = as_plain_text([reply], self._locale)
            if not text:
                continue
            draft = self._shown(text) if isinstance(reply, TextReply) else None
            id_ = draft.id if draft else f"{self._message_id}.reply{number}"
            history.append(AssistantMessage(id=id_, content=text))
            if draft is None:
                yield from whole(id_, text)

    def _shown(self, text: str) -> _Draft | None:
        """The draft that became this text, which is none any longer."""
        draft = next((d for d in self._drafts if d.text.strip() == text.strip()), None)
        if draft is not None:
            self._drafts.remove(draft)
        return draft
