"""Expressions that go back over a text are known as such, and none reads what anybody writes."""

import pytest

from router.flow.slot_types.structures import pieces
from router.llm.calls import calls_in
from router.secrecy.redaction import bare_addresses
from tests.expressions import ANCHORED, backtracking, slow
from tests.table import each_row

SLOW = (
    r"<chat_history>\s*(.*?)\s*</chat_history>",
    r"^(a|a)*$",
    r"(a+)+$",
    r"\s+$",
    r"\{\{.*?\}\}",
    r"[a-z]+@[a-z]+",
    r"(?i:x)[^y]*y",
    r"\d++\.\d",
)
QUICK = (
    r"[a-z0-9]+(?:-[a-z0-9]+)*",
    r'"[^"]*"',
    r"<[^<>]*>",
    r"\s{1,99}(?:and|&)\s{1,99}",
    r"(?:[!#-\[\]-~]|\\.)+",
    r"(?<!\d)\d++\.\d",
    r"(?<=\S)\s*+和",
    r"\b\w++:",
)


@each_row("source", SLOW)
def test_an_expression_that_goes_back_is_known(source: str) -> None:
    assert slow(source)


@each_row("source", QUICK)
def test_one_whose_loops_end_in_one_place_is_let_be(source: str) -> None:
    assert not slow(source, 0, ANCHORED)
    assert not slow(source)


def test_a_module_with_one_names_it() -> None:
    written = 'import re\nHIDDEN = re.compile(r"\\s*;\\s*")\nHIDDEN.split("")\n'
    assert ("router/anything.py HIDDEN", 2) in backtracking({"router/anything.py": written})


@pytest.mark.slow
def test_a_long_run_holds_nobody_up() -> None:
    run = 300_000
    assert pieces(f"milk{' ' * run}x") == [f"milk{' ' * run}x"]
    assert len(pieces(f"a, b{' ' * run}c")) == 2
    assert calls_in(f"find({'a' * run})", {"find"}, is_json=False).calls == ()
    assert bare_addresses("a" * run) == "a" * run
