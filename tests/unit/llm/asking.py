"""A desk with two functions and something to ask them for."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from router.llm.client import ChatModel
from router.llm.servers import ServerMemory
from router.llm.types import ChatRequest, Function, SystemMessage, TextDelta, UserMessage
from tests.fakes.model_server import MODEL, Behaviour, ModelServer

BALANCE = Function(
    name="get_balance",
    description="How much leave is left",
    parameters={
        "type": "object",
        "properties": {
            "leave_type": {"type": "string", "enum": ["annual", "sick"]},
            "year": {"type": "integer"},
        },
        "required": ["leave_type"],
    },
)
REPLY = Function(
    name="respond_message",
    description="Say something",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
ANNUAL = ("get_balance", {"leave_type": "annual"})


def question(text: str = "还有几天年假？", **more: Any) -> ChatRequest:
    asked: dict[str, Any] = {
        "messages": (SystemMessage(text="You route."), UserMessage(text=text)),
        "functions": (BALANCE, REPLY),
        "spoken": {"respond_message": "text"},
    }
    return ChatRequest(**(asked | more))


class Desk:
    """A scripted server with a model that talks to it, and the text that was streamed."""

    def __init__(self, server: ModelServer, memory: ServerMemory | None = None) -> None:
        self.server = server
        self.memory = memory if memory is not None else ServerMemory()
        self.model = ChatModel(server.url, MODEL, "a-key", self.memory)
        self.deltas: list[TextDelta] = []

    async def hear(self, delta: TextDelta) -> None:
        self.deltas.append(delta)

    @property
    def heard(self) -> str:
        return "".join(delta.text for delta in self.deltas)


@asynccontextmanager
async def desk(
    script: Sequence[Behaviour] | Behaviour, memory: ServerMemory | None = None
) -> AsyncIterator[Desk]:
    async with ModelServer(script) as server:
        open_desk = Desk(server, memory)
        try:
            yield open_desk
        finally:
            await open_desk.model.aclose()
