"""The wire formats in which models are asked: a module each, found by its name.

A protocol is added as a module of this package that has what `ModelProtocol` names.
"""

import importlib
import pkgutil
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, cast

import openai

from router.domain.errors import MisconfiguredError
from router.llm.servers import Feature, Refused
from router.llm.stream import PartialAnswer
from router.llm.types import ChatAnswer, ChatRequest, How

DEFAULT = "chat_completions"


@dataclass(frozen=True)
class Sending:
    """The body of a request, how it offers the functions, and which features it makes use of."""

    body: dict[str, Any]
    how: How
    features: frozenset[Feature]


class ModelProtocol(Protocol):
    """A module that writes questions, posts them, and reads answers, whole or streamed."""

    def sending(self, model: str, request: ChatRequest, refused: Refused, stream: bool) -> Sending:
        """What to send for a request to a server that refuses these features."""

    def post(
        self, client: openai.AsyncOpenAI, sent: Sending, headers: dict[str, str]
    ) -> AbstractAsyncContextManager[Any]:
        """The response while within, its body unread; raises the client's errors."""

    def read(
        self, body: Any, request: ChatRequest, how: How, model: str, attempts: int
    ) -> ChatAnswer:
        """The answer in a body, whatever that holds. Never raises."""

    @property
    def Partial(self) -> type[PartialAnswer]:  # noqa: N802 - a class of the module
        """What the events of a streamed answer are put together in."""


def protocol(name: str) -> ModelProtocol:
    """The protocol of that name; raises `MisconfiguredError`, with those that there are."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__))
    if name not in names:
        raise MisconfiguredError(f"there is no protocol {name!r}; there are: {', '.join(names)}")
    found: Any = importlib.import_module(f"{__name__}.{name}")
    return cast("ModelProtocol", found)
