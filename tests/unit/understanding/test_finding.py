"""Texts that a sentence names as the flow's file describes it."""

from datetime import datetime
from pathlib import Path

import pytest

import flows
from router.flow.loader import load_flow
from router.flow.model import FlowDefinition
from router.understanding.prefill import prefill
from router.understanding.utterance import Utterance

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")


@pytest.fixture(scope="module")
def trip() -> FlowDefinition:
    return load_flow(Path(next(iter(flows.__path__))) / "business_trip.yaml")


@pytest.mark.parametrize(
    ("text", "destination"),
    [
        ("我下周一到周三要去上海出差，拜访客户", "上海"),
        ("下周三去北京见客户，出差两天", "北京"),
        ("申请到深圳出差", "深圳"),
        ("去杭州分公司培训三天", "杭州"),
        ("我要飞成都出差，12月1日到3日", "成都"),
        ("business trip to Berlin next week", "Berlin"),
        ("I have to travel to New York for a trade fair", "New York"),
        ("下周一到周三出差", None),
        ("我要出差", None),
        ("apply for a business trip", None),
    ],
)
def test_a_sentence_names_where_it_goes(
    trip: FlowDefinition, text: str, destination: str | None
) -> None:
    assert prefill(trip.slots, Utterance.of(text, NOW)).get("destination") == destination
