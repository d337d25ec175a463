"""An extension of another company: a type of slots, a kind of states and a policy of its own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from router.extension import Extension
from router.flow.definition import KINDS
from router.flow.slot_types.slot import SLOT_TYPES
from router.runtime.extensions import (
    Extensions,
    LoadedExtension,
    register_understanding_of,
)
from router.sdk import (
    Localised,
    Next,
    ParsedMessage,
    ReplyText,
    Route,
    Slot,
    SlotType,
    State,
    StepContext,
    Unfit,
    Utterance,
)
from router.understanding.policies import POLICIES


class BadgeNumber(SlotType):
    """The number of a badge: `B-17`."""

    name = "badge_number"
    label = Localised(zh="工牌号", en="a badge number")
    about = Localised(zh="工牌上的号码。", en="The number on a badge.")
    fits = Localised(zh="请给工牌号，比如 B-17。", en="Please give a badge number, such as B-17.")
    stored: ClassVar[dict[str, Any]] = {"type": "integer", "maximum": 999}

    def read(self, slot: Slot, utterance: Utterance) -> Any:
        digits = utterance.text.lower().removeprefix("b-")
        return int(digits) if digits.isdecimal() else None

    def fit(self, slot: Slot, value: Any) -> Any:
        if not isinstance(value, int) or value > 999:
            raise Unfit(self.fits)
        return value

    def word(self, slot: Slot, value: Any, locale: Any, files: Any) -> str:
        return f"B-{value}"


class StampState(State):
    """Stamps a value."""

    kind: ClassVar[str] = "stamp"
    needs: ClassVar[tuple[str, ...]] = ("next",)
    label: ClassVar[Localised] = Localised(zh="盖章", en="stamps")
    about: ClassVar[Localised] = Localised(zh="给一个值盖章。", en="Stamps a value.")

    stamp: str
    """An expression."""
    save: str
    """The name of the result."""
    next: Next = ()
    """Where it goes on."""

    def execute(self, context: StepContext) -> bool:
        context.run.work.results[self.save] = f"stamped {context.evaluate(self.stamp)}"
        context.leave("next")
        return True


def find_lost_badge(message: ParsedMessage) -> tuple[Route, ReplyText] | None:
    if "lost my badge" not in message.text:
        return None
    return Route(kind="reply", by="pattern"), ReplyText(text="Ask at the gate.")


class Badges(Extension):
    """Badges of employees."""

    name = "badges"

    def slot_types(self) -> Sequence[type[SlotType]]:
        return [BadgeNumber]

    def state_kinds(self) -> Sequence[type[State]]:
        return [StampState]

    def policies(self) -> Sequence[Any]:
        return [find_lost_badge]


FLOW: dict[str, Any] = {
    "flow": "badge",
    "title": {"zh": "工牌", "en": "Badge"},
    "description": {"zh": "给工牌盖章", "en": "Stamps a badge"},
    "triggers": {"patterns": ["^stamp my badge$"], "examples": ["stamp my badge"]},
    "slots": {"badge": {"type": "badge_number", "ask": {"zh": "几号？", "en": "Which badge?"}}},
    "start": "ask",
    "states": {
        "ask": {"collect": ["badge"], "next": "stamp"},
        "stamp": {"stamp": "slots.badge", "save": "stamped", "next": "told"},
        "told": {
            "say": {"zh": "{{ results.stamped }}", "en": "{{ results.stamped }}"},
            "end": "completed",
        },
    },
}
"""A flow that needs the extension."""


def extensions(*classes: type[Extension]) -> Extensions:
    """Return these extensions as loaded ones."""
    return Extensions([LoadedExtension(each(), "acme-badges") for each in classes])


@contextmanager
def installed(*classes: type[Extension]) -> Iterator[None]:
    """Have the slot types, kinds of states and policies of these extensions, and then not."""
    tables: list[dict[Any, Any]] = [SLOT_TYPES, KINDS, POLICIES]
    before: list[dict[Any, Any]] = [
        dict(SLOT_TYPES),
        dict(KINDS),
        {stage: [*each] for stage, each in POLICIES.items()},
    ]
    try:
        found = extensions(*classes)
        found.collect(register_understanding_of)
        yield
    finally:
        for table, held in zip(tables, before, strict=True):
            table.clear()
            table.update(held)
