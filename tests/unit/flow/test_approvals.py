"""Who is asked, in which order, how long, and what counts: approvals under the newest rules."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from router.domain.messages import ConfirmReply
from router.flow.definition import FlowDefinition
from router.flow.engine.decisions import MOST_PASSED_ON
from router.flow.engine.events import Answered, Confirmed, Decided, Fired, Nudged, Remind
from router.flow.engine.machine import refusal_of
from router.flow.engine.run import Assignee
from router.flow.prompts.question import view
from tests.unit.flow.definitions import LEAVE, NOW, Driver, flow, text

WHOLE: dict[str, Any] = {
    "kind": "annual",
    "start": "2026-11-23",
    "end": "2026-11-24",
    "reason": "family",
}
SECOND: dict[str, Any] = {
    "approve": {"by": "'carol'", "title": text("Second look")},
    "approved": "record",
    "rejected": "tell_no",
    "returned": "details",
}


def ladder(first: dict[str, Any], second: dict[str, Any] | None = None) -> FlowDefinition:
    """Leave that goes to `first`, and then to `second` where there is one."""
    manager = {
        "approve": {"title": text("Leave of {{ requester.name }}"), **first},
        "approved": "director" if second else "record",
        "rejected": "tell_no",
        "returned": "details",
    }
    director = {**SECOND, "approve": {**SECOND["approve"], **(second or {})}}
    states = {**LEAVE["states"], "manager": manager, "director": director}
    return flow(LEAVE, states=states)


def asking(definition: FlowDefinition, away: dict[str, str] | None = None) -> Driver:
    driver = Driver(definition)
    driver.world.away = away or {}
    return driver.begin(**WHOLE).take(Confirmed(by="alice", value=True))


def awaited(driver: Driver) -> list[str]:
    approval = driver.run.approval
    return [a.person for a in approval.waiting_for()] if approval else []


def of(driver: Driver, person: str) -> Assignee:
    approval = driver.run.approval
    assert approval is not None, driver.run.history
    return [a for a in approval.assignees if a.person == person][-1]


def decide(driver: Driver, person: str, verdict: str, **more: str) -> Driver:
    event = {"by": person, "approval": of(driver, person).id, "verdict": verdict, **more}
    decided = Decided.model_validate(event)
    refused = refusal_of(driver.definition, driver.run, decided, driver.now)
    assert refused is None, refused
    return driver.take(decided)


def refused(driver: Driver, person: str, verdict: str, **more: str) -> str:
    event = {"by": person, "approval": of(driver, person).id, "verdict": verdict, **more}
    error = refusal_of(driver.definition, driver.run, Decided.model_validate(event), driver.now)
    before = driver.run.model_dump(exclude={"events"})
    driver.take(Decided.model_validate(event))
    assert driver.run.model_dump(exclude={"events"}) == before
    return str(error)


def told(driver: Driver, reason: str) -> list[list[str]]:
    return [e.people for e in driver.effects if isinstance(e, Remind) and e.reason == reason]


def events(driver: Driver) -> list[tuple[str, str | None]]:
    return [(line.event, line.by) for line in driver.run.history]


def fire(driver: Driver, name: str) -> Driver:
    timer = driver.run.timers[name]
    return driver.after(timer.due - driver.now).take(Fired(timer=timer.id))


class TestAdding:
    def test_whoever_is_added_before_decides_first_and_then_the_one_who_added_them(self) -> None:
        driver = decide(asking(ladder({"by": "'bob'"})), "bob", "add", to="dave", position="before")
        assert (awaited(driver), told(driver, "added")) == (["dave"], [["dave"]])
        assert "dave decides first" in refused(driver, "bob", "approve")
        decide(driver, "dave", "approve")
        assert awaited(driver) == ["bob"]
        assert told(driver, "asked")[-1] == ["bob"]
        assert decide(driver, "bob", "approve").run.status == "completed"

    def test_adding_somebody_after_oneself_is_agreeing(self) -> None:
        driver = decide(asking(ladder({"by": "'bob'"})), "bob", "add", to="dave", position="after")
        assert awaited(driver) == ["dave"]
        assert decide(driver, "dave", "approve").run.status == "completed"

    def test_who_agreed_by_adding_may_still_say_so_once(self) -> None:
        driver = decide(asking(ladder({"by": "'bob'"})), "bob", "add", to="dave", position="after")
        assert "decided already" in refused(driver, "bob", "reject")
        decide(driver, "bob", "approve")
        assert "decided already" in refused(driver, "bob", "approve")
        assert (driver.run.status, awaited(driver)) == ("waiting_approval", ["dave"])

    def test_whoever_is_added_may_reject(self) -> None:
        for position in ("before", "after"):
            driver = asking(ladder({"by": "'bob'"}))
            decide(driver, "bob", "add", to="dave", position=position)
            assert decide(driver, "dave", "reject").run.status == "rejected"

    @pytest.mark.parametrize(
        ("position", "order"),
        [("before", ["dave", "bob", "carol"]), ("after", ["dave", "carol"])],
    )
    def test_in_sequence_the_one_added_has_their_turn_where_they_were_put(
        self, position: str, order: list[str]
    ) -> None:
        driver = asking(ladder({"by": ["'bob'", "'carol'"], "mode": "sequential"}))
        decide(driver, "bob", "add", to="dave", position=position)
        seen = []
        while driver.run.status == "waiting_approval":
            (one,) = awaited(driver)
            seen.append(one)
            decide(driver, one, "approve")
        assert (seen, driver.run.status) == (order, "completed")

    def test_who_waits_for_somebody_waits_for_whoever_they_passed_it_on_to(self) -> None:
        driver = decide(asking(ladder({"by": "'bob'"})), "bob", "add", to="dave", position="before")
        decide(driver, "dave", "delegate", to="erin")
        assert awaited(driver) == ["erin"]
        assert "erin decides first" in refused(driver, "bob", "approve")
        assert awaited(decide(driver, "erin", "approve")) == ["bob"]

    @pytest.mark.parametrize("position", ["before", "after"])
    def test_whoever_is_added_may_pass_it_on_and_their_word_isnt_waited_for(
        self, position: str
    ) -> None:
        driver = asking(ladder({"by": "'bob'"}))
        decide(driver, "bob", "add", to="dave", position=position)
        decide(driver, "dave", "delegate", to="erin")
        while driver.run.status == "waiting_approval":
            (one,) = awaited(driver)
            decide(driver, one, "approve")
        assert driver.run.status == "completed"

    def test_passing_on_comes_to_an_end(self) -> None:
        driver = asking(ladder({"by": "'bob'"}))
        people = ["bob", *(f"p{n}" for n in range(MOST_PASSED_ON))]
        for one, other in pairwise(people):
            decide(driver, one, "delegate", to=other)
        assert f"{MOST_PASSED_ON} times" in refused(driver, people[-1], "delegate", to="last")
        assert decide(driver, people[-1], "approve").run.status == "completed"


class TestCopies:
    def test_they_are_told_when_it_is_asked_and_when_it_is_decided(self) -> None:
        driver = asking(ladder({"by": "'bob'", "cc": ["manager(approver)", "'dave'"]}))
        assert told(driver, "copied") == [["carol", "dave"]]
        assert driver.run.copied == ["carol", "dave"]
        assert awaited(driver) == ["bob"]
        decide(driver, "bob", "approve")
        assert told(driver, "decided") == [["carol", "dave"]]

    def test_neither_the_requester_nor_those_asked_get_a_copy(self) -> None:
        driver = asking(ladder({"by": "'bob'", "cc": ["'alice'", "'bob'"]}))
        assert told(driver, "copied") == []


class TestStandIns:
    def test_who_is_away_is_stood_in_for_and_history_names_both(self) -> None:
        driver = asking(ladder({"by": "'bob'"}), {"bob": "dave"})
        assert awaited(driver) == ["dave"]
        assert of(driver, "dave").stands_in == "bob"
        line = next(line for line in driver.run.history if line.event == "stands in")
        assert (line.by, line.comment) == ("dave", "for bob, who is away")
        assert decide(driver, "dave", "approve").run.status == "completed"

    def test_the_requester_never_stands_in(self) -> None:
        assert awaited(asking(ladder({"by": "'bob'"}), {"bob": "alice"})) == ["bob"]

    def test_one_stand_in_for_two_is_asked_once(self) -> None:
        driver = asking(ladder({"by": ["'bob'", "'carol'"], "mode": "all"}), {"bob": "carol"})
        assert awaited(driver) == ["carol"]

    def test_where_a_stand_in_is_late_it_goes_to_the_manager_of_the_one_who_is_away(self) -> None:
        up = {"escalate_after": "PT72H", "escalate_to": "manager(approver)"}
        driver = asking(ladder({"by": "'bob'", **up}), {"bob": "dave"})
        assert awaited(fire(driver, "escalate")) == ["carol"]


class TestNobody:
    @pytest.mark.parametrize("mode", ["any", "all", "sequential"])
    def test_the_requester_is_left_out_of_several(self, mode: str) -> None:
        driver = asking(ladder({"by": ["'alice'", "'bob'"], "mode": mode}))
        assert awaited(driver) == ["bob"]
        assert decide(driver, "bob", "approve").run.status == "completed"

    @pytest.mark.parametrize("by", ["'alice'", ["requester.id", "'alice'"], "manager('carol')"])
    @pytest.mark.parametrize("mode", ["any", "all", "sequential"])
    def test_where_nobody_is_left_others_are_asked(self, by: Any, mode: str) -> None:
        ask = {"by": by, "mode": mode, "otherwise": "role('hr')"}
        assert awaited(asking(ladder(ask))) == ["dave"]

    @pytest.mark.parametrize("otherwise", [None, "'alice'", "manager('carol')"])
    def test_where_nobody_at_all_is_left_it_fails_and_says_so(self, otherwise: str | None) -> None:
        driver = asking(ladder({"by": "manager('carol')", "otherwise": otherwise}))
        assert driver.run.status == "failed"
        assert driver.said[-1].startswith("Nobody was found who could approve this")
        assert [name for name, *_ in driver.world.calls][-1] == "release"


class TestSameContents:
    def test_who_agreed_to_the_same_is_not_asked_again(self) -> None:
        driver = asking(ladder({"by": "'bob'"}, {"by": "'bob'"}))
        decide(driver, "bob", "approve")
        assert driver.run.status == "completed"
        assert ("agreement carried over", "bob") in events(driver)
        assert "Bob agreed to the same before and isn't asked again." in driver.said

    def test_of_several_only_the_others_are_asked(self) -> None:
        driver = asking(ladder({"by": "'bob'"}, {"by": ["'bob'", "'carol'"], "mode": "all"}))
        decide(driver, "bob", "approve")
        assert awaited(driver) == ["carol"]
        assert decide(driver, "carol", "approve").run.status == "completed"

    def test_a_file_may_want_everybody_asked_anew(self) -> None:
        driver = asking(ladder({"by": "'bob'"}, {"by": "'bob'", "skip_same": False}))
        decide(driver, "bob", "approve")
        assert (driver.run.state, awaited(driver)) == ("director", ["bob"])

    def test_after_a_return_without_changes_those_who_agreed_are_not_asked_again(self) -> None:
        driver = asking(ladder({"by": "'bob'"}, {"by": "'carol'"}))
        decide(driver, "bob", "approve")
        decide(driver, "carol", "return", comment="sure?")
        driver.take(Answered(by="alice", slots={"change": "-"}))
        driver.take(Confirmed(by="alice", value=True))
        assert (driver.run.state, awaited(driver)) == ("director", ["carol"])
        assert decide(driver, "carol", "approve").run.status == "completed"

    def test_after_a_return_with_changes_everybody_is_asked_again(self) -> None:
        driver = asking(ladder({"by": "'bob'"}, {"by": "'carol'"}))
        decide(driver, "bob", "approve")
        first = of(driver, "carol")
        decide(driver, "carol", "return")
        driver.take(Answered(by="alice", slots={"reason": "moving house"}))
        driver.take(Confirmed(by="alice", value=True))
        assert (driver.run.state, awaited(driver)) == ("manager", ["bob"])
        decide(driver, "bob", "approve")
        assert of(driver, "carol").id != first.id
        late = Decided(by="carol", approval=first.id, verdict="approve")
        assert "closed meanwhile" in str(refusal_of(driver.definition, driver.run, late, NOW))
        assert decide(driver, "carol", "approve").run.status == "completed"

    def test_an_agreement_counts_once_in_a_state_so_that_no_flow_runs_in_circles(self) -> None:
        states = {**LEAVE["states"]["record"], "on_error": "manager"}
        definition = ladder({"by": "'bob'"})
        record = definition.states["record"].model_validate(states)
        definition = definition.model_copy(
            update={"states": {**definition.states, "record": record}}
        )
        driver = asking(definition)
        driver.world.failing["record"] = "closed"
        for _ in range(3):
            decide(driver, "bob", "approve")
            assert (driver.run.state, awaited(driver)) == ("manager", ["bob"])


class TestReturning:
    def test_the_confirmation_shows_what_changed(self) -> None:
        driver = decide(asking(ladder({"by": "'bob'"})), "bob", "return")
        assert driver.run.asked == "change"
        driver.take(Answered(by="alice", slots={"end": "2026-11-25"}))
        (reply,) = view(driver.definition, driver.run).replies
        assert isinstance(reply, ConfirmReply)
        changes = reply.text.split("Changed since it was sent back:\n")[1]
        assert changes.splitlines() == [
            "To: Tue 24 Nov 2026 → Wed 25 Nov 2026",
            "Days: 2 → 3",
        ]

    def test_what_is_confirmed_later_shows_no_changes_of_long_ago(self) -> None:
        driver = decide(asking(ladder({"by": "'bob'"})), "bob", "return")
        driver.take(Answered(by="alice", slots={"reason": "moving"}))
        driver.take(Confirmed(by="alice", value=True))
        assert driver.run.before is None


class TestWorkingTime:
    WORKING: dict[str, Any] = {
        "by": ["'bob'", "'carol'"],
        "mode": "sequential",
        "hours": "working",
        "remind_every": "PT4H",
        "escalate_after": "P1DT2H",
        "escalate_to": "manager(approver)",
        "expire_after": "P5D",
    }

    def test_spans_are_counted_in_the_working_time_of_whoever_is_asked(self) -> None:
        driver = asking(ladder(self.WORKING))
        due = {name: timer.due - NOW for name, timer in driver.run.timers.items()}
        assert due == {
            "remind": timedelta(hours=40),
            "escalate": timedelta(hours=260),
            "expire": timedelta(days=50),
        }
        assert {who for who, *_ in driver.world.spans} == {"bob"}
        assert driver.world.spans[1][2] == {"days": 1, "hours": 2.0}

    def test_the_next_reminder_is_looked_up_as_well(self) -> None:
        driver = fire(asking(ladder(self.WORKING)), "remind")
        assert told(driver, "reminded") == [["bob"]]
        assert driver.run.timers["remind"].due == driver.now + timedelta(hours=40)

    def test_whose_turn_comes_later_has_as_long_as_the_first(self) -> None:
        driver = asking(ladder(self.WORKING)).after(timedelta(hours=100))
        decide(driver, "bob", "approve")
        assert driver.world.spans[-1][0] == "carol"
        assert driver.run.timers["escalate"].due == driver.now + timedelta(hours=260)
        assert driver.run.timers["expire"].due == NOW + timedelta(days=50)

    def test_a_decision_while_a_deadline_is_looked_up_counts(self) -> None:
        driver = asking(ladder({**self.WORKING, "by": "'bob'"}))
        timer = driver.run.timers["remind"]
        driver.after(timedelta(hours=40)).take(Fired(timer=timer.id), answer=False)
        assert driver.run.tasks
        decide(driver, "bob", "approve")
        assert driver.run.status == "completed"

    def test_a_nudge_moves_no_deadline(self) -> None:
        driver = asking(ladder(self.WORKING))
        before = driver.run.timers
        assert driver.take(Nudged(by="alice")).run.timers == before


class TestWhoIsTold:
    """Each hears what is theirs to know, and nobody hears it twice."""

    BOTH = ("'bob'", "'carol'")

    def test_delegating_tells_the_one_it_is_passed_to_alone(self) -> None:
        driver = asking(ladder({"by": list(self.BOTH), "mode": "all"}))
        decide(driver, "bob", "delegate", to="dave")
        assert told(driver, "asked") == [["bob", "carol"]]
        assert told(driver, "delegated") == [["dave"]]

    def test_adding_tells_the_one_who_is_added_alone(self) -> None:
        driver = asking(ladder({"by": list(self.BOTH), "mode": "all"}))
        decide(driver, "bob", "add", to="dave")
        assert told(driver, "added") == [["dave"]]

    def test_after_whoever_came_before_only_the_next_is_asked(self) -> None:
        driver = asking(ladder({"by": list(self.BOTH), "mode": "all"}))
        decide(driver, "bob", "add", to="dave", position="before")
        decide(driver, "dave", "approve")
        assert told(driver, "asked") == [["bob", "carol"], ["bob"]]
