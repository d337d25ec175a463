"""One model at one server: asks it, learns what the server refuses, reads what comes back.

Nothing is retried here but what the server refused a feature of: whoever runs the activity retries
the rest. Each question is a span, and measured.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.trace import Span

from router.domain.concurrency import ConcurrencyLimiter
from router.domain.messages import Cost
from router.llm.connection import ModelConnection
from router.llm.health import ModelAddress, trouble_at
from router.llm.prices import ModelPrice
from router.llm.protocols import DEFAULT, protocol
from router.llm.refusals import (
    StatusAnswer,
    is_of_these,
    is_of_this_request,
    is_off_format,
    refused_feature,
)
from router.llm.request import Sending, compact
from router.llm.servers import CHOICES, RefusedFeatures, ServerMemory
from router.llm.stream import Speech, UnreadableAnswer
from router.llm.types import (
    NO_REASONING,
    AssistantMessage,
    ChatAnswer,
    ChatMessage,
    ChatRequest,
    Crowded,
    ModelRefused,
    OnText,
    TextDelta,
    TokenUsage,
)
from router.settings.models import NO_OPTIONS, ModelOptions
from router.telemetry import tracing
from router.telemetry.metrics import MODEL_CACHED, MODEL_COST, MODEL_TOKENS, MODELS
from router.telemetry.tracing import outgoing


@dataclass(frozen=True)
class ObservedQuestion:
    """One question under way."""

    span: Span
    operation: str
    provider: str
    model: str

    def paid(self, usage: TokenUsage, cost: Cost | None) -> None:
        """Note what it cost."""
        of = (self.operation, self.provider, self.model)
        for kind, tokens in (("input", usage.prompt_tokens), ("output", usage.completion_tokens)):
            self.span.set_attribute(f"gen_ai.usage.{kind}_tokens", tokens)
            MODEL_TOKENS.labels(*of, kind).observe(tokens)
        cached = {"read": usage.cached_tokens, "creation": usage.cache_write_tokens}
        for kind, tokens in cached.items():
            self.span.set_attribute(f"gen_ai.usage.cache_{kind}.input_tokens", tokens)
            MODEL_CACHED.labels(*of, kind).inc(tokens)
        if cost is not None:
            MODEL_COST.labels(*of, cost.currency).inc(float(cost.amount))

    def chat(self, request: ChatRequest, answer: ChatAnswer) -> None:
        """Note what was answered; the words only where content is traced."""
        self.span.set_attribute("gen_ai.response.model", answer.model)
        self.span.set_attribute("gen_ai.response.finish_reasons", (answer.finish,))
        self.paid(answer.usage, answer.cost)
        asked = [{"role": message.role, "text": message.text} for message in request.messages]
        tracing.show(self.span, "gen_ai.input.messages", asked)
        calls = [{"name": call.name, "arguments": call.arguments} for call in answer.calls]
        answered = {"role": "assistant", "text": answer.text, "calls": calls}
        tracing.show(self.span, "gen_ai.output.messages", [answered])


@contextmanager
def question(
    operation: str, provider: str, model: str, base_url: str
) -> Iterator[ObservedQuestion]:
    """What is within asks this model; `operation` is `chat` or `embeddings`."""
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "server.address": urlsplit(base_url).hostname or "",
    }
    began, fault = monotonic(), ""
    try:
        with tracing.span(f"{operation} {model}", tracing.CLIENT, attributes) as span:
            yield ObservedQuestion(span, operation, provider, model)
    except BaseException as error:
        fault = type(error).__name__
        raise
    finally:
        MODELS.labels(operation, provider, model, fault).observe(monotonic() - began)


DEFAULT_SECONDS = 60.0
AT_ONCE = 32
"""Questions at one server, where nobody says otherwise."""


LONGER = 4
"""Times the tokens that were asked for get a model that spent them all on thinking."""
LONGEST = 16_384
"""Tokens that it gets at most so, unless more were asked for anyway: servers have limits."""


_REFUSING = {400, 422}


class ChatModel:
    """Answers questions through any server that speaks the protocol `spoken`.

    What the server refuses is kept in `memory`, which may be shared between models. `slots` are
    shared by all models at the server. Whatever `options` say holds in place of what a question
    asks for. Once it has a `price` its answers say what they cost.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        memory: ServerMemory | None = None,
        slots: ConcurrencyLimiter | None = None,
        spoken: str = DEFAULT,
        options: ModelOptions = NO_OPTIONS,
    ) -> None:
        self._protocol = protocol(spoken)
        self._connection = ModelConnection(base_url, model, api_key, spoken)
        self._model = model
        self.price: ModelPrice | None = None
        self._base_url = base_url
        self._address = ModelAddress(base_url, api_key, spoken)
        self._slots = slots or ConcurrencyLimiter(AT_ONCE)
        self._memory = memory if memory is not None else ServerMemory()
        self._options = options
        self._longer = 1
        """Times the tokens that it is given: more, once it has spent all on thinking."""
        self._takes_longer = True

    @property
    def endpoint(self) -> str:
        """Which model and where, such as `qwen at http://gpu:8000/v1`."""
        return self._connection.endpoint

    @property
    def name(self) -> str:
        """The model's name, as it is configured."""
        return self._model

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
        """Its answer, told to `on_text` as it comes; raises `ModelUnavailable`, `ModelRefused`.

        Where the tokens are spent before the model has done thinking it is asked once more, with
        more of them.
        """
        with self._question("chat") as asked:
            waited = f", and none ended in {seconds:.3g} s"
            async with (
                self._slots.slot(seconds, partial(self._refuse_slot, waited)) as left,
                self._connection.failing_as_ours(left),
            ):
                answer = self._priced(await self._at_length(request, on_text))
            asked.chat(request, answer)
            self._note(request, answer)
            return answer

    async def _at_length(self, request: ChatRequest, on_text: OnText | None) -> ChatAnswer:
        asked = self._fitted(request)
        answer = await self._ask(asked, on_text)
        if not answer.was_still_reasoning or not self._takes_longer:
            return answer
        self._longer = LONGER
        again = self._fitted(request)
        if again.max_tokens <= asked.max_tokens:
            return answer
        try:
            longer = await self._ask(again, on_text, answer.attempts)
        except StatusAnswer as refusal:
            # Whatever it is that is refused now, the shorter question wasn't.
            self._longer, self._takes_longer = 1, False
            if refusal.status in _REFUSING:
                return answer
            raise
        return longer.replace(usage=answer.usage + longer.usage)

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
        body = self._sending(request, refused, streams=False).body
        return sha256(compact(body).encode()).hexdigest()

    async def read(self, request: ChatRequest, seconds: float) -> None:
        """Have the server read what this begins with, in a slot that no call needs.

        Raises as `answer`, and `Crowded` as soon as a call needs the slot.
        """
        with self._question("read") as asked:
            async with (
                self._slots.borrowed_slot(self._refuse_slot),
                self._connection.failing_as_ours(seconds),
            ):
                try:
                    read = self._priced(await self._ask(request, None, only_reads=True))
                    asked.paid(read.usage, read.cost)
                except StatusAnswer as answer:
                    # Cut after its first token a call is off any format, and has been read.
                    if not is_off_format(answer.status, answer.said):
                        raise

    def _refuse_slot(self, waited: str = "") -> Crowded:
        return Crowded(f"{self._slots.limit} questions are under way there{waited}")

    def _question(self, operation: str) -> AbstractContextManager[ObservedQuestion]:
        return question(operation, self._protocol.PROVIDER, self._model, self._base_url)

    def _priced(self, answer: ChatAnswer) -> ChatAnswer:
        cost = self.price.of(answer.usage) if self.price else None
        return answer.replace(asked=self._model, cost=cost)

    def _fitted(self, request: ChatRequest) -> ChatRequest:
        """The request as this model is to be asked it, with nobody else's thoughts in it."""
        set_ = self._options
        tokens = set_.max_tokens or request.max_tokens
        tokens = max(tokens, min(tokens * self._longer, LONGEST))
        own = set_.temperature
        return request.replace(
            messages=tuple(map(self._own, request.messages)),
            max_tokens=tokens,
            effort=set_.effort or request.effort,
            temperature=request.temperature if own is None else own,
        )

    def _own(self, message: ChatMessage) -> ChatMessage:
        if not isinstance(message, AssistantMessage) or not message.reasoning.pieces:
            return message
        if message.reasoning.by == self.endpoint:
            return message
        return message.replace(reasoning=NO_REASONING)

    def _sending(self, request: ChatRequest, refused: RefusedFeatures, *, streams: bool) -> Sending:
        sent = self._protocol.sending(self._model, request, refused, streams)
        return replace(sent, body=merged(sent.body, self._options.extra_body))

    async def _ask(
        self,
        request: ChatRequest,
        on_text: OnText | None,
        before: int = 0,
        *,
        only_reads: bool = False,
    ) -> ChatAnswer:
        refused = known = self._memory.refused(self.endpoint)
        if request.needs_sight and "pictures" in known:
            raise ModelRefused(f"{self.endpoint} takes no pictures")
        strayed: RefusedFeatures = frozenset()
        unsure: RefusedFeatures = frozenset()
        attempt = before + 1
        names = [function.name for function in request.functions]
        while True:  # ends: every round sends a feature less, or leaves
            asking = self._sending(request, refused, streams=on_text is not None)
            speech = Speech(asking.how, names, request.spoken)
            try:
                body = await self._body(asking, speech, attempt, on_text)
            except StatusAnswer as answer:
                status, said = answer.status, answer.said
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
                if is_of_this_request(feature, status, said):
                    unsure |= {feature}
                strayed |= {feature} if is_stray else frozenset()
                attempt += 1
            else:
                answered = self._protocol.read(body, request, asking.how, self._model, attempt)
                if strayed & CHOICES and asking.how != "functions":
                    # A model may stray once; one that always does is found out by its failures.
                    refused -= strayed & CHOICES
                    self._memory.failed_on_functions(self.endpoint, answered.model)
                # Only now is it certain that the features that were left out were at fault.
                self._memory.learn(self.endpoint, refused - known - unsure)
                own = answered.reasoning.replace(by=self.endpoint)
                kept = own if own.pieces else NO_REASONING
                return answered.replace(reasoning=kept)

    def _note(self, request: ChatRequest, answer: ChatAnswer) -> None:
        """How its model gets on with functions, by the form of its answer alone.

        To talk, to decline, to think too long and to make a name up is no failure: strangers'
        words can bring it to.
        """
        self._memory.answered(self.endpoint, answer.model)
        if answer.how != "functions" or answer.refusal or answer.finish == "filtered":
            return
        is_cut = answer.finish == "length" and request.must_call
        if any(problem.kind == "unreadable" for problem in answer.problems):
            self._memory.failed_on_functions(self.endpoint, answer.model)
        elif answer.calls:
            self._memory.took_functions(self.endpoint)
        elif (is_cut or not answer.text) and not answer.was_still_reasoning:
            self._memory.failed_on_functions(self.endpoint, answer.model)

    async def _body(
        self, asking: Sending, speech: Speech, attempt: int, on_text: OnText | None
    ) -> Any:
        """The body of the answer, whose text is told while it comes."""
        client = self._connection.client
        async with self._protocol.post(client, asking, outgoing()) as coming:
            if coming.streams:
                answer = self._protocol.partial()
                async for event in coming.events():
                    answer.add(event)
                    if on_text and (text := speech.more(answer)):
                        await on_text(TextDelta(attempt=attempt, text=text))
                body = answer.body()
                if not answer.is_complete and "error" not in body:
                    raise UnreadableAnswer("the stream ended before the answer did")
            else:
                body = await coming.whole()
        self._connection.refuse_error(body)
        return body


def merged(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The body with what is extra in it, object by object; a null takes out what was there."""
    whole = dict(body)
    for key, value in extra.items():
        there = whole.pop(key, None)
        if isinstance(there, dict) and isinstance(value, dict):
            whole[key] = merged(there, value)
        elif value is not None:
            whole[key] = value
    return whole
