"""What ran once must replay for ever: a changed workflow may not change its past."""

from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.worker import Replayer

import flows
from router.documents import document_type
from router.flow.language import expressions, functions
from router.flow.loader import load_flow
from tests.replays.bare import UnreadableRegistry, build_replayer
from tests.replays.histories import HISTORIES, flows_begun, history_in, later
from tests.table import each_row

AGAIN = "record the histories anew: python -m tests.replays.record"


def test_every_version_of_a_flow_that_ships_has_a_history() -> None:
    shipped = [load_flow(file) for file in Path(flows.__path__[0]).glob("*.yaml")]
    assert {(flow.flow, flow.version) for flow in shipped} <= flows_begun(), AGAIN


@pytest.fixture
def replayer() -> Replayer:
    return build_replayer()


@pytest.fixture
def unreadable_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have whoever reads what the project's modules have registered fail."""
    for module in (expressions, functions):
        monkeypatch.setattr(module, "LOOKUPS", UnreadableRegistry())
    monkeypatch.setattr(document_type, "DOCUMENT_TYPES", UnreadableRegistry())


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


@pytest.mark.usefixtures("unreadable_registries")
@each_row("file", HISTORIES, ids=lambda file: file.stem)
async def test_a_history_replays_without_reading_what_is_deployed_now(
    replayer: Replayer, file: Path
) -> None:
    await replayer.replay_workflow(history_in(file))
