import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from router.entities.extraction import Entity, entities_of
from router.entities.utterance import Utterance
from tests.table import each_row
from tests.unit.entities.tables import typed

DATA = Path(__file__).parent / "data"
NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")
LABELLED = {"date", "date_range", "duration", "money"}
HAN = re.compile("[\u4e00-\u9fff]")


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def entities(typed: str, now: datetime = NOW) -> list[Entity]:
    said = Utterance.of(typed, now)
    return entities_of(said.normalised, said.things)


def read(typed: str, now: datetime = NOW) -> list[dict[str, Any]]:
    found = entities(typed, now)
    return [{"type": e.type, "value": e.value} for e in found]


def labelled(line: dict[str, Any]) -> list[dict[str, Any]]:
    found = read(line["text"], datetime.fromisoformat(line["now"]))
    return [e for e in found if e["type"] in LABELLED]


def in_any_order(entities: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(entity, sort_keys=True) for entity in entities)


@each_row("line", lines("entities_dev.jsonl"), ids=lambda line: line["text"])
def test_the_development_set_is_read_exactly(line: dict[str, Any]) -> None:
    assert labelled(line) == line["entities"]


@pytest.mark.slow
@each_row(("language", "chinese"), [("zh", True), ("en", False)])
@each_row(("name", "most"), [("entities_2", 0.01), ("entities_unseen", 0.025)])
def test_sentences_of_strangers_are_read_exactly(
    name: str, most: float, language: str, chinese: bool
) -> None:
    """Nothing was fitted to the unseen ones: where they fail, don't look at their file."""
    of_language = [
        line for line in lines(f"{name}.jsonl") if bool(HAN.search(line["text"])) == chinese
    ]
    missed = [
        line["text"]
        for line in of_language
        if in_any_order(labelled(line)) != in_any_order(line["entities"])
    ]
    assert len(missed) <= most * len(of_language), f"{len(missed)} of {len(of_language)}"


def test_spans_and_texts_are_those_of_the_message_as_typed() -> None:
    typed = "帮我请年假， 下 周 一 到 周 三，花了 ￥５８"
    for entity in entities(typed):
        start, end = entity.span
        assert typed[start:end] == entity.text
    assert [e.text for e in entities(typed)] == ["下 周 一 到 周 三", "￥５８"]


@each_row(
    ("typed", "expected"),
    {
        "好的": [{"type": "boolean", "value": True}],
        "不对": [{"type": "boolean", "value": False}],
        "3.50": [{"type": "number", "value": "3.5"}],
        "下午3点": [{"type": "time", "value": "15:00"}],
        "明天请一天假": [
            {"type": "date", "value": "2026-11-19"},
            {"type": "duration", "value": {"days": 1}},
        ],
        "昨天打车58元": [
            {"type": "date", "value": "2026-11-17"},
            {"type": "money", "value": {"amount": "58.00", "currency": "CNY"}},
        ],
        "from Monday the 23rd to Friday": [
            {"type": "date_range", "value": {"start": "2026-11-23", "end": "2026-11-27"}}
        ],
    }.items(),
)
def test_every_type_has_its_shape(typed: str, expected: list[dict[str, Any]]) -> None:
    assert read(typed) == expected


@typed("五一广场  我在三楼开会  version 2.5.1  March on  请假流程是什么  周杰伦的歌  hello")
def test_nothing_where_there_is_nothing(typed: str) -> None:
    assert read(typed) == []


def test_today_is_the_day_of_the_speaker_not_of_utc() -> None:
    night = datetime.fromisoformat("2026-11-19T00:30+08:00")
    assert read("明天", night) == [{"type": "date", "value": "2026-11-20"}]
