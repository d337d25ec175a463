"""Long runs of a skill: what the model is sent stays bounded, and nothing is lost on the way."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHistory

from router.domain.messages import PREVIEW
from router.routing.skill_context import STEP_TOKENS
from router.runtime.composition import Parts
from tests.fakes.model_server import Behaviour, fails, says
from tests.fakes.web_server import Received, Reply
from tests.workflow.long_runs import (
    ANSWER,
    TOLD,
    Archive,
    archive,
    estimate,
    file,
    histories,
    reads,
)

pytestmark = pytest.mark.slow

PAYLOAD = 256 * 1024
"""Bytes of one payload, and so of one event, at most."""


Opened = Callable[[Behaviour], AbstractAsyncContextManager[Archive]]


@pytest.fixture
def opened(real_client: Client, parts: Parts) -> Opened:
    return partial(archive, real_client, parts)


def dialogue(body: dict[str, Any]) -> list[Any]:
    """What a step was sent, but for rules and request."""
    whole: list[Any] = body["messages"][2:]
    return whole


def earlier(body: dict[str, Any]) -> str:
    """What the step was told of what is gone."""
    first = dialogue(body)[0]["content"] or ""
    return first if first.startswith("<earlier>") else ""


def of_type(history: WorkflowHistory, activity: str) -> int:
    """How many activities of the type it has."""
    scheduled = (event.activity_task_scheduled_event_attributes for event in history.events)
    return sum(one.activity_type.name == activity for one in scheduled)


async def test_a_run_continues_as_new_without_the_model_noticing(opened: Opened) -> None:
    asked = []
    for continue_after in (None, 2):
        async with opened(reads(5, size=200)) as house:
            outcome, id_ = await house.run(continue_after=continue_after)
            asked.append([dialogue(body) for body in house.steps])
        runs = await histories(house.client, id_)
        assert (outcome.text, outcome.usage.llm_calls) == (ANSWER, 6)
        assert len(outcome.calls) == 5
        assert len(runs) == (3 if continue_after else 1)
    straight, continued = asked
    assert continued == straight
    for before, after in pairwise(continued):
        assert after[: len(before)] == before


async def test_a_long_run_is_sent_a_bounded_question_and_the_rest_in_short(opened: Opened) -> None:
    async with opened(reads(30, at_once=4, size=800)) as house:
        outcome, id_ = await house.run(context=6000)
        assert max(map(estimate, house.steps)) <= 6000 * 1.05
        assert TOLD in earlier(house.steps[-1])
        condensed = house.condensed
    assert (outcome.text, outcome.ending) == (ANSWER, "answered")
    assert outcome.usage.llm_calls == 31 + len(condensed)
    (history,) = await histories(house.client, id_)
    assert of_type(history, "condense") == len(condensed) >= 2
    assert TOLD in condensed[1]["messages"][1]["content"]


@pytest.mark.parametrize("behaviour", [fails(400), says("")])
async def test_uncondensed_calls_are_told(opened: Opened, behaviour: Behaviour) -> None:
    async with opened(reads(12, at_once=4, size=800, condensing=behaviour)) as house:
        outcome, _ = await house.run(context=6000)
        told = earlier(house.steps[-1])
    assert outcome.text == ANSWER
    assert '- called read_file {"number": ' in told
    assert "- read_file gave: " in told


@pytest.mark.parametrize(("per_token", "least"), [(3.0, 0.7), (1 / 3, 0.4)])
async def test_questions_follow_its_counts(opened: Opened, per_token: float, least: float) -> None:
    async with opened(reads(30, size=4000, per_token=per_token)) as house:
        outcome, _ = await house.run()
        counted = max(estimate(body) * per_token for body in house.steps)
    assert outcome.text == ANSWER
    # By the estimate alone it would have been three times as much, or a third: of cheap tokens
    # the bytes of a payload are the limit.
    assert least * STEP_TOKENS <= counted <= 1.05 * STEP_TOKENS


async def test_a_server_that_reads_less_than_it_is_sent_is_sent_less(opened: Opened) -> None:
    reading = reads(20, size=3000)

    def short_sighted(received: Received) -> Reply:
        if estimate(received.body) > 9000:
            return fails(400, "too long", code="context_length_exceeded")(received)
        return reading(received)

    async with opened(short_sighted) as house:
        outcome, _ = await house.run()
        sizes = [estimate(body) for body in house.steps]
    assert (outcome.text, len(outcome.calls)) == (ANSWER, 20)
    assert 1 <= sum(size > 9000 for size in sizes) <= 2


async def test_sixty_steps_with_240_calls_stay_within_all_limits(opened: Opened) -> None:
    async with opened(reads(60, at_once=4, size=4000)) as house:
        outcome, id_ = await house.run()
        asked = [dialogue(body) for body in house.steps]
        most = max(map(estimate, house.steps))
    runs = await histories(house.client, id_)
    sizes = [[event.ByteSize() for event in run.events] for run in runs]
    print(
        f"{len(asked)} steps, {len(runs)} runs, largest event {max(map(max, sizes))} bytes, "
        f"largest history {max(map(sum, sizes))} bytes and {max(map(len, sizes))} events, "
        f"largest question {most} tokens"
    )
    assert (outcome.text, len(asked)) == (ANSWER, 61)
    assert sum(of_type(run, "read_file") for run in runs) == 240
    assert len(runs) >= 2
    assert max(map(max, sizes)) < PAYLOAD
    assert max(map(sum, sizes)) < 10 * 1024 * 1024
    assert most <= 1.05 * STEP_TOKENS
    # What a new run begins with is what the one before it had, and what its last step added.
    begins = [sum(of_type(run, "think") for run in runs[: n + 1]) for n in range(len(runs) - 1)]
    for first in begins:
        before = answered(asked[first - 1])
        assert answered(asked[first])[: len(before)] == before


def answered(messages: list[Any]) -> list[Any]:
    """The calls that the model made, in their order."""
    return [call for message in messages for call in message.get("tool_calls", [])]


@pytest.mark.parametrize("keeps", [True, False])
async def test_what_its_calls_found_comes_back_whole_if_the_turn_needs_it(
    opened: Opened, keeps: bool
) -> None:
    async with opened(reads(2, size=900)) as house:
        outcome, _ = await house.run(keeps_results=keeps, continue_after=1)
    assert [call.status for call in outcome.calls] == ["done", "done"]
    found = [finding.result for finding in outcome.results]
    assert (found == [file(100, 900), file(200, 900)]) == keeps
    assert all(keeps or len(str(result)) <= PREVIEW for result in found)
