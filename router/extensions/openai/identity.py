"""Who speaks, in which conversation, and what the message is called.

A chat UI has one token for all of its users: a service account's, by its role `service`; any other
token speaks for its owner alone. A client sends the whole chat each time; its own id for it, if
any, authorises nothing. Without one the chat is known by its first words and what was said since,
the newer of two that read alike, and the very first message from its own repeat by time.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Annotated

import jwt
from fastapi import Depends, Request
from jwt.exceptions import InvalidTokenError
from pydantic import JsonValue
from starlette.exceptions import HTTPException

from router.api.audit import sender_of
from router.api.auth import LEEWAY, SYMMETRIC
from router.api.conversations import thread, thread_id
from router.api.dependencies import AppState, Authenticated, Services, audit_of, note_sign_in
from router.api.markdown import markdown
from router.api.params import check_media_type, declared_size, derived_id, parsed
from router.domain.errors import Forbidden, Unauthenticated
from router.domain.locale import Locale
from router.domain.messages import SpokenLine, as_plain_text, replies_of
from router.domain.principals import SERVICE_ROLE, Principal
from router.domain.records import ConversationRecord, LogEntry
from router.domain.visible_text import legible
from router.extensions.openai.request import Completion
from router.formats.strict_json import strict_json
from router.settings import Settings
from router.store.store import Store

SIGNED = "x-openwebui-user-jwt"
ISSUER = "open-webui"
PLAIN = (
    "x-openwebui-user-email",
    "x-openwebui-user-id",
    "x-librechat-user-email",
    "x-librechat-user-id",
)
"""Headers in which a chat UI says who it is, in the order in which they are looked up."""


async def _speaker(request: Request, caller: Authenticated) -> Principal:
    state = AppState.of(request)
    person = await _spoken_for(request, state.services, caller)
    request.state.session = replace(request.state.session, people=(caller, person))
    # Whose words these are is counted: all of a chat UI's people come with one token.
    state.rates.admit(person)
    await note_sign_in(request, caller)
    if person.id != caller.id:
        audit, sender = await audit_of(request, caller), sender_of(request)
        await state.arrivals.note(audit, "person.speak_for", whose=person.id, detail=sender)
    return person


async def _spoken_for(request: Request, services: Services, caller: Principal) -> Principal:
    if SERVICE_ROLE not in caller.roles:
        return caller
    names = list(names_in(request.headers, services.settings))
    if not names:
        raise Unauthenticated(
            f"{caller.id!r} is a service account: say for whom it asks, in "
            f"{SIGNED} or {PLAIN[0]} (docs/openai.md)."
        )
    for name in names:
        person = await services.directory.find(caller.tenant, name)
        if person is None:
            continue
        if SERVICE_ROLE in person.roles:
            raise Forbidden("A service account speaks for people, not for another such account.")
        request.state.locale = person.locale
        return person
    raise Unauthenticated(f"The directory knows nobody by {names[0]!r}.")


Speaker = Annotated[Principal, Depends(_speaker)]
"""The person whose words these are."""


def names_in(headers: Mapping[str, str], settings: Settings) -> Iterator[str]:
    """What the person may be called in the directory, the likeliest first; none, where unsaid.

    Raises `Unauthenticated` where the UI hasn't signed it, and has to.
    """
    secret, token = settings.openwebui_jwt_secret, headers.get(SIGNED, "").strip()
    # A UI may leave its template as it was: {{LIBRECHAT_USER_EMAIL}}.
    written = (headers.get(name, "").strip() for name in PLAIN)
    plain = [value for value in written if value and "{{" not in value]
    if secret is None:
        if token:
            raise Unauthenticated(f"{SIGNED}: set ROUTER_OPENWEBUI_JWT_SECRET to have it believed.")
        yield from _ids(plain, settings)
    elif token:
        try:
            claims = jwt.decode(
                token,
                secret.get_secret_value(),
                SYMMETRIC,
                {"require": ["exp", "iss", "sub"], "verify_aud": False},
                issuer=ISSUER,
                leeway=LEEWAY,
            )
        except InvalidTokenError as error:
            raise Unauthenticated(f"{SIGNED} isn't valid: {error}.") from error
        named = [str(claims[name]) for name in ("email", "sub") if claims.get(name)]
        yield from _ids(named, settings)
    elif plain:
        raise Unauthenticated(
            f"ROUTER_OPENWEBUI_JWT_SECRET is set: who speaks has to be in {SIGNED}, not in plain "
            "headers."
        )


def _ids(names: list[str], settings: Settings) -> Iterator[str]:
    """Each name, and of an address of the house what stands before the @.

    Of no other: anybody may have an address elsewhere that begins alike.
    """
    for name in names:
        yield name
        local, _, domain = name.rpartition("@")
        if local and settings.mail_domain and domain.lower() == settings.mail_domain.lower():
            yield local


def written(structured: JsonValue) -> str:
    """An answer of a schema as a client gets it: JSON alone."""
    return json.dumps(structured, ensure_ascii=False)


CHANNEL = "openai"
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
    # The same words with another picture are another message.
    said += [asked.said.mark] if asked.said.mark else []
    said += [result.words for _, result in asked.results]
    if (form := asked.response_format) is not None and form.type != "text":
        # So they are in another form.
        said.append(form.model_dump_json())
    return derived_id(CHANNEL, asked.model, given(headers, MESSAGE_HEADERS), *said)


@dataclass(frozen=True)
class Chats:
    """The speaker's conversations, as chat clients know them."""

    store: Store
    speaker: Principal

    async def of(self, asked: Completion, headers: Mapping[str, str]) -> ConversationRecord:
        """The conversation that the request belongs to; a new one where it begins a chat."""
        fields = ((asked.metadata or {}).get(field) for field in CHAT_FIELDS)
        named = next((value for value in fields if isinstance(value, str) and value), "")
        name = given(headers, CHAT_HEADERS) or named
        temporary = name if name.startswith(TEMPORARY) else ""
        first = next(
            one.words if one.words.strip() else one.mark
            for one in asked.messages
            if one.role == "user"
        )
        words = derived_id("begins", asked.user or "", temporary, first)
        if not name or temporary:
            return await self._by_words(words, asked)
        if asked.begins or await self._known(name) or not await self._latest(words):
            return await self._thread(name)
        # LibreChat has no id for a chat yet when its first message is sent.
        return await self._by_words(words, asked)

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
        return sum(line.role == "user" for line in await self._lines(newest)) <= 1

    async def _likeliest(self, words: str, latest: int, dialogue: list[SpokenLine]) -> str:
        """Which of those that begin so has most lines in common with this one, then the newest."""
        best, most = _numbered(words, max(latest, 1)), -1
        numbers = range(latest, max(latest - NEWEST, 0), -1)
        for name in (_numbered(words, number) for number in numbers if len(numbers) > 1):
            record = await self._known(name)
            pairs = zip(await self._lines(record) if record else [], dialogue, strict=False)
            alike = sum(1 for _ in takewhile(lambda pair: _same(*pair), pairs))
            if alike > most:
                best, most = name, alike
        return best

    async def _lines(self, record: ConversationRecord) -> list[SpokenLine]:
        rows = await self.store.log.transcript(record.tenant, record.id, None, COMPARED)
        lines = [_line(row, record.locale) for row in rows if row.message_id]
        return [line for line in lines if line.text]

    async def _latest(self, words: str) -> int:
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
        id_ = thread_id(self.speaker, CHANNEL, name)
        return await self.store.conversations.find(self.speaker.tenant, id_)

    async def _thread(self, name: str) -> ConversationRecord:
        return await thread(self.store.conversations, self.speaker, CHANNEL, name)


