"""The sizes that Temporal accepts, and functions that cut values to fit.

Temporal terminates a workflow whose search attributes are too large, and refuses a start or a
continue-as-new whose input is. Everything that is set or carried without being bounded elsewhere
passes through here. All functions are pure, so that workflows can call them.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from temporalio.common import (
    SearchAttributeKey,
    SearchAttributePair,
    SearchAttributeUpdate,
    TypedSearchAttributes,
)

MAX_KEYWORD_CHARS = 255
"""Characters of a Keyword. On PostgreSQL and MySQL its visibility column is `VARCHAR(255)`, and a
longer value keeps the workflow out of every list; SQLite takes it."""
MAX_ATTRIBUTE_BYTES = 1_900
"""Bytes of one search attribute, as JSON with `\\u` escapes. Temporal terminates the workflow at
2,048 (`limit.searchAttributeSizeOfValue`)."""
MAX_CARRIED_BYTES = 1_700_000
"""Bytes of JSON that a continue-as-new carries. Temporal refuses 2 MiB, encryption included."""


def cut_keyword(value: str) -> str:
    """Return the beginning of a value that a Keyword attribute can hold."""
    kept = value[:MAX_KEYWORD_CHARS]
    while _encoded_bytes(kept) > MAX_ATTRIBUTE_BYTES:
        kept = kept[:-1]
    return kept


def cut_keyword_list(values: Iterable[str]) -> list[str]:
    """Return as many of the values, from the first on, as a KeywordList attribute can hold."""
    kept: list[str] = []
    left = MAX_ATTRIBUTE_BYTES - len("[]")
    for value in map(cut_keyword, values):
        left -= _encoded_bytes(value) + len(",")
        if left < 0:
            break
        kept.append(value)
    return kept


def fit_attribute(update: SearchAttributeUpdate[Any]) -> SearchAttributeUpdate[Any]:
    """Return the update of a search attribute with a value that Temporal accepts."""
    key: SearchAttributeKey[Any] = update.key
    match update.value:
        case str() as value:
            return key.value_set(cut_keyword(value))
        case [*values]:
            return key.value_set(cut_keyword_list(values))
    return update


def make_attributes(values: Mapping[SearchAttributeKey[str], str]) -> TypedSearchAttributes:
    """Return the search attributes that a workflow starts with."""
    pairs = [SearchAttributePair(key, cut_keyword(value)) for key, value in values.items()]
    return TypedSearchAttributes(pairs)


def _encoded_bytes(value: str) -> int:
    """Return the size of a string as the SDK encodes search attributes: ASCII, with escapes."""
    return len(json.dumps(value))
