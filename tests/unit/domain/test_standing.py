"""How a document stands at a moment, of all its activations."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from router.domain.configuration_documents import Activation, DocumentStanding, standing
from tests.table import each_row

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


class Line(NamedTuple):
    """An activation: of which version, for how many, minutes from now, whether taken back."""

    version: int | None
    share: int = 100
    after: int | None = None
    taken_back: bool = False


def made(*lines: Line) -> DocumentStanding:
    return standing(
        [
            Activation(
                sequence=number,
                tenant="acme",
                kind="flows",
                name="overtime",
                version=line.version,
                activated_by="olga",
                activated_at=NOW - timedelta(hours=1),
                holds_from=None if line.after is None else NOW + timedelta(minutes=line.after),
                share=line.share,
                taken_back_at=NOW if line.taken_back else None,
            )
            for number, line in enumerate(lines)
        ],
        NOW,
    )


V1, V2, V3 = Line(1), Line(2), Line(3)
CASES: dict[str, tuple[list[Line], int | None, int | None, list[int | None], list[int | None]]] = {
    "nothing": ([], None, None, [], []),
    "one": ([V1], 1, None, [], [1]),
    "the-newest": ([V1, V2], 2, None, [], [2]),
    "retired": ([V1, Line(None)], None, None, [], [None]),
    "a-share": ([V1, Line(2, 10)], 1, 2, [], [2]),
    "a-share-of-what-was-a-file": ([Line(2, 10)], None, 2, [], [2]),
    "a-larger-share": ([V1, Line(2, 10), Line(2, 50)], 1, 2, [], [2, 2]),
    "a-share-that-became-everybody": ([V1, Line(2, 10), V2], 2, None, [], [2, 2]),
    "something-else-after-a-share": ([V1, Line(2, 10), V3], 3, None, [], [3]),
    "taken-back": ([V1, Line(2, taken_back=True)], 1, None, [], [1]),
    "all-taken-back": ([Line(1, taken_back=True)], None, None, [], []),
    "to-come": ([V1, Line(2, after=5)], 1, None, [2], [1]),
    "its-moment-is-now": ([V1, Line(2, after=0)], 2, None, [], [2]),
    "its-moment-was": ([V1, Line(2, after=-5)], 2, None, [], [2]),
    "called-off": ([V1, Line(2, after=5, taken_back=True)], 1, None, [], [1]),
    "to-come-for-a-share": ([V1, Line(2, 10, after=5)], 1, None, [2], [1]),
    "two-to-come-the-next-first": ([Line(3, after=9), Line(2, after=5)], None, None, [2, 3], []),
    "planned-later-than-its-moment-began": ([Line(2, after=-5), V1], 2, None, [], [2]),
}


@each_row(("lines", "whole", "shared", "upcoming", "rolled_back"), CASES.values(), ids=CASES)
def test_what_counts_of_them(
    lines: list[Line],
    whole: int | None,
    shared: int | None,
    upcoming: list[int | None],
    rolled_back: list[int | None],
) -> None:
    found = made(*lines)
    assert (found.whole and found.whole.version) == whole
    assert (found.shared and found.shared.version) == shared
    assert [each.version for each in found.upcoming] == upcoming
    assert [each.version for each in found.rolled_back] == rolled_back


def test_what_held_before_is_told_the_newest_first_without_what_was_taken_back() -> None:
    found = made(V1, Line(2, taken_back=True), V3, Line(4, 10), V2)
    assert [each.version for each in found.before] == [4, 3, 1]
