"""Answers in the shape of OpenAI's Chat Completions, whole or as they are written, and errors.

Nothing that was sent can be taken back, and a model may be asked again, or rules may say more than
it did. So the first attempt is streamed, and what comes after it is held until the turn is over:
then the rest of the text is sent, or, below a line that says what counts, all of it.
"""

import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Literal

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from router.api import errors
from router.api.dependencies import Services
from router.api.files import FILES, Upload, files_named, keep_attached
from router.api.markdown import MarkdownText, markdown
from router.api.params import EVENTS, derived_id, said_text
from router.api.routes.messages import check_result
from router.api.streams import UNBUFFERED, EventStream, MessageInProgress, TurnFailed, TurnUpdate
from router.api.turns import Turns, tool_result
from router.contracts.conversation import Submission
from router.domain.errors import InvalidInput, Unavailable
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    Message,
    Reply,
    Turn,
    Usage,
    as_plain_text,
    replies_of,
    without_notices,
)
from router.domain.principals import Principal
from router.domain.progress import Progress
from router.domain.records import ConversationRecord
from router.extensions.openai import jobs
from router.extensions.openai.identity import Chats, message_id, written
from router.extensions.openai.request import Completion, FileById, attached, skill_meant


class OpenAIFault(BaseModel):
    """What is wrong; `param` is the field at fault, such as `messages.0.content`."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIError(BaseModel):
    """Why a request wasn't done."""

    error: OpenAIFault


_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}
_CODES = {
    HTTPStatus.UNAUTHORIZED: "invalid_api_key",
    HTTPStatus.NOT_FOUND: "model_not_found",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_exceeded",
}
"""There is nothing that isn't found at these addresses but models."""

_KEPT = {"retry-after", "www-authenticate", "allow"}


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of a route's ways to fail, those that every route has included."""
    return {
        status: {"description": HTTPStatus(status).phrase, "model": OpenAIError}
        for status in sorted({*statuses, 401, 503})
    } | {"default": {"description": "Any other error.", "model": OpenAIError}}


class ProtocolRoute(APIRoute):
    """A route whose every error is said in OpenAI's shape."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with an answer for whatever it raises."""
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:  # noqa: BLE001 - whatever it is, this is how it's said
                return await failed(request, error)

        return answered


async def failed(request: Request, error: Exception) -> Response:
    """The problem in OpenAI's words; 422 is 400 there, by which clients tell it apart."""
    if isinstance(error, HTTPException):
        said = errors.problem(error.status_code, error.detail, headers=error.headers)
    else:
        said = await errors.answer_to(request, error)
    status = HTTPStatus(said.status_code)
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        status = HTTPStatus.BAD_REQUEST
    problem = json.loads(bytes(said.body))
    param = (problem.get("errors") or [{}])[0].get("field")
    ours = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    fault = OpenAIFault(
        message=problem["detail"],
        type=_TYPES.get(status, ours),
        param="model" if status == HTTPStatus.NOT_FOUND else param,
        code=_CODES.get(status),
    )
    kept = {k: v for k, v in said.headers.items() if k in _KEPT}
    return JSONResponse(OpenAIError(error=fault).model_dump(), status, headers=kept)


def usage_of(spent: Usage) -> dict[str, int]:
    """What models cost; nothing, where rules knew the answer."""
    prompt, completion = spent.prompt_tokens, spent.completion_tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": spent.tokens}


Annotation = dict[str, Any]
"""A file that is given in an answer, as OpenAI has what an answer refers to."""


