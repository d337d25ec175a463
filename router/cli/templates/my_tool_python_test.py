"""What `my_tool` answers, and what it refuses."""

import asyncio
import logging
from datetime import UTC, datetime

import pytest

from router.cli.templates.my_tool import Found, my_tool
from router.domain.errors import ArgumentsToolError
from router.domain.principals import Principal
from router.tool.context import Dependencies, ToolContext

ALICE = Principal(id="alice", name="Alice")


def call(topic: str) -> object:
    log = logging.LoggerAdapter(logging.getLogger("my_tool"))
    context = ToolContext(ALICE, datetime(2026, 11, 18, 10, tzinfo=UTC), log)
    return asyncio.run(my_tool.call({"topic": topic}, context, Dependencies()))


def test_it_tells_what_was_asked_and_by_whom() -> None:
    assert call(" two  words ") == Found(topic="two words", words=2, asked_by="alice").model_dump()


def test_a_blank_topic_is_refused() -> None:
    with pytest.raises(ArgumentsToolError, match="write a few words"):
        call("   ")
