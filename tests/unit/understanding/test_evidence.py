"""What was said, of what a model gave."""

from datetime import UTC, datetime

from router.understanding.evidence import SpokenEvidence
from tests.table import each_row

NOW = datetime(2026, 11, 18, tzinfo=UTC)
NAMES = {
    "a placeholder": ("your_user_id", ["your_user_id"]),
    "an id": ("employee E1001", ["E1001"]),
    "an id that was said": ("claim R-77 of E7", []),
    "a name of two words": ("America/New_York", []),
    "words": ("the sick note", []),
    "a number": ("1280", []),
}


@each_row(("given", "made_up"), NAMES.values(), ids=NAMES)
def test_ids_have_been_said_or_are_made_up(given: str, made_up: list[str]) -> None:
    said = SpokenEvidence("what of claim R-77, for e7?", [], NOW)
    assert said.names(given) == made_up
