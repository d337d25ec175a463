"""Many patterns at once."""

import random
import time

import pytest
import re2

from router.understanding.triggers.patterns import PatternFilter, options

SYLLABLES = [chr(code) for code in range(0x4E00, 0x5600)]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def words(count: int) -> list[str]:
    chance = random.Random(7)
    zh = ("".join(chance.choices(SYLLABLES, k=5)) for _ in range(count // 2))
    en = ("".join(chance.choices(LETTERS, k=12)) for _ in range(count - count // 2))
    return [*zh, *en]


@pytest.mark.slow
def test_as_many_distinct_literals_are_found_as_one_filter_refuses_to_hold() -> None:
    literals = words(10_000)
    one = re2.Filter()
    for literal in literals:
        one.Add(literal, options())
    with pytest.raises(re2.error):
        one.Compile()
    patterns = PatternFilter(literals)
    for place in (0, 1, 249, 250, 4999, 5000, 9999):
        assert patterns.found(f"some {literals[place]} here") == [place]
        assert patterns.expression(place).search(literals[place]) is not None
    assert patterns.found("今天天气很好 nothing of that kind") == []


def test_it_finds_what_a_loop_finds() -> None:
    literals = words(900)
    sources = [f"(?:x|{word})[0-9]?" for word in literals]
    chance = random.Random(3)
    patterns, alone = PatternFilter(sources), [re2.compile(s, options()) for s in sources]
    for length in (0, 1, 5, 50):
        text = " ".join(chance.choices(literals, k=length)).replace("x", "y")
        looped = [place for place, each in enumerate(alone) if each.search(text)]
        assert patterns.found(text) == looped


def test_a_pattern_with_more_literals_than_a_filter_holds_is_tried_on_its_own() -> None:
    names = words(6000)
    patterns = PatternFilter(["tea", f"for (?:{'|'.join(names)})", "coffee"])
    assert patterns.found(f"TEA for {names[-1]}") == [0, 1]
    assert patterns.found("coffee for nobody") == [2]


@pytest.mark.slow
def test_patterns_whose_literals_multiply_are_still_held() -> None:
    multiplied = [f"{w}(?:一|二|三|四)(?:甲|乙|丙|丁){w}" for w in words(1500)[:750]]
    patterns = PatternFilter(multiplied)
    word = words(1500)[3]
    assert patterns.found(f"{word}三丙{word}") == [3]


def test_no_patterns_find_nothing() -> None:
    assert PatternFilter([]).found("tea") == []


@pytest.mark.slow
def test_a_text_made_of_literals_costs_no_seconds() -> None:
    literals = words(10_000)
    patterns = PatternFilter(f"{word}!" for word in literals)
    text = "".join(random.Random(5).choices(literals, k=1100))[:8000]
    began = time.thread_time()
    assert patterns.found(text) == []
    assert time.thread_time() - began < 0.5
