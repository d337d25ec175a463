"""What a conversation carries into its next run, by how many requests in it are unfinished.

Leave requests wait in one conversation, each with its kind and its reason. Printed are the bytes
that it carries, next to those of the same requests with the slots of their flow in each view and
none put away, as it was before. Temporal refuses 2,097,152 bytes.

    python bench/carried.py
"""

from datetime import UTC, datetime
from pathlib import Path

import company.lookups.working_days  # noqa: F401 - declares what the flow looks up
import flows
from router.contracts.conversation_state import ConversationState
from router.contracts.limits import measure_bytes
from router.domain.principals import Principal
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Began
from router.flow.engine.machine import step
from router.flow.engine.run import Run
from router.flow.loader import load_flow
from router.flow.prompts import question
from router.flow.view import FlowView
from workflows.carrying import fit_state
from workflows.open_requests import find_surplus, without_surplus

REQUESTS = (1, 10, 20, 200)
"""Unfinished requests: the last one asks, the others wait."""
GIVEN = {"leave_type": "annual", "reason": "家里有事，要回去一趟"}


def begin_request(flow: FlowDefinition, number: int) -> FlowView:
    """Return a leave request that asks for its days, as its conversation has it."""
    alice = Principal(id="alice", name="Alice")
    run = Run(id=f"{number:012x}", requester=alice, conversation="0" * 12)
    run, _ = step(flow, run, Began(by=alice.id, slots=GIVEN), datetime.now(UTC))
    return question.view(flow, run)


def hold_requests(views: list[FlowView]) -> ConversationState:
    """Return the state of a conversation that was begun so many requests in, one by one."""
    state = ConversationState()
    for view in views:
        paused = [*state.paused, state.active] if state.active else []
        state = state.changed(paused=paused, active=view)
        while (oldest := find_surplus(state)) is not None:
            ended = {"status": "expired", "kept": GIVEN, "replies": []}
            state = without_surplus(state, oldest, oldest.model_copy(update=ended))
    return state


def main() -> None:
    flow = load_flow(Path(flows.__path__[0]) / "leave_request.yaml")
    print("Bytes that a conversation carries")
    print(f"{'unfinished requests':<22}{'before':>12}{'now':>12}{'paused':>9}")
    for number in REQUESTS:
        views = [begin_request(flow, each) for each in range(number)]
        before = measure_bytes(ConversationState(active=views[-1], paused=views[:-1]))
        state = hold_requests(views)
        now = measure_bytes(fit_state(state).state)
        print(f"{number:<22}{before:>12,}{now:>12,}{len(state.paused):>9}")


if __name__ == "__main__":
    main()
