"""The loop of a skill, and one that goes by a plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.domain.locale import Localised
from router.domain.messages import Usage
from router.skill.loop import (
    LEAST_TURNS,
    LoopProgress,
    Share,
    Stop,
    left,
    share,
    why_last,
    why_no_room,
    why_stop,
)
from router.skill.plan import (
    LONGEST_RESULT,
    MOST_REPLANS,
    MOST_RETRIES,
    MOST_STEPS,
    Plan,
    PlanStep,
    Replan,
    RetryStep,
    StepResult,
    problems,
    reached,
)
from router.skill.skill import Skill
from tests.table import each_row

DONE = StepResult(fate="done", text="found")
IDS = st.text("abcdefgh", min_size=1, max_size=1)
PROPOSED = st.lists(
    st.builds(
        PlanStep,
        id=IDS,
        task=st.sampled_from(["", "find", "count", "compare"]),
        depends_on=st.lists(IDS, max_size=3).map(tuple),
    ),
    max_size=MOST_STEPS + 2,
)


@st.composite
def workable(draw: st.DrawFn) -> list[PlanStep]:
    """A plan without problems: each step depends on some of those before it."""
    made: list[PlanStep] = []
    for id_ in draw(st.lists(IDS, min_size=1, max_size=MOST_STEPS, unique=True)):
        before = [step.id for step in made]
        on = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
        task = draw(st.sampled_from(["find", "count", "compare"]))
        made.append(PlanStep(id=id_, task=task, depends_on=tuple(on)))
    return made


def steps(*written: str) -> list[PlanStep]:
    """Steps as `a` or `c<a,b`, with their ids for tasks."""
    parts = [one.partition("<") for one in written]
    return [
        PlanStep(id=id_, task=id_, depends_on=tuple(filter(None, on.split(","))))
        for id_, _, on in parts
    ]


def plan(*written: str, done: str = "") -> Plan:
    made = Plan(steps=tuple(steps(*written)))
    for id_ in done:
        made = made.having(id_, DONE)
    return made


def ids(listed: list[PlanStep]) -> list[str]:
    return [step.id for step in listed]


@each_row(
    ("proposed", "wrong"),
    [
        ([], "the plan has no steps; give at least one"),
        (steps(*"abcdefghi"), "the plan has 9 steps; give 8 at most"),
        (steps("a", "a"), "2 steps have the id 'a'; give each its own"),
        (steps("a<b"), "step 'a' depends on 'b', which is no step of the plan; there are: a"),
        (steps("a<a"), "the steps wait for each other in a circle: a ▸ a"),
        (steps("a<c", "b<a", "c<b"), "the steps wait for each other in a circle: "),
        (steps("a b"), "the id 'a b' won't do; give 1 to 20 letters, digits, - or _"),
        (steps("步"), "the id '步' won't do"),
        (steps("a" * 21), f"the id '{'a' * 21}' won't do"),
        ([PlanStep(id="a", task=" ")], "step 'a' has no task; say what it is to find out"),
        ([PlanStep(id="a", task="x" * 601)], "step 'a': 601 characters; give 600 at most"),
    ],
)
def test_a_plan_that_will_not_do_is_told_why(proposed: list[PlanStep], wrong: str) -> None:
    assert any(said.startswith(wrong) for said in problems(proposed)), problems(proposed)


def test_a_step_is_ready_once_all_that_it_depends_on_is_done() -> None:
    assert ids(plan("a", "b", "c<a,b").ready()) == ["a", "b"]
    assert ids(plan("a", "b", "c<a,b").ready({"a"})) == ["b"]
    assert ids(plan("a", "b", "c<a,b", done="a").ready()) == ["b"]
    assert ids(plan("a", "b", "c<a,b", done="ab").ready()) == ["c"]


@each_row("fate", ["missing", "stopped", "skipped"])
def test_nothing_is_begun_on_a_step_without_a_result(fate: str) -> None:
    stuck = plan("a", "b<a").having("a", StepResult.model_validate({"fate": fate}))
    assert stuck.ready() == []
    assert stuck.open == 1


def test_a_step_is_tried_again_so_often_with_all_that_was_built_on_it() -> None:
    made = plan("a", "b<a", "c<b", "d", done="abcd")
    assert made.part(made.steps[2]).results == {"b": "found"}
    for _ in range(MOST_RETRIES):
        assert "a" in made.may_be_retried
        again = made.retrying(RetryStep(step="a", why="thin"))
        assert set(again.results) == {"d"}
        made = again.having("a", DONE)
    assert made.may_be_retried == ["d"]
    assert made.part(made.steps[0]).tries == ("thin",) * MOST_RETRIES


def test_while_it_is_to_be_made_anew_no_step_is_ready() -> None:
    made = plan("a").replanning(Replan(why="it changed"))
    assert (made.ready(), made.revising) == ([], "it changed")
    assert ids(made.revised(steps("a")).ready()) == ["a"]


def test_it_is_made_anew_so_often_and_no_more_until_the_employee_says_something() -> None:
    made = plan("a", done="a")
    for _ in range(MOST_REPLANS):
        assert made.may_be_replanned
        made = made.replanning(Replan(why="no")).revised(steps("a"))
    assert not made.may_be_replanned
    assert made.hearing().may_be_replanned


def test_a_finished_step_is_kept_by_its_id_and_task_or_where_another_builds_on_it() -> None:
    made = plan("a", "b<a", "c", "d", done="abcd")
    anew = made.revised([PlanStep(id="b", task=""), PlanStep(id="d", task="other"), *steps("e<c")])
    assert ids(list(anew.steps)) == ["b", "c", "d", "e"]
    assert set(anew.results) == {"b", "c"}
    assert ids(anew.ready()) == ["d", "e"]
    assert problems(anew.steps) == []


def test_a_step_that_did_not_finish_keeps_nothing() -> None:
    made = plan("a").having("a", StepResult(fate="missing", text="which day?"))
    assert made.revised(steps("a")).results == {}


def test_what_was_not_begun_when_the_employee_spoke_is_skipped() -> None:
    heard = plan("a", "b", done="a").hearing()
    assert (heard.results["b"].fate, heard.ready()) == ("skipped", [])


def test_of_a_long_result_the_beginning_is_kept() -> None:
    text = plan("a").having("a", StepResult(fate="done", text="x" * 5000)).results["a"].text
    assert text == f"{'x' * LONGEST_RESULT}… (5000 characters)"


def test_at_a_limit_it_is_said_what_is_done_and_what_is_open() -> None:
    assert reached("I ran out of time before I had an answer.", plan("a", "b", done="a"), "en") == (
        "I ran out of time before I had an answer.\nDone so far:\n- a: found\nStill open:\n- b"
    )
    assert "已经查清" not in reached("tokens", plan("a"), "zh")


@pytest.mark.slow
@given(workable(), workable(), st.sets(IDS))
def test_a_plan_without_problems_can_always_be_worked_on_to_its_end(
    first: list[PlanStep], second: list[PlanStep], finished: set[str]
) -> None:
    made = Plan().revised(first)
    for step in made.steps:
        if step.id in finished:
            made = made.having(step.id, DONE)
    anew = made.revised(second)
    assert problems(anew.steps) == []
    assert set(anew.results) <= {step.id for step in anew.steps} & finished
    for _ in range(MOST_STEPS):
        for step in anew.ready():
            anew = anew.having(step.id, DONE)
    assert anew.open == 0


@pytest.mark.slow
@given(workable(), PROPOSED)
def test_results_stay_with_their_own_tasks(first: list[PlanStep], proposed: list[PlanStep]) -> None:
    made = Plan().revised(first)
    for step in made.steps:
        made = made.having(step.id, StepResult(fate="done", text=step.task))
    anew = made.revised(proposed)
    if not problems(anew.steps):
        assert all(anew.results[s.id].text == s.task for s in anew.steps if s.id in anew.results)


@pytest.mark.slow
@given(workable(), st.data())
def test_a_retry_drops_whatever_was_built_on_it(first: list[PlanStep], data: st.DataObject) -> None:
    made = Plan().revised(first)
    for step in made.steps:
        made = made.having(step.id, DONE)
    again = data.draw(st.sampled_from(made.steps)).id
    left = made.retrying(RetryStep(step=again, why="")).results
    assert again not in left
    assert not any(set(s.depends_on) - set(left) for s in made.steps if s.id in left)


def skill(turns: int, tokens: int) -> Skill:
    words = Localised(zh="行程", en="trip")
    named = {"name": "trip", "title": words, "description": words, "instructions": "Plan."}
    return Skill.model_validate({**named, "max_turns": turns, "token_budget": tokens})


def spent(tokens: int) -> Usage:
    return Usage(llm_calls=1, prompt_tokens=tokens)


@each_row(
    ("progress", "seconds", "stop"),
    [
        (LoopProgress(), 10.0, None),
        (LoopProgress(steps=2, usage=spent(999), errors=2), 0.1, None),
        (LoopProgress(steps=3), 10.0, "turns"),
        (LoopProgress(steps=1, usage=spent(1000)), 10.0, "tokens"),
        (LoopProgress(), 0.0, "seconds"),
        (LoopProgress(errors=3), 10.0, "errors"),
    ],
)
def test_a_run_stops_at_limits(progress: LoopProgress, seconds: float, stop: Stop | None) -> None:
    assert why_stop(skill(3, 1000), progress, seconds) == stop


@each_row(
    ("progress", "seconds", "last"),
    [
        (LoopProgress(), 9.0, None),
        (LoopProgress(), 7.9, "seconds"),
        (LoopProgress().timed(3.0), 11.1, None),
        (LoopProgress().timed(3.0).timed(0.5), 10.9, "seconds"),
        (LoopProgress().timed(20.0), 39.0, "seconds"),
        (LoopProgress(steps=2), 60.0, "turns"),
        (LoopProgress(steps=1, usage=spent(800)), 60.0, "tokens"),
    ],
)
def test_the_last_step_is_known_while_there_is_time_for_one_as_slow_as_the_slowest(
    progress: LoopProgress, seconds: float, last: Stop | None
) -> None:
    assert why_last(skill(3, 1000), progress, seconds) == last


def test_only_errors_in_a_row_count() -> None:
    progress = LoopProgress()
    for fruitless in (True, True, False, True):
        progress = progress.after(spent(10), fruitless=fruitless)
    assert progress == LoopProgress(steps=4, usage=Usage(llm_calls=4, prompt_tokens=40), errors=1)


def test_what_is_left_is_shared_and_the_reflection_keeps_its_turn() -> None:
    progress = LoopProgress(steps=1, usage=Usage(prompt_tokens=1000))
    room = left(skill(8, 10_000), progress, Share(turns=2, tokens=1000))
    assert room == Share(turns=4, tokens=6000)
    assert share(room, 2) == Share(turns=2, tokens=3000)


def test_no_step_begins_with_less_than_it_takes_to_call_and_to_answer() -> None:
    assert share(Share(turns=1, tokens=9000), 1) is None
    assert why_no_room(Share(turns=1, tokens=9000)) == "turns"
    assert why_no_room(Share(turns=9, tokens=10)) == "tokens"
    assert share(Share(turns=3, tokens=9000), 3) == Share(turns=LEAST_TURNS, tokens=3000)


@given(st.integers(1, 60), st.integers(1, 200_000), st.integers(0, 60), st.integers(1, 8))
def test_no_more_is_promised_than_there_is(turns: int, tokens: int, taken: int, steps: int) -> None:
    progress, promised = LoopProgress(steps=taken), Share()
    for waiting in range(steps, 0, -1):
        one = share(left(skill(turns, tokens), progress, promised), waiting)
        promised += one or Share()
    assert promised == Share() or taken + promised.turns + 1 <= turns
    assert promised.tokens <= tokens
