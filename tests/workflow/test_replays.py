"""What ran once must replay for ever: a changed workflow may not change its past."""

import json
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

import flows
from router.flow.loader import load_flow
from router.runtime.worker import sandbox
from tests.replays.shipped import recorded
from workflows.conversation import ConversationWorkflow
from workflows.flow import FlowWorkflow
from workflows.skill import SkillWorkflow

SHIPPED = sorted(Path(flows.__path__[0]).glob("*.yaml"))
HISTORIES = sorted((Path(__file__).parents[1] / "replays").glob("*.json"))


def test_there_are_histories_to_replay() -> None:
    assert len(HISTORIES) >= 10


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_every_version_of_a_flow_that_ships_has_a_history(file: Path) -> None:
    flow = load_flow(file)
    assert (flow.flow, flow.version) in recorded(), "run python -m tests.replays.record"


@pytest.mark.parametrize("file", HISTORIES, ids=lambda file: file.stem)
async def test_a_history_replays_with_the_workflows_of_today(file: Path) -> None:
    replayer = Replayer(
        workflows=[ConversationWorkflow, FlowWorkflow, SkillWorkflow],
        data_converter=pydantic_data_converter,
        workflow_runner=sandbox(),
    )
    await replayer.replay_workflow(history_in(file))


def history_in(file: Path) -> WorkflowHistory:
    """The history with the id that it ran under, which the workflows make keys of."""
    written = json.loads(file.read_text())
    started = written["events"][0]["workflowExecutionStartedEventAttributes"]
    return WorkflowHistory.from_json(started["workflowId"], written)
