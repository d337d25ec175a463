"""Questions to models as operators see them: a span and measurements of each."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlsplit

from opentelemetry.trace import Span

from router.llm.chat import ChatAnswer, ChatRequest, Message
from router.telemetry import spans
from router.telemetry.metrics import MODEL_TOKENS, MODELS

PROVIDER = "openai"
"""Whose API it is, whoever serves it; `server.address` says who does."""


@dataclass(frozen=True)
class Question:
    """One question under way."""

    span: Span
    operation: str
    model: str

    def chat(self, request: ChatRequest, answer: ChatAnswer) -> None:
        """Note what was answered; the words only where content is traced."""
        self.span.set_attributes(
            {
                "gen_ai.response.model": answer.model,
                "gen_ai.response.finish_reasons": (answer.finish,),
            }
        )
        self.used(answer.usage.prompt_tokens, "input")
        self.used(answer.usage.completion_tokens, "output")
        spans.show(self.span, "gen_ai.input.messages", [_shown(m) for m in request.messages])
        answered = {"role": "assistant", "text": answer.text, "calls": _calls(answer)}
        spans.show(self.span, "gen_ai.output.messages", [answered])

    def used(self, tokens: int, kind: str) -> None:
        """Note so many tokens of a kind, `input` or `output`."""
        self.span.set_attribute(f"gen_ai.usage.{kind}_tokens", tokens)
        MODEL_TOKENS.labels(self.operation, PROVIDER, self.model, kind).observe(tokens)


@contextmanager
def question(operation: str, model: str, base_url: str) -> Iterator[Question]:
    """What is within asks this model; `operation` is `chat` or `embeddings`."""
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.request.model": model,
        "server.address": urlsplit(base_url).hostname or "",
    }
    began, fault = monotonic(), ""
    try:
        with spans.span(f"{operation} {model}", spans.CLIENT, attributes) as span:
            yield Question(span, operation, model)
    except BaseException as error:
        fault = type(error).__name__
        raise
    finally:
        MODELS.labels(operation, PROVIDER, model, fault).observe(monotonic() - began)


def _shown(message: Message) -> dict[str, str]:
    return {"role": message.role, "text": message.text}


def _calls(answer: ChatAnswer) -> Sequence[dict[str, object]]:
    return [{"name": call.name, "arguments": call.arguments} for call in answer.calls]
