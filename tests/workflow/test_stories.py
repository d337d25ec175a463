"""The stories that ship, and what runs them: real workflows and tools, on skipping time."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from router.extensions.mcp.settings import McpSettings
from router.settings import Settings
from router.story.entries import BotStep, ExpectStep, RunExpectation, ToolStep
from router.story.expectations import StoryOutcome, told
from router.story.story import Story
from router.story_runner import quiescence, runner
from router.story_runner.environment import Environment, opened
from router.story_runner.runner import chosen, run_in
from tests.samples import one_in
from tests.table import each_row

pytestmark = pytest.mark.xdist_group("stories")

SHIPPED = chosen(Settings.load(), [], "")


@pytest.fixture(scope="module")
async def house(
    as_patient_as_usual: Callable[[pytest.MonkeyPatch], None],
) -> AsyncIterator[Environment]:
    with pytest.MonkeyPatch.context() as patch:
        as_patient_as_usual(patch)
        async with opened(Settings.load()) as house:
            yield house


Played = Callable[[str], Awaitable[StoryOutcome]]


@pytest.fixture
def played(house: Environment, tmp_path: Path) -> Played:
    """Plays the first story in a text."""

    async def play(text: str) -> StoryOutcome:
        (file := tmp_path / "story.yaml").write_text(dedent(text))
        (story,) = chosen(Settings.load(), [file], "")
        (outcome,) = (await run_in(house, [story], lambda _: None)).outcomes
        return outcome

    return play


@each_row("story", SHIPPED[::8], ids=lambda story: story.name)
async def test_a_shipped_story_goes_as_it_is_written(house: Environment, story: Story) -> None:
    (outcome,) = (await run_in(house, [story], lambda _: None)).outcomes
    assert outcome.ok, "\n".join(told(outcome))


@pytest.mark.slow
async def test_all_of_them_go_as_they_are_written_and_take_every_way_of_the_samples(
    house: Environment,
) -> None:
    report = await run_in(house, SHIPPED, lambda _: None)
    assert [[*told(outcome)] for outcome in report.outcomes if not outcome.ok] == []
    missing = {
        each.definition.flow: [*each.states, *map(str, each.transitions)]
        for each in report.coverage(house.catalog, whole=True)
    }
    shipped = ("business_trip", "equipment_request", "leave_request", "reimbursement")
    assert missing == {flow: [] for flow in shipped}


ISSUING = """
flow: badge
version: 1
title: {zh: 门卡, en: Badge}
description: {zh: 办门卡, en: A badge}
triggers: {examples: [a badge], patterns: ["a badge"]}
start: issue
states:
  issue:
    call: badge_lookup__issue
    with: {person: requester.id}
    save: badge
    next: done
    on_error: no
  done:
    say: {zh: "{{ results.badge.number }} 号", en: "Number {{ results.badge.number }}"}
    end: completed
  no: {say: {zh: 没办成, en: It failed}, end: rejected}
"""
STORIES = """
- story: the server would say
  tool_answers: {badge_lookup__issue: {number: 7}}
  steps:
    - user: a badge
    - bot: Number 7
    - {tool: badge_lookup__issue, with: {person: alice}, times: 1}
- story: it fails
  tool_fails: {badge_lookup__issue: permanent}
  steps: [{user: a badge}, {bot: It failed}]
- story: nobody says what the server answers
  steps:
    - user: a badge
    - bot: It failed
    - tool_answers: {badge_lookup__issue: {number: 8}}
    - user: a badge
    - bot: Number 8
