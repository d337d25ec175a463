"""What docs/hooks.md shows is declared, found, and answers as it says."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from activities import provided
from router.directory.file import SAMPLE, FileDirectory
from router.domain.hooks import (
    EVENTS,
    Advice,
    DecisionEvent,
    ToolEvent,
    VerdictEvent,
    Veto,
)
from router.domain.principals import DEFAULT_TENANT
from router.tool.context import Dependencies
from router.tool.hook import Hook
from tests.docs.snippets import ROOT, snippets_of


@pytest.fixture(scope="module")
def shown() -> Mapping[str, Hook]:
    names: dict[str, Any] = {}
    for snippet in snippets_of(ROOT / "docs" / "hooks.md"):
        assert snippet.language == "python"
        exec(compile(snippet.text, str(snippet), "exec"), names)
    return {name: value for name, value in names.items() if isinstance(value, Hook)}


@pytest.fixture
async def about(dependencies: Dependencies) -> dict[str, Any]:
    directory = await dependencies.resolve(provided.directory)
    alice = await directory.find(DEFAULT_TENANT, "alice")
    return {"caller": alice, "locale": "en", "now": datetime(2026, 12, 31, 10, tzinfo=UTC)}


@pytest.fixture
def dependencies() -> Dependencies:
    made = Dependencies()
    made.provide(provided.directory, FileDirectory.load(SAMPLE))
    return made


def test_there_is_an_example_for_each_point(shown: Mapping[str, Hook]) -> None:
    assert {each.point for each in shown.values()} == EVENTS.keys()


async def test_a_call_is_refused_on_the_last_day_of_a_month(
    shown: Mapping[str, Hook], about: dict[str, Any], dependencies: Dependencies
) -> None:
    event = ToolEvent(**about, tool="record_leave", arguments={}, writes=True)
    answer = await shown["not_while_closing"].call(event, dependencies)
    assert isinstance(answer, Veto)
    earlier = event.model_copy(update={"now": datetime(2026, 12, 30, 10, tzinfo=UTC)})
    assert await shown["not_while_closing"].call(earlier, dependencies) is None


@pytest.mark.parametrize(
    ("approver", "verdict", "refused"),
    [("alice", "approve", True), ("alice", "reject", False), ("bob", "approve", False)],
)
async def test_nobody_approves_what_they_asked_for(
    shown: Mapping[str, Hook],
    about: dict[str, Any],
    dependencies: Dependencies,
    approver: str,
    verdict: str,
    refused: bool,
) -> None:
    names = {"approval": "a", "flow": "f", "flow_run": "r"}
    event = VerdictEvent(**about, **names, approver=approver, verdict=verdict, slots={})
    answer = await shown["four_eyes"].call(event, dependencies)
    assert isinstance(answer, Veto) is refused


async def test_advice_is_given_about_words_and_not_about_buttons(
    shown: Mapping[str, Hook], about: dict[str, Any], dependencies: Dependencies
) -> None:
    event = DecisionEvent(**about, message_id="m", text="我要出差")
    answer = await shown["warn_of_strikes"].call(event, dependencies)
    assert isinstance(answer, Advice)
    assert answer.hide == {"book_train"}
    pressed = event.model_copy(update={"action": "confirm"})
    assert await shown["warn_of_strikes"].call(pressed, dependencies) is None
