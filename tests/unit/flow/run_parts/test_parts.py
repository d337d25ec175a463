"""What each part of a run does by itself."""

from datetime import timedelta
from typing import Any

import pytest

from router.domain.locale import Localised
from router.domain.run_approvals import RunApproval
from router.flow.engine.run import Run
from router.flow.engine.run_parts.approvals import Agreement, Approvals
from router.flow.engine.run_parts.draftable import Draftable
from router.flow.engine.run_parts.form import Form, Inquiry
from router.flow.engine.run_parts.question import HANDED_OFF, Question
from router.flow.engine.run_parts.recovery import Recovery, Visit
from router.flow.engine.run_parts.work import (
    Batch,
    BatchPart,
    Ending,
    Leaving,
    Opening,
    Pending,
    Rescheduling,
    Timer,
    Work,
)
from router.flow.slot_types.slot import Slot
from tests.table import each_row
from tests.unit.flow.definitions import ALICE, NOW
from tests.unit.flow.test_approvals import BOB, asking

PARTS = Run(id="r", requester=ALICE).parts


@each_row(("name", "part"), PARTS.items(), ids=PARTS)
def test_a_draft_can_be_changed_without_changing_what_it_was_made_of(
    name: str, part: Draftable
) -> None:
    before, draft = part.model_copy(deep=True), part.draft()
    for field, entries in dict(draft).items():
        match entries:
            case list():
                entries.append(field)
            case dict():
                entries[field] = field
            case _:
                setattr(draft, field, field)
    assert part == before, name


def test_a_draft_of_an_approval_can_be_decided_without_deciding_the_approval() -> None:
    before = asking(BOB).run
    draft = before.draft()
    for one in draft.approvals.current.assignees if draft.approvals.current else ():
        one.verdict = "approve"
    assert before.approvals.current is not None
    assert [one.verdict for one in before.approvals.current.assignees] == [None]


def test_a_draft_of_a_batch_has_parts_of_its_own() -> None:
    before = Work(batch=Batch(visit=1, parts=[BatchPart()]))
    draft = before.draft()
    assert draft.batch is not None
    assert before.batch is not None
    draft.batch.parts[0] = BatchPart(status="done")
    assert before.batch.those("waiting")


class TestForm:
    def test_answers_to_a_tool_and_empty_slots_are_not_among_those_that_are_known(self) -> None:
        asked = Inquiry(
            state="book",
            say=Localised(zh="?", en="?"),
            slots={"seat": Slot(type="text")},
            fields={},
        )
        form = Form(slots={"a": 1, "b": None, "seat": "4a"}, inquiries=[asked])
        assert form.known_slots() == {"a": 1}

    def test_a_branch_knows_what_was_given_and_not_what_is_being_asked(self) -> None:
        form = Form(slots={"a": 1}, skipped_slots=["b"], offered_values={"c": 2})
        assert form.for_branch() == Form(slots={"a": 1}, skipped_slots=["b"])

    def test_nothing_that_was_answered_is_left_when_it_is_forgotten(self) -> None:
        form = Form(
            slots={"a": 1}, derived_slots=["a"], closed_lists=["l"], file_names={"f": "a.pdf"}
        )
        form.forget_answers()
        assert form == Form(file_names={"f": "a.pdf"})

    def test_what_is_wanted_is_no_longer_skipped(self) -> None:
        form = Form()
        form.skip("b", "a")
        form.want("a")
        assert (form.skipped_slots, form.wanted_paths) == (["b"], ["a"])


class TestQuestion:
    def test_a_path_is_counted_once_while_it_is_asked(self) -> None:
        question = Question()
        for path in ("end", "end", "start", "end"):
            question.ask(path)
        assert question.times_asked == {"end": 2, "start": 1}

    def test_after_a_person_was_named_misses_are_counted_from_the_beginning(self) -> None:
        question = Question(path="end")
        counted = []
        for _ in range(HANDED_OFF + 1):
            question.count_no_match()
            counted.append(question.no_matches)
        assert counted == [1, 2, 3, 4, 1]
        assert question.times_asked == {"end": HANDED_OFF + 1}

    def test_another_path_begins_without_a_miss(self) -> None:
        question = Question(path="end", no_matches=3)
        question.ask("start")
        assert (question.path, question.no_matches) == ("start", 0)


