"""One model at one server: asks it, learns what the server refuses, reads what comes back.

The openai client only carries bytes here: it retries nothing (whoever runs the activity does),
and what it raises comes out as this project's errors, so that whoever catches one knows what to
do: wait and try again, ask another provider, shorten the request, leave out what was refused,
or call the operator. Each question is a span, and measured.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
from opentelemetry.trace import Span

from router.domain.errors import MisconfiguredError
from router.domain.loopback import may_be_proxied
from router.formats.http_body import PACKED, Unread, bounding
from router.llm.calls import UNREADABLE
from router.llm.fallback import ConcurrencyLimiter
from router.llm.protocols import DEFAULT, ModelProtocol, Sending, protocol
from router.llm.request import compact
from router.llm.servers import CHOICES, Feature, ModelAddress, Refused, ServerMemory, trouble_at
from router.llm.stream import MAX_BYTES, Speech, UnreadableAnswer, events, whole
from router.llm.types import (
    AccessRefused,
    ChatAnswer,
    ChatRequest,
    ContextTooLong,
    ModelRefused,
    ModelUnavailable,
    OnText,
    TextDelta,
)
from router.telemetry import tracing
from router.telemetry.metrics import MODEL_TOKENS, MODELS
from router.telemetry.tracing import outgoing

_UNKNOWN = r"(un(supported|known|recognized|expected)|\bnot )"

_NAMED: dict[Feature, str] = {
    "parallel_tool_calls": r"parallel",
    "stream_options": r"stream_options|include_usage",
    # Too large a value isn't a refusal of the name: the other name would only hide it.
    "max_tokens": rf"max_completion_tokens|max_tokens.*{_UNKNOWN}|{_UNKNOWN}.*max_tokens",
    "temperature": r"temperature",
    "strict": r"\bstrict\b|invalid schema for function|additionalProperties",
    "tool_choice": (
        r"(unsupported|unknown|unrecognized|unexpected|extra)"
        r" (parameter|argument|field|property|keyword)\w*\W{1,4}tool_choice\b(?!=)"
    ),
    "tool_choice=required": r"tool[_ -]choice|\brequired\b.*\btools?\b",
    "tool_choice=auto": r"tool[_ -]choice|\bauto\b.*\btools?\b",
    "pictures": r"\bimages?\b|image_url|pictures?\b|mmproj|multi-?modal|\bvision\b"
    rf"|content.{{0,40}}(valid string|must be.{{0,20}}string|parts?\b.{{0,20}}{_UNKNOWN})"
    rf"|{_UNKNOWN}.{{0,20}}\bcontent\b",
    "limits": r"maxLength|maxItems|minItems",
    "json_schema": r"response_format|json_schema|schema|grammar",
    "json_object": r"response_format|json_object|json mode",
    "tools": r"\btools?\b|\bfunctions?\b",
}
"""Narrow before wide: most messages about a part of `tools` name `tools` as well."""

_LOOSELY = re.IGNORECASE | re.DOTALL

_STEPS: list[Feature] = ["tool_choice=auto", "tool_choice=required"]
_STEPS += ["limits", "json_schema", "json_object"]
"""What a model that strays from the format is asked without, one after the other."""

_OFF_FORMAT = re.compile(r"pars(e|ing)|grammar|template|\bformat", re.IGNORECASE)

_UNWILLING = re.compile(
    r"\brequires? --|\b(not|un)[ -]?(supported|implemented|available)\b", re.IGNORECASE
)

_UNSEEING = re.compile(
    r"support|mmproj|multi-?modal|at most 0\b"
    r"|(un(known|expected|recognized)|invalid) (variant|type)"
    r"|valid string|must be.{0,20}string|\bonly\b.{0,20}\btext\b|expected.{0,20}\btext\b"
    r"|\bnot (allowed|permitted|accepted|enabled|available)\b|does(n't| not) (accept|have|take)",
    _LOOSELY,
)
"""It takes no pictures at all; else something is wrong with these, and others may do."""

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context[ _](length|size|window)|maximum context"
    r"|(prompt|input) is too long|too many (input )?tokens|reduce the length",
    re.IGNORECASE,
)

_READ = 4000
"""Characters of an error that are looked at; what it is about comes early."""
_REFUSING = {400, 404, 422, 501}
_BROKEN = 500


def refused_feature(status: int, body: str, sent: AbstractSet[Feature]) -> Feature | None:
    """The feature, of those that were sent, that the error refuses; None where it is none.

    A 500 counts only where the server says that it wasn't started for this, as llama.cpp does
    without `--jinja`, or that it couldn't make sense of its own output, as when a model left
    alone with `auto` strays from the format; or of pictures, which most servers that can't see
    fail on.
    """
    said = body[:_READ]
    if is_too_long(status, said):
        # In words the files may be short enough.
        return "pictures" if "pictures" in sent else None
    if status == _BROKEN and not _UNWILLING.search(said):
        if "pictures" in sent and re.search(_NAMED["pictures"], said, _LOOSELY):
            return "pictures"
        steps = _STEPS if is_off_format(status, body) else []
        return next((step for step in steps if step in sent), None)
    if status not in {*_REFUSING, _BROKEN}:
        return None
    named = (name for name in _NAMED if name in sent and re.search(_NAMED[name], said, _LOOSELY))
    return next(named, None)


def is_off_format(status: int, body: str) -> bool:
    """True where the error says that the server couldn't make sense of what its model wrote."""
    said = body[:_READ]
    is_broken = status == _BROKEN and not _UNWILLING.search(said)
    return is_broken and _OFF_FORMAT.search(said) is not None


