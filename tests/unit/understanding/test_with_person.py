"""While a conversation is with a person everything is theirs to hear, but what goes back."""

from datetime import datetime
from typing import Any

from router.domain.commands import Command, LeavePerson, PassOn, ReplyText
from router.domain.hand_offs import BACK
from router.domain.messages import Message
from router.flow.paused import Situation
from router.understanding.reader import Reader
from tests.table import each_row

SITUATION = Situation(
    now=datetime.fromisoformat("2026-11-18T10:00:00+08:00"),
    locale="zh",
    roles=frozenset({"employee"}),
    handed_off=True,
)


def command_of(**message: Any) -> Command:
    reading = Reader([]).read(Message.model_validate(message), SITUATION)
    assert reading.route is not None
    (command,) = reading.commands
    return command


@each_row(
    "text",
    [
        *("/back", "/Back", "交还", "交还助手", "回到助手吧", "请转回机器人", "不用人工了", "取消"),
        *("算了", "back to the desk", "please go back to the bot", "cancel", "never mind"),
    ],
)
def test_a_whole_wish_to_go_back_goes_back(text: str) -> None:
    assert command_of(text=text) == LeavePerson()


@each_row(
    "text",
    [
        *(
            "我要请假",
            "转人工",
            "帮助",
            "取消我周五的假可以吗",
            "助手说不能交还",
            "我想回到助手那个页面看看",
        ),
        *("/backup", "help", "talk to a human", "can you cancel my Friday?", "你好", "谢谢"),
        "I was told to go back to the desk, is that right?",
    ],
)
def test_anything_else_is_for_the_person(text: str) -> None:
    assert command_of(text=text) == PassOn()


def test_files_are_for_the_person_whatever_is_said_with_them() -> None:
    assert command_of(files=["f1"]) == PassOn()
    assert command_of(text="取消", files=["f1"]) == PassOn()


@each_row(
    "action",
    [
        {"type": "confirm", "value": True},
        {"type": "form", "values": {"days": 3}},
        {"type": "choose", "value": "annual"},
        {"type": "start", "flow": "leave_request"},
        {"type": "tool_result", "tool_call_id": "1", "result": {}},
    ],
)
def test_no_button_or_form_does_anything(action: dict[str, Any]) -> None:
    assert isinstance(command_of(action=action), ReplyText)


def test_the_button_back_goes_back() -> None:
    assert command_of(action={"type": "choose", "value": BACK, "question": "old"}) == LeavePerson()
