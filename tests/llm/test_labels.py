"""What is measured with: labels that mean something here, and a model that is always right."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from router.contracts.activities import RoutingDecision
from router.domain.commands import Clarify, StartFlow
from router.domain.messages import Option, Route
from router.llm.types import ChatAnswer, TokenUsage
from tests.llm import dialogues
from tests.llm.answers import Journal, Kept
from tests.llm.dialogues import dated, invented
from tests.llm.labels import FILES, Labelled, load
from tests.llm.measure import Desk, Outcome, desk, usual
from tests.table import each_row

WORDS = {"reply", "clarify", "handoff", "fill", "cancel", "withdraw"}


@pytest.fixture(scope="module")
async def asking(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    async with desk(tmp_path_factory.mktemp("desk")) as asking:
        yield asking


@each_row("name", FILES)
async def test_every_label_names_what_its_writer_may_use(asking: Desk, name: str) -> None:
    for label in load(name):
        caller = await asking.parts.directory.find("default", label.user)
        assert caller is not None, label.text
        usable = {one.name for one in asking.known.visible_to(caller)}
        assert label.names <= usable | WORDS, label.text


def test_what_is_held_out_is_none_of_what_anything_was_tried_on() -> None:
    tried = {one.text for name in ("requests", "development") for one in load(name)}
    assert {one.text for one in load("held_out")} & tried == set()


async def decided(asking: Desk, *, checked: bool) -> list[Outcome]:
    """Every request that checks were tried on, decided by a model that is always right."""
    model, policy = asking.always_right(), replace(usual(5), checked=checked)
    outcomes = []
    for label in load("development"):
        model.label = label
        outcomes.append(await asking.ask(label, model, policy))
    return outcomes


def unlike(outcomes: Sequence[Outcome], *verdicts: str) -> list[str]:
    return [one.label.text for one in outcomes if one.judgement.verdict not in verdicts]


@pytest.mark.slow
async def test_a_model_that_is_always_right_is_never_led_astray(asking: Desk) -> None:
    assert unlike(await decided(asking, checked=False), "right") == []
    outcomes = await decided(asking, checked=True)
    assert unlike(outcomes, "right", "asked") == []
    assert [one.label.text for one in outcomes if one.judgement.forms] == []


@pytest.mark.slow
async def test_a_model_that_is_always_right_is_taken_at_its_word_but_for_one_in_nine(
    asking: Desk,
) -> None:
    asked_about = unlike(await decided(asking, checked=True), "right")
    assert len(asked_about) <= len(load("development")) // 9, asked_about


LEAVE = Labelled(
    group="flow",
    lang="en",
    user="frank",
    text="Friday off",
    labels=[["leave_request"]],
    values={"start": "2026-11-20"},
    may={"end": None},
)


def begun(**slots: str) -> RoutingDecision:
    commands = [StartFlow(flow="leave_request", slots=dict(slots))]
    return RoutingDecision(route=Route(kind="flow", by="llm"), commands=list(commands))


def test_what_the_message_does_not_hold_was_invented(asking: Desk) -> None:
    judged = asking.judge.of(LEAVE, begun(start="2026-11-20", end="2026-11-20", reason="rest"))
    assert (judged.verdict, judged.invented) == ("right", ["leave_request.reason=rest"])
    judged = asking.judge.of(LEAVE, begun(start="2026-11-27"))
    assert judged.invented == ["leave_request.start=2026-11-27"]
    assert judged.missing == ["start"]


@each_row(
    ("shown", "verdict"),
    [("leave_request", "asked"), ("Leave request", "asked"), ("reimbursement", "wrong")],
)
def test_a_question_counts_whose_options_hold_the_right_one(
    asking: Desk, shown: str, verdict: str
) -> None:
    question = Clarify(text="Which?", options=[Option(label=shown, value=shown)])
    decided = RoutingDecision(route=Route(kind="clarify", by="llm"), commands=[question])
    assert asking.judge.of(LEAVE, decided).verdict == verdict


def test_a_form_that_nobody_asked_for_is_counted(asking: Desk) -> None:
    label = LEAVE.model_copy(update={"labels": [["get_leave_balance"]]})
    assert asking.judge.of(label, begun()).forms == ["leave_request"]


def test_what_was_answered_is_kept_though_the_last_line_was_cut(tmp_path: Path) -> None:
    usage = TokenUsage(prompt_tokens=1, completion_tokens=1)
    answer = ChatAnswer(text="hi", finish="stop", usage=usage, model="m", how="functions")
    file = tmp_path / "answers.jsonl"
    first = Journal(file).keep(Kept(key="one", answer=answer, seconds=1.0, cold=True))
    with file.open("a") as written:
        written.write('\n{"key": "two", "ans')
    Journal(file).keep(first.model_copy(update={"key": "three"}))
    again = Journal(file)
    assert again.find("one") == first
    assert again.find("two") is None
    assert again.find("three") is not None


@each_row("name", dialogues.FILES)
def test_dialogues_are_of_both_languages_and_name_what_there_is(asking: Desk, name: str) -> None:
    played = dialogues.load(name)
    assert min(Counter(one.lang for one in played).values()) >= 20
    names = {one.name for one in asking.known.everything()}
    kinds = {"reply", "clarify", "handoff", "cancel", "confirm", "flow"}
    assert {n for one in played for label in one.messages for n in label.names} <= names | kinds


def test_numbers_of_a_reply_stand_in_results_however_they_are_written() -> None:
    call = {"name": "calculate", "arguments": {}, "result_preview": '{"value": "1580.50"}'}
    turn = {"replies": [{"text": "1,580.5 CNY, 07:30, 42"}], "tool_calls": [call]}
    assert invented(turn, ["at 7:30"]) == ["42"]


def test_a_day_is_worked_out_of_the_day_it_is_played_on() -> None:
    assert dated("=thursday+1", date(2026, 11, 18)) == "2026-11-26"
    assert dated("=today-1", date(2026, 11, 1)) == "2026-10-31"
