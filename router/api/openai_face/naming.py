"""Which conversation a request belongs to, and what its message is called.

A client sends the whole chat each time and, at best, an id of its own for it. That id says which
conversation of the speaker's is meant, and authorises nothing (see `router.api.threads`).

Without one the chat is known by its first words: they stay as they are while it grows. Where a
second chat begins with the same words it is told from the first by what was said since. Of two
that read alike so far the newer is meant: more isn't in the request. The very first message
is told from its own repeat by time, for a client that tries again does so within minutes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from router.api.identifiers import derived_id
from router.api.openai_face.asked import Completion
from router.api.threads import thread, thread_id
from router.domain.messages import Line
from router.domain.plain_replies import as_plain_text, replies_of
from router.domain.ports import Conversations, EventLog
from router.domain.principals import Principal
from router.domain.records import ConversationRecord, LogEntry
from router.domain.texts import Locale

FACE = "openai"
CHAT_HEADERS = ("x-openwebui-chat-id", "x-librechat-conversation-id", "x-conversation-id")
MESSAGE_HEADERS = ("x-openwebui-message-id", "x-librechat-message-id", "x-message-id")
CHAT_FIELDS = ("conversation_id", "chat_id")
"""In `metadata`, for programs that can set a body more easily than headers."""
TEMPORARY = "local:"
"""Open WebUI's chats that it doesn't keep: the id is the window's, for one after the other."""
REPEATED_WITHIN = timedelta(minutes=15)
"""More than the ten minutes that OpenAI's clients wait before they try again."""
NEWEST = 10
"""Chats with the same first words that are compared with what was said since."""
COMPARED = 200
"""Lines of each that are."""


def given(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    """The first of these headers that says something; a template left as it was says nothing."""
    values = (headers.get(name, "").strip() for name in names)
    return next((v for v in values if v and "{{" not in v and v not in {"new", "null"}), "")


def message_id(asked: Completion, headers: Mapping[str, str], key: str | None) -> str:
    """What a repeat of the request is known by.

    An `Idempotency-Key` as it is. Else a digest of all that was said, with the UI's own id of
    the message where it has one: the same request again is the same message, and the same words
    later on are not, for the chat has grown by then.
    """
    if key is not None:
        return key
    said = [part for line in asked.dialogue for part in (line.role, line.text)]
    return derived_id(FACE, asked.model, given(headers, MESSAGE_HEADERS), *said)


@dataclass(frozen=True)
class Chats:
    """The speaker's conversations, as chat clients know them."""

    conversations: Conversations
    log: EventLog
    speaker: Principal

    async def of(self, asked: Completion, headers: Mapping[str, str]) -> ConversationRecord:
        """The conversation that the request belongs to; a new one where it begins a chat."""
        name = given(headers, CHAT_HEADERS) or _in_metadata(asked)
        temporary = name if name.startswith(TEMPORARY) else ""
        first = next(line.text for line in asked.dialogue if line.role == "user")
        words = derived_id("begins", asked.user or "", temporary, first)
        if not name or temporary:
            return await self._by_words(words, asked)
        if not asked.begins and await self._known(name) is None and await self._latest(words):
            # LibreChat has no id for a chat yet when its first message is sent.
            return await self._by_words(words, asked)
        return await self._thread(name)

    async def _by_words(self, words: str, asked: Completion) -> ConversationRecord:
        latest = await self._latest(words)
        if not asked.begins:
            return await self._thread(await self._likeliest(words, latest, asked.dialogue))
        newest = await self._known(_numbered(words, latest)) if latest else None
        repeats = newest is not None and await self._may_be_repeated(newest)
        return await self._thread(_numbered(words, latest if repeats else latest + 1))

    async def _may_be_repeated(self, newest: ConversationRecord) -> bool:
        """True where the chat has only just begun, and got no further than its first words."""
        if datetime.now(UTC) - newest.created_at > REPEATED_WITHIN:
            return False
        lines = await self._lines(newest)
        return sum(line.role == "user" for line in lines) <= 1

    async def _likeliest(self, words: str, latest: int, dialogue: list[Line]) -> str:
        """Which of those that begin so has most in common with this one."""
        numbers = range(latest, max(latest - NEWEST, 0), -1)
        if len(numbers) < 2:  # noqa: PLR2004
            return _numbered(words, max(latest, 1))
        alike = {
            number: await self._alike(_numbered(words, number), dialogue) for number in numbers
        }
        return _numbered(words, max(alike, key=lambda number: (alike[number], number)))

    async def _alike(self, name: str, dialogue: list[Line]) -> int:
        """How many lines are the same from the beginning on."""
        record = await self._known(name)
        lines = await self._lines(record) if record else []
        pairs = zip(lines, dialogue, strict=False)
        return sum(1 for _ in takewhile(lambda pair: _same(*pair), pairs))

    async def _lines(self, record: ConversationRecord) -> list[Line]:
        rows = await self.log.transcript(record.tenant, record.id, None, COMPARED)
        return [_line(row, record.locale) for row in rows if row.message_id]

    async def _latest(self, words: str) -> int:
        """How many chats have begun with these words: found by halving, they have no gaps."""
        beyond = 1
        while await self._known(_numbered(words, beyond)):
            beyond *= 2
        latest = beyond // 2
        while beyond - latest > 1:
            middle = (latest + beyond) // 2
            there = await self._known(_numbered(words, middle))
            latest, beyond = (middle, beyond) if there else (latest, middle)
        return latest

    async def _known(self, name: str) -> ConversationRecord | None:
        id_ = thread_id(self.speaker, FACE, name)
        return await self.conversations.find(self.speaker.tenant, id_)

    async def _thread(self, name: str) -> ConversationRecord:
        return await thread(self.conversations, self.speaker, FACE, name)


def _in_metadata(asked: Completion) -> str:
    values = ((asked.metadata or {}).get(field) for field in CHAT_FIELDS)
    return next((value for value in values if isinstance(value, str) and value), "")


def _numbered(words: str, number: int) -> str:
    return f"{words}:{number}"


def _line(row: LogEntry, locale: Locale) -> Line:
    """The row as a client has it."""
    if row.data["role"] == "user":
        return Line(role="user", text=str(row.data["text"]))
    return Line(role="assistant", text=as_plain_text(replies_of(row.data), locale))


def _same(ours: Line, theirs: Line) -> bool:
    """A client's answer may have more before it: news, or what a model took back."""
    if ours.role == "user":
        return ours == theirs
    return theirs.role == "assistant" and theirs.text.strip().endswith(ours.text.strip())