"""


@pytest.mark.slow
async def test_stories_say_what_tools_of_an_mcp_server_answer_that_is_not_running(
    tmp_path: Path,
) -> None:
    for name, text in (("badge.yaml", ISSUING), ("stories.yaml", STORIES)):
        (tmp_path / name.removesuffix(".yaml")).mkdir()
        (tmp_path / name.removesuffix(".yaml") / name).write_text(text)
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"badge_lookup": {"url": "http://127.0.0.1:9/mcp"}}))
    settings = Settings.load(flows=tmp_path / "badge").having(McpSettings(servers=servers))
    stories = chosen(settings, [tmp_path / "stories"], "")
    report, _ = await runner.run(settings, stories, lambda _: None)
    assert [[*told(outcome)] for outcome in report.outcomes if not outcome.ok] == []


def spoilt(story: Story, place: int) -> Story:
    """The story with the expectation at this place made wrong."""
    step = story.steps[place]
    wrong: dict[str, Any] = {"times": 99}
    if isinstance(step.entry, BotStep):
        wrong = {"bot": ("nobody ever says this",)}
    elif isinstance(step.entry, ExpectStep):
        wrong = {"expect": RunExpectation(status="expired")}
    step = replace(step, entry=step.entry.model_copy(update=wrong))
    return replace(story, steps=(*story.steps[:place], step, *story.steps[place + 1 :]))


def expectations(story: Story) -> list[int]:
    sorts = (BotStep, ExpectStep, ToolStep)
    return [place for place, step in enumerate(story.steps) if isinstance(step.entry, sorts)]


@pytest.mark.slow
@pytest.mark.parametrize("place", one_in(4, expectations(SHIPPED[0])))
async def test_a_wrong_expectation_fails_at_its_step(house: Environment, place: int) -> None:
    story = spoilt(SHIPPED[0], place)
    (outcome,) = (await run_in(house, [story], lambda _: None)).outcomes
    assert outcome.divergence is not None
    assert outcome.divergence.step == story.steps[place]
    assert outcome.divergence.steps == story.steps[: place + 1]


@pytest.mark.slow
async def test_stories_see_nothing_of_each_other(played: Played) -> None:
    """Twenty days of fifteen would be too many, were they the same person's."""
    text = """
    - story: all of it
      steps:
        - user: "我要请年假，11月23日到12月4日，家里有事"
        - user: {confirm: true}
        - approver: {bob: approve}
        - approver: {carol: approve}
        - bot: 共 10 天，已经登记
        - expect: {status: completed, approvers: []}
    """
    for _ in range(2):
        assert (await played(text)).ok


@pytest.mark.slow
async def test_a_story_begins_on_its_own_day(played: Played) -> None:
    text = """
    - story: another year
      now: 2031-03-03T09:00
      steps:
        - user: "明天请一天年假，家里有事"
        - expect: {slots: {start: "2031-03-04"}}
        - user: {confirm: true}
        - after: P10D
        - user: "明天请一天事假，搬家"
        - expect: {state: review, slots: {start: "2031-03-14"}}
    """
    assert (await played(text)).ok


@pytest.mark.slow
async def test_a_tool_that_the_story_answers_for_is_neither_called_nor_asked(
    played: Played,
) -> None:
    """Twenty days are more than there are, and were they recorded, it would be of twenty."""
    text = """
    - story: as if there were twenty days
      tool_answers:
        get_leave_balance: {leave_type: annual, year: 2026, entitled: 30, used: 0, days: 30}
      steps:
        - user: "我要请年假，11月23日到12月18日，家里有事"
        - expect: {status: confirming, slots: {days: 20}}
        - user: {confirm: true}
        - approver: {bob: approve}
        - tool_answers: {record_leave: {record: R7, days: 20}}
        - approver: {carol: approve}
        - expect: {status: completed}
        - tool: record_leave
    """
    outcome = await played(text)
    assert outcome.ok, "\n".join(told(outcome))


