"""How often a small real model decides as it should, in either way of asking.

What is expected is what was measured, less a small margin: these numbers are there to notice
a prompt or a reader that got worse. The one thing expected of every single request is that
nothing forbidden or invented comes out of it; code sees to that, and no model.
"""

import asyncio
from pathlib import Path

import pytest

from activities.capabilities import Capabilities
from router.domain.commands import CallTool, Command, Confirm, StartFlow
from router.domain.principals import Principal
from router.llm.types import How
from router.routing.decider import DecisionPolicy
from router.runtime.definitions import load_capabilities
from router.settings import Settings
from tests.llm.labels import load
from tests.llm.local_model import LocalModel
from tests.llm.measure import CHECKS, EVERYTHING, Measurement, Outcome, report

WAYS: tuple[How, ...] = ("functions", "json_schema")

EXPECTED: dict[How, str] = {
    "functions": "tool 10, flow 8, digression 3, answer 4, cancel 1, talk 4",
    "json_schema": "tool 12, flow 5, several 3, digression 6, answer 5, cancel 2, talk 6",
}
"""Right decisions of a group that there are at least. Groups that this model isn't up to are
left out: the table tells how far it is."""

Measured = dict[How, list[Outcome]]


@pytest.fixture(scope="module")
def found(
    larger: LocalModel, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Measured:
    """Every request's outcome in both ways, told while they come: it takes a while."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    folder: Path = tmp_path_factory.mktemp("desk")
    (folder / "data").mkdir()
    offer = DecisionPolicy().offer
    measurement = Measurement(load("requests"), WAYS, [offer], CHECKS[:1], weights=larger)
    with capture.global_and_fixture_disabled():
        cells = asyncio.run(measurement.run(folder))
        print(report(cells))
    return {how: outcomes for how in WAYS for cell, outcomes in cells.items() if cell.how == how}


@pytest.mark.parametrize(
    ("how", "group", "least"),
    [(how, *least.split()) for how, all_ in EXPECTED.items() for least in all_.split(", ")],
)
def test_a_group_is_decided_as_well_as_it_was(
    found: Measured, how: How, group: str, least: str
) -> None:
    outcomes = [one for one in found[how] if one.label.group == group]
    wrong = [one.label.text for one in outcomes if not one.is_right]
    assert len(outcomes) - len(wrong) >= int(least), wrong


@pytest.mark.parametrize("how", WAYS)
def test_hardly_an_answer_is_of_no_use(found: Measured, how: How) -> None:
    unusable = [one.label.text for one in found[how] if one.judgement.unusable]
    assert len(unusable) <= len(found[how]) // 20, unusable


@pytest.mark.parametrize("how", WAYS)
def test_nothing_comes_of_it_that_nobody_may_do(found: Measured, how: How) -> None:
    known = load_capabilities(Settings.load(**EVERYTHING))
    decided = [(one.caller, c) for one in found[how] for c in one.decided.commands]
    assert decided != []
    assert [command for caller, command in decided if not may(known, caller, command)] == []


def may(known: Capabilities, caller: Principal, command: Command) -> bool:
    """Whether a model may have this done for the person: reading at once, the rest by a flow."""
    if isinstance(command, CallTool):
        return command.tool in known.offer(caller, {command.tool: ""}, None).tools
    if isinstance(command, StartFlow):
        return known.startable(command.flow, caller) is not None
    return not isinstance(command, Confirm)
