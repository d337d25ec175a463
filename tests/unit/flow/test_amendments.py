"""Changing what waits for approval: weighed, said back, and made once, or not at all."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from router.domain.messages import ENDED
from router.domain.principals import Principal
from router.flow.definition import FlowDefinition
from router.flow.engine import events, room
from router.flow.engine.amendment import refusal
from router.flow.engine.machine import refusal_of
from router.flow.engine.run import Run
from router.flow.engine.run_parts.form import MAX_SLOTS_BYTES
from router.flow.engine.run_parts.work import Task
from router.flow.prompts import question
from tests.table import each_row
from tests.unit.flow.definitions import NOW, text
from tests.unit.flow.lawful import Life
from tests.unit.flow.world import World, sample

BOOKING: dict[str, Any] = {
    "flow": "booking",
    "title": text("Booking"),
    "description": text("Booking"),
    "slots": {
        "room": {"type": "text", "label": text("Room"), "ask": text("Which room?")},
        "size": {"type": "integer", "label": text("Size"), "ask": text("How many?")},
    },
    "start": "details",
    "states": {
        "details": {"collect": ["room", "size"], "next": "review"},
        "review": {"confirm": text("Fine?"), "confirmed": "hold", "declined": "details"},
        "hold": {
            "call": "hold_room",
            "with": {"room": "slots.room"},
            "undo": "free_room",
            "next": "boss",
        },
        "boss": {
            "approve": {
                "by": ["manager(requester)", "role('hr')"],
                "mode": "all",
                "title": text("A room"),
                "expire_after": "P3D",
                "remind_every": "P1D",
            },
            "approved": "book",
            "rejected": "sorry",
            "returned": "details",
            "expired": "sorry",
        },
        "book": {"call": "book_room", "with": {"room": "slots.room"}, "next": "done"},
        "done": {"end": "completed"},
        "sorry": {"end": "rejected"},
    },
}
ROOMS = st.sampled_from(["A1", "B2", "C3"])
WHICH = st.integers(0, 7)


class Amendments(RuleBasedStateMachine):
    """A change against approving, returning, delegating, expiring, withdrawing and crashing.

    One truth: what is booked is what everybody agreed to. One effect: one room is held at a time,
    and one is booked.
    """

    life: Life

    @initialize()
    def begin(self) -> None:
        alice = Principal(id="alice", name="Alice", manager="bob")
        definition = FlowDefinition.model_validate(BOOKING)
        self.life = Life(definition, Run(id="r1", requester=alice, locale="en"), NOW)
        self.held: list[str] = []
        self.booked: list[str] = []
        self.agreed: dict[str, set[str]] = {}
        self.cards: list[tuple[str, str, str]] = []
        self.take(events.Began(by="alice", slots={"room": "A1", "size": 2}))

    @property
    def run(self) -> Run:
        return self.life.run

    def take(self, event: events.AnyEvent) -> None:
        self.life.take(event)
        self.life.take_all(self.answer)
        for one in self.run.approvals.current.waiting_for() if self.run.approvals.current else ():
            card = (
                one.id,
                one.person,
                self.run.approvals.current.digest if self.run.approvals.current else "",
            )
            self.cards += [] if card in self.cards else [card]

    def answer(self, task: Task) -> events.AnyEvent:
        room = str(task.arguments.get("room"))
        if task.kind == "lookup":
            people: dict[str, Any] = {"manager": "bob", "role": ["dave"], "names": ["Bob", "Dave"]}
            asked = task.positional[0] if task.positional else None
            stand_ins = asked if task.name == "stand_ins" else None
            return events.LookedUp(task=task.id, value=people.get(task.name, stand_ins))
        if task.kind == "undo":
            self.held.remove(room)
        elif task.name == "hold_room":
            self.held.append(room)
        else:
            self.booked.append(room)
        return events.Called(task=task.id, value=room, lasts=True)

    def is_open(self) -> bool:
        return self.run.status not in ENDED

    def is_asked(self) -> bool:
        return self.run.approvals.asks_to_amend

    @precondition(lambda self: self.is_open() and not self.is_asked())
    @rule()
    def the_requester_goes_on(self) -> None:
        if self.run.status == "confirming":
            self.take(events.Confirmed(by="alice", value=True, question=self.run.question_id))
        elif self.run.status == "collecting":
            size = {"size": len(self.life.past)}
            self.take(events.Answered(by="alice", slots=size, question=self.run.question_id))

    @precondition(lambda self: self.is_open())
    @rule(room=ROOMS, sure=st.booleans())
    def wishes_for_another(self, room: str, sure: bool) -> None:
        before, word = self.run, f"w{len(self.life.past)}" if sure else ""
        self.take(events.Amended(by="alice", slots={"room": room}, word=word))
        if refusal(self.life.definition, before) is not None:
            assert (self.run.form.slots, self.run.visit) == (before.form.slots, before.visit)
        elif sure and room != before.form.slots["room"]:
            assert (self.run.form.slots["room"], self.run.status) == (room, "waiting_approval")
        judged = [e for e in self.life.effects if isinstance(e, events.AmendmentJudged)]
        assert not word or [e.word for e in judged].count(word) == 1

    @precondition(lambda self: self.is_asked())
    @rule(yes=st.booleans())
    def answers(self, yes: bool) -> None:
        before = self.run
        wanted = before.approvals.amendment.after if before.approvals.amendment else None
        self.take(events.Confirmed(by="alice", value=yes, question=before.question_id))
        assert self.run.form.slots == (wanted if yes else before.form.slots)
        assert not self.run.approvals.asks_to_amend

    @precondition(lambda self: bool(self.cards))
    @rule(
        which=WHICH,
        verdict=st.sampled_from(["approve", "approve", "approve", "return", "reject", "delegate"]),
    )
    def decides_on_any_card_that_was_ever_shown(self, which: int, verdict: Any) -> None:
        id_, person, digest = self.cards[-1 - which % len(self.cards)]
        to = f"p{len(self.life.past)}" if verdict == "delegate" else None
        told = {"by": person, "approval": id_, "digest": digest, "verdict": verdict, "to": to}
        event = events.Decided.model_validate(told)
        refused = refusal_of(self.life.definition, self.run, event, self.life.now)
        approval = self.run.approvals.current
        stands = approval is not None and digest == approval.digest
        assert refused is not None or stands, "decided on what doesn't stand any more"
        if refused is None and verdict == "approve":
            self.agreed.setdefault(str(self.run.form.slots["room"]), set()).add(person)
        before = self.run
        self.take(event)
        if refused is not None:
            assert self.run.history == before.history, refused

    @precondition(lambda self: self.is_open() and bool(self.run.work.timers))
    @rule(which=WHICH)
    def the_clock_rings(self, which: int) -> None:
        timer = [*self.run.work.timers.values()][which % len(self.run.work.timers)]
        self.life.now = max(self.life.now, timer.due)
        self.take(events.Fired(timer=timer.id))

    @precondition(lambda self: self.is_open())
    @rule(certain=WHICH)
    def withdraws(self, certain: int) -> None:
        if certain == 0:
            self.take(events.Cancelled(by="alice"))

    @rule()
    def the_process_dies(self) -> None:
        self.life.is_carried()
        self.life.replays()

    @invariant()
    def one_room_is_held_and_one_booked(self) -> None:
        if not hasattr(self, "life"):
            return
        assert len(self.held) <= 1
        assert len(self.booked) <= 1
        if self.run.status == "waiting_approval":
            assert self.held == [self.run.form.slots["room"]]
        if self.booked:
            assert self.run.status == "completed"
            assert self.booked == [self.run.form.slots["room"]]
            assert self.agreed.get(self.booked[0]), "booked what nobody agreed to"
        if self.run.status in ENDED:
            assert self.run.approvals.amendment is None
            assert self.held == ([] if self.run.status != "completed" else self.booked)


TestAmendmentsAgainstEverything = Amendments.TestCase
TestAmendmentsAgainstEverything.settings = settings(
    max_examples=20, stateful_step_count=40, deadline=None
)

LEAVE = {"leave_type": "annual", "start": "2026-11-23", "end": "2026-11-24", "reason": "x"}


def waiting(**altered: Any) -> World:
    """Alice's leave that waits for bob."""
    definition = sample("leave_request").model_copy(update=altered)
    world = World(definition).begin(**LEAVE).confirm()
    assert world.run.status == "waiting_approval"
    return world


