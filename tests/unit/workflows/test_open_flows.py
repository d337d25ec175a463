"""What a conversation keeps of runs that fell silent, and how it passes their news on."""

from datetime import UTC, datetime
from typing import Any

from router.contracts.conversation_state import MAX_PAUSED, News, OpenFlows
from router.contracts.flow import FlowAnswer
from router.domain.locale import Localised
from router.domain.messages import ChoicesReply, FlowStatus, TextReply
from router.flow.engine.events import Began, Fired, Skipped
from router.flow.engine.machine import step
from router.flow.engine.run import Run
from router.flow.prompts.question import view
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView
from tests.table import each_row
from tests.unit.flow.definitions import ALICE, LEAVE, NOW, Driver, flow
from workflows import open_flows

ASKED = flow(LEAVE)


def asking(run: str) -> FlowView:
    begun, _ = step(ASKED, Run(id=run, requester=ALICE, locale="en"), Began(by="alice"), NOW)
    return view(ASKED, begun)


def lapsed(run: str, reason: str = "family") -> FlowView:
    over = {"status": "expired", "replies": [], "kept": {"reason": reason}}
    return asking(run).model_copy(update=over)


def told(flows: OpenFlows, about: FlowView) -> News:
    said = [TextReply(text="news"), *about.replies]
    news = News(view=about, replies=said, at=datetime.now(UTC))
    return open_flows.pass_on(flows, news, "en")


def test_the_last_three_are_kept_and_none_twice() -> None:
    flows = OpenFlows()
    for run in ("r1", "r2", "r3", "r4", "r4"):
        flows = open_flows.add_lapsed(flows, lapsed(run))
    assert [one.run for one in flows.lapsed] == ["r2", "r3", "r4"]
    assert [one.run for one in open_flows.drop_lapsed(flows, "r3").lapsed] == ["r2", "r4"]


def test_what_is_too_much_is_not_kept_and_has_no_button() -> None:
    much = lapsed("r1", "x" * open_flows.MAX_LAPSED_BYTES)
    assert open_flows.add_lapsed(OpenFlows(), much).lapsed == []
    assert [reply.type for reply in told(OpenFlows(), much).replies] == ["text"]


def test_what_fell_silent_comes_with_a_button() -> None:
    *_, button = told(OpenFlows(), lapsed("r1")).replies
    assert isinstance(button, ChoicesReply)
    assert [option.value for option in button.options] == ["resume:r1"]


def test_of_a_paused_run_the_question_is_left_out() -> None:
    paused = asking("r1")
    flows = OpenFlows(active=asking("r2"), paused=[paused])
    assert [reply.text for reply in told(flows, paused).replies] == ["news"]
    assert len(told(flows, asking("r2")).replies) == 2


def test_news_of_a_paused_run_leave_it_in_its_place() -> None:
    flows = OpenFlows(active=asking("r3"), paused=[asking("r1"), asking("r2")])
    later = asking("r1").model_copy(update={"events": 7})
    after = open_flows.receive_news(flows, later)
    assert ([p.id for p in after.paused], after.paused[0].events) == (["r1", "r2"], 7)


def test_it_is_asked_which_where_several_are_left() -> None:
    flows = OpenFlows(active=asking("r3"), paused=[asking("r1"), asking("r2")])
    assert open_flows.leaves_several(flows, lapsed("r3"))
    assert not open_flows.leaves_several(flows, lapsed("r2"))
    after = open_flows.receive_news(flows, lapsed("r3"), resume=False)
    assert after.active is None
    after, which = open_flows.ask_which(after, "en")
    assert after.offered == which.options
    values = [option.value for option in which.options]
    assert values == ["resume:r1", "resume:r2", "resume:none"]


def test_what_was_left_empty_stays_so_in_the_run_that_goes_on() -> None:
    reason = {**LEAVE["slots"]["reason"], "required": False, "=skippable": True}
    definition = flow(LEAVE, slots={**LEAVE["slots"], "reason": reason}, idle="PT72H")
    silent = Driver(definition).begin(kind="annual", start="2026-11-23", end="2026-11-25")
    silent.take(Skipped(by="alice"))
    for _ in ("idle", "lapse"):
        (timer,) = silent.run.work.timers.values()
        silent.now = timer.due
        silent.take(Fired(timer=timer.id))
    flows = open_flows.add_lapsed(OpenFlows(), view(definition, silent.run))
    (lapsed_,) = flows.lapsed
    again = Driver(definition)
    again.take(Began(by="alice", slots=lapsed_.slots, skipped=lapsed_.skipped))
    assert (again.run.status, again.run.form.skipped_slots) == ("confirming", ["reason"])


def test_news_from_before_an_answer_of_the_run_change_nothing() -> None:
    def at(events: int, status: FlowStatus) -> FlowView:
        about = {"title": Localised(zh="请假", en="Leave"), "version": 1, "state": "details"}
        return FlowView.model_validate(
            {"id": "r1", "flow": "leave", "question": "", "status": status, "events": events}
            | about
        )

    asked, answered = at(4, "collecting"), at(7, "waiting_approval")
    flows = open_flows.receive_news(OpenFlows(), asked)

    flows = open_flows.receive_answer(open_flows.note_events(flows, answered), answered)
    late = open_flows.receive_news(flows, at(6, "collecting"))
    newer = open_flows.receive_news(flows, at(8, "completed"))

    assert late == flows
    assert ([run.id for run in late.handed_in], late.active) == (["r1"], None)
    assert newer.handed_in == []