@dataclass(frozen=True)
class Envelope:
    """What every part of one answer has in common: its id, its time in seconds, its model."""

    id: str
    created: int
    model: str

    def completion(
        self, text: str, spent: Usage, given: Sequence[Annotation] = ()
    ) -> dict[str, Any]:
        """The whole answer at once, with the files that are given in it."""
        more = {"annotations": [*given]} if given else {}
        return self.message({"content": text, **more}, spent)

    def message(self, answer: dict[str, Any], spent: Usage) -> dict[str, Any]:
        """The whole answer at once, of this content, refusal or calls."""
        message = {"role": "assistant", "content": None, "refusal": None, **answer}
        finish: ChatFinish = "tool_calls" if "tool_calls" in answer else "stop"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage_of(spent)}

    def delta(self, finish: "ChatFinish | None" = None, **delta: Any) -> bytes:
        """A piece of the answer, or its end."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._event(choices=[choice])

    def end(self, asked: Completion, spent: Usage, calls: Sequence[dict[str, Any]] = ()) -> bytes:
        """The end, with what the client is to call, and what it cost where that was asked for."""
        cost = self._event(choices=[], usage=usage_of(spent)) if asked.wants_usage else b""
        numbered = [{"index": place, **call} for place, call in enumerate(calls)]
        told = self.delta(tool_calls=numbered) if numbered else b""
        return told + self.delta(finish="tool_calls" if numbered else "stop") + cost + DONE

    def _event(self, **more: Any) -> bytes:
        """As it goes over the wire. In ASCII: some clients end lines at odd letters."""
        data = {**self._head("chat.completion.chunk"), **more}
        return f"data: {json.dumps(data, allow_nan=False, separators=(',', ':'))}\n\n".encode()

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


ChatFinish = Literal["stop", "tool_calls"]
"""Why an answer ends: with what there is to say, or with what the client is to call."""
DONE = b"data: [DONE]\n\n"
STILL_THERE = b": ping\n\n"
"""A comment: clients pass over it, and proxies see that the answer is still on its way."""


def model(id_: str) -> dict[str, Any]:
    """A model in a list. It was never trained, so that `created` is the beginning of time."""
    return {"id": id_, "object": "model", "created": 0, "owned_by": "intent-router"}


SINCE = Localised(zh="（上次之后的消息）", en="(Since your last message)")


@dataclass(frozen=True)
class ChatExchange:
    """A message that is ready to be sent, and what belongs to its answer besides the turn's."""

    services: Services
    record: ConversationRecord
    submission: Submission
    before: tuple[Submission, ...] = ()
    """What is told the conversation first: results of the client's tools, but for the last."""
    earlier: tuple[Turn, ...] = ()
    """What came of those: any of them may have been the last that an answer waited for."""

    def calls(self, turn: Turn) -> list[dict[str, Any]]:
        """What the client is to call by now, where it has said that it can be for anything."""
        return [call for each in (*self.earlier, turn) for call in self._calls_of(each)]

    def spent(self, turn: Turn) -> Usage:
        """What the answer cost, with what came before the turn."""
        return sum((each.usage for each in (*self.earlier, turn)), start=Usage())

    def _calls_of(self, turn: Turn) -> list[dict[str, Any]]:
        if not self.submission.tools:
            return []
        return [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call in turn.tool_calls
            if call.status == "waiting"
        ]

    def spoken(self, turn: Turn) -> list[Reply]:
        """What the turn says; that it waits for the client's calls, those say by themselves."""
        return without_notices(turn.replies) if self._calls_of(turn) else turn.replies

    async def told_before(self, turns: Turns) -> "ChatExchange":
        """With what comes before the message told the conversation; raises as `Turns.submit`."""
        earlier = []
        for submission in self.before:
            turn = await turns.submit(self.record, submission, WAIT)
            if turn is None:
                raise Unavailable(STILL_AT_WORK)
            earlier.append(turn)
        return replace(self, earlier=tuple(earlier))

    async def news(self) -> str:
        """What was said before the turn that the client wasn't told: answers, and words of runs.

        Those that runs have said since the turn before: a chat UI is told nothing in between.
        """
        record, log = self.record, self.services.store.log
        answers = [as_plain_text(self.spoken(turn), record.locale) for turn in self.earlier]
        rows = await log.untold(record.tenant, record.id, self.submission.message_id)
        told = [as_plain_text(replies_of(row.data), record.locale) for row in rows]
        since = [SINCE.within(record.locale), *told] if told else []
        return "\n\n".join(filter(None, [*answers, *since]))

    async def structured(self, turn: Turn) -> dict[str, Any]:
        """The answer where a format was asked for: JSON alone, or why it can't be, with the text.

        Content that is JSON has no room for news: they stand beside it.
        """
        news, refusal = await self.news(), turn.structured_refusal
        beside = {"news": news} if news else {}
        if refusal is None:
            return {"content": written(turn.structured), **beside}
        said = as_plain_text(turn.replies, self.record.locale)
        words = [news, refusal.message, "" if refusal.code == "asks" else said]
        return {"refusal": "\n\n".join(filter(None, words))}

    async def given(self, text: str, request: Request) -> list[Annotation]:
        """The files that the text names, which its speaker may fetch, and where in it."""
        found: list[Annotation] = []
        whose = self.submission.caller
        for file in await files_named(self.services, whose.tenant, whose.id, text):
            path = f"{FILES}/{file.id}"
            begins = text.find(path)
            url = f"{str(request.base_url).rstrip('/')}{path}"
            about = {"url": url, "title": file.name, "start_index": begins}
            about["end_index"] = begins + len(path)
            found.append({"type": "url_citation", "url_citation": about})
        return found


