"""What a run tells its conversation about the slots that may be filled."""

from tests.table import each_row
from tests.unit.flow.definitions import LEAVE, Driver, flow
from workflows.publication import ConversationNotifier

DEFINITION = flow(LEAVE)


@each_row("knows", [True, False])
def test_an_answer_leaves_out_the_slots_that_the_conversation_knows(knows: bool) -> None:
    run = Driver(DEFINITION).begin().run

    answer = ConversationNotifier(run).answer(
        DEFINITION, run, [DEFINITION.slot_set if knows else "others"]
    )

    assert answer.view.slot_set == DEFINITION.slot_set != ""
    assert answer.fillable == ({} if knows else DEFINITION.fillable)


def test_news_bring_the_slots_along_since_nobody_has_asked() -> None:
    begun = Driver(DEFINITION).begin()
    notifier = ConversationNotifier(begun.run)
    notifier.said.append("It goes on.")
    run = begun.run.replace(events=begun.run.events + 1, conversation="c1")

    news = notifier.news(DEFINITION, run, begun.now)

    assert news is not None
    assert news.fillable == DEFINITION.fillable


def test_a_run_that_asks_what_to_change_has_a_set_of_its_own() -> None:
    slots = {"kind": "annual", "start": "2026-11-23", "end": "2026-11-25", "reason": "x"}
    run = Driver(DEFINITION).begin(**slots).run
    question = run.question.replace(path="change", asks_what_to_change=True)
    asked = run.replace(status="collecting", question=question)

    views = [ConversationNotifier(each).answer(DEFINITION, each) for each in (run, asked)]

    plain, changing = views
    assert plain.view.slot_set == DEFINITION.slot_set != changing.view.slot_set
    assert changing.fillable.keys() - plain.fillable.keys() == {"change"}


def test_a_run_that_listens_to_nobody_has_no_slots() -> None:
    run = Driver(DEFINITION).begin().run.replace(status="running")

    answer = ConversationNotifier(run).answer(DEFINITION, run)

    assert (answer.view.slot_set, answer.fillable) == ("", {})
