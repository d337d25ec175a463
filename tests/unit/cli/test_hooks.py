"""`intent-router hooks`, and what `doctor` says of them."""

import json

import pytest

from router.cli.checks import configuration
from router.domain.errors import MisconfiguredError
from router.domain.hooks import ToolEvent
from router.runtime.definitions import load_registry
from router.settings import Settings
from router.tool.hook import hook
from router.tool.registry import Registry
from tests.unit.cli.conftest import Run


@hook("before_tool", tools=["get_leave_balances"])
async def misled(event: ToolEvent) -> None:
    """Is about a tool that isn't there."""


def test_each_is_listed_with_where_it_stands_and_what_it_is_for(run: Run) -> None:
    (line,) = run.printed("hooks").splitlines()
    words = ["before_decision", "keep_pay_private", "2s", "optional", "pay.py"]
    assert line.split()[:5] == words
    assert line.endswith("Refuses questions about what others are paid, but to human resources.")


def test_as_json_it_says_all_there_is_to_know(run: Run) -> None:
    (found,) = json.loads(run.printed("hooks", "--json"))
    assert (found["point"], found["timeout"], found["required"]) == ("before_decision", 2.0, False)
    assert found["phrases"]
    assert ":" in found["source"]


def test_what_keeps_one_from_being_called_is_said() -> None:
    registry = Registry()
    registry.hooks.swap([], [misled])
    (wrong,) = registry.misfit_hooks(Settings.load())
    assert "the hook misled is about get_leave_balances" in wrong


async def test_the_doctor_names_them_and_fails_where_one_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await configuration.hooks(Settings.load()) == "keep_pay_private (before_decision)"
    registry = load_registry(Settings.load())
    registry.hooks.swap([], [misled])
    monkeypatch.setattr(configuration, "load_registry", lambda _: registry)
    with pytest.raises(MisconfiguredError, match="did you mean get_leave_balance"):
        await configuration.hooks(Settings.load())
