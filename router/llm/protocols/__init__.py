"""The wire protocols in which models are asked, by name: those of the core and of extensions.

The core's are modules of this package that have what `ModelProtocol` names. Extensions add more
through `Extension.model_protocols`. Both are registered by `router.llm.protocol_table`.
"""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, cast

import httpx2
import openai

from router.llm.protocol_table import protocols_in_use
from router.llm.request import Sending
from router.llm.servers import NO_KEY, ModelListing, RefusedFeatures
from router.llm.stream import PartialAnswer, ServerAnswer
from router.llm.types import ChatAnswer, ChatRequest, How

DEFAULT = "chat_completions"


class ModelProtocol(Protocol):
    """A module that connects to servers, writes questions, posts them, and reads answers."""

    @property
    def PROVIDER(self) -> str:  # noqa: N802 - a constant of the module
        """Whose API it is, as traces and metrics call it, whoever serves it."""

    def connect(self, base_url: str, api_key: str | None, carrier: httpx2.AsyncClient) -> Any:
        """Return what `post` takes, which sends through the carrier."""

    def listing(self, base_url: str, api_key: str | None) -> ModelListing:
        """Where the server lists its models."""

    def sending(
        self, model: str, request: ChatRequest, refused: RefusedFeatures, stream: bool
    ) -> Sending:
        """What to send for a request to a server that refuses these features."""

    def post(
        self, client: Any, sent: Sending, headers: dict[str, str]
    ) -> AbstractAsyncContextManager[ServerAnswer]:
        """Post a question, whose answer is read within the block.

        Raises:
            StatusAnswer: The server refuses it.
            BrokenOff, httpx2.HTTPError: The server isn't there, or breaks off.
        """

    def read(
        self, body: Any, request: ChatRequest, how: How, model: str, attempts: int
    ) -> ChatAnswer:
        """The answer in a body, whatever that holds. Never raises."""

    def partial(self) -> PartialAnswer:
        """What the events of a streamed answer are put together in."""


def protocol(name: str) -> ModelProtocol:
    """The protocol of that name; raises `MisconfiguredError`, with those that there are."""
    return cast("ModelProtocol", protocols_in_use().find(name))


def openai_client(
    base_url: str, api_key: str | None, carrier: httpx2.AsyncClient
) -> openai.AsyncOpenAI:
    """OpenAI's client; it retries nothing, for whoever runs the activity does."""
    return openai.AsyncOpenAI(
        base_url=base_url,
        # Without one the library would look for one in the environment.
        api_key=api_key or NO_KEY,
        max_retries=0,
        timeout=carrier.timeout,
        http_client=carrier,
    )


def openai_listing(base_url: str, api_key: str | None) -> ModelListing:
    """Where a server that speaks as OpenAI's do lists its models."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    return ModelListing(f"{base_url}/models", headers)