def amended(world: World, **slots: Any) -> World:
    world.take(events.Amended(by="alice", slots=slots))
    return world


def test_a_flow_may_forbid_it_and_says_so() -> None:
    world = amended(waiting(amend=False), end="2026-11-25")
    assert world.said[-1] == "这种申请提交后不能改。要改的话，先撤回，再重新申请。"
    assert not world.run.approvals.asks_to_amend


def test_what_breaks_a_check_is_told_with_the_reason_and_nothing_is_asked() -> None:
    world = amended(waiting(), end="2026-11-20")
    assert world.said[-2:] == ["结束日期不能早于开始日期。", "申请没有改，还在等审批。"]
    assert (world.run.approvals.amendment, world.run.form.slots["end"]) == (None, "2026-11-24")


def test_what_it_is_already_changes_nothing() -> None:
    world = amended(waiting(), end="2026-11-24")
    assert world.said[-1] == "和现在的内容一样，没有改。"


def test_a_change_that_no_run_has_room_for_changes_nothing() -> None:
    world = amended(waiting(), reason="x" * MAX_SLOTS_BYTES)
    assert world.said[-1] == room.TOO_MUCH.zh
    assert (world.run.approvals.amendment, world.run.form.slots["reason"]) == (None, "x")


def test_a_further_wish_joins_the_one_that_is_asked_about() -> None:
    world = amended(amended(waiting(), end="2026-11-25"), reason="y")
    world.take(events.Confirmed(by="alice", value=True, question=world.run.question_id))
    assert (world.run.form.slots["end"], world.run.form.slots["reason"]) == ("2026-11-25", "y")
    assert [event for event, _, _ in world.history].count("changed") == 1