async def test_an_act_that_is_refused_says_why(played: Played) -> None:
    text = """
    - story: too soon
      steps:
        - user: 我要请假
        - approver: {bob: approve}
    """
    outcome = await played(text)
    assert outcome.divergence is not None
    why = "it was refused: nothing waits for bob; waited for is nobody"
    assert outcome.divergence.mismatch.within("en")[1] == [why]
    assert outcome.divergence.standing is not None
    assert outcome.divergence.standing.status == "collecting"


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("withdraw: true", "no flow is going on"),
        ("nudge: true", "no flow is going on"),
        ("event: {name: paid}", "nothing that is going on waits for the event paid"),
    ],
)
async def test_what_none_can_take_is_refused(played: Played, step: str, why: str) -> None:
    outcome = await played(f"- story: {step[:5]}\n  steps:\n    - {step}\n")
    assert outcome.divergence is not None
    assert why in outcome.divergence.mismatch.within("en")[1][0]


MODELLED = """
- story: with a model
  steps:
    - user: 食堂几点开饭？
      model:
        - says: 开饭时间贴在食堂门口。
          sees: [/食堂几点开饭/]
    - bot: 贴在食堂门口
    - user: 我的年假还有多少来着呗
      model:
        - call: {get_leave_balance: {leave_type: annual}}
        - says: 还有 15 天。
    - bot: 还有 15 天。
    - tool: get_leave_balance
      times: 1
    - user: 我要请假
    - expect: {awaiting: [leave_type]}
"""


@pytest.mark.slow
async def test_a_story_says_what_a_model_answers(played: Played) -> None:
    outcome = await played(MODELLED)
    assert outcome.ok, "\n".join(told(outcome))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "expected", "found"),
    [
        ("[]", "0 questions to the model", "食堂几点开饭"),
        ("[{says: a}, {says: b}]", "not asked for: says: b", "question 1: router-"),
        ("[{says: a, sees: 下雨}]", "in what the model sees: 下雨", "食堂几点开饭"),
    ],
)
async def test_a_step_that_asks_otherwise_fails_and_says_which_question(
    played: Played, model: str, expected: str, found: str
) -> None:
    text = f"- story: otherwise\n  steps:\n    - {{user: 食堂几点开饭？, model: {model}}}\n"
    outcome = await played(text)
    assert outcome.divergence is not None
    wanted, there = outcome.divergence.mismatch.within("en")
    assert expected in "\n".join(wanted)
    assert found in "\n".join(there)


@pytest.mark.slow
async def test_stories_without_a_model_ask_none_beside_those_that_have_one(played: Played) -> None:
    assert (await played(MODELLED)).ok
    text = """
    - story: without
      steps:
        - user: 食堂几点开饭？
        - bot: 选一个就行
    """
    assert (await played(text)).ok


GREETED = """
- story: greeted
  steps:
    - user: 你好
    - bot: 你好
"""


async def test_a_story_is_played_again(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    patience = iter([0.0])
    settled = quiescence.settled

    async def impatient_at_first(*given: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(quiescence, "PATIENCE", next(patience, quiescence.PATIENCE))
            await settled(*given)

    monkeypatch.setattr(runner, "settled", impatient_at_first)
    outcome = await played(GREETED)
    assert outcome.ok
    why = "played again: the first time it was refused: the story's workflows are still"
    assert why in "\n".join(told(outcome))


@pytest.mark.slow
async def test_a_story_fails_after_two(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiescence, "PATIENCE", 0.0)
    outcome = await played(GREETED)
    assert outcome.divergence is not None
    assert outcome.divergence.gave_way
    assert outcome.earlier is not None


@pytest.mark.slow
async def test_nothing_of_a_story_is_left_at_work(house: Environment, played: Played) -> None:
    text = """
    - story: left open
      steps:
        - user: "我要请年假，11月23日到24日，家里有事"
        - user: {confirm: true}
    """
    assert (await played(text)).ok
    tenant = f"story-{len(house.shifts) - 1}"
    runs, _ = await house.parts.store.runs.listed(tenant, None, None, None, None, 10)
    handles = [house.client.get_workflow_handle(run.workflow_id) for run in runs]
    described = await asyncio.gather(*(handle.describe() for handle in handles))
    assert [each.status.name for each in described if each.status] == ["TERMINATED"]