def agreement(person: str, *counted: str, **more: Any) -> Agreement:
    return Agreement(person=person, contents="c", counted=[*counted], at=NOW, **more)


BOBS = RunApproval(digest="d", person="bob", state="s")
EVES = RunApproval(digest="d", person="eve", state="s")


class TestApprovals:
    def test_agreements_of_a_branch_count_where_they_did_in_either(self) -> None:
        approvals = Approvals(agreements=[agreement("bob", "a")])
        news = approvals.merge_agreements([agreement("bob", "b"), agreement("eve", "b")])
        assert news == [agreement("eve", "b")]
        assert approvals.agreements == [agreement("bob", "a", "b"), agreement("eve", "b")]

    @pytest.mark.parametrize(
        ("returned", "kept"), [(True, [agreement("bob", "a", voided=True)]), (False, [])]
    )
    def test_a_return_leaves_agreements_that_spare_a_question(
        self, returned: bool, kept: list[Agreement]
    ) -> None:
        approvals = Approvals(agreements=[agreement("bob", "a")], granted=[BOBS])
        approvals.void(returned=returned)
        assert (approvals.granted, approvals.declined) == ([], True)
        assert approvals.agreements == kept

    @pytest.mark.parametrize(
        ("ended", "granted", "declined"),
        [([BOBS], [BOBS], True), ([], [], True), ([BOBS, EVES], [BOBS, EVES], False)],
    )
    def test_what_a_branch_ended_with_is_taken_over(
        self, ended: list[RunApproval], granted: list[RunApproval], declined: bool
    ) -> None:
        approvals = Approvals(granted=[BOBS], declined=True)
        approvals.take_over([BOBS], ended)
        assert (approvals.granted, approvals.declined) == (granted, declined)

    def test_whoever_is_asked_decides_nothing_once_what_they_decide_on_is_changed(self) -> None:
        approvals = asking(BOB).run.approvals
        approvals.close_as_changed(NOW)
        assert approvals.current is None
        assert [one.verdict for one in approvals.ended[-1].assignees] == ["changed"]

    def test_people_who_are_told_twice_may_read_the_run_once(self) -> None:
        approvals = Approvals(copied_people=["bob"])
        approvals.add_copied(["eve", "bob"])
        assert approvals.copied_people == ["bob", "eve"]


class TestWork:
    @pytest.mark.parametrize(
        ("pending", "ending", "departs"),
        [
            (None, None, False),
            (Ending(status="cancelled"), "cancelled", True),
            (Leaving(exit="next"), None, True),
            (Opening(since=NOW), None, False),
            (Rescheduling(timers=["remind"], since=NOW), None, False),
        ],
    )
    def test_what_is_pending_says_whether_the_run_ends_or_goes_elsewhere(
        self, pending: Pending | None, ending: str | None, departs: bool
    ) -> None:
        work = Work(pending=pending)
        assert (work.ending, work.departs) == (ending, departs)

    def test_timers_are_dropped_by_name(self) -> None:
        retry = Timer(name="retry", visit=1, due=NOW)
        remind = Timer(name="remind", visit=1, due=NOW + timedelta(hours=1))
        work = Work(timers={"retry": retry, "remind": remind})
        work.drop_timers("retry", "wait")
        assert work.timers == {"remind": remind}

    def test_a_new_visit_keeps_results_and_events_that_came_early(self) -> None:
        work = Work(results={"a": 1}, early_events={"paid": {}}, lookup_answers={"look()": 1})
        work.begin_visit()
        assert work == Work(results={"a": 1}, early_events={"paid": {}})


class TestRecovery:
    def test_a_new_visit_begins_without_tries_and_keeps_what_is_owed(self) -> None:
        recovery = Recovery(held="unknown", tries=2, missing_tries=1, again=1, owes="later")
        visit = Visit(state="details", visit=1)
        recovery.begin_visit(visit)
        assert recovery == Recovery(owes="later", trail=[visit])

    def test_a_visit_of_a_state_on_the_trail_is_behind_what_came_before_it(self) -> None:
        trail = [Visit(state=state, visit=n) for n, state in enumerate("abc", 1)]
        recovery = Recovery(trail=trail)
        recovery.begin_visit(Visit(state="b", visit=4))
        assert recovery.trail == [trail[0], Visit(state="b", visit=4)]
