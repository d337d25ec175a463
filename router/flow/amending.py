"""Corrections, said back: what has another value now, and what keeps its own since that didn't fit.

Pure over the values before and after; `offering` calls it once what was offered is taken.
"""

from collections.abc import Iterable

from pydantic import JsonValue

from router.domain.texts import Locale, Localised
from router.flow.model import FlowDefinition, Slot, SlotValues
from router.flow.paths import at
from router.flow.run import Run
from router.flow.wording import label_of, shown

LONGEST = 80
"""Characters of a value that is said back."""


def amended(
    definition: FlowDefinition, run: Run, before: SlotValues, paths: Iterable[str]
) -> Localised | None:
    """Names each of these paths that had a value and has another; None where there is none.

    >>> amended(definition, run, {"end": "2026-12-08"}, ["end"]).en  # doctest: +SKIP
    'Until is Wed 9 Dec 2026 now.'
    """
    named = (path for path in paths if _has_a_name(definition, path))
    changed = [path for path in named if _differs(at(before, path), at(run.slots, path))]
    if not changed:
        return None
    zh = "，".join(
        f"{_called(definition, p, 'zh')}改为{said(definition, run, p, 'zh')}" for p in changed
    )
    en = ", ".join(
        f"{_called(definition, p, 'en')} is {said(definition, run, p, 'en')} now" for p in changed
    )
    return Localised(zh=f"{zh}。", en=f"{en}.")


def unchanged(
    definition: FlowDefinition, run: Run, path: str, examples: Iterable[Localised]
) -> Localised:
    """What keeps its value although another was given, and what could be said instead."""
    shown_ = list(examples)
    zh = f"{_called(definition, path, 'zh')}还是{said(definition, run, path, 'zh')}。"
    en = f"{_called(definition, path, 'en')} is still {said(definition, run, path, 'en')}."
    if shown_:
        zh += f"可以改成比如：{'、'.join(e.zh for e in shown_)}。"
        en += f" It could be, for example: {', '.join(e.en for e in shown_)}."
    return Localised(zh=zh, en=en)


def said(definition: FlowDefinition, run: Run, path: str, locale: Locale) -> str:
    """The value at a path as people read it, in a line."""
    slot = definition.slot_at(path) or Slot(type="text")
    value = " ".join(shown(slot, at(run.slots, path), locale, run.files).split())
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"


def _has_a_name(definition: FlowDefinition, path: str) -> bool:
    """False for what only tells other slots, `duration` an end: these are said to have changed."""
    slot = definition.slots.get(path)
    return slot is None or slot.label is not None or slot.ask is not None


def _differs(before: JsonValue, after: JsonValue) -> bool:
    return before not in (None, [], {}) and after is not None and before != after


def _called(definition: FlowDefinition, path: str, locale: Locale) -> str:
    """The slot's name; a field's with the number of its item."""
    name = path.rsplit(".", maxsplit=1)[-1]
    slot = definition.slot_at(path) or Slot(type="text")
    number = next((int(part) + 1 for part in path.split(".") if part.isdigit()), None)
    label = label_of(name, slot).within(locale)
    if number is None or name.isdigit():
        return label if number is None else _nth(number, locale)
    return f"{_nth(number, locale)}的{label}" if locale == "zh" else f"{label} of item {number}"


def _nth(number: int, locale: Locale) -> str:
    return f"第 {number} 项" if locale == "zh" else f"Item {number}"