async def exchange(
    services: Services,
    speaker: Principal,
    asked: Completion,
    headers: Mapping[str, str],
    key: str | None,
) -> ChatExchange:
    """The message that the request comes to, in its conversation.

    Raises `InvalidInput` where it says nothing, too much, or has a file of no use.
    """
    skill, schema = skill_meant(asked.model, services, speaker), asked.response_schema
    tools = asked.front_end(services.offered.of(speaker.tenant).names)
    said = [tool_result(r.tool_call_id, r.words, f"{w}.content") for w, r in asked.results]
    names: dict[str, str] = {}
    if asked.said.role == "user":
        files = attached(asked)
        words = jobs.spoken(asked.said.words.strip())
        text = said_text(words, asked.where) if words or not files else None
        names = await _kept(services, speaker, files)
        said.append(Message(text=text, files=tuple(names), skill=skill))
    record = await Chats(services.store, speaker).of(asked, headers)
    for each in said:
        await check_result(services, each, record)
    last = message_id(asked, headers, key)
    whole = Submission(
        message_id=last,
        message=said[-1],
        file_names=names,
        brings_left=True,
        caller=speaker,
        seconds=services.settings.llm_turn_seconds,
        response_schema=schema.schema if schema else None,
        tools=tools,
    )
    bare = whole.replace(file_names={}, brings_left=False, response_schema=None)
    before = (
        bare.replace(message_id=derived_id("before", last, str(place)), message=each)
        for place, each in enumerate(said[:-1])
    )
    return ChatExchange(services, record, whole, tuple(before))


async def _kept(
    services: Services, speaker: Principal, files: Sequence[Upload | FileById]
) -> dict[str, str]:
    """What the files are called, by their ids, each kept for its speaker."""
    found: dict[str, str] = {}
    for file in files:
        if isinstance(file, FileById):
            record = await services.store.files.find(speaker.tenant, file.id)
            if record is None or record.owner != speaker.id:
                raise InvalidInput.at(file.where, "there is no such file of yours")
        else:
            record = await keep_attached(services, speaker, file)
        found[record.id] = record.name
    return found


WAIT = 300.0
"""Seconds within which a whole answer comes, where one comes at all."""
STILL_AT_WORK = "This is still being worked on; send the same request again to get its answer."
ANEW = Localised(zh="以上作废，改为：", en="Not that; instead:")


def at_once(asked: Completion, about: Envelope, text: str) -> Response:
    """An answer that is there already."""
    if not asked.stream:
        return JSONResponse(about.completion(text, Usage()))
    begun = about.delta(role="assistant", content="") + about.delta(content=text)
    return Response(begun + about.end(asked, Usage()), media_type=EVENTS, headers=UNBUFFERED)


async def answered(
    request: Request, exchange: ChatExchange, turns: Turns, asked: Completion, about: Envelope
) -> Response:
    """The answer once the turn is over, or as it is written; raises as `Turns.submit`.

    Where it takes longer than `WAIT`, and isn't streamed, `Unavailable` is raised.
    """
    live, record = exchange.services.store.live, exchange.record
    exchange = await exchange.told_before(turns)
    if asked.stream:
        under_way = MessageInProgress(live, turns, record, exchange.submission)
        stream = _Stream(request, exchange, under_way, asked, about)
        return await EventStream.begun(stream.pieces())
    turn = await turns.submit(record, exchange.submission, WAIT)
    if turn is None:
        raise Unavailable(STILL_AT_WORK)
    calls, spent = exchange.calls(turn), exchange.spent(turn)
    said = as_plain_text(exchange.spoken(turn), record.locale)
    if exchange.submission.response_schema is not None and not calls:
        return JSONResponse(about.message(await exchange.structured(turn), spent))
    text = markdown("\n\n".join(filter(None, [await exchange.news(), said])))
    if calls:
        answer = {"content": text or None, "tool_calls": calls}
        return JSONResponse(about.message(answer, spent))
    return JSONResponse(about.completion(text, spent, await exchange.given(text, request)))


