"""The public API for wire protocols of models, which `Extension.model_protocols` adds.

    from router.sdk.model_protocols import ParsedAnswer, WireProtocol

A protocol writes questions for a server and reads its answers.
"""

from router.llm.answers import ParsedAnswer, TokenCounts
from router.llm.calls import RawCall
from router.llm.request import BodyWriter
from router.llm.stream import PartialAnswer
from router.llm.types import (
    AssistantMessage,
    ChatRequest,
    Function,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from router.llm.wire_protocol import WireProtocol

__all__ = [
    "AssistantMessage",
    "BodyWriter",
    "ChatRequest",
    "Function",
    "ParsedAnswer",
    "PartialAnswer",
    "RawCall",
    "SystemMessage",
    "TokenCounts",
    "ToolMessage",
    "UserMessage",
    "WireProtocol",
]
