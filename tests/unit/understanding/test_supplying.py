"""Supplying later what was left empty: `补充附件`, `attach a file`."""

from datetime import datetime

import pytest

from router.domain.commands import Command, FillSlots
from router.domain.messages import Message
from router.flow.paused import Situation
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView
from router.understanding.reader import Reader
from tests.unit.understanding.flows import EMPLOYEE, FLOWS, LEAVE
from tests.unit.understanding.test_answers import asking

SUNDAY = datetime.fromisoformat("2026-11-22T10:00+08:00")
READER = Reader(FLOWS)
NOTE = Slot.model_validate(
    {
        "type": "file",
        "required": False,
        "=skippable": True,
        "ask": {"zh": "有附件吗？", "en": "Any attachment?"},
        "label": {"zh": "附件", "en": "Attachment"},
    }
)
ABOUT = Slot.model_validate(
    {
        "type": "text",
        "ask": {"zh": "内容？", "en": "About what?"},
        "label": {"zh": "内容", "en": "Contents"},
    }
)
CHANGE = Slot.model_validate(
    {
        "type": "choice",
        "choices": {
            "about": {"label": {"zh": "内容", "en": "Contents"}},
            "note": {"label": {"zh": "附件", "en": "Attachment"}},
            "nothing": {"label": {"zh": "不改了", "en": "Leave it as it is"}},
        },
    }
)


def heard(view: FlowView, typed: str) -> Command | None:
    situation = Situation(now=SUNDAY, locale="zh", roles=EMPLOYEE, active=view)
    commands = READER.read(Message(text=typed), situation).commands
    return commands[0] if commands else None


def confirming() -> FlowView:
    view = asking(LEAVE, None, {"about": "buy a desk"}, "confirming")
    return view.model_copy(update={"fillable": {"about": ABOUT, "note": NOTE}})


def changing() -> FlowView:
    view = asking(LEAVE, "change", {"about": "buy a desk"})
    return view.model_copy(update={"fillable": {"about": ABOUT, "note": NOTE, "change": CHANGE}})


@pytest.mark.parametrize("view", [confirming(), changing()], ids=["confirming", "changing"])
@pytest.mark.parametrize(
    "typed",
    [
        "补充附件",
        "加一个附件",
        "上传附件",
        "我要补一下附件",
        "add an attachment",
        "the attachment please",
    ],
)
def test_what_was_left_empty_is_asked_for(view: FlowView, typed: str) -> None:
    assert heard(view, typed) == FillSlots(slots={"change": "note"})


@pytest.mark.parametrize("typed", ["加一个内容", "附件在桌上"])
def test_anything_else_is_not_that(typed: str) -> None:
    assert heard(confirming(), typed) != FillSlots(slots={"change": "note"})
