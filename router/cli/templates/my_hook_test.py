"""When `my_hook` refuses, and when it lets pass."""

from datetime import timedelta

import pytest

from router.cli.templates.my_hook import CLOSED, my_hook
from router.sdk import Veto
from router.testing import NOW, call_hook


@pytest.mark.parametrize(("days", "answer"), [(2, Veto(say=CLOSED)), (1, None)])
def test_it_refuses_on_fridays_alone(days: int, answer: Veto | None) -> None:
    assert call_hook(my_hook, now=NOW + timedelta(days=days), text="please") == answer


def test_it_is_asked_about_what_it_is_for() -> None:
    assert my_hook.is_about_words("is there a sample request")
    assert not my_hook.is_about_words("is there anything else")
