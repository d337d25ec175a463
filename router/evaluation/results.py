"""One labelled line beside what it came to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from router.domain.messages import RouteBy, Usage
from router.evaluation.labels import TARGETLESS
from router.evaluation.lines import Labelled, LabelledEntity

SCORED_ENTITIES = frozenset({"date", "date_range", "duration", "money"})
"""Types that a line with `entities` lists completely; others may be found besides."""


@dataclass(frozen=True)
class Result:
    """What the line came to, and whether that was right."""

    labelled: Labelled
    got: str
    """The label that the route amounts to."""
    by: RouteBy
    reason: str = ""
    offered: tuple[str, ...] = ()
    """What it offered to choose from, where it asked back."""
    candidates: tuple[str, ...] = ()
    """What was searched and found, nearest first; nothing where rules took the line."""
    values: Mapping[str, JsonValue] = field(default_factory=dict)
    """The slots that were filled."""
    entities: Sequence[LabelledEntity] = ()
    """Everything that was found in the text."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    unanswered: bool = False
    """True where a model was asked, failed, and the decision was made without it."""

    @property
    def label(self) -> str | None:
        """What it should have come to."""
        return self.labelled.line.label

    @property
    def is_right(self) -> bool:
        """Whether it did; a line without label can't be wrong."""
        return self.label is None or self.got == self.label

    @property
    def is_one_tap_away(self) -> bool:
        """Whether the router asked back, and what was meant is among the options."""
        return not self.is_right and self.label in self.offered

    @property
    def rank(self) -> int | None:
        """The place of the label among the candidates, 0 the first.

        -1 where it isn't among them; None where nothing was searched, or for nothing.
        """
        if not self.candidates or self.label is None or self.label in TARGETLESS:
            return None
        return self.candidates.index(self.label) if self.label in self.candidates else -1

    @property
    def slots(self) -> dict[str, bool]:
        """Of each slot that the line names, whether exactly its value was understood.

        Where the message went elsewhere nothing was understood for it.
        """
        expected = self.labelled.line.slots
        return {
            path: self.is_right and self.value(path) == wanted for path, wanted in expected.items()
        }

    def value(self, path: str) -> JsonValue:
        """What was understood for the slot at this path; None where nothing was."""
        return value_at(self.values, path)

    @property
    def scored(self) -> list[LabelledEntity]:
        """What was found of the types that lines list completely."""
        return [entity for entity in self.entities if entity.type in SCORED_ENTITIES]

    @property
    def entities_are_right(self) -> bool | None:
        """Whether exactly the line's entities were found, in order; None where it lists none."""
        expected = self.labelled.line.entities
        if expected is None:
            return None
        return self.scored == expected


def value_at(values: JsonValue | Mapping[str, JsonValue], path: str) -> JsonValue:
    """The value at a path such as `items.0.amount`; None where there is nothing.

    >>> value_at({"items": [{"amount": "58.00"}]}, "items.0.amount")
    '58.00'
    """
    found: object = values
    for part in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found  # type: ignore[return-value]  # a part of JSON is JSON
