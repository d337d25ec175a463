"""A server's answer, whatever it holds, as a `ChatAnswer`. Never raises.

Nothing in an answer is trusted: every field may be missing, of another type, too long, or
made up. What is usable beyond doubt is used, and everything else named among the problems.
"""

from typing import Any

from router.llm.call_reading import CallReader
from router.llm.chat import ChatAnswer, ChatRequest, Finish, How, Usage
from router.llm.json_reading import clean_text
from router.llm.text_calls import RawCall, TextCalls, calls_in, raw_call, without_thinking
from router.llm.tokens import estimated_prompt_tokens, estimated_tokens

MAX_TEXT = 100_000
MAX_COUNT = 10**9

_FINISHES: dict[Any, Finish] = {
    "stop": "stop",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
}


def read_answer(
    body: Any, request: ChatRequest, how: How, model: str, attempts: int = 1
) -> ChatAnswer:
    """The answer in the body of a Chat Completion to this request, which was asked `how`."""
    choice = _first(_get(body, "choices"))
    message = _get(choice, "message")
    finish = _finish(choice)
    found = _found(message, request, how, finish)
    calls, problems = CallReader(request, cut=finish == "length").read(list(found.calls))
    return ChatAnswer(
        text=found.text,
        calls=tuple(calls),
        refusal=_text(_get(message, "refusal")) or None,
        finish=finish,
        usage=_usage(_get(body, "usage"), request, message),
        model=_text(_get(body, "model")) or model,
        how=how,
        attempts=attempts,
        problems=(*_shortcomings(choice, message, finish), *found.problems, *problems),
        prompt=request.prompt,
    )


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _text(value: Any) -> str:
    return clean_text(value[:MAX_TEXT]) if isinstance(value, str) else ""


def _finish(choice: Any) -> Finish:
    reason = _get(choice, "finish_reason")
    return _FINISHES.get(reason, "unknown") if isinstance(reason, str) else "unknown"


def _shortcomings(choice: Any, message: Any, finish: Finish) -> list[str]:
    if not isinstance(message, dict):
        return ["the answer holds no message" if choice else "the answer holds no choices"]
    if finish == "length":
        return ["the answer was cut: it reached the limit of tokens"]
    if finish == "filtered":
        return ["the answer was withheld by the server's content filter"]
    return []


def _found(message: Any, request: ChatRequest, how: How, finish: Finish) -> TextCalls:
    """Text and calls, the latter as such or out of the text."""
    text = without_thinking(_content(_get(message, "content"))).strip()
    listed = _listed(message)
    if listed or not request.functions or not text:
        return TextCalls(text, tuple(listed))
    known = {function.name for function in request.functions}
    is_json = how in {"json_schema", "json_object", "text"}
    return calls_in(text, known, is_json, cut=finish == "length")


def _content(content: Any) -> str:
    """Text, or the text among parts, as some servers give it."""
    if isinstance(content, list):
        return _text("".join(_text(_get(part, "text")) for part in content))
    return _text(content)


def _listed(message: Any) -> list[RawCall]:
    entries = _get(message, "tool_calls")
    old = _get(message, "function_call")
    listed = entries if isinstance(entries, list) else [old] if isinstance(old, dict) else []
    return [
        raw_call(entry) if isinstance(entry, dict) else RawCall(None, entry) for entry in listed
    ]


def _usage(usage: Any, request: ChatRequest, message: Any) -> Usage:
    prompt, completion = _get(usage, "prompt_tokens"), _get(usage, "completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        return Usage(prompt_tokens=prompt, completion_tokens=completion)
    written = [_content(_get(message, "content"))]
    written += [str(call.arguments)[:MAX_TEXT] for call in _listed(message)]
    return Usage(
        prompt_tokens=estimated_prompt_tokens(request.messages, request.functions),
        completion_tokens=sum(map(estimated_tokens, written)),
        estimated=True,
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
