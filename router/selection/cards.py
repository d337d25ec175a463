"""What of a capability is searched: its card.

Words are matched against everything at once. Vectors are made of one passage per language, so
that a request meets the card in its own: a vector of both languages is close to neither.
Parameters are in the words and not in the passages; in the words they only ever add, while a
passage that goes on about parameters moves away from requests in the other language.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from router.domain.capabilities import Capability
from router.domain.texts import LOCALES
from router.selection.tokens import tokens

LONGEST = 1200
"""Characters of a passage: about what the embedded model reads at once (512 tokens)."""

_DEEPEST = 3
_TEXTS = ("title", "description")
_GAP = re.compile(r"[_\s]+|(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Card:
    """A capability's searchable texts; two equal cards are found by the same requests."""

    words: tuple[str, ...]
    """Tokens of name, titles, descriptions, examples and parameters."""

    passages: tuple[str, ...]
    """Title and description, once in each language that they differ in."""

    examples: tuple[str, ...]
    """Requests that are for this capability."""


def card(capability: Capability) -> Card:
    """The card of a capability."""
    passages = tuple(dict.fromkeys(_passages(capability)))
    texts = [capability.name, *passages, *capability.examples, *_of_schema(capability.parameters)]
    return Card(
        words=tuple(token for text in texts for token in tokens(text)),
        passages=passages,
        examples=tuple(dict.fromkeys(capability.examples)),
    )


def spoken(name: str) -> str:
    """An identifier as words.

    >>> spoken("get_leaveBalance")
    'get leave Balance'
    """
    return _GAP.sub(" ", name).strip()


def _passages(capability: Capability) -> Iterator[str]:
    for locale in LOCALES:
        title = capability.title.within(locale) or spoken(capability.name)
        yield f"{title}: {capability.description.within(locale)}"[:LONGEST]


def _of_schema(schema: JsonValue, depth: int = 0) -> Iterator[str]:
    """Names and descriptions of parameters, nested ones too, and the values to choose from."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return
    yield from (text for key in _TEXTS if depth and isinstance(text := schema.get(key), str))
    choices = schema.get("enum")
    yield from (text for text in _listed(choices) if isinstance(text, str))
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        yield name
        yield from _of_schema(inner, depth + 1)
    for inner in (schema.get("items"), *_listed(schema.get("anyOf"))):
        yield from _of_schema(inner, depth + 1)


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
