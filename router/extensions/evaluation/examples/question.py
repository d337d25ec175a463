"""The question to a model for sentences that mean a capability, and what it answers.

What capabilities say of themselves was written by others: it is fenced, as material.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from router.domain.locale import LOCALES, Locale
from router.domain.principals import Capability
from router.llm.types import ChatAnswer, ChatRequest, Function, SystemMessage, UserMessage

FUNCTION = "suggest_examples"
TOKENS_OF_ONE = 80
"""What a sentence may take of an answer; a bound, and no wish."""
TEMPERATURE = 0.7
"""They are to differ from each other."""
_LONGEST = 2_000
"""Characters of a description that a model is told."""
_MOST_PARAMETERS = 30


@dataclass(frozen=True)
class Rules:
    """The text of a prompt, and the fingerprint that calls made with it are recorded by."""

    text: str
    fingerprint: str


@dataclass(frozen=True)
class Wanted:
    """How many sentences are asked for, in each language."""

    zh: int
    en: int

    @classmethod
    def of(cls, count: int) -> "Wanted":
        """Half in each; of an odd number one more in Chinese."""
        return cls(zh=count - count // 2, en=count // 2)

    def in_language(self, locale: Locale) -> int:
        """How many in this one."""
        return self.zh if locale == "zh" else self.en


Parameters = Mapping[str, str]
"""What a capability takes, by name, with what is said of it."""


def request(
    capability: Capability,
    parameters: Parameters,
    neighbours: Sequence[Capability],
    wanted: Wanted,
    rules: Rules,
) -> ChatRequest:
    """The question; `neighbours` are what it may be taken for."""
    told = "\n".join(_told(capability, parameters))
    near = "\n".join(f"- {_titles(one)}" for one in neighbours) or "none"
    text = (
        f"<capability>\n{_fenced(told)}\n</capability>\n"
        f"<others>\n{_fenced(near)}\n</others>\n"
        f"zh: {wanted.zh} sentences; en: {wanted.en} sentences."
    )
    return ChatRequest(
        messages=(SystemMessage(text=rules.text), UserMessage(text=text)),
        functions=(_function(wanted),),
        max_calls=1,
        max_tokens=256 + TOKENS_OF_ONE * (wanted.zh + wanted.en),
        temperature=TEMPERATURE,
        prompt=rules.fingerprint,
    )


def _function(wanted: Wanted) -> Function:
    sentences = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, Any] = {
        "zh": {**sentences, "description": f"{wanted.zh} sentences in Chinese"},
        "en": {**sentences, "description": f"{wanted.en} sentences in English"},
    }
    schema = {"type": "object", "properties": properties, "required": ["zh", "en"]}
    return Function(
        name=FUNCTION,
        description="Hand over the sentences, each as a person would type it.",
        parameters={**schema, "additionalProperties": False},
    )


def _told(capability: Capability, parameters: Parameters) -> Iterator[str]:
    yield f"name: {capability.name}"
    yield f"title: {_titles(capability)}"
    texts = dict.fromkeys(capability.description.within(locale) for locale in LOCALES)
    yield from (f"description: {text[:_LONGEST]}" for text in texts)
    for name, about in list(parameters.items())[:_MOST_PARAMETERS]:
        said = " ".join(about.split())[:_LONGEST]
        yield f"parameter: {name} ({said})" if said else f"parameter: {name}"


def arguments_of(capability: Capability) -> Parameters:
    """The arguments of a tool, as its schema describes them; nothing for what has no schema."""
    properties = capability.parameters.get("properties")
    named = properties.items() if isinstance(properties, Mapping) else ()
    return {name: _about(schema) for name, schema in named}


def _about(schema: JsonValue) -> str:
    said = schema.get("description") or schema.get("title") if isinstance(schema, dict) else None
    return said if isinstance(said, str) else ""


def _titles(capability: Capability) -> str:
    return " / ".join(dict.fromkeys(capability.title.within(locale) for locale in LOCALES))


def _fenced(text: str) -> str:
    """Somebody's words, unable to end the section that they stand in."""
    return text.replace("</", "<\\/")


@dataclass(frozen=True)
class Suggested:
    """What a model answered: sentences by language as they came, and what was wrong with it."""

    sentences: Mapping[Locale, Sequence[object]]
    trouble: str = ""


def suggested(answer: ChatAnswer, wanted: Wanted) -> Suggested:
    """What is in the answer, no more than was wanted of each language; nothing in it is checked."""
    call = next((call for call in answer.calls if call.name == FUNCTION), None)
    if call is None:
        said = answer.refusal or next(map(str, answer.problems), "") or "it called no function"
        return Suggested({}, said)
    found: dict[Locale, list[object]] = {}
    for locale in LOCALES:
        listed = call.arguments.get(locale)
        found[locale] = list(listed) if isinstance(listed, list) else []
    came = {locale: found[locale][: wanted.in_language(locale)] for locale in LOCALES}
    asked, got = wanted.zh + wanted.en, sum(map(len, came.values()))
    return Suggested(came, f"{got} of {asked} came" if got < asked else "")
