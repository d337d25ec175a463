"""Drawings of entrances are of what is posted there."""

from tests.fakes.drawings import DRAWINGS, FOLDER
from tests.table import each_row


@each_row("name", DRAWINGS)
def test_a_drawing_is_of_what_is_posted_there(name: str) -> None:
    kept = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert kept == DRAWINGS[name](), "run: python -m tests.fakes.drawings"


def test_what_somebody_wrote_is_no_markup_in_a_drawing() -> None:
    assert "<script>" not in "".join(made() for made in DRAWINGS.values())
