"""One way of standing has one name, wherever people read it."""

import re
from pathlib import Path
from typing import get_args

import router
from router.domain.locale import LOCALES
from router.domain.messages import ENDED, FlowStatus
from router.drawing.flowchart import FlowchartNode, Graph
from router.flow.definition import KINDS
from router.flow.engine.run_parts.approvals import Verdict
from router.flow.engine.run_parts.work import ReviewReason, Task
from router.flow.prompts.field_names import VALUES
from router.flow.view import STATUSES
from tests.table import each_row


def test_every_status_of_a_run_has_words_and_nothing_else_has() -> None:
    assert STATUSES.keys() == set(get_args(FlowStatus))
    assert all(words.within(locale) for words in STATUSES.values() for locale in LOCALES)


@each_row("status", ["completed", "rejected", "cancelled", "failed", "expired"])
def test_a_list_and_a_picture_call_it_the_same(status: str) -> None:
    end = FlowchartNode("over", "say", "over", (), end=status)
    picture = Graph("leave", 1, "请假", "zh", "over", (end,), ())
    assert VALUES["status"][status] in picture.summary


ROUTER = Path(router.__file__).parent
_NOTED = re.compile(r'\bnote\(\s*"([^"]+)"')


def test_whatever_is_noted_of_a_run_has_words_for_those_who_read_its_history() -> None:
    noted = {e for f in ROUTER.glob("flow/**/*.py") for e in _NOTED.findall(f.read_text())}
    assert {"withdrawn", "held", "undone"} <= noted
    noted |= {way for kind in KINDS.values() for way in (*kind.needs, *kind.may)}
    noted |= {
        *get_args(Verdict),
        *get_args(ReviewReason),
        "add before",
        "add after",
        "lapse",
        "idle",
    }
    noted |= {f"{status} there" for status in get_args(FlowStatus) if status in ENDED}
    noted |= {f"{kind} failed" for kind in get_args(Task.model_fields["kind"].annotation)}
    table = (ROUTER / "web" / "words.js").read_text().split("const EVENTS = {")[1].split("};")[0]
    named = set(re.findall(r'^  "?([a-z_ ]+)"?: ', table, re.MULTILINE))
    assert noted - named == set()