def waiting(number: int = 0, **more: Any) -> FlowView:
    view = asking(f"r{number}").replace(slots={}, slot_set="s")
    return FlowView.model_validate({**dict(view), **more})


@each_row(
    ("number", "size", "closed"),
    [
        (MAX_PAUSED, 10, None),
        (MAX_PAUSED + 1, 10, "r0"),
        (3, 60_000, "r0"),
        (2, 60_000, None),
    ],
)
def test_the_oldest_of_too_many_requests_is_closed(
    number: int, size: int, closed: str | None
) -> None:
    paused = [waiting(n, slots={"reason": "长" * size}) for n in range(number)]
    surplus = open_flows.find_surplus(OpenFlows(paused=paused))
    assert (surplus.id if surplus else None) == closed


def test_a_request_that_was_just_begun_is_spared() -> None:
    flows = OpenFlows(paused=[waiting(n) for n in range(MAX_PAUSED + 1)])
    surplus = open_flows.find_surplus(flows, {"r0", "r1"})
    assert surplus is not None
    assert surplus.id == "r2"
    assert open_flows.find_surplus(flows, {one.id for one in flows.paused}) is None


@each_row(
    ("after", "lapsed", "said"),
    [
        (waiting(status="expired", kept={"s1": "x"}), ["r0"], "What you gave is kept"),
        (waiting(status="expired", kept={"s1": "长" * 580_000}), [], "Please start it again"),
        (waiting(status="completed"), [], None),
        (None, [], None),
    ],
)
def test_a_closed_request_is_named_and_what_it_was_told_is_kept_if_it_can_be(
    after: FlowView | None, lapsed: list[str], said: str | None
) -> None:
    flows = OpenFlows(paused=[waiting(0), waiting(1)])
    left = open_flows.drop_surplus(flows, waiting(0), after)
    notice = open_flows.say_closed(waiting(0).with_slots({}), after)
    words = notice.en if notice else None
    assert [one.id for one in left.paused] == ["r1"]
    assert [one.run for one in left.lapsed] == lapsed
    assert (said in words) if said and words else (said is words is None)


def answer(run: str, name: str, slots: dict[str, Slot]) -> FlowAnswer:
    return FlowAnswer(view=asking(run).replace(slot_set=name), fillable=slots)


def test_runs_of_one_flow_have_their_slots_once() -> None:
    flows = OpenFlows()
    for run in ("r1", "r2", "r3"):
        received = answer(run, "leave", {"day": Slot(type="date")})
        flows = open_flows.learn_slots(open_flows.pause_active(flows), received)
        flows = open_flows.receive_answer(flows, received.view)

    assert flows.slot_sets == {"leave": {"day": Slot(type="date")}}
    for known in (flows.active, *flows.paused):
        assert known is not None
        assert open_flows.show_form(flows, known).fillable == {"day": Slot(type="date")}


def test_a_run_keeps_the_slots_that_it_began_with_next_to_one_of_an_edited_file() -> None:
    old, new = {"day": Slot(type="date")}, {"day": Slot(type="text")}
    flows = OpenFlows()
    for received in (answer("r1", "old", old), answer("r2", "new", new)):
        flows = open_flows.learn_slots(open_flows.pause_active(flows), received)
        flows = open_flows.receive_answer(flows, received.view)

    (paused,), active = flows.paused, flows.active
    assert active is not None
    assert open_flows.show_form(flows, paused).fillable == old
    assert open_flows.show_form(flows, active).fillable == new


def test_slots_that_the_run_leaves_out_since_they_are_known_stay_known() -> None:
    flows = open_flows.learn_slots(OpenFlows(), answer("r1", "leave", {"day": Slot(type="date")}))

    again = open_flows.learn_slots(flows, answer("r1", "leave", {}))

    assert again == flows


@each_row(
    ("status", "is_answer", "sent"),
    [
        ("collecting", True, ["a"]),
        ("collecting", False, ["a", "h"]),
        ("running", True, ["a", "h"]),
    ],
)
def test_a_message_is_read_with_the_slots_that_it_may_fill(
    status: FlowStatus, is_answer: bool, sent: list[str]
) -> None:
    flows = OpenFlows(
        active=asking("r1").replace(slot_set="a", status=status),
        paused=[asking("r2").replace(slot_set="p")],
        handed_in=[asking("r3").replace(slot_set="h")],
        slot_sets={name: {"day": Slot(type="date")} for name in ("a", "p", "h")},
    )

    assert list(open_flows.slots_to_read(flows, is_answer=is_answer)) == sent


def test_slots_are_dropped_once_no_run_and_no_news_refers_to_them() -> None:
    flows = OpenFlows(
        active=asking("r1").replace(slot_set="a"),
        paused=[asking("r2").replace(slot_set="p")],
        handed_in=[asking("r3").replace(slot_set="h")],
        slot_sets={name: {"day": Slot(type="date")} for name in ("a", "p", "h", "n", "over")},
    )
    news = News(view=asking("r4").replace(slot_set="n"), replies=[], at=NOW)

    left = open_flows.drop_unused_slots(flows, [news])

    assert list(left.slot_sets) == ["a", "p", "h", "n"]
    assert list(open_flows.drop_unused_slots(left).slot_sets) == ["a", "p", "h"]
