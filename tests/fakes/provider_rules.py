"""What providers demand of a history, and answer 400 to who doesn't keep to it."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.fakes.model_server import Behaviour
from tests.fakes.providers import ANTHROPIC, CHAT, GEMINI, RESPONSES, Dialect
from tests.fakes.web_server import Received, Reply

NO_SIGNATURE = "skip_thought_signature_validator"
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
Rules = Callable[[dict[str, Any]], Iterator[str]]


def strictly(dialect: Dialect, otherwise: Behaviour) -> Behaviour:
    """A server that takes nothing but what its provider takes; it names what is wrong."""

    def behave(received: Received) -> Reply:
        wrong = next(RULES[dialect](received.body), None)
        return (dialect.fails(400, wrong) if wrong else otherwise)(received)

    return behave


def _chat(body: dict[str, Any]) -> Iterator[str]:
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield "messages with role tool must be a response to a preceding tool_calls"
            waiting.remove(message["tool_call_id"])
        elif waiting:
            yield "an assistant message with tool_calls must be followed by tool messages"
        if message["role"] == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls", ())]
    if waiting:
        yield "tool_call_ids did not have response messages"


def _responses(body: dict[str, Any]) -> Iterator[str]:
    calls: list[str] = []
    before: dict[str, Any] = {}
    for item in body["input"]:
        kind = item.get("type")
        leads = kind in {"reasoning", "function_call"} or item.get("role") == "assistant"
        if before.get("type") == "reasoning" and not leads:
            yield f"Item {before['id']} of type reasoning was provided without its following"
        if kind == "function_call":
            if item["call_id"] in calls or not ID.fullmatch(item["call_id"]):
                yield f"Duplicate or invalid call_id {item['call_id']}"
            calls.append(item["call_id"])
        if kind == "function_call_output" and item["call_id"] not in calls:
            yield f"No tool call found for function call output with call_id {item['call_id']}"
        if kind == "reasoning" and not item.get("encrypted_content"):
            yield f"Item with id {item['id']} not found; items aren't persisted"
        before = item
    told = [item["call_id"] for item in body["input"] if "output" in item]
    if sorted(told) != sorted(calls):
        yield "No tool output found for function call"


def _anthropic(body: dict[str, Any]) -> Iterator[str]:
    yield from _turns(body["messages"], "assistant")
    seen: set[str] = set()
    waiting: list[str] = []
    for message in body["messages"]:
        blocks = message["content"]
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield "messages: text content blocks must be non-empty"
        told = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if told != [b.get("tool_use_id") for b in blocks[: len(told)]] or sorted(told) != waiting:
            yield "tool_use ids were found without tool_result blocks immediately after"
        waiting = sorted(block["id"] for block in blocks if block["type"] == "tool_use")
        if seen & set(waiting) or not all(map(ID.fullmatch, waiting)):
            yield "messages: `tool_use` ids must be unique and match ^[a-zA-Z0-9_-]+$"
        seen |= set(waiting)
        kinds = [block["type"] for block in blocks]
        if kinds and kinds[-1] == "thinking":
            yield "The final block in an assistant message cannot be `thinking`"


def _gemini(body: dict[str, Any]) -> Iterator[str]:
    yield from _turns(body["contents"], "model")
    waiting: list[str] = []
    for content in body["contents"]:
        parts = content["parts"]
        told = [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
        if sorted(told) != sorted(waiting):
            yield "the number of function response parts has to equal that of function call parts"
        calls = [part for part in parts if "functionCall" in part]
        waiting = [part["functionCall"]["name"] for part in calls]
        if calls and "thoughtSignature" not in calls[0]:
            yield "Function call is missing a thought_signature in functionCall parts"
        if any(set(part) == {"text"} and not part["text"] for part in parts):
            yield "contents.parts must not be empty"


def _turns(messages: list[dict[str, Any]], model: str) -> Iterator[str]:
    roles = [message["role"] for message in messages]
    if roles[:1] != ["user"] or roles[-1:] != ["user"]:
        yield "a dialogue begins and ends with a user's turn"
    if any(one == next_ for one, next_ in pairwise(roles)):
        yield "roles must alternate"
    if not set(roles) <= {"user", model}:
        yield f"roles are user and {model}"


RULES: dict[Dialect, Rules] = {
    CHAT: _chat,
    RESPONSES: _responses,
    ANTHROPIC: _anthropic,
    GEMINI: _gemini,
}


def seals_in(body: dict[str, Any]) -> list[str]:
    """The signatures and sealed thoughts of a request, in their order."""
    named = r'"(?:signature|encrypted_content|thoughtSignature|reasoning_content)": "([^"]*)"'
    return re.findall(named, json.dumps(body, ensure_ascii=False))
