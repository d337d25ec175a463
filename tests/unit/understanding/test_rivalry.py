"""Whose sentences are whose: examples said to all flows at once."""

from typing import Any

from router.flow.definition import FlowDefinition
from router.understanding.triggers.patterns import Rivalry, rivalries

WORDS = {"zh": "好", "en": "well"}


def flow(name: str, **triggers: Any) -> FlowDefinition:
    whole = {"flow": name, "title": WORDS, "description": WORDS, "triggers": triggers}
    return FlowDefinition.model_validate(
        {**whole, "start": "end", "states": {"end": {"end": "completed"}}}
    )


def found(*flows: FlowDefinition) -> list[Rivalry]:
    return list(rivalries(flows))


ROOMS = flow("rooms", patterns=["会议室"], examples=["订一个会议室"])


def test_flows_that_leave_each_others_sentences_alone_are_no_rivals() -> None:
    cars = flow("cars", patterns=["用车"], examples=["我要用车", "帮我叫个司机"])
    assert found(ROOMS, cars) == []


def test_an_example_that_starts_both_is_shared() -> None:
    booking = flow("booking", patterns=["^订"], examples=["订餐"])
    assert found(ROOMS, booking) == [Rivalry("rooms", 0, "shared", "booking", "^订")]


def test_an_example_that_starts_only_another_flow_is_taken() -> None:
    screens = flow(
        "screens", patterns=["投影"], examples=["会议室里放投影的那个幕布坏了"], unless=["幕布"]
    )
    kinds = [(rivalry.kind, rivalry.by) for rivalry in found(ROOMS, screens)]
    assert kinds == [("taken", "rooms")]


def test_what_another_flow_excludes_is_not_its_own() -> None:
    booking = flow("booking", patterns=["^订"], unless=["会议室"], examples=["订餐"])
    assert found(ROOMS, booking) == []


def test_a_guard_that_holds_keeps_a_flow_from_taking_a_sentence() -> None:
    asking = flow(
        "faq", patterns=["怎么"], examples=["怎么订会议室"], without=["how-or-what", "question"]
    )
    assert found(ROOMS, asking) == []


def test_a_topic_takes_what_asks_for_it() -> None:
    topical = flow("topical", topics=["会议室"], examples=["我要会议室"])
    kinds = {(rivalry.flow, rivalry.kind) for rivalry in found(ROOMS, topical)}
    assert ("topical", "shared") in kinds


def test_roles_do_not_hide_a_rival() -> None:
    hr = flow("hr", patterns=["^订"], roles=["hr"], examples=["订餐"])
    assert [rivalry.kind for rivalry in found(ROOMS, hr)] == ["shared"]


def test_an_example_that_its_own_guards_refuse_is_blocked() -> None:
    one = flow("rooms", patterns=["会议室"], unless=["取消"], examples=["取消会议室"])
    assert found(one) == [Rivalry("rooms", 0, "blocked", "取消", "会议室")]
