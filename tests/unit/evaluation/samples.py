"""Lines and results, small enough to count by hand."""

from typing import Any

from router.domain.errors import InvalidInput
from router.evaluation.dataset import KnownLabels, LabelledLine, NumberedLine
from router.evaluation.figures import LineResult


def check_text(text: str) -> None:
    """What a message may be, for these tests: something, and not much."""
    if not text.strip() or len(text) > 100:
        raise InvalidInput("the text can't be a message")


KNOWN = KnownLabels(
    slots={
        "leave_request": frozenset({"start", "end", "items"}),
        "book_room": frozenset({"when"}),
        "get_balance": frozenset(),
    },
    users=frozenset({"alice", "bob"}),
    check_text=check_text,
)


def labelled(
    label: str | None, number: int = 1, text: str = "我要请假", **more: Any
) -> NumberedLine:
    return NumberedLine(number, LabelledLine(text=text, label=label, **more))


def result(label: str | None, got: str, number: int = 1, **more: Any) -> LineResult:
    """What a line with this label came to; keys of a line may be among `more`."""
    line = {key: more.pop(key) for key in ("text", "slots", "entities") if key in more}
    return LineResult(labelled(label, number, **line), got, more.pop("by", "pattern"), **more)