def test_a_yes_to_an_earlier_question_makes_nothing() -> None:
    world = amended(waiting(), end="2026-11-25")
    stale = world.run.question_id
    amended(world, end="2026-11-26")
    world.take(events.Confirmed(by="alice", value=True, question=stale))
    assert world.run.approvals.asks_to_amend
    assert world.run.form.slots["end"] == "2026-11-24"


def test_where_more_is_needed_now_that_is_asked_and_the_confirmation_too() -> None:
    world = waiting()
    amended(world, leave_type="sick", end="2026-11-26")
    world.take(events.Confirmed(by="alice", value=True, question=world.run.question_id))
    assert (world.run.status, world.run.question.path) == ("collecting", "sick_note")
    assert world.run.approvals.current is None
    world.take(events.Skipped(by="alice", question=world.run.question_id))
    shown = question.question(world.definition, world.run)
    assert world.run.status == "confirming"
    assert shown is not None
    assert "假别: 年假 → 病假" in shown.text


@each_row("said", ["approved", "expired"])
def test_a_change_that_comes_too_late_is_told(said: str) -> None:
    world = amended(waiting(), end="2026-11-25")
    if said == "approved":
        world.decide("bob")
    else:
        world.take(events.Fired(timer=world.run.work.timers["expire"].id))
    assert any("没有生效" in line for line in world.said)
    assert world.run.approvals.amendment is None
    assert world.run.form.slots["end"] == "2026-11-24"


def test_what_was_done_for_good_since_stands_in_the_way() -> None:
    states = {**BOOKING["states"], "hold": {**BOOKING["states"]["hold"]}}
    states["hold"].pop("undo")
    life = Amendments()
    life.begin()
    life.life.definition = FlowDefinition.model_validate(BOOKING | {"states": states})
    life.the_requester_goes_on()
    life.take(events.Amended(by="alice", slots={"room": "B2"}, word="w"))
    (judged,) = [e for e in life.life.effects if isinstance(e, events.AmendmentJudged)]
    assert judged.why is not None
    assert "can't be taken back" in judged.why.en
    assert life.run.form.slots["room"] == "A1"
