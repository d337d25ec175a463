"""A question in the format of Chat Completions, made of what its server doesn't refuse."""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from router.llm.abilities import Feature, Refused, way_of_asking
from router.llm.chat import (
    AssistantMessage,
    ChatRequest,
    Function,
    FunctionCall,
    How,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from router.llm.decision import compact, decision_schema, results, told, written
from router.llm.portable import portable


@dataclass(frozen=True)
class Sending:
    """The body of a request, how it offers the functions, and which features it makes use of."""

    body: dict[str, Any]
    how: How
    features: frozenset[Feature]


def sending(model: str, request: ChatRequest, refused: Refused, stream: bool) -> Sending:
    """What to send for a request to a server that refuses these features."""
    how = way_of_asking(refused) if request.functions else "text"
    return _Writer(model, request, refused, how).write(stream)


class _Writer:
    """Puts one body together and notes what it makes use of."""

    def __init__(self, model: str, request: ChatRequest, refused: Refused, how: How) -> None:
        self._request = request
        self._refused = refused
        self._how: How = how
        self._used: set[Feature] = set()
        self._body: dict[str, Any] = {"model": model, "messages": self._messages()}

    def write(self, stream: bool) -> Sending:
        self._write_limits()
        if self._how == "functions":
            self._write_functions()
        elif self._how == "json_schema":
            self._write_schema()
        elif self._how == "json_object":
            self._use("json_object", response_format={"type": "json_object"})
        if stream:
            self._body["stream"] = True
            self._use("stream_options", stream_options={"include_usage": True})
        return Sending(self._body, self._how, frozenset(self._used))

    def _may(self, feature: Feature) -> bool:
        """True, and noted as used, where the server doesn't refuse the feature."""
        if feature in self._refused:
            return False
        self._used.add(feature)
        return True

    def _use(self, feature: Feature, **part: Any) -> None:
        if self._may(feature):
            self._body.update(part)

    def _messages(self) -> list[dict[str, Any]]:
        request = self._request
        if way_of_asking(self._refused) == "functions":
            return [_message(message) for message in request.messages]
        rules = told(request.functions, request.max_calls) if request.functions else ""
        return _plainly(request.messages, rules)

    def _write_limits(self) -> None:
        # `max_tokens` first: who doesn't know it says so, while servers that don't know
        # `max_completion_tokens` ignore it and write without end.
        name = "max_tokens" if self._may("max_tokens") else "max_completion_tokens"
        self._body[name] = self._request.max_tokens
        if self._request.temperature is not None:
            self._use("temperature", temperature=self._request.temperature)

    def _write_functions(self) -> None:
        self._may("tools")
        strict = {"strict": True} if self._may("strict") else {}
        self._body["tools"] = [_function(one, strict) for one in self._request.functions]
        self._write_choice()
        several = self._request.max_calls > 1
        self._use("parallel_tool_calls", parallel_tool_calls=several)

    def _write_choice(self) -> None:
        choices: list[Feature] = ["tool_choice=required", "tool_choice=auto"]
        ordered = choices if self._request.must_call else choices[::-1]
        if self._may("tool_choice"):
            choice = next(one for one in ordered if self._may(one))
            self._body["tool_choice"] = choice.partition("=")[2]

    def _write_schema(self) -> None:
        self._may("json_schema")
        limits = self._may("limits")
        schema = decision_schema(self._request.functions, self._request.max_calls, limits)
        strict = {"strict": True} if self._may("strict") else {}
        self._body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "decision", "schema": schema, **strict},
        }


def _function(function: Function, strict: dict[str, bool]) -> dict[str, Any]:
    described = {"name": function.name, "description": function.description}
    parameters = {"parameters": portable(function.parameters)}
    return {"type": "function", "function": described | parameters | strict}


def _message(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage() | UserMessage():
            return {"role": message.role, "content": message.text}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
        case AssistantMessage():
            said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
            if message.calls:
                said["tool_calls"] = [_call(call) for call in message.calls]
            return said


def _call(call: FunctionCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": compact(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _plainly(messages: tuple[Message, ...], rules: str) -> list[dict[str, Any]]:
    """The messages for a server without functions: the rules told, calls and results as text.

    The rules follow the first system message, so that what comes first stays byte-identical.
    """
    leading, rest = (messages[:1], messages[1:]) if _has_system(messages) else ((), messages)
    system = "\n\n".join(filter(None, [*(message.text for message in leading), rules]))
    plain: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for is_result, group in groupby(rest, lambda message: isinstance(message, ToolMessage)):
        found = list(group)
        if is_result:
            told_of = results([one for one in found if isinstance(one, ToolMessage)])
            plain.append({"role": "user", "content": told_of})
        else:
            plain.extend(_plain(message) for message in found)
    return plain


def _plain(message: Message) -> dict[str, Any]:
    text = written(message) if isinstance(message, AssistantMessage) else message.text
    return {"role": message.role, "content": text}


def _has_system(messages: tuple[Message, ...]) -> bool:
    return bool(messages) and isinstance(messages[0], SystemMessage)
