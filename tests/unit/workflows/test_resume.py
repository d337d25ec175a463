"""What a conversation keeps of runs that fell silent, and how it passes their news on."""

from datetime import UTC, datetime

from router.contracts.conversation import ConversationState, News
from router.domain.messages import ChoicesReply, TextReply
from router.flow.engine.events import Began, Fired, Skipped
from router.flow.engine.machine import step
from router.flow.engine.run import Run
from router.flow.prompts.question import view
from router.flow.view import FlowView
from tests.unit.flow.definitions import ALICE, LEAVE, NOW, Driver, flow
from workflows import memory

ASKED = flow(LEAVE)


def asking(run: str) -> FlowView:
    begun, _ = step(ASKED, Run(id=run, requester=ALICE, locale="en"), Began(by="alice"), NOW)
    return view(ASKED, begun)


def lapsed(run: str, reason: str = "family") -> FlowView:
    over = {"status": "expired", "replies": [], "kept": {"reason": reason}}
    return asking(run).model_copy(update=over)


def told(state: ConversationState, about: FlowView) -> News:
    said = [TextReply(text="news"), *about.replies]
    news = News(view=about, replies=said, at=datetime.now(UTC))
    return memory.as_told(state, news, "en")


def test_the_last_three_are_kept_and_none_twice() -> None:
    state = ConversationState()
    for run in ("r1", "r2", "r3", "r4", "r4"):
        state = memory.with_lapsed(state, lapsed(run))
    assert [one.run for one in state.lapsed] == ["r2", "r3", "r4"]
    assert [one.run for one in memory.without_lapsed(state, "r3").lapsed] == ["r2", "r4"]


def test_what_is_too_much_is_not_kept_and_has_no_button() -> None:
    much = lapsed("r1", "x" * memory.LAPSED_BYTES)
    assert memory.with_lapsed(ConversationState(), much).lapsed == []
    assert [reply.type for reply in told(ConversationState(), much).replies] == ["text"]


def test_what_fell_silent_comes_with_a_button() -> None:
    *_, button = told(ConversationState(), lapsed("r1")).replies
    assert isinstance(button, ChoicesReply)
    assert [option.value for option in button.options] == ["resume:r1"]


def test_of_a_paused_run_the_question_is_left_out() -> None:
    paused = asking("r1")
    state = ConversationState(active=asking("r2"), paused=[paused])
    assert [reply.text for reply in told(state, paused).replies] == ["news"]
    assert len(told(state, asking("r2")).replies) == 2


def test_news_of_a_paused_run_leave_it_in_its_place() -> None:
    state = ConversationState(active=asking("r3"), paused=[asking("r1"), asking("r2")])
    later = asking("r1").model_copy(update={"events": 7})
    after = memory.with_news(state, later)
    assert ([p.id for p in after.paused], after.paused[0].events) == (["r1", "r2"], 7)


def test_it_is_asked_which_where_several_are_left() -> None:
    state = ConversationState(active=asking("r3"), paused=[asking("r1"), asking("r2")])
    assert memory.leaves_several(state, lapsed("r3"))
    assert not memory.leaves_several(state, lapsed("r2"))
    after = memory.with_news(state, lapsed("r3"), resume=False)
    assert after.active is None
    after, which = memory.asking_which(after, "en")
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
    state = memory.with_lapsed(ConversationState(), view(definition, silent.run))
    (lapsed_,) = state.lapsed
    again = Driver(definition)
    again.take(Began(by="alice", slots=lapsed_.slots, skipped=lapsed_.skipped))
    assert (again.run.status, again.run.form.skipped_slots) == ("confirming", ["reason"])
