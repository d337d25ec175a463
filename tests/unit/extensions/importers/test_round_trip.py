"""A flow that is written as BPMN is read again as the same states and ways."""

from pathlib import Path

import pytest

from router.drawing import bpmn_of
from router.extensions.importers.bpmn_flow import beginning_of_bpmn
from router.flow.definition import FlowDefinition
from router.flow.loader import examine_text, load_flow
from tests.samples import one_in

FLOWS = Path(__file__).parents[4] / "flows"
SHIPPED = sorted([*FLOWS.glob("*.yaml"), *FLOWS.glob("gallery/*.yaml")])
Graph = tuple[str, set[tuple[str, str, str | None]], set[tuple[str, str, str]]]


def graph(flow: FlowDefinition) -> Graph:
    states = flow.states.items()
    ways = {
        (name, exit_, branch.to)
        for name, state in states
        for exit_, branches in state.exits().items()
        for branch in branches
    }
    ways |= {
        (name, "parallel", branch)
        for name, state in states
        for branch in (state.batch.branches if state.batch else ())
    }
    return flow.start, {(name, state.kind, state.ends) for name, state in states}, ways


@pytest.mark.slow
@pytest.mark.parametrize("file", one_in(3, SHIPPED), ids=lambda file: file.stem)
def test_what_was_written_is_read_again_as_the_same_states_and_ways(file: Path) -> None:
    flow = load_flow(file)

    made = beginning_of_bpmn(bpmn_of(flow, "en").encode())

    again = examine_text(Path(f"{made.flow}.yaml"), made.text).definition
    assert graph(again) == graph(flow)
    assert not made.unmapped
