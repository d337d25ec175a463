import pytest

from router.domain.locale import Localised
from router.domain.principals import Capability
from router.evaluation.figures import judged
from router.retrieval.selection import RetrievedCandidate, Selection, Signs

SIGNS = Signs(0.9, 0.8, 1.2)


def found(*names: str) -> Selection:
    title = Localised(zh="x", en="x")
    candidates = [
        RetrievedCandidate(Capability(kind="tool", name=name, title=title, description=title), 0.5)
        for name in names
    ]
    return Selection(tuple(candidates), "several", SIGNS)


@pytest.mark.parametrize(
    ("label", "candidates", "wanted", "right"),
    [
        ("a", ["a", "b"], True, True),
        ("b", ["a", "b"], True, False),
        ("a", [], True, False),
        ("none", ["a"], False, False),
        ("reply", ["a"], False, False),
    ],
)
def test_a_label_says_whether_anything_was_wanted_and_whether_the_first_was_it(
    label: str, candidates: list[str], wanted: bool, right: bool
) -> None:
    row = judged(label, found(*candidates), {"a", "b"})
    assert (row.signs, row.wanted, row.right) == (SIGNS, wanted, right)
