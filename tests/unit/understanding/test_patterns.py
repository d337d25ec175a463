import json
import time
from collections import Counter
from pathlib import Path

import pytest

from router.flow.model import FlowDefinition
from router.understanding.normalise import normalise
from router.understanding.patterns import PatternIndex
from tests.unit.understanding.flows import EMPLOYEE, EXPENSE, FLOWS, LEAVE

DATA = Path(__file__).parent / "data"
INDEX = PatternIndex([LEAVE, EXPENSE])


def lines(name: str) -> list[tuple[str, str]]:
    rows = map(json.loads, (DATA / name).read_text().splitlines())
    return [(row["text"], row["label"]) for row in rows]


def started(text: str) -> str:
    matches = INDEX.find(normalise(text), EMPLOYEE)
    flows = {match.hit.flow for match in matches if match.hit.blocked_by is None}
    return " ".join(sorted(flows)) or "none"


def flow(name: str, **triggers: object) -> FlowDefinition:
    return FlowDefinition.model_validate(
        {
            "flow": name,
            "title": {"zh": name, "en": name},
            "description": {"zh": name, "en": name},
            "triggers": triggers,
            "start": "done",
            "states": {"done": {"end": "completed"}},
        }
    )


@pytest.mark.parametrize(("text", "label"), lines("prematch_dev.jsonl"))
def test_the_development_set_starts_what_it_should(text: str, label: str) -> None:
    assert started(text) == label


def test_our_own_sentences_start_what_they_should() -> None:
    """Near misses never start a flow; of plain requests nearly all do."""
    outcomes: Counter[str] = Counter()
    wrong = []
    for text, label in lines("prematch_own.jsonl"):
        got = started(text)
        outcomes["right" if got == label else "missed" if got == "none" else "wrong"] += 1
        if got not in {label, "none"}:
            wrong.append((text, got))
    assert wrong == []
    assert outcomes["missed"] <= 0.01 * outcomes.total()


def test_a_blocked_hit_says_which_guard_blocked_it() -> None:
    (first, *_) = INDEX.find(normalise("How do I apply for leave?"), EMPLOYEE)
    assert first.hit.blocked_by == "asks how or what"


def test_a_flows_own_guard_is_named_by_its_expression() -> None:
    index = PatternIndex([flow("tea", patterns=["tea"], unless=["green tea"])])
    hits = [m.hit.blocked_by for m in index.find(normalise("some green tea"), EMPLOYEE)]
    assert hits == ["green tea"]


def test_quoted_words_start_nothing() -> None:
    assert started("我要“请假”") == "none"
    assert started('he typed "apply for leave" there') == "none"


def test_a_hit_stands_in_the_text_as_typed() -> None:
    typed = "你好， 我 要 請 假"
    spans = {typed[slice(*m.hit.span)] for m in INDEX.find(normalise(typed), EMPLOYEE)}
    assert "請 假" in spans


def test_flows_of_roles_that_are_not_held_do_not_match() -> None:
    index = PatternIndex(FLOWS)
    text = normalise("今天加班")
    assert index.find(text, EMPLOYEE) == []
    assert [m.hit.flow for m in index.find(text, frozenset({"manager"}))] == ["overtime"]


def test_named_groups_tell_where_they_stand() -> None:
    index = PatternIndex([flow("tea", patterns=["(?P<kind>green|black) tea"])])
    (match,) = index.find(normalise("A Black tea"), EMPLOYEE)
    assert match.groups == {"kind": (2, 7)}


def test_a_pattern_without_literals_is_always_tried() -> None:
    index = PatternIndex([flow("code", patterns=["^[a-z][0-9]$"]), flow("tea", patterns=["tea"])])
    assert [m.hit.flow for m in index.find(normalise("x7"), EMPLOYEE)] == ["code"]


def test_patterns_are_indifferent_to_case() -> None:
    index = PatternIndex([flow("pto", patterns=["Book PTO"])])
    assert len(index.find(normalise("book pto"), EMPLOYEE)) == 1


def test_no_flows_match_nothing() -> None:
    assert PatternIndex([]).find(normalise("我要请假"), EMPLOYEE) == []


def test_thousands_of_patterns_are_matched_in_well_under_a_millisecond_each() -> None:
    index = PatternIndex(flow(f"f{n}", patterns=[f"word{n} of many"]) for n in range(3000))
    text = normalise("this is word1234 of many")
    began = time.perf_counter()
    for _ in range(20):
        assert [m.hit.flow for m in index.find(text, EMPLOYEE)] == ["f1234"]
    assert time.perf_counter() - began < 1