@dataclass
class _Stream:
    request: Request
    exchange: ChatExchange
    under_way: MessageInProgress
    asked: Completion
    about: Envelope
    told: str = ""
    shown: MarkdownText = field(default_factory=MarkdownText)

    @property
    def structured(self) -> bool:
        """Whether it is JSON, which comes as a whole when it is made."""
        return self.exchange.submission.response_schema is not None

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The role, the text piece by piece, the end, and `[DONE]`; or last an error."""
        text = AnswerText(self.exchange.record.locale)
        async with aclosing(self.under_way.happenings()) as happenings:
            await anext(happenings)
            begins = None if self.structured else ""
            yield self.about.delta(role="assistant", content=begins)
            self.told = "" if self.structured else await self.exchange.news()
            if self.told:
                yield self.about.delta(content=self.shown.add(f"{self.told}\n\n"))
            async for happening in happenings:
                if piece := await self._piece_of(happening, text):
                    yield piece

    async def _piece_of(self, happening: TurnUpdate, text: "AnswerText") -> bytes:
        match happening:
            case Turn() if self.structured and not self.exchange.calls(happening):
                answer = await self.exchange.structured(happening)
                return self.about.delta(**answer) + self.about.end(
                    self.asked, self.exchange.spent(happening)
                )
            case Turn():
                spoken, calls = self.exchange.spoken(happening), self.exchange.calls(happening)
                rest = self.shown.add(text.rest(spoken) + await self._below())
                last = self.about.delta(content=rest + self.shown.end())
                said = as_plain_text(happening.replies, self.exchange.record.locale)
                if given := await self.exchange.given(said, self.request):
                    last += self.about.delta(annotations=given)
                spent = self.exchange.spent(happening)
                return last + self.about.end(self.asked, spent, calls)
            case TurnFailed(error):
                fault = await failed(self.request, error)
                return b"data: " + bytes(fault.body) + b"\n\n"
            case Progress(type="text_delta") if not self.structured:
                new = self.shown.add(text.written(happening))
                return self.about.delta(content=new) if new else b""
        return STILL_THERE

    async def _below(self) -> str:
        news = await self.exchange.news()
        late = "" if news == self.told else news.removeprefix(self.told).strip()
        return f"\n\n{late}" if late else ""


@dataclass
class AnswerText:
    """The text of an answer: what of it was sent already, and what is yet to be."""

    locale: Locale
    sent: str = ""
    _attempt: int | None = field(default=None, repr=False)

    def written(self, delta: Progress) -> str:
        """What of the delta to pass on; nothing, where it is of a later attempt."""
        attempt, piece = delta.data["attempt"], str(delta.data["text"])
        if self._attempt is None:
            self._attempt = attempt if isinstance(attempt, int) else 1
        if attempt != self._attempt:
            return ""
        piece = piece if self.sent else piece.lstrip()
        self.sent += piece
        return piece

    def rest(self, replies: list[Reply]) -> str:
        """What to send now that it is certain what the answer is."""
        sent = self.sent.rstrip()
        if not sent:
            return as_plain_text(replies, self.locale)
        for number, reply in enumerate(replies):
            said = as_plain_text([reply], self.locale)
            if said.startswith(sent):
                others = [*replies[:number], *replies[number + 1 :]]
                return self._after(said, as_plain_text(others, self.locale))
        whole = as_plain_text(replies, self.locale)
        if whole.startswith(sent):
            return self._after(whole, "")
        return f"\n\n---\n\n{ANEW.within(self.locale)}\n\n{whole}"

    def _after(self, said: str, others: str) -> str:
        kept = self.sent if said.startswith(self.sent) else self.sent.rstrip()
        return said[len(kept) :] + (f"\n\n{others}" if others else "")
