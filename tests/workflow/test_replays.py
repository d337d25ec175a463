"""What ran once must replay for ever: a changed workflow may not change its past."""

from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

import flows
from router.flow.loader import load_flow
from router.runtime.sandbox import sandbox
from tests.replays.histories import HISTORIES, flows_begun, history_in, later
from tests.table import each_row
from workflows.conversation import ConversationWorkflow
from workflows.flow import FlowWorkflow
from workflows.skill import SkillWorkflow

AGAIN = "record the histories anew: python -m tests.replays.record"


def test_every_version_of_a_flow_that_ships_has_a_history() -> None:
    shipped = [load_flow(file) for file in Path(flows.__path__[0]).glob("*.yaml")]
    assert {(flow.flow, flow.version) for flow in shipped} <= flows_begun(), AGAIN


@pytest.fixture
def replayer() -> Replayer:
    return Replayer(
        workflows=[ConversationWorkflow, FlowWorkflow, SkillWorkflow],
        data_converter=pydantic_data_converter,
        workflow_runner=sandbox(),
    )


@each_row("file", HISTORIES, ids=lambda file: file.stem)
async def test_a_history_replays_with_the_workflows_of_today(
    replayer: Replayer, file: Path
) -> None:
    await replayer.replay_workflow(history_in(file))


@each_row("file", HISTORIES, ids=lambda file: file.stem)
async def test_what_a_workflow_does_never_hangs_on_when_it_is_asked_to(
    replayer: Replayer, file: Path
) -> None:
    """What a worker made of a task that timed out may be taken for the next one, which is later."""
    await replayer.replay_workflow(later(file, each=timedelta(seconds=4)))
