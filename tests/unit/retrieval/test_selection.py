"""Thresholds: fitted, and in their file."""

from dataclasses import replace
from pathlib import Path

import pytest

from router.domain.errors import MisconfiguredError
from router.retrieval.selection import (
    Judged,
    SearchVerdict,
    Signs,
    Thresholds,
    fitted_thresholds,
    prompt_tokens,
    read_thresholds,
    verdict,
    within_budget,
    write_thresholds,
)
from tests.table import each_row
from tests.unit.retrieval.capabilities import BALANCE, LEAVE, OFFICE


def judged(known: float, margin: float, *, wanted: bool = True, right: bool = True) -> Judged:
    return Judged(Signs(known, 0.9, margin), wanted, right)


@each_row(
    ("signs", "expected"),
    [
        (Signs(0.9, 0.9, 3.0), "clear"),
        (Signs(0.9, 0.9, 1.2), "several"),
        (Signs(0.2, 0.9, 3.0), "none"),
        (Signs(0.9, 0.01, 3.0), "none"),
        (Signs(0.2, 0.9, 3.0, by_card=True), "clear"),
        (Signs(0.9, 0.05, 3.0, by_card=True), "clear"),
        (Signs(0.9, 0.9, 2.5, by_card=True), "several"),
        (Signs(0.01, 0.9, 3.0, by_card=True), "none"),
        (Signs(0.9, 0.001, 3.0, by_card=True), "none"),
    ],
)
def test_a_verdict_is_read_from_the_signs(signs: Signs, expected: SearchVerdict) -> None:
    assert verdict(signs, Thresholds()) == expected


def test_thresholds_part_wanted_from_unwanted_and_sure_from_unsure() -> None:
    rows = [judged(0.8, 2.0 + i / 100) for i in range(40)]
    rows += [judged(0.7, 0.5, right=i % 2 == 0) for i in range(20)]
    rows += [judged(0.3, 1.0, wanted=False, right=False) for _ in range(20)]
    found = fitted_thresholds(rows)
    assert 0.3 < found.known <= 0.7
    assert 0.5 < found.margin <= 2.0
    assert found.needs_tool <= 0.5


def test_nearly_every_right_choice_is_within_the_places_and_above_the_score() -> None:
    signs = Signs(0.9, 0.9, 1.0)
    rows = [Judged(signs, True, n == 0, place=n % 4, score=0.2 + n / 100) for n in range(60)]
    rows += [Judged(signs, True, False)]
    found = fitted_thresholds(rows)
    assert found.places == 4
    assert 0.2 <= found.choice <= 0.22


def test_cards_and_examples_have_thresholds_of_their_own() -> None:
    rows = [judged(0.8, 2.0) for _ in range(20)]
    rows += [judged(0.6, 1.0, wanted=False, right=False) for _ in range(20)]
    bare = Signs(0.3, 0.4, 3.0, by_card=True)
    rows += [Judged(bare, wanted=True, right=True) for _ in range(20)]
    rows += [Judged(replace(bare, known=0.1), wanted=False, right=False) for _ in range(20)]
    found = fitted_thresholds(rows)
    assert (found.known, found.known_by_card) == (0.8, 0.3)
    assert (found.needs_tool, found.needs_tool_by_card) == (0.5, 0.4)
    assert (found.margin, found.margin_by_card) == (2.0, 3.0)
    assert fitted_thresholds(rows[:40]).margin_by_card == Thresholds().margin_by_card


def test_nothing_to_learn_from_leaves_the_defaults() -> None:
    assert fitted_thresholds([]) == Thresholds()
    assert fitted_thresholds([judged(0.4, 1.0, wanted=False)]) == Thresholds()


def test_where_nothing_is_ever_right_clear_is_hardly_ever_said() -> None:
    rows = [judged(0.9, margin / 10, right=False) for margin in range(30)]
    assert fitted_thresholds(rows).margin == pytest.approx(2.9)


@each_row(
    "content",
    [
        *('{"choice": -1}', '{"choice": "low"}', '{"places": 0}', '{"places": 2.5}'),
        *('{"places": true}', '{"places": 99}', '{"reliability": 1}', '{"reliability": [[1]]}'),
        *('{"reliability": [[0.1, 2]]}', '{"reliability": [["a", 0.5]]}'),
    ],
)
def test_a_file_of_no_use_is_refused_with_what_would_be(content: str, tmp_path: Path) -> None:
    file = tmp_path / "thresholds.json"
    file.write_text(content)
    with pytest.raises(MisconfiguredError, match="which has to be"):
        read_thresholds(file)


def test_thresholds_come_back_as_they_were_kept(tmp_path: Path) -> None:
    kept = Thresholds(0.4, 0.2, 1.5, 2.5, 0.02, 4, ((0.0, 0.3), (0.5, 0.9)))
    write_thresholds(tmp_path / "thresholds.json", kept)
    assert read_thresholds(tmp_path / "thresholds.json") == kept


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


@each_row(("margin", "read"), [(0.7, 0.7), (float("inf"), 1000)])
def test_what_was_written_is_read(tmp_path: Path, margin: float, read: float) -> None:
    path = tmp_path / "new" / "thresholds.json"
    write_thresholds(path, Thresholds(known=0.4, needs_tool=0.05, margin=margin))
    assert read_thresholds(path) == Thresholds(known=0.4, needs_tool=0.05, margin=read)


def test_what_a_file_leaves_out_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    path.write_text('{"known": 1}')
    assert read_thresholds(path) == Thresholds(known=1.0)


@each_row(
    ("content", "said"),
    [
        (b"", "isn't JSON"),
        (b"\xff", "isn't JSON"),
        (b"[" * 100_000, "isn't JSON"),
        (b"[]", "holds list, not an object"),
        (b'{"margins": 1}', "has 'margins', and there are known, needs_tool, margin"),
        (b'{"known": "0.5"}', "has known = 0.5, which has to be a number, 0 to 1000"),
        (b'{"known": true}', "has known = True"),
        (b'{"known": -0.1}', "has known = -0.1"),
        (b'{"margin": NaN}', "has margin = nan"),
        (b'{"margin": 1e999}', "has margin = inf"),
        (b'{"margin": 1' + b"0" * 400 + b"}", "has margin = 1000"),
    ],
)
def test_all_else_is_refused_with_what_to_do(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "thresholds.json"
    path.write_bytes(content)
    with pytest.raises(MisconfiguredError) as refused:
        read_thresholds(path)
    assert str(refused.value).startswith(f"ROUTER_THRESHOLDS={path} ")
    assert said in str(refused.value)
    assert "eval FILE --fit DEV" in str(refused.value)


def test_a_file_that_is_not_there_or_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match=r"nowhere\.json can't be read \(No such file"):
        read_thresholds(tmp_path / "nowhere.json")
    (tmp_path / "file").touch()
    with pytest.raises(MisconfiguredError, match=r"thresholds\.json can't be written"):
        write_thresholds(tmp_path / "file" / "thresholds.json", Thresholds())
