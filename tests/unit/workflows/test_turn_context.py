"""A turn's context: what everything in the turn agrees on."""

from datetime import UTC, datetime

from router.contracts.conversation import Submission
from router.domain.messages import Message
from router.domain.principals import Principal
from workflows.turns import TurnContext


def test_a_turn_has_one_time_which_is_when_it_began_where_its_sender_is() -> None:
    began = datetime(2026, 11, 30, 15, 59, 59, tzinfo=UTC)
    sender = Principal(id="alice", name="Alice", tenant="default", timezone="Asia/Shanghai")
    submission = Submission(message_id="m1", message=Message(text="明天请假"), caller=sender)

    message = TurnContext("c1", "zh", submission, began, seen="")

    assert message.now.isoformat() == "2026-11-30T23:59:59+08:00"