def is_of_these(status: int, body: str) -> bool:
    """True where an error that refuses pictures may be about these alone: they are too large."""
    return is_too_long(status, body) or _UNSEEING.search(body[:_READ]) is None


def is_too_long(status: int, body: str) -> bool:
    """True where the error says that the request exceeds the model's context."""
    if status in {400, 422, 500}:
        return _TOO_LONG.search(body[:_READ]) is not None
    return status == 413  # noqa: PLR2004


LEADS_ELSEWHERE = "it leads elsewhere, where no prompt goes; name the address that it leads to"
MAX_QUOTED = 300
"""Characters of a server's message that are repeated: it may echo what people wrote."""
LONGEST_WAIT = 86_400.0
"""Seconds: who says longer is not to be waited for but to be looked after."""
_PASSING = {408, 409, 425, 429}
_ACCESS = {401, 403}


def status_error(endpoint: str, error: openai.APIStatusError, secret: str) -> Exception:
    """The error for an answer with a status of 400 or above; `secret` is never quoted."""
    body = error.response.text
    quoted = f"{endpoint} answered {error.status_code}: {quote(body, secret)}"
    if error.response.is_redirect:
        return ModelRefused(f"{endpoint} answered {error.status_code}: {LEADS_ELSEWHERE}")
    if is_too_long(error.status_code, body):
        return ContextTooLong(quoted)
    if error.status_code in _ACCESS:
        return AccessRefused(quoted)
    if error.status_code in _PASSING or error.status_code >= 500:  # noqa: PLR2004
        return ModelUnavailable(quoted, retry_after(error.response.headers, datetime.now(UTC)))
    return ModelRefused(quoted)


