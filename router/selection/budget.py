"""How many capabilities fit into a prompt."""

import json
from collections.abc import Iterable

from router.domain.capabilities import Capability
from router.domain.texts import Locale

WRAPPING = 12
"""Tokens around a function's name, description and schema in the protocol."""


def prompt_tokens(capability: Capability, locale: Locale = "zh") -> int:
    """About how many tokens a model reads to be offered this.

    Counted without a model's own tokenizer, and rather too many than too few: one for an East
    Asian character, one for three and a half others.
    """
    schema = json.dumps(capability.parameters, ensure_ascii=False, separators=(",", ":"))
    text = capability.name + capability.description.within(locale) + schema
    # An East Asian character is three bytes of UTF-8, nearly all others here are one.
    wide = (len(text.encode("utf-8", "replace")) - len(text)) // 2
    return WRAPPING + wide + round((len(text) - wide) / 3.5)


def within_budget(ranked: Iterable[Capability], tokens: int, most: int) -> list[Capability]:
    """The first of them that fit into so many tokens, at most `most`, at least one.

    One that is too large doesn't keep smaller ones behind it out.
    """
    chosen: list[Capability] = []
    left = tokens
    for capability in ranked:
        if len(chosen) == most:
            break
        cost = prompt_tokens(capability)
        if cost <= left or not chosen:
            chosen.append(capability)
            left -= cost
    return chosen
