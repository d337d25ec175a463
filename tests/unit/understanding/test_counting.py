"""How many of each thing a sentence names."""

from datetime import datetime
from pathlib import Path

import pytest

import flows
from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.flow.loader import load_flow
from router.understanding.items.items import find_items

NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")


@pytest.fixture(scope="module")
def equipment() -> FlowDefinition:
    return load_flow(Path(next(iter(flows.__path__))) / "equipment_request.yaml")


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("申请一台笔记本和两个显示器", [("laptop", 1), ("monitor", 2)]),
        ("显示器两台，键盘3个", [("monitor", 2), ("keyboard", 3)]),
        ("显示器两台键盘三个", [("monitor", 2), ("keyboard", 3)]),
        ("两台显示器三个键盘", [("monitor", 2), ("keyboard", 3)]),
        ("显示器和键盘各两台", [("monitor", 2), ("keyboard", 2)]),
        ("申请笔记本 2台 显示器 4 台", [("laptop", 2), ("monitor", 4)]),
        (
            "给新人申请电脑一台、显示器两台、键鼠一套",
            [("laptop", 1), ("monitor", 2), ("keyboard", 1)],
        ),
        (
            "I need a laptop and two monitors for the new office",
            [("laptop", 1), ("monitor", 2)],
        ),
        ("monitors x 2, keyboard: 1", [("monitor", 2), ("keyboard", 1)]),
        ("another headset, please", [("headset", 1)]),
        ("25 new laptops for the team", [("laptop", 25)]),
        ("笔记本两台，显示器", [("laptop", 2), ("monitor", None)]),
        ("给新人申请电脑、显示器两台", [("laptop", None), ("monitor", 2)]),
        ("申请显示器", [("monitor", None)]),
        ("三台 27 寸显示器", [("monitor", None)]),
        ("0 monitors", [("monitor", None)]),
        ("1.5 laptops", [("laptop", None)]),
    ],
)
def test_things_are_counted_where_the_count_is_certain(
    equipment: FlowDefinition, text: str, items: list[tuple[str, int | None]]
) -> None:
    found, _ = find_items(equipment.slots["items"], Utterance.of(text, NOW))
    assert [(item.get("kind"), item.get("quantity")) for item in found] == items
