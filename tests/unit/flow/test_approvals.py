"""Who is asked, in which order, how long, and what counts: approvals under the newest rules."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from router.domain.messages import ConfirmReply
from router.flow.definition import FlowDefinition
from router.flow.engine.decisions import MOST_PASSED_ON
from router.flow.engine.events import Decided, Nudged
from router.flow.prompts.question import view
from tests.unit.flow.definitions import LEAVE, NOW, Driver, flow, text

WHOLE = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-24", "reason": "family"}
EXITS = {"approved": "record", "rejected": "tell_no", "returned": "details"}
BOB = {"by": "'bob'"}
CAROL = {"by": "'carol'"}
BOTH: dict[str, Any] = {"by": ["'bob'", "'carol'"]}
ALL, IN_TURN = BOTH | {"mode": "all"}, BOTH | {"mode": "sequential"}


def ladder(
    first: dict[str, Any], second: dict[str, Any] | None = None, **states: Any
) -> FlowDefinition:
    """Leave that goes to `first`, and then to `second` where there is one."""
    title = text("Leave of {{ requester.name }}")
    manager = {**EXITS, "approve": {"title": title, **first}}
    director = {**EXITS, "approve": {"title": text("Second look"), **CAROL, **(second or {})}}
    manager |= {"approved": "director"} if second else {}
    states = {"manager": manager, "director": director, **states}
    return flow(LEAVE, states={**LEAVE["states"], **states})


def begun(definition: FlowDefinition, **away: str) -> Driver:
    driver = Driver(definition)
    driver.world.away = away
    return driver.begin(**WHOLE).confirm()


def asking(first: dict[str, Any], second: dict[str, Any] | None = None, **away: str) -> Driver:
    return begun(ladder(first, second), **away)


def adding(position: str | None = None, ask: dict[str, Any] = BOB) -> Driver:
    """Bob, who is asked, adds Dave."""
    return asking(ask).decide("bob", "add", to="dave", position=position)


def approved(driver: Driver) -> list[str]:
    """Who agrees, one after the other, until it is completed."""
    seen = []
    while driver.run.status == "waiting_approval":
        (one,) = driver.awaited
        seen.append(one)
        driver.decide(one)
    assert driver.run.status == "completed"
    return seen


def ways(driver: Driver) -> list[tuple[str, str]]:
    """Who agreed in what ended last, and how they came to."""
    ended = (one for approval in driver.run.approvals.ended for one in approval.assignees)
    return [(one.person, one.via) for one in ended if one.verdict == "approve"]


def refused(driver: Driver, person: str, verdict: str, **more: str) -> str:
    decision = driver.decision(person, verdict, **more)
    error = driver.refusal(decision)
    before = driver.run.model_dump(exclude={"events"})
    driver.take(decision)
    assert driver.run.model_dump(exclude={"events"}) == before
    return str(error)


class TestAdding:
    def test_whoever_is_added_before_decides_first_and_then_the_one_who_added_them(self) -> None:
        driver = adding("before")
        assert (driver.awaited, driver.told("added")) == (["dave"], [["dave"]])
        assert "dave decides first" in refused(driver, "bob", "approve")
        assert driver.decide("dave").awaited == ["bob"]
        assert driver.told("asked")[-1] == ["bob"]
        assert approved(driver) == ["bob"]

    def test_adding_somebody_after_oneself_is_agreeing_and_may_be_said_once_more(self) -> None:
        driver = adding("after")
        assert driver.awaited == ["dave"]
        assert "You approved this already" in refused(driver, "bob", "reject")
        driver.decide("bob")
        assert "You approved this already" in refused(driver, "bob", "approve")
        assert approved(driver) == ["dave"]

    @pytest.mark.parametrize("position", ["before", "after"])
    def test_whoever_is_added_may_reject(self, position: str) -> None:
        assert adding(position).decide("dave", "reject").run.status == "rejected"

    @pytest.mark.parametrize(
        ("position", "order"), [("before", ["dave", "bob", "carol"]), ("after", ["dave", "carol"])]
    )
    def test_in_sequence_the_one_added_has_their_turn_where_they_were_put(
        self, position: str, order: list[str]
    ) -> None:
        assert approved(adding(position, IN_TURN)) == order

    def test_who_waits_for_somebody_waits_for_whoever_they_passed_it_on_to(self) -> None:
        driver = adding("before").decide("dave", "delegate", to="erin")
        assert driver.awaited == ["erin"]
        assert "erin decides first" in refused(driver, "bob", "approve")
        assert approved(driver) == ["erin", "bob"]

    def test_whoever_is_added_after_may_pass_it_on_and_their_word_isnt_waited_for(self) -> None:
        assert approved(adding("after").decide("dave", "delegate", to="erin")) == ["erin"]

    @pytest.mark.parametrize(
        ("position", "order"), [("before", ["zoe", "bob"]), ("after", ["zoe"])]
    )
    def test_where_whoever_is_added_is_late_the_word_of_who_is_asked_instead_counts(
        self, position: str, order: list[str]
    ) -> None:
        up = {"escalate_after": "PT72H", "escalate_to": "'zoe'"}
        assert approved(adding(position, BOB | up).fire("escalate")) == order

    def test_passing_on_comes_to_an_end(self) -> None:
        driver = asking(BOB)
        people = ["bob", *(f"p{n}" for n in range(MOST_PASSED_ON))]
        for one, other in pairwise(people):
            driver.decide(one, "delegate", to=other)
        assert f"{MOST_PASSED_ON} times" in refused(driver, people[-1], "delegate", to="last")
        assert approved(driver) == people[-1:]


class TestCopies:
    def test_they_are_told_when_it_is_asked_and_when_it_is_decided(self) -> None:
        driver = asking(BOB | {"cc": ["manager(approver)", "'dave'"]})
        assert driver.told("copied") == [["carol", "dave"]]
        assert (driver.run.approvals.copied_people, driver.awaited) == (["carol", "dave"], ["bob"])
        assert driver.decide("bob").told("decided") == [["carol", "dave"]]

    def test_neither_the_requester_nor_those_asked_get_a_copy(self) -> None:
        assert asking(BOB | {"cc": ["'alice'", "'bob'"]}).told("copied") == []


class TestStandIns:
    def test_who_is_away_is_stood_in_for_and_history_names_both(self) -> None:
        driver = asking(BOB, bob="dave")
        assert driver.assignee("dave").stands_in == "bob"
        assert ("stands in", "dave", "for bob, who is away") in driver.history
        assert approved(driver) == ["dave"]

    def test_the_requester_never_stands_in(self) -> None:
        assert asking(BOB, bob="alice").awaited == ["bob"]

    def test_one_stand_in_for_two_is_asked_once(self) -> None:
        assert asking(ALL, bob="carol").awaited == ["carol"]

    def test_where_a_stand_in_is_late_it_goes_to_the_manager_of_the_one_who_is_away(self) -> None:
        up = {"escalate_after": "PT72H", "escalate_to": "manager(approver)"}
        assert asking(BOB | up, bob="dave").fire("escalate").awaited == ["carol"]


class TestNobody:
    @pytest.mark.parametrize("mode", ["any", "all", "sequential"])
    def test_the_requester_is_left_out_of_several(self, mode: str) -> None:
        assert approved(asking({"by": ["'alice'", "'bob'"], "mode": mode})) == ["bob"]

    @pytest.mark.parametrize("by", ["'alice'", ["requester.id", "'alice'"], "manager('carol')"])
    @pytest.mark.parametrize("mode", ["any", "all", "sequential"])
    def test_where_nobody_is_left_others_are_asked(self, by: Any, mode: str) -> None:
        assert asking({"by": by, "mode": mode, "otherwise": "role('hr')"}).awaited == ["dave"]

    @pytest.mark.parametrize("by", ["'alice'", "manager('carol')"])
    @pytest.mark.parametrize("otherwise", [None, "'alice'", "manager('carol')"])
    def test_where_nobody_is_left_it_fails_and_says_so(self, by: str, otherwise: Any) -> None:
        driver = asking({"by": by, "otherwise": otherwise})
        assert (driver.run.status, driver.called[-1]) == ("failed", "release")
        assert driver.said[-1].startswith("Nobody was found who could approve this")


class TestSameContents:
    def test_who_agreed_to_the_same_is_not_asked_again(self) -> None:
        driver = asking(BOB, BOB).decide("bob")
        assert driver.run.status == "completed"
        assert ("agreement carried over", "bob") in [line[:2] for line in driver.history]
        assert "Bob agreed to the same before and isn't asked again." in driver.said

    def test_what_they_decided_is_known_beside_what_was_carried_over_from_it(self) -> None:
        driver = (
            asking(CAROL, BOB).decide("carol").decide("bob", "add", to="dave", position="after")
        )
        assert driver.decide("dave").run.status == "completed"
        assert ways(driver) == [("bob", "asked"), ("dave", "added")]
        assert ways(asking(BOB, BOB).decide("bob")) == [("bob", "asked"), ("bob", "carried")]

    def test_of_several_only_the_others_are_asked(self) -> None:
        assert approved(asking(BOB, ALL).decide("bob")) == ["carol"]

    def test_a_file_may_want_everybody_asked_anew(self) -> None:
        driver = asking(BOB, BOB | {"skip_same": False}).decide("bob")
        assert (driver.run.state, driver.awaited) == ("director", ["bob"])

    def test_after_a_return_without_changes_those_who_agreed_are_not_asked_again(self) -> None:
        driver = asking(BOB, CAROL).decide("bob").decide("carol", "return", comment="sure?")
        driver.answer(change="-").confirm()
        assert driver.run.state == "director"
        assert approved(driver) == ["carol"]

    def test_after_a_return_with_changes_everybody_is_asked_again(self) -> None:
        driver = asking(BOB, CAROL).decide("bob")
        first = driver.assignee("carol")
        driver.decide("carol", "return").answer(reason="moving house").confirm()
        assert (driver.run.state, driver.awaited) == ("manager", ["bob"])
        assert driver.decide("bob").assignee("carol").id != first.id
        late = Decided(by="carol", approval=first.id, verdict="approve")
        assert "closed meanwhile" in str(driver.refusal(late))
        assert approved(driver) == ["carol"]

    def test_an_agreement_counts_once_in_a_state_so_that_no_flow_runs_in_circles(self) -> None:
        driver = begun(ladder(BOB, record={**LEAVE["states"]["record"], "on_error": "manager"}))
        driver.world.failing["record"] = "closed"
        for _ in range(3):
            driver.decide("bob")
            assert (driver.run.state, driver.awaited) == ("manager", ["bob"])


class TestReturning:
    def test_the_confirmation_shows_what_changed_and_a_later_one_nothing_of_long_ago(self) -> None:
        driver = asking(BOB).decide("bob", "return")
        assert driver.run.question.path == "change"
        driver.answer(end="2026-11-25")
        (reply,) = view(driver.definition, driver.run).replies
        assert isinstance(reply, ConfirmReply)
        changes = reply.text.split("Changed since it was handed in:\n")[1]
        assert changes.splitlines() == ["To: Tue 24 Nov 2026 → Wed 25 Nov 2026", "Days: 2 → 3"]
        assert driver.confirm().run.approvals.slots_before is None


class TestWorkingTime:
    WORKING: dict[str, Any] = {
        **IN_TURN,
        "hours": "working",
        "remind_every": "PT4H",
        "escalate_after": "P1DT2H",
        "escalate_to": "manager(approver)",
        "expire_after": "P5D",
    }

    def test_spans_are_counted_in_the_working_time_of_whoever_is_asked(self) -> None:
        driver = asking(self.WORKING)
        due = {name: timer.due - NOW for name, timer in driver.run.work.timers.items()}
        assert due == {
            "remind": timedelta(hours=40),
            "escalate": timedelta(hours=260),
            "expire": timedelta(days=50),
        }
        assert {who for who, *_ in driver.world.spans} == {"bob"}
        assert driver.world.spans[1][2] == {"days": 1, "hours": 2.0}

    def test_the_next_reminder_is_looked_up_as_well(self) -> None:
        driver = asking(self.WORKING).fire("remind")
        assert driver.told("reminded") == [["bob"]]
        assert driver.run.work.timers["remind"].due == driver.now + timedelta(hours=40)

    def test_whose_turn_comes_later_has_as_long_as_the_first(self) -> None:
        driver = asking(self.WORKING).after(timedelta(hours=100)).decide("bob")
        assert driver.world.spans[-1][0] == "carol"
        assert driver.run.work.timers["escalate"].due == driver.now + timedelta(hours=260)
        assert driver.run.work.timers["expire"].due == NOW + timedelta(days=50)

    def test_a_decision_while_a_deadline_is_looked_up_counts(self) -> None:
        driver = asking(self.WORKING | BOB).fire("remind", answer=False)
        assert driver.run.work.tasks
        assert driver.decide("bob").run.status == "completed"

    def test_a_nudge_moves_no_deadline(self) -> None:
        driver = asking(self.WORKING)
        before = driver.run.work.timers
        assert driver.take(Nudged(by="alice")).run.work.timers == before


class TestWhoIsTold:
    """Each hears what is theirs to know, and nobody hears it twice."""

    def test_delegating_tells_the_one_it_is_passed_to_alone(self) -> None:
        driver = asking(ALL).decide("bob", "delegate", to="dave")
        assert driver.told("asked") == [["bob", "carol"]]
        assert driver.told("delegated") == [["dave"]]

    def test_adding_tells_the_one_who_is_added_alone_and_they_have_to_agree_too(self) -> None:
        driver = adding(ask=ALL)
        assert driver.told("added") == [["dave"]]
        assert driver.decide("bob").decide("carol").awaited == ["dave"]
        assert approved(driver) == ["dave"]

    def test_after_whoever_came_before_only_the_next_is_asked(self) -> None:
        driver = adding("before", ALL).decide("dave")
        assert driver.told("asked") == [["bob", "carol"], ["bob"]]
