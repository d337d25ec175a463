"""When `my_hook` refuses, and when it lets pass."""

import asyncio
from datetime import UTC, datetime

import pytest

from router.cli.templates.my_hook import CLOSED, my_hook
from router.domain.hooks import DecisionEvent, Veto
from router.domain.principals import Principal
from router.tool.context import Dependencies

ALICE = Principal(id="alice", name="Alice")


def answer(day: int) -> object:
    now = datetime(2026, 11, day, 10, tzinfo=UTC)
    event = DecisionEvent(caller=ALICE, locale="en", now=now, message_id="m", text="please")
    return asyncio.run(my_hook.call(event, Dependencies()))


@pytest.mark.parametrize(("day", "heard"), [(20, Veto(say=CLOSED)), (19, None)])
def test_it_refuses_on_fridays_alone(day: int, heard: Veto | None) -> None:
    assert answer(day) == heard


def test_it_is_asked_about_what_it_is_for() -> None:
    assert my_hook.is_about_words("is there a sample request")
    assert not my_hook.is_about_words("is there anything else")