def body_error(endpoint: str, error: object, secret: str) -> Exception:
    """The error that came in the body of an answer with status 200, as gateways send it."""
    details = error if isinstance(error, dict) else {"message": error}
    quoted = f"{endpoint} answered with an error: {quote(str(details.get('message')), secret)}"
    code = details.get("code")
    if isinstance(code, int) and 400 <= code < 500 and code not in _PASSING:  # noqa: PLR2004
        return AccessRefused(quoted) if code in _ACCESS else ModelRefused(quoted)
    return ModelUnavailable(quoted)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds of a `Retry-After`, which may be a number or a date; None where it is neither."""
    value = headers.get("retry-after", "").strip()
    if value.replace(".", "", 1).isdecimal() and value.isascii():
        return min(float(value), LONGEST_WAIT)
    try:
        then = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return min(max(0.0, (then - now).total_seconds()), LONGEST_WAIT)


def quote(text: str, secret: str) -> str:
    """The beginning of what a server said, on one line and without the key."""
    said = " ".join((text.replace(secret, "…") if secret else text).split())
    return said[:MAX_QUOTED] + ("…" if len(said) > MAX_QUOTED else "")


PROVIDER = "openai"
"""Whose API it is, whoever serves it; `server.address` says who does."""


@dataclass(frozen=True)
class ObservedQuestion:
    """One question under way."""

    span: Span
    operation: str
    model: str

    def chat(self, request: ChatRequest, answer: ChatAnswer) -> None:
        """Note what was answered; the words only where content is traced."""
        self.span.set_attribute("gen_ai.response.model", answer.model)
        self.span.set_attribute("gen_ai.response.finish_reasons", (answer.finish,))
        used = {"input": answer.usage.prompt_tokens, "output": answer.usage.completion_tokens}
        for kind, tokens in used.items():
            self.span.set_attribute(f"gen_ai.usage.{kind}_tokens", tokens)
            MODEL_TOKENS.labels(self.operation, PROVIDER, self.model, kind).observe(tokens)
        asked = [{"role": message.role, "text": message.text} for message in request.messages]
        tracing.show(self.span, "gen_ai.input.messages", asked)
        calls = [{"name": call.name, "arguments": call.arguments} for call in answer.calls]
        answered = {"role": "assistant", "text": answer.text, "calls": calls}
        tracing.show(self.span, "gen_ai.output.messages", [answered])


@contextmanager
def question(operation: str, model: str, base_url: str) -> Iterator[ObservedQuestion]:
    """What is within asks this model; `operation` is `chat` or `embeddings`."""
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.request.model": model,
        "server.address": urlsplit(base_url).hostname or "",
    }
    began, fault = monotonic(), ""
    try:
        with tracing.span(f"{operation} {model}", tracing.CLIENT, attributes) as span:
            yield ObservedQuestion(span, operation, model)
    except BaseException as error:
        fault = type(error).__name__
        raise
    finally:
        MODELS.labels(operation, PROVIDER, model, fault).observe(monotonic() - began)


CONNECT_SECONDS = 5.0
_UNBOUNDED = openai.Timeout(None, connect=CONNECT_SECONDS)
"""`failing_as_ours` bounds the whole; these would let a slow drip go on for ever."""
NO_KEY = "none"
"""Sent where no key is set: left without, the client would look for one in the environment."""


class ModelConnection:
    """A model at a base URL, with the key for it; on loopback no proxy stands between.

    Raises `MisconfiguredError` for a proxy of the environment that can't be used.
    """

    def __init__(self, base_url: str, model: str, api_key: str | None = None) -> None:
        self.endpoint = f"{model} at {re.sub(r'//[^/@]*@', '//', base_url)}"
        """Which model and where, for people and as a key; holds no secret."""
        try:
            carrier = openai.DefaultAsyncHttpxClient(
                timeout=_UNBOUNDED,
                trust_env=may_be_proxied(base_url),
                headers={"Accept-Encoding": PACKED},
                # Nobody but the server that is named is told what people wrote.
                follow_redirects=False,
                event_hooks={"response": [bounding(MAX_BYTES, lambda answer: answer.is_success)]},
            )
        except (ImportError, ValueError) as error:
            raise MisconfiguredError(
                f"{self.endpoint} can't be reached through the proxy that the environment names in "
                f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY: {str(error).partition('. ')[0]}; name one "
                "that begins with http://, unset it, or `pip install socksio` for socks5://"
            ) from None
        self.client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or NO_KEY,
            max_retries=0,
            timeout=_UNBOUNDED,
            http_client=carrier,
        )
        self._secret = api_key or ""

    async def aclose(self) -> None:
        """Give its sockets back."""
        await self.client.close()

    @asynccontextmanager
    async def failing_as_ours(self, seconds: float) -> AsyncIterator[None]:
        """Give what is within so many seconds; raises `ModelUnavailable` or `ModelRefused`."""
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise  # not ours: from something that was awaited within
            # What is left of a turn's time is never a round number.
            waited = round(seconds, 1)
            raise ModelUnavailable(f"{self.endpoint} took longer than {waited:g} s") from None
        except openai.APIStatusError as error:
            raise status_error(self.endpoint, error, self._secret) from None
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            cause = type(error.__cause__ or error).__name__
            raise ModelUnavailable(
                f"{self.endpoint} can't be reached, or broke off: {cause}; is it running?"
            ) from None
        except (UnreadableAnswer, Unread) as error:
            raise ModelUnavailable(f"{self.endpoint}: its answer can't be read: {error}") from None

    def refuse_error(self, body: Any) -> None:
        """Raise the error that came in the body of an answer with status 200, if one did."""
        if isinstance(body, dict) and body.get("error"):
            raise body_error(self.endpoint, body["error"], self._secret)


DEFAULT_SECONDS = 60.0
AT_ONCE = 32
"""Questions at one server, where nobody says otherwise."""


class ChatModel:
    """Answers questions through any server that speaks the protocol `spoken`.

    What the server refuses is kept in `memory`, which may be shared between models. `slots` are
    shared by all models at the server.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        memory: ServerMemory | None = None,
        slots: ConcurrencyLimiter | None = None,
        spoken: str = DEFAULT,
    ) -> None:
        self._protocol: ModelProtocol = protocol(spoken)
        self._connection = ModelConnection(base_url, model, api_key)
        self._model = model
        self._base_url = base_url
        self._address = ModelAddress(base_url, api_key)
        self._slots = slots or ConcurrencyLimiter(AT_ONCE)
        self._memory = memory if memory is not None else ServerMemory()

    @property
    def endpoint(self) -> str:
        """Which model and where, such as `qwen at http://gpu:8000/v1`."""
        return self._connection.endpoint

    @property
    def server(self) -> str:
        """Where alone: several models may be there."""
        return self._base_url

    async def aclose(self) -> None:
        """Give its sockets back."""
        await self._connection.aclose()

    async def answer(
        self, request: ChatRequest, seconds: float = DEFAULT_SECONDS, on_text: OnText | None = None
    ) -> ChatAnswer:
        """Its answer, told to `on_text` as it comes; raises `ModelUnavailable`, `ModelRefused`."""
        with question("chat", self._model, self._base_url) as asked:
            async with self._slots.taken(seconds) as left, self._connection.failing_as_ours(left):
                answer = await self._ask(request, on_text)
            asked.chat(request, answer)
            self._note(request, answer)
            return answer

    @property
    def may_see(self) -> bool:
        """False where its server is known to take no pictures."""
        return "pictures" not in self._memory.refused(self.endpoint)

    async def is_away(self) -> bool:
        """Whether nothing answers at its server."""
        trouble = await trouble_at(self._address)
        return trouble is not None and trouble.is_away

    def prefix(self, request: ChatRequest) -> str:
        """A fingerprint of what its server would read for this."""
        refused = self._memory.refused(self.endpoint)
        body = self._protocol.sending(self._model, request, refused, False).body
        return sha256(compact(body).encode()).hexdigest()

    async def read(self, request: ChatRequest, seconds: float) -> None:
        """Have the server read what this begins with, in a place that nobody else needs.

        Raises as `answer`, and `Crowded` as soon as somebody does.
        """
        with question("read", self._model, self._base_url):
            async with self._slots.lent(), self._connection.failing_as_ours(seconds):
                try:
                    await self._ask(request, None, only_reads=True)
                except openai.APIStatusError as error:
                    # Cut after its first token a call is off any format, and has been read.
                    if not is_off_format(error.status_code, error.response.text):
                        raise

    async def _ask(
        self, request: ChatRequest, on_text: OnText | None, *, only_reads: bool = False
    ) -> ChatAnswer:
        refused = known = self._memory.refused(self.endpoint)
        if request.needs_sight and "pictures" in known:
            raise ModelRefused(f"{self.endpoint} takes no pictures")
        strayed: Refused = frozenset()
        unsure: Refused = frozenset()
        attempt = 1
        while True:  # ends: every round sends a feature less, or leaves
            streams = on_text is not None
            asking = self._protocol.sending(self._model, request, refused, streams)
            speech = Speech(asking.how, bool(request.functions), request.spoken)
            try:
                body = await self._body(asking, speech, attempt, on_text)
            except openai.APIStatusError as error:
                status, said = error.status_code, error.response.text
                feature = refused_feature(status, said, asking.features)
                is_stray = is_off_format(status, said)
                if feature is None or (is_stray and only_reads):
                    raise
                if feature == "pictures" and request.needs_sight:
                    if not is_of_these(status, said):
                        # No question without them will follow that could make it more certain.
                        self._memory.learn(self.endpoint, {feature})
                    raise ModelRefused(f"{self.endpoint} doesn't take the pictures") from None
                refused |= {feature}
                if feature == "pictures" and is_of_these(status, said):
                    unsure |= {feature}
                strayed |= {feature} if is_stray else frozenset()
                attempt += 1
            else:
                answer = self._protocol.read(body, request, asking.how, self._model, attempt)
                if strayed & CHOICES and asking.how != "functions":
                    # A model may stray once; one that always does is found out by its failures.
                    refused -= strayed & CHOICES
                    self._memory.failed_on_functions(self.endpoint, answer.model)
                # Only now is it certain that the features that were left out were at fault.
                self._memory.learn(self.endpoint, refused - known - unsure)
                return answer

    def _note(self, request: ChatRequest, answer: ChatAnswer) -> None:
        """How its model gets on with functions, by the form of its answer alone.

        To talk, to decline and to make a name up is no failure: strangers' words can bring it to.
        """
        self._memory.answered(self.endpoint, answer.model)
        if answer.how != "functions" or answer.refusal or answer.finish == "filtered":
            return
        is_cut = answer.finish == "length" and request.must_call
        if any(UNREADABLE in problem for problem in answer.problems):
            self._memory.failed_on_functions(self.endpoint, answer.model)
        elif answer.calls:
            self._memory.took_functions(self.endpoint)
        elif is_cut or not answer.text:
            self._memory.failed_on_functions(self.endpoint, answer.model)

    async def _body(
        self, asking: Sending, speech: Speech, attempt: int, on_text: OnText | None
    ) -> Any:
        """The body of the answer, whose text is told while it comes."""
        client = self._connection.client
        async with self._protocol.post(client, asking, outgoing()) as response:
            pieces = response.iter_bytes()
            if "text/event-stream" in response.headers.get("content-type", ""):
                answer = self._protocol.Partial()
                async for event in events(pieces):
                    answer.add(event)
                    if on_text and (text := speech.more(answer)):
                        await on_text(TextDelta(attempt=attempt, text=text))
                body = answer.body()
                if not answer.is_complete and "error" not in body:
                    raise UnreadableAnswer("the stream ended before the answer did")
            else:
                body = await whole(pieces)
        self._connection.refuse_error(body)
        return body
