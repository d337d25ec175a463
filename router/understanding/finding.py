"""Texts that a sentence names as the flow's file describes it: `去上海出差`, `trip to Rome`."""

from functools import lru_cache
from typing import Any

from router.understanding.filling import Filling, Slots
from router.understanding.grammar import compiled, group_span
from router.understanding.normalise import Normalised


def find_texts(slots: Slots, said: Normalised) -> Filling:
    """The texts that `find` patterns of the slots name, as they were typed.

    Of several places that one slot could come from, the first pattern's first counts.
    """
    filling = Filling()
    for name, slot in slots.items():
        matches = (_pattern(source).search(said.text) for source in slot.find)
        match = next((m for m in matches if m and m.group(name)), None)
        if match is None:
            continue
        start, end = group_span(match, name)
        value = said.as_typed(start, end).strip()
        if 0 < len(value) <= slot.max_length:
            filling.values[name] = value
            # What leads up to it, 去 or "trip to", says nothing else; what follows may.
            filling.used.append((match.start(), end))
    return filling


@lru_cache(maxsize=512)
def _pattern(source: str) -> Any:
    return compiled(source)
