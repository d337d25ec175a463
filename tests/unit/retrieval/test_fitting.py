import pytest

from router.retrieval.selection import (
    Judged,
    Signs,
    Thresholds,
    Verdict,
    fitted_thresholds,
    prompt_tokens,
    verdict,
    within_budget,
)
from tests.unit.retrieval.capabilities import BALANCE, LEAVE, OFFICE


def judged(
    known: float,
    margin: float,
    *,
    wanted: bool = True,
    right: bool = True,
    needs_tool: float = 0.9,
) -> Judged:
    return Judged(Signs(known, needs_tool, margin), wanted, right)


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        (Signs(0.9, 0.9, 3.0), "clear"),
        (Signs(0.9, 0.9, 0.2), "several"),
        (Signs(0.2, 0.9, 3.0), "none"),
        (Signs(0.9, 0.01, 3.0), "none"),
    ],
)
def test_a_verdict_is_read_from_the_signs(signs: Signs, expected: Verdict) -> None:
    assert verdict(signs, Thresholds()) == expected


def test_thresholds_part_wanted_from_unwanted_and_sure_from_unsure() -> None:
    rows = [judged(0.8, 2.0 + i / 100) for i in range(40)]
    rows += [judged(0.7, 0.5, right=i % 2 == 0) for i in range(20)]
    rows += [judged(0.3, 1.0, wanted=False, right=False) for _ in range(20)]
    found = fitted_thresholds(rows)
    assert 0.3 < found.known <= 0.7
    assert 0.5 < found.margin <= 2.0
    assert found.needs_tool <= 0.5


def test_nothing_to_learn_from_leaves_the_defaults() -> None:
    assert fitted_thresholds([]) == Thresholds()
    assert fitted_thresholds([judged(0.4, 1.0, wanted=False)]) == Thresholds()


def test_where_nothing_is_ever_right_clear_is_hardly_ever_said() -> None:
    rows = [judged(0.9, margin / 10, right=False) for margin in range(30)]
    assert fitted_thresholds(rows).margin == pytest.approx(2.9)


def test_the_budget_takes_the_first_and_passes_over_what_is_too_large() -> None:
    large = LEAVE.model_copy(update={"parameters": {"x": "很长" * 500}})
    small = prompt_tokens(BALANCE)
    assert within_budget([BALANCE, large, *OFFICE[2:]], 4 * small + 20, 3)[0] == BALANCE
    assert large not in within_budget([BALANCE, large, OFFICE[2]], 3 * small, 3)
    assert within_budget([large], 1, 3) == [large]
    assert within_budget([], 100, 3) == []


def test_a_chinese_character_costs_more_than_a_letter() -> None:
    wide, narrow = (LEAVE.model_copy(update={"name": text * 70}) for text in ("假", "a"))
    assert prompt_tokens(wide) - prompt_tokens(narrow) == pytest.approx(50, abs=1)
