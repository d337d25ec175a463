"""One model at one server: asks it, learns what the server refuses, reads what comes back."""

from collections.abc import AsyncIterator
from typing import Any

import openai

from router.llm.abilities import Feature, ServerMemory
from router.llm.bodies import Assembly, BrokenOff, events, whole
from router.llm.chat import ChatAnswer, ChatRequest, OnText, TextDelta
from router.llm.connection import Connection
from router.llm.reading import read_answer
from router.llm.refusals import is_too_long, refused_feature
from router.llm.slots import Slots
from router.llm.speech import Speech
from router.llm.watching import question
from router.llm.wire import Sending, sending
from router.telemetry.spans import outgoing

DEFAULT_SECONDS = 60.0
AT_ONCE = 32
"""Questions at one server, where nobody says otherwise."""


class ChatModel:
    """Answers questions through any server that speaks OpenAI's Chat Completions.

    What the server refuses is kept in `memory`, which may be shared between models and
    outlive them. `slots` are shared by all models at the server.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        memory: ServerMemory | None = None,
        slots: Slots | None = None,
    ) -> None:
        self._connection = Connection(base_url, model, api_key)
        self._model = model
        self._base_url = base_url
        self._slots = slots or Slots(AT_ONCE)
        self._memory = memory if memory is not None else ServerMemory()

    @property
    def endpoint(self) -> str:
        """Which model and where, such as `qwen at http://gpu:8000/v1`."""
        return self._connection.endpoint

    async def aclose(self) -> None:
        """Give its sockets back."""
        await self._connection.aclose()

    async def answer(
        self, request: ChatRequest, seconds: float = DEFAULT_SECONDS, on_text: OnText | None = None
    ) -> ChatAnswer:
        """The model's answer, within so many seconds; streamed where `on_text` wants its text.

        Raises:
            ModelUnavailable: it may answer in a moment.
            ModelRefused: it won't answer this request; `ContextTooLong` and `AccessRefused`
                say what would have to change.
        """
        with question("chat", self._model, self._base_url) as asked:
            async with (
                self._slots.taken(seconds) as left,
                self._connection.failing_as_ours(left),
            ):
                answer = await self._ask(request, on_text)
            asked.chat(request, answer)
            return answer

    async def _ask(self, request: ChatRequest, on_text: OnText | None) -> ChatAnswer:
        refused = known = self._memory.refused(self.endpoint)
        attempt = 0
        while True:  # ends: every round sends a feature less, or leaves
            attempt += 1
            asking = sending(self._model, request, refused, stream=on_text is not None)
            try:
                body = await self._body(asking, Telling(request, asking, attempt, on_text))
            except openai.APIStatusError as error:
                refused |= {_lesson(error, asking)}
                continue
            # Only now is it certain that the features that were left out were at fault.
            self._memory.learn(self.endpoint, refused - known)
            return read_answer(body, request, asking.how, self._model, attempt)

    async def _body(self, asking: Sending, telling: "Telling") -> Any:
        create = self._connection.client.chat.completions.with_streaming_response.create
        async with create(**asking.body, extra_headers=outgoing()) as response:
            pieces = response.iter_bytes()
            if "text/event-stream" in response.headers.get("content-type", ""):
                body = await _streamed(pieces, telling)
            else:
                body = await whole(pieces)
        self._connection.refuse_error(body)
        return body


class Telling:
    """Passes on the text of one answer while it comes."""

    def __init__(
        self, request: ChatRequest, asking: Sending, attempt: int, on_text: OnText | None
    ) -> None:
        self._speech = Speech(asking.how, bool(request.functions), request.spoken)
        self._attempt = attempt
        self._on_text = on_text

    async def tell(self, answer: Assembly) -> None:
        """Tell what can be said of the answer by now and wasn't told before."""
        if self._on_text and (text := self._speech.more(answer)):
            await self._on_text(TextDelta(attempt=self._attempt, text=text))


async def _streamed(pieces: AsyncIterator[bytes], telling: Telling) -> dict[str, Any]:
    answer = Assembly()
    async for event in events(pieces):
        answer.add(event)
        await telling.tell(answer)
    body = answer.body()
    if not answer.is_complete and "error" not in body:
        raise BrokenOff("the stream ended before the answer did")
    return body


def _lesson(error: openai.APIStatusError, asking: Sending) -> Feature:
    """What the server refused of the request; the error itself where it was nothing of that."""
    body = error.response.text
    if is_too_long(error.status_code, body):
        raise error
    feature = refused_feature(error.status_code, body, asking.features)
    if feature is None:
        raise error
    return feature
