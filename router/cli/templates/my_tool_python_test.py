"""What `my_tool` answers, and what it refuses."""

import pytest

from router.cli.templates.my_tool import my_tool
from router.sdk import ArgumentsToolError
from router.testing import call_tool, make_context


def test_it_tells_what_was_asked_and_by_whom() -> None:
    found = call_tool(my_tool, {"topic": " two  words "}, context=make_context("bob"))
    assert found == {"topic": "two words", "words": 2, "asked_by": "bob"}


def test_a_blank_topic_is_refused() -> None:
    with pytest.raises(ArgumentsToolError, match="write a few words"):
        call_tool(my_tool, {"topic": "   "})
