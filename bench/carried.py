"""What a conversation carries and sends, by how many requests in it are unfinished.

Leave requests wait in one conversation, each with its kind and its reason; from ten on, four of
them wait for approval. Printed are the bytes that the conversation carries into its next run and
that it sends for a message to be read and to be decided, next to what it would carry with the slots
of their flow in each of the requests. Temporal refuses 2,097,152 bytes.

    python bench/carried.py
"""

from datetime import UTC, datetime
from pathlib import Path

import company.lookups.working_days  # noqa: F401 - declares what the flow looks up
import flows
from router.contracts.activities import Account, Decide, Understand
from router.contracts.conversation import Submission
from router.contracts.conversation_state import ConversationState, OpenFlows
from router.contracts.flow import FlowAnswer
from router.domain.messages import Message
from router.domain.principals import Principal
from router.domain.sizes import measure_bytes
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Began
from router.flow.engine.machine import step
from router.flow.engine.run import Run
from router.flow.loader import load_flow
from router.flow.prompts import question
from workflows import open_flows
from workflows.carrying import fit_state
from workflows.turns import TurnContext, situation

REQUESTS = (1, 10, 50, 200)
"""Unfinished requests: the last one asks, the others wait."""
HANDED_IN = 4
GIVEN = {"leave_type": "annual", "reason": "家里有事，要回去一趟"}
NOW = datetime.now(UTC)
ALICE = Principal(id="alice", name="Alice")
SAID = Submission(message_id="m1", message=Message(text="下周一到周三"), caller=ALICE)


def begin_request(flow: FlowDefinition, number: int) -> Run:
    """Return a leave request that asks for its days."""
    run = Run(id=f"{number:012x}", requester=ALICE, conversation="0" * 12)
    return step(flow, run, Began(by=ALICE.id, slots=GIVEN), NOW)[0]


def answer_of(flow: FlowDefinition, run: Run) -> FlowAnswer:
    """Return what the run answers to its conversation for the first time."""
    return FlowAnswer(view=question.view(flow, run), fillable=question.fillable(flow, run))


def hold_requests(flow: FlowDefinition, number: int) -> OpenFlows:
    """Return what a conversation knows of so many requests, begun one by one."""
    held = OpenFlows()
    for n in range(number):
        run = begin_request(flow, n)
        if number > HANDED_IN > n:
            run = run.replace(status="waiting_approval")
        answer = answer_of(flow, run)
        held = open_flows.learn_slots(open_flows.pause_active(held), answer)
        held = open_flows.receive_answer(held, answer.view)
        while (oldest := open_flows.find_surplus(held)) is not None:
            ended = oldest.replace(status="expired", kept=dict(GIVEN), replies=[])
            held = open_flows.drop_surplus(held, oldest, ended)
    return held


def measure_apart(held: OpenFlows) -> int:
    """Return the bytes of the requests with the slots of its flow in each."""
    views = [held.active, held.at_work, *held.paused, *held.handed_in]
    slots = [
        measure_bytes(open_flows.show_form(held, view)) - measure_bytes(view)
        for view in views
        if view is not None
    ]
    return measure_bytes(held.replace(slot_sets={})) + sum(slots)


def main() -> None:
    flow = load_flow(Path(flows.__path__[0]) / "leave_request.yaml")
    answer = answer_of(flow, begin_request(flow, 1))
    known = measure_bytes(answer.replace(fillable={}))
    print("Bytes of what a conversation carries and sends")
    print(
        f"{'unfinished requests':<20}{'slots in each':>14}{'carried':>9}{'read':>8}{'decided':>9}"
    )
    for number in REQUESTS:
        held = hold_requests(flow, number)
        state = ConversationState(flows=held)
        message = TurnContext("0" * 12, "zh", SAID, NOW, seen="")
        asked = situation(message, state)
        read = Understand(message=SAID.message, situation=asked, caller=ALICE)
        account = Account(caller=ALICE, now=message.now)
        decided = Decide(message=SAID.message, situation=asked, account=account)
        sizes = (measure_bytes(fit_state(state).state), measure_bytes(read), measure_bytes(decided))
        print(f"{number:<20}{measure_apart(held):>14,}{sizes[0]:>9,}{sizes[1]:>8,}{sizes[2]:>9,}")
    print(f"a request's answer: {measure_bytes(answer):,} at first, {known:,} from then on")


if __name__ == "__main__":
    main()