def _numbered(words: str, number: int) -> str:
    return f"{words}:{number}"


def _line(row: LogEntry, locale: Locale) -> SpokenLine:
    if row.data["role"] == "user":
        return SpokenLine(role="user", text=str(row.data["text"]))
    if (given := row.data.get("structured")) is not None:
        return SpokenLine(role="assistant", text=written(given))
    text = markdown(as_plain_text(replies_of(row.data), locale))
    return SpokenLine(role="assistant", text=text)


def _same(ours: SpokenLine, theirs: SpokenLine) -> bool:
    """A client's answer may have more before it: news, or what a model took back."""
    if ours.role == "user":
        # What is a file's name in the transcript is no word in a client's history.
        same = not theirs.text.strip() or ours.text == legible(theirs.text)
        return same and theirs.role == "user"
    # One that calls the client's tools has nothing to say.
    said = theirs.text.strip()
    return theirs.role == "assistant" and (not said or said.endswith(ours.text.strip()))


MOST_BYTES = 32 * 1024 * 1024
"""Two pictures of the largest size, in base64, and a long talk."""


async def _posted(request: Request, speaker: Speaker) -> Completion:
    """What is asked. The speaker is known by then: a stranger's megabytes aren't even read."""
    del speaker
    check_media_type(request)
    large = f"The body is larger than {MOST_BYTES} bytes; begin a new chat, or send less."
    body = bytearray()
    if declared_size(request.scope) > MOST_BYTES:
        raise HTTPException(413, large)
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise HTTPException(413, large)
    try:
        return await parsed(bytes(body), lambda raw: Completion.of(strict_json(raw)))
    except ValueError as error:
        raise HTTPException(400, f"The body isn't JSON: {error}.") from error


Posted = Annotated[Completion, Depends(_posted)]
"""The request's body."""
