"""What the house logs while people talk: never what they said."""

import io
import logging
from collections.abc import Iterator

import pytest

from router.domain.errors import PermanentToolError
from router.domain.locale import Localised
from router.secrecy.redaction import redact_logs
from tests.workflow.desk import Talk, flow_of
from tests.workflow.test_tool_errors import look_that_raises
from tests.workflow.tooled import Tooled, chosen

WORDS = ("外婆九十大寿", "玩得开心啊小爱", "quetzalcoatl")
REASON, COMMENT, FAULT = WORDS


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """All that a process that logs at INFO writes."""
    root, stream = logging.getLogger(), io.StringIO()
    handler, level = logging.StreamHandler(stream), root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    redact_logs()
    yield stream
    root.setLevel(level)
    root.removeHandler(handler)


async def test_no_word_said_is_logged(talk: Talk, tooled: Tooled, written: io.StringIO) -> None:
    await talk.say("我要请年假，12月7日到8日")
    await talk.say(REASON)
    turn = await talk.say("确认")
    run = flow_of(turn).id
    await talk.approver("bob").decide(run, "approve", comment=COMMENT)
    refused = PermanentToolError(Localised(zh=FAULT, en=FAULT))
    async with tooled([look_that_raises(refused)]) as other:
        turn = await chosen(other, "look")
    assert FAULT in turn.replies[0].text
    assert "Completing activity as failed" in written.getvalue()
    assert not [word for word in WORDS if word in written.getvalue()]
