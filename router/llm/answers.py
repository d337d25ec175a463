"""What of an answer is read alike in every protocol.

In an answer every field may be missing, of another type, too long, or made up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from router.llm.calls import CallReader, RawCall, TextCalls, calls_in, without_thinking
from router.llm.json_repair import MAX_LENGTH, clean_text
from router.llm.request import compact, estimated_prompt_tokens, estimated_tokens
from router.llm.types import (
    NO_REASONING,
    AnswerProblem,
    ChatAnswer,
    ChatRequest,
    Finish,
    How,
    Reasoning,
    ReasoningPiece,
    TokenUsage,
)

MAX_TEXT = 100_000
MAX_COUNT = 10**9
MAX_PARTS = 1_000
MAX_CALLS = 200
"""Of one answer."""
MAX_REASONING = 64 * 1024
"""Bytes of what a model thought: it travels with the history, and more than this is let go."""

_SHORT: dict[Finish, str] = {
    "length": "the answer was cut: it reached the limit of tokens",
    "filtered": "the answer was withheld by the server's content filter",
}


def get(value: Any, *path: str) -> Any:
    """What is under these keys, one within the other; None where anything else is there."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def first(value: Any) -> Any:
    """The first of a list; None of anything else."""
    return value[0] if isinstance(value, list) and value else None


def dicts(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, as many as are looked at."""
    listed = value[:MAX_PARTS] if isinstance(value, list) else []
    return [each for each in listed if isinstance(each, dict)]


def text_of(value: Any) -> str:
    """The value as clean text of bounded length, where it is text."""
    return clean_text(value[:MAX_TEXT]) if isinstance(value, str) else ""


def count_of(value: Any) -> int | None:
    """The value where it can be a count of tokens."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return value if is_count else None


def grown(text: str, piece: Any) -> str:
    """The text with a piece more, unless it is longer already than anything that is read."""
    return text + piece if isinstance(piece, str) and len(text) <= MAX_LENGTH else text


def finish_of(reason: Any, known: Mapping[str, Finish]) -> Finish:
    """Why it ended, in this project's words."""
    return known.get(reason, "unknown") if isinstance(reason, str) else "unknown"


@dataclass(frozen=True)
class TokenCounts:
    """What a server says of tokens; anything in it may be missing or no number."""

    prompt: Any = None
    completion: Any = None
    cached: Any = None
    written: Any = None
    """Into the cache, where the server says so."""
    reasoning: Any = None


@dataclass
class ParsedAnswer:
    """An answer out of its protocol's format, as yet unchecked."""

    text: str = ""
    calls: list[RawCall] = field(default_factory=list)
    finish: Finish = "unknown"
    refusal: str = ""
    tokens: TokenCounts = TokenCounts()
    model: Any = None
    reasoning: list[ReasoningPiece] = field(default_factory=list)
    """What the model wants back."""
    thinking: str = ""
    """What it let see of its thoughts."""
    missing: str = ""
    """What the answer lacks to be one; empty where it lacks nothing."""
    problems: tuple[AnswerProblem, ...] = ()


def answer_of(
    parsed: ParsedAnswer, request: ChatRequest, how: How, model: str, attempts: int
) -> ChatAnswer:
    """The answer to this request, which was asked `how`; calls are checked, and found in text."""
    finish = parsed.finish
    found = _found(parsed, request, how)
    calls, problems = CallReader(request, cut=finish == "length").read(list(found.calls))
    lack = parsed.missing or _SHORT.get(finish, "")
    short = [AnswerProblem(kind="incomplete", text=lack)] if lack else []
    usage = _usage(parsed, request)
    return ChatAnswer(
        text=found.text,
        calls=tuple(calls),
        refusal=text_of(parsed.refusal) or None,
        finish=finish,
        usage=usage,
        model=text_of(parsed.model) or model,
        how=how,
        attempts=attempts,
        problems=(*short, *parsed.problems, *found.problems, *problems),
        prompt=request.prompt,
        reasoning=_reasoning(parsed.reasoning),
        reasoned=_is_reasoned(parsed, usage),
    )


def _found(parsed: ParsedAnswer, request: ChatRequest, how: How) -> TextCalls:
    """Text and calls, the latter as such or out of the text."""
    text = without_thinking(parsed.text).strip()
    if parsed.calls or not request.functions or not text:
        return TextCalls(text, tuple(parsed.calls))
    known = {function.name for function in request.functions}
    is_json = how in {"json_schema", "json_object", "text"}
    return calls_in(text, known, is_json, cut=parsed.finish == "length")


def _is_reasoned(parsed: ParsedAnswer, usage: TokenUsage) -> bool:
    unsaid = parsed.text.lstrip()[:7].lower() == "<think>"
    return bool(parsed.reasoning or parsed.thinking or usage.reasoning_tokens) or unsaid


def _reasoning(pieces: Sequence[ReasoningPiece]) -> Reasoning:
    """What is given back: all of it or nothing, for a part of it is refused."""
    try:
        length = sum(len(compact(each.content).encode()) for each in pieces)
    except (RecursionError, UnicodeEncodeError):
        return NO_REASONING
    return Reasoning(pieces=tuple(pieces)) if length <= MAX_REASONING else NO_REASONING


def _usage(parsed: ParsedAnswer, request: ChatRequest) -> TokenUsage:
    counted = parsed.tokens
    prompt, completion = count_of(counted.prompt), count_of(counted.completion)
    if prompt is not None and completion is not None:
        cached = min(prompt, count_of(counted.cached) or 0)
        return TokenUsage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            cached_tokens=cached,
            cache_write_tokens=min(prompt - cached, count_of(counted.written) or 0),
            reasoning_tokens=min(completion, count_of(counted.reasoning) or 0),
        )
    written = [parsed.text, parsed.thinking]
    written += [str(call.arguments)[:MAX_TEXT] for call in parsed.calls]
    return TokenUsage(
        prompt_tokens=estimated_prompt_tokens(request.messages, request.functions),
        completion_tokens=sum(map(estimated_tokens, written)),
        estimated=True,
    )
