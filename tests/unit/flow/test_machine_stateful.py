"""Any flow, whatever happens to it: Hypothesis draws a flow, then events, and shrinks what breaks.

What must hold of every step stands in `lawful.py`; here is what can happen. A rule that finds
nothing to do (no task, nobody to decide) isn't drawn.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from router.domain.messages import ENDED, FlowStatus
from router.domain.principals import Principal
from router.flow.definition import KINDS as STATES
from router.flow.definition import FlowDefinition
from router.flow.engine import events
from router.flow.engine.events import AnyEvent
from router.flow.engine.run import Run
from router.flow.engine.run_parts.recovery import Done
from router.flow.engine.run_parts.work import Task
from router.flow.prompts.question import asked_slot
from tests.unit.flow.definitions import NOW, text
from tests.unit.flow.lawful import Life, whole
from tests.unit.flow.random_flows import KINDS, flows
from tests.unit.flow.wider_flows import WIDER
from tests.unit.flow.world import sample

WRITTEN = [*WIDER, sample("leave_request"), sample("reimbursement")]
FILE = "0123456789abcdef01234567"
MONEY = {"amount": "58.00", "currency": "CNY"}
FITTING: dict[str, list[Any]] = {
    "choice": ["a", "b"],
    "text": ["why not", "another"],
    "number": [2.5, 0, 5000.0],
    "integer": [3, -1],
    "money": [MONEY, {"amount": "1", "currency": "USD"}],
    "date": ["2026-11-20", "2026-11-19", "2026-12-01", "2027-02-28"],
    "duration": [{"days": 2}],
    "boolean": [True, False],
    "file": [FILE],
    "object": [{"town": "Wuhan", "room": 3}],
    "list": [[], ["A1", "A2"], [{"amount": MONEY, "invoice": "A1"}]],
}
"""Values that a slot of the type may be given; not all of them pass its checks."""
PATHS = [
    *("kind", "start", "end", "duration", "days", "sum", "note", "agreed", "paper", "items"),
    *("items.0.amount", "items.1.invoice", "items.more", "tags", "tags.more", "tags.1"),
    *("place", "place.room", "boss", "rank", "change", "nothing", "ask1", "ask2"),
]
ANY = st.sampled_from([*(v for values in FITTING.values() for v in values), None, "", "sum", "-"])
SLOTS = st.dictionaries(st.sampled_from(PATHS), ANY, max_size=3)
WHICH = st.integers(0, 5)
FAILURES = st.sampled_from(["arguments", "permanent", "unavailable", "unknown"])
ENDS: list[FlowStatus] = ["completed", "completed", "rejected", "failed", "cancelled", "expired"]
ANSWERS: dict[str, list[Any]] = {
    "manager": ["bob", "a", "carol", "alice", None],
    "names": [["Bob"], None],
    "role": [["dave"], ["dave", "erin"], ["alice"], []],
    "stand_ins": [None, ["gina"], ["alice"], [None], [None, "dave"]],
    "working_time": ["2026-11-20T10:00:00+08:00", "2026-11-18T10:00:00+08:00"],
    "workdays": [2.0, 0.5],
    "last_workday": ["2026-11-24", "2026-11-01", None],
    "claimed": [False, True],
    "file_name": ["a.pdf", None],
}
RESULTS: list[Any] = [{"days": 10.0}, None, "done"]
WORDS: list[Callable[[Run, dict[str, Any]], AnyEvent]] = [
    lambda _, slots: events.Answered(by="alice", slots=slots),
    lambda _, slots: events.Confirmed(by="alice", value=not slots, slots=slots),
    lambda _, slots: events.Unclear(by="alice", count=not slots),
    lambda _, __: events.Puzzled(by="alice"),
    lambda run, __: events.Skipped(by="alice", question=run.question_id),
    lambda run, __: events.StartedOver(by="alice", question=run.question_id),
    lambda _, slots: events.Amended(by="alice", slots=slots),
    lambda _, slots: events.Amended(by="alice", slots=slots, word="w"),
    lambda run, _: events.Confirmed(by="alice", value=True, question=run.question_id),
]
"""What the requester may say, by itself or at the wrong moment."""


def of(things: list[Any], which: int) -> Any:
    return things[which % len(things)]


class FlowRuns(RuleBasedStateMachine):
    """One flow, and one run of it after another."""

    life: Life

    @initialize(
        definition=flows() | st.sampled_from(WRITTEN),
        opening=SLOTS,
        manager=st.sampled_from(["bob", None]),
        locale=st.sampled_from(["en", "zh"]),
    )
    def begin(
        self, definition: FlowDefinition, opening: dict[str, Any], manager: str | None, locale: Any
    ) -> None:
        alice = Principal(id="alice", name="Alice", manager=manager, locale=locale)
        first = Run(id="r1", requester=alice, locale=locale)
        self.life = Life(definition, first, NOW)
        self.life.take(events.Began(by="alice", slots=opening))
        self.inquiries = 0

    @property
    def run(self) -> Run:
        return self.life.run

    def is_open(self) -> bool:
        return self.run.status not in ENDED

    def listens(self) -> bool:
        return self.run.status in ("collecting", "confirming") and not self.run.work.tasks

    def owes(self) -> bool:
        return bool(self.run.work.tasks)

    def calls(self) -> bool:
        return any(task.kind == "call" for task in self.run.work.tasks.values())

    def has_timers(self) -> bool:
        return bool(self.run.work.timers)

    def is_decided_on(self) -> bool:
        return self.run.approvals.current is not None

    # What the requester says.

    @precondition(lambda self: self.listens() and self.run.status == "collecting")
    @rule(which=WHICH)
    def answers_what_is_asked(self, which: int) -> None:
        asked = self.run.question.path or ""
        slot = asked_slot(whole(self.life.definition, self.run), self.run)
        values = [*slot.choices] if slot.type == "choice" else FITTING[slot.type]
        path = f"{asked}.more" if slot.type == "list" else asked
        value = of([False, True], which) if slot.type == "list" else of(values, which)
        self.life.take(
            events.Answered(by="alice", slots={path: value}, question=self.run.question_id)
        )

    @precondition(lambda self: self.listens() and self.run.status == "confirming")
    @rule(value=st.booleans(), slots=st.just({}) | SLOTS)
    def confirms_or_declines(self, value: bool, slots: dict[str, Any]) -> None:
        self.life.take(
            events.Confirmed(by="alice", value=value, slots=slots, question=self.run.question_id)
        )

    @precondition(lambda self: self.listens())
    @rule(slots=SLOTS)
    def gives_anything(self, slots: dict[str, Any]) -> None:
        self.life.take(events.Answered(by="alice", slots=slots))

    @precondition(lambda self: self.is_open())
    @rule(word=st.sampled_from(WORDS), slots=SLOTS)
    def says_anything_at_any_time(self, word: Callable[..., AnyEvent], slots: Any) -> None:
        self.life.take(word(self.run, slots))

    @precondition(lambda self: self.is_open())
    @rule(certain=WHICH)
    def cancels(self, certain: int) -> None:
        if certain == 1:
            self.life.take(events.Cancelled(by="alice"))
        if certain == 2:
            self.life.take(events.Cancelled(by="alice", leaving=tuple(self.reads())))

    def reads(self) -> list[str]:
        return [task.id for task in self.run.work.tasks.values() if task.kind == "call"]

    # Everything going as it should, for a while: what lies far on is reached.

    @precondition(lambda self: self.is_open())
    @rule(steps=st.integers(1, 12), which=WHICH)
    def goes_well(self, steps: int, which: int) -> None:
        for _ in range(steps):
            if not self.is_open():
                return
            self.goes_on(which)

    def goes_on(self, which: int) -> None:
        run = self.run
        if run.work.tasks:
            self.the_world_answers(which, 0)
        elif run.status == "collecting":
            self.answers_what_is_asked(0 if "." not in (run.question.path or "") else which)
        elif run.status == "confirming":
            self.confirms_or_declines(True, {})
        elif run.approvals.current is not None and run.approvals.current.waiting_for():
            one = of(run.approvals.current.waiting_for(), which)
            self.life.take(events.Decided(by=one.person, approval=one.id, verdict="approve"))
        elif run.recovery.held is not None or run.recovery.owes == "operator":
            self.an_operator_has_it_tried_again()
        elif run.work.timers:
            self.a_timer_fires(which)
        else:
            self.something_arrives(which, {"boxes": which})

    # What the world says.

    @precondition(lambda self: self.owes())
    @rule(which=WHICH, answer=WHICH)
    def the_world_answers(self, which: int, answer: int) -> None:
        self.life.take(self.answer(of(list(self.run.work.tasks.values()), which), answer))

    @precondition(lambda self: self.owes())
    @rule(answer=WHICH)
    def the_world_answers_everything(self, answer: int) -> None:
        self.life.take_all(lambda task: self.answer(task, answer))

    @precondition(lambda self: self.owes())
    @rule(kind=FAILURES)
    def the_world_fails_in_everything(self, kind: Any) -> None:
        self.life.take_all(lambda task: events.Failed(task=task.id, error="no", kind=kind))

    @precondition(lambda self: self.owes())
    @rule(which=WHICH, kind=FAILURES)
    def the_world_fails(self, which: int, kind: Any) -> None:
        task = of(list(self.run.work.tasks.values()), which)
        self.life.take(events.Failed(task=task.id, error="out of order", kind=kind))

    @precondition(lambda self: self.calls())
    @rule(plain=st.booleans())
    def a_tool_asks_back(self, plain: bool) -> None:
        task = next(e for e in self.run.work.tasks.values() if e.kind == "call")
        self.inquiries += 1
        name = f"ask{self.inquiries}"
        slots: dict[str, Any] = {
            name: {"type": "boolean", "ask": text("Sure?"), "label": text("Sure")}
        }
        if plain:
            slots = {name: {"type": "text"}, f"{name}b": {"type": "boolean", "required": False}}
        fields = {"q": {"f": name, "g": f"{name}b"} if plain else {"": name}}
        inquiry = {"state": self.run.state, "say": text("More?"), "slots": slots, "fields": fields}
        self.life.take(events.AskedBack.model_validate({"task": task.id, "inquiry": inquiry}))

    def answer(self, task: Task, which: int) -> AnyEvent:
        if task.kind == "lookup":
            return events.LookedUp(task=task.id, value=of(ANSWERS[task.name], which))
        if task.kind == "flow":
            return self.came_to(task, which)
        return events.Called(task=task.id, value=of(RESULTS, which), lasts=which > 2)

    def came_to(self, task: Task, which: int) -> events.Finished:
        """A run that was started ends; one that is completed has done something.

        Of one that is detached it is only heard that it has begun.
        """
        if task.detached:
            return events.Finished(task=task.id, status="running")
        status = "cancelled" if task.stopping else of(ENDS, which)
        made = {"visit": 9, "state": "there", "tool": "pay", "arguments": {}, "undo": "pay_back"}
        done = [Done.model_validate({**made, "key": f"{task.key}:there"})]
        left = done if status == "completed" else []
        return events.Finished(task=task.id, status=status, results={"paid": which}, done=left)

    # What others say, and what the clock does.

    @precondition(lambda self: self.is_open())
    @rule(which=WHICH, value=st.sampled_from([{"boxes": 3}, {"boxes": "x"}, {}, {"what": 1}]))
    def something_arrives(self, which: int, value: dict[str, Any]) -> None:
        word = f"w{which}:{len(self.life.past)}"
        self.life.take(events.Arrived(by="wendy", name="arrived", value=value, word=word))

    @precondition(lambda self: self.is_open())
    @rule()
    def an_operator_has_it_tried_again(self) -> None:
        self.life.take(events.Retried(by="olga"))

    @precondition(lambda self: self.is_decided_on())
    @rule(which=WHICH, to=st.sampled_from(["dave", "gina", "alice"]))
    def an_operator_has_someone_else_asked(self, which: int, to: str) -> None:
        approval = self.run.approvals.current
        assert approval is not None
        one = of(approval.assignees, which)
        self.life.take(events.Reassigned(by="olga", to=to, instead_of=one.person))

    @precondition(lambda self: self.is_decided_on())
    @rule(
        which=WHICH,
        verdict=st.sampled_from(["approve", "approve", "reject", "return", "delegate", "add"]),
        to=st.sampled_from(["carol", "dave", "frank", "alice", None]),
        position=st.sampled_from([None, "before", "after"]),
    )
    def an_approver_decides(self, which: int, verdict: Any, to: Any, position: Any) -> None:
        approval = self.run.approvals.current
        assert approval is not None
        one = of(approval.assignees, which)
        digest = of([approval.digest, None], which)
        decided = {"by": one.person, "approval": one.id, "verdict": verdict, "comment": verdict}
        decided |= {"to": to, "position": position if verdict == "add" else None}
        self.life.take(events.Decided.model_validate({**decided, "digest": digest}))

    @precondition(lambda self: self.is_decided_on())
    @rule()
    def is_nudged(self) -> None:
        self.life.take(events.Nudged(by="alice"))

    @precondition(lambda self: self.has_timers())
    @rule(which=WHICH)
    def a_timer_fires(self, which: int) -> None:
        timer = of(list(self.run.work.timers.values()), which)
        self.life.now = max(self.life.now, timer.due)
        self.life.take(events.Fired(timer=timer.id))

    @rule(hours=st.integers(1, 100))
    def time_passes(self, hours: int) -> None:
        self.life.now += timedelta(hours=hours)

    # What comes too late, twice, or from elsewhere.

    @rule(which=WHICH)
    def something_comes_twice_or_late(self, which: int) -> None:
        if gone := self.life.gone:
            self.life.take_in_vain(of(gone, which))

    @rule(which=st.integers(0, 7))
    def something_foreign_comes(self, which: int) -> None:
        foreign: list[AnyEvent] = [
            events.LookedUp(task="elsewhere:1:x()", value=1),
            events.Called(task="elsewhere:1", value=1),
            events.Failed(task="undo:elsewhere:1", error="no"),
            events.Finished(task="elsewhere:1:0", status="completed"),
            events.Arrived(by="wendy", name="elsewhere", word="w"),
            events.Fired(timer="wait:99:2026-11-18T02:00:00+00:00"),
            events.Decided(by="mallory", approval="nobodys", verdict="approve"),
            events.Answered(by="alice", slots={"note": "x"}, question="elsewhere:1:note"),
        ]
        self.life.take_in_vain(of(foreign, which))

    @precondition(lambda self: self.is_decided_on())
    @rule(which=WHICH)
    def somebody_elses_approval_is_decided(self, which: int) -> None:
        approval = self.run.approvals.current
        assert approval is not None
        one = of(approval.assignees, which)
        for by, digest in (("mallory", None), (one.person, "of-something-else")):
            self.life.take_in_vain(
                events.Decided(by=by, approval=one.id, verdict="approve", digest=digest)
            )

    @rule()
    def is_carried_elsewhere(self) -> None:
        self.life.is_carried()

    @precondition(lambda self: not self.is_open())
    @rule(opening=SLOTS)
    def another_run_begins(self, opening: dict[str, Any]) -> None:
        self.life.replays()
        self.life = Life(self.life.definition, self.life.first, NOW)
        self.life.take(events.Began(by="alice", slots=opening))

    @invariant()
    def waits_for_something_named_or_has_ended(self) -> None:
        self.life.waits_for_something()

    @invariant()
    def nothing_needed_was_passed_over(self) -> None:
        self.life.passed_nothing_over()

    @invariant()
    def has_a_clock_exactly_while_it_asks(self) -> None:
        self.life.has_a_clock_exactly_while_it_asks()

    def teardown(self) -> None:
        if hasattr(self, "life"):
            self.life.is_taken_back()
            self.life.replays()


def test_every_kind_of_state_is_drawn() -> None:
    assert set(KINDS) == set(STATES), "add the new kind to the table in random_flows.py"


@pytest.mark.parametrize(
    ("examples", "steps"), [(40, 40), pytest.param(400, 80, marks=pytest.mark.slow)]
)
def test_whatever_happens_to_any_flow_its_run_stays_lawful(examples: int, steps: int) -> None:
    limits = settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    run_state_machine_as_test(FlowRuns, settings=limits)
