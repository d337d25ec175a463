"""The base of wire protocols that extensions add: questions and answers as JSON over HTTP.

A subclass says how a question is written and how an answer is read. Faults of its own never end a
turn: they come out as an answer that can't be used, or as a refusal, and the next model is asked.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import httpx2

from router.domain.errors import MisconfiguredError
from router.llm.answers import ParsedAnswer, answer_of
from router.llm.http_server import HttpServer
from router.llm.request import BodyWriter, Sending
from router.llm.servers import ModelListing, RefusedFeatures
from router.llm.stream import PartialAnswer, ServerAnswer, UnreadableAnswer
from router.llm.types import ChatAnswer, ChatMessage, ChatRequest, How, ModelRefused, UserMessage

_log = logging.getLogger(__name__)

_NOT_TAKEN: Mapping[How, RefusedFeatures] = {
    "functions": frozenset(),
    "json_schema": frozenset({"tools"}),
    "json_object": frozenset({"tools", "json_schema"}),
    "text": frozenset({"tools", "json_schema", "json_object"}),
}


class WireProtocol(ABC):
    """A wire protocol over HTTP and JSON. Its instances keep nothing of a question.

    Example:
        >>> class AcmeProtocol(WireProtocol):
        ...     provider = "acme"
        ...
        ...     def url(self, base_url, body):
        ...         return f"{base_url}/generate"
        ...
        ...     def write(self, model, writer, stream):
        ...         words = [{"from": each.role, "text": each.text} for each in writer.messages]
        ...         writer.body |= {"engine": model, "words": words}
        ...
        ...     def parse(self, body):
        ...         return ParsedAnswer(text=body["text"], finish="stop")
        >>> AcmeProtocol().url("http://gpu:9000", {})
        'http://gpu:9000/generate'
    """

    provider: ClassVar[str]
    """Whose API it is, as traces and metrics call it, whoever serves it."""
    offers: ClassVar[How] = "text"
    """How `write` offers functions to the model: `functions`, as such; `json_schema`, as JSON to
    answer with, of the schema `writer.decision`, or `json_object`, of any; `text`, in words, which
    is done already."""
    takes_pictures: ClassVar[bool] = False
    """Whether `write` shows the `pictures` of messages if `writer.sees`. If not, messages say in
    words which there are, and what is about pictures alone is asked of another model."""

    @abstractmethod
    def url(self, base_url: str, body: Mapping[str, Any]) -> str:
        """Return where a body is posted.

        Args:
            base_url: What `ROUTER_LLM_BASE_URL` has, without a slash at its end.
            body: What `write` has put together.
        """

    @abstractmethod
    def write(self, model: str, writer: BodyWriter, stream: bool) -> None:
        """Put the body of a request into `writer.body`.

        Args:
            model: The model's name at the server.
            writer: Has the messages to send as `messages`, and the limits and functions of the
                question as `request`. `writer.use("temperature", …)` puts something in that the
                server may refuse, and that is then left out.
            stream: Whether to ask for a stream. False unless `begin_stream` is overridden.
        """

    @abstractmethod
    def parse(self, body: Any) -> ParsedAnswer:
        """Read the JSON of an answer. If this raises, the answer counts as one without content.

        Args:
            body: Whatever the server answered, or what `PartialAnswer.body` made of a stream.
        """

    def begin_stream(self) -> PartialAnswer | None:
        """Return what puts the events of one streamed answer together.

        By default answers aren't streamed, and people see them whole once they have come.
        """
        return None

    def headers(self, api_key: str | None) -> Mapping[str, str]:
        """Return the headers of each request. By default the key is a bearer token."""
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def models_url(self, base_url: str) -> str:
        """Return an address that answers if the server is there, for `/readyz`; sent with `GET`."""
        return f"{base_url}/models"


@dataclass(frozen=True)
class GuardedProtocol:
    """A wire protocol as a `ModelProtocol`, whose faults come out as those of a model."""

    wire: WireProtocol

    @property
    def PROVIDER(self) -> str:  # noqa: N802 - as protocols that are modules have it
        """Whose API it is."""
        return self.wire.provider

    def connect(
        self, base_url: str, api_key: str | None, carrier: httpx2.AsyncClient
    ) -> HttpServer:
        """Return the server, to be posted to.

        Raises:
            MisconfiguredError: `headers` has raised something.
        """
        try:
            headers = dict(self.wire.headers(api_key))
        except Exception as error:
            raise MisconfiguredError(
                f"the protocol {self.wire.provider} makes no headers: {_describe(error)}"
            ) from error
        return HttpServer(carrier, base_url.rstrip("/"), headers)

    def listing(self, base_url: str, api_key: str | None) -> ModelListing:
        """Return where the server can be asked whether it is there; raises `UnreadableAnswer`."""
        with _unreadable("address of models"):
            return ModelListing(
                self.wire.models_url(base_url.rstrip("/")), dict(self.wire.headers(api_key))
            )

    def sending(
        self, model: str, request: ChatRequest, refused: RefusedFeatures, stream: bool
    ) -> Sending:
        """Write a question.

        Raises:
            ModelRefused: `write` has raised something, or the question is about pictures.
        """
        if not self.wire.takes_pictures:
            if request.needs_sight:
                raise ModelRefused(f"{self.wire.provider} takes no pictures in its protocol")
            told = tuple(map(_in_words, request.messages))
            request = request.replace(messages=told)
        writer = BodyWriter(request, refused | _NOT_TAKEN[self.wire.offers])
        try:
            self.wire.write(model, writer, stream and self.wire.begin_stream() is not None)
        except Exception as error:
            raise self._refusal("a question can't be written", error) from error
        return writer.sending()

    def _refusal(self, what: str, error: Exception) -> ModelRefused:
        _log.error("%s: %s", self.wire.provider, what, exc_info=error)
        return ModelRefused(f"{self.wire.provider}: {what} in its protocol: {_describe(error)}")

    @asynccontextmanager
    async def post(
        self, server: HttpServer, sent: Sending, headers: dict[str, str]
    ) -> AsyncIterator[ServerAnswer]:
        """Post a question, whose answer is read within the block; raises as `sending`."""
        try:
            may_stream = self.wire.begin_stream() is not None
            url = self.wire.url(server.base_url, sent.body)
            request = server.request(url, sent.body, headers)
        except Exception as error:
            raise self._refusal("a question can't be sent", error) from error
        async with server.send(request) as answer:
            yield answer if may_stream else _UnstreamedAnswer(answer)

    def read(
        self, body: Any, request: ChatRequest, how: How, model: str, attempts: int
    ) -> ChatAnswer:
        """Read an answer. Never raises."""
        try:
            return answer_of(self.wire.parse(body), request, how, model, attempts)
        except Exception as error:  # noqa: BLE001 - it may be anybody's code
            _log.exception("%s: an answer can't be read in its protocol", self.wire.provider)
            missing = ParsedAnswer(missing=f"the answer can't be read: {_describe(error)}")
            return answer_of(missing, request, how, model, attempts)

    def partial(self) -> PartialAnswer:
        """Return what puts together the events of an answer that is streamed."""
        with _unreadable("stream"):
            return _GuardedStream(self.wire.begin_stream())


def _in_words(message: ChatMessage) -> ChatMessage:
    """Return the message with its pictures in words."""
    return UserMessage(text=message.unseeing) if isinstance(message, UserMessage) else message


def guard_protocol(found: object, about: str) -> GuardedProtocol:
    """Return what an extension has as a protocol, guarded.

    Raises:
        MisconfiguredError: It is no protocol; begins with `about`, and says what to write.
    """
    if not isinstance(found, WireProtocol):
        wrong = f"it is {found!r:.80}: make it an instance of a subclass of WireProtocol"
    elif not isinstance(getattr(found, "provider", None), str):
        wrong = "it has no provider: name it, as in provider = 'acme'"
    elif found.offers not in _NOT_TAKEN:
        wrong = f"it offers {found.offers!r:.80}: write {', '.join(_NOT_TAKEN)}"
    else:
        return GuardedProtocol(found)
    raise MisconfiguredError(f"{about} can't be used: {wrong}")


class _UnstreamedAnswer:
    """An answer in a protocol that can't put a stream together: it is read whole."""

    streams = False

    def __init__(self, answer: ServerAnswer) -> None:
        self.events = answer.events
        self.whole = answer.whole


class _GuardedStream:
    """A stream in the protocol of an extension, whose faults come out as `UnreadableAnswer`."""

    def __init__(self, answer: PartialAnswer | None) -> None:
        self._answer = answer
        self.content = ""
        self.calls: Sequence[Mapping[str, Any]] = ()
        self.is_complete = False

    def add(self, event: Any) -> None:
        with _unreadable("stream"):
            assert self._answer is not None  # noqa: S101 - else nothing counts as streamed
            self._answer.add(event)
            self.content, self.calls = self._answer.content, self._answer.calls
            self.is_complete = self._answer.is_complete

    def body(self) -> dict[str, Any]:
        with _unreadable("stream"):
            assert self._answer is not None  # noqa: S101 - else nothing counts as streamed
            return self._answer.body()


@contextmanager
def _unreadable(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        said = f"its protocol can't make out the {what}: {_describe(error)}"
        raise UnreadableAnswer(said) from error


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:_SHOWN_CHARS]


_SHOWN_CHARS = 300
