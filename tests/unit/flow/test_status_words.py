"""One way of standing has one name, wherever people read it."""

from typing import get_args

import pytest

from router.domain.locale import LOCALES
from router.domain.messages import FlowStatus
from router.drawing.flowchart import Graph, Node
from router.flow.prompts.field_names import VALUES
from router.flow.view import STATUSES


def test_every_status_of_a_run_has_words_and_nothing_else_has() -> None:
    assert STATUSES.keys() == set(get_args(FlowStatus))
    assert all(words.within(locale) for words in STATUSES.values() for locale in LOCALES)


@pytest.mark.parametrize("status", ["completed", "rejected", "cancelled", "failed", "expired"])
def test_a_list_and_a_picture_call_it_the_same(status: str) -> None:
    end = Node("over", "say", "over", (), end=status)
    picture = Graph("leave", 1, "请假", "zh", "over", (end,), ())
    assert VALUES["status"][status] in picture.summary
