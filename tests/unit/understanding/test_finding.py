"""Texts that a sentence names as the flow's file describes it."""

from datetime import datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

import flows
from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.flow.loader import load_flow
from router.flow.view import FlowView
from router.understanding.corrections.values import put_right
from router.understanding.slots.prefill import prefill

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


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("去北京", {"destination": "北京"}),
        ("还是去北京吧", {"destination": "北京"}),
        ("不对，是去北京", {"destination": "北京"}),
        ("I'm going to Berlin", {"destination": "Berlin"}),
        ("去上海", None),
        ("去北京要花多少钱？", None),
    ],
)
def test_another_place_is_a_correction(
    trip: FlowDefinition, text: str, corrected: dict[str, str] | None
) -> None:
    known: dict[str, JsonValue] = {
        "destination": "上海",
        "start": "2026-11-23",
        "end": "2026-11-25",
    }
    assert put_right(confirming(trip, known), Utterance.of(text, NOW)) == corrected


def confirming(flow: FlowDefinition, slots: dict[str, JsonValue]) -> FlowView:
    return FlowView(
        id="run",
        flow=flow.flow,
        title=flow.title,
        version=1,
        status="confirming",
        state="review",
        question="review:1:",
        awaiting=[],
        slots=slots,
        fillable=flow.slots,
    )
