import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client, WorkflowUpdateFailedError, WorkflowUpdateStage

from router.contracts import conversation
from router.contracts.conversation_state import ConversationState, Transcript
from router.contracts.failures import ended_meanwhile, from_failure
from router.domain.errors import Conflict, DuplicateKey, TooManyRequests
from router.domain.messages import Message, Turn
from router.runtime.composition import Parts
from tests.waiting import HANGS_AFTER_S
from tests.workflow.conftest import Passing
from tests.workflow.desk import Approver, Talk, closed, flow_of, heard, person, run_of


async def test_turns_that_arrive_at_once_are_answered_one_after_the_other(talk: Talk) -> None:
    turns = await asyncio.gather(*(talk.say("你好", f"m{n}") for n in range(6)))
    assert sorted(turn.turn for turn in turns) == [1, 2, 3, 4, 5, 6]


async def test_a_message_id_is_answered_once_whatever_happens_in_between(talk: Talk) -> None:
    first = await talk.say("我要请假", "m1")
    await talk.say("年假", "m2")
    assert await talk.say("我要请假", "m1") == first
    assert (await talk.status()).turns == 2


async def test_a_message_id_with_another_body_is_refused_and_changes_nothing(talk: Talk) -> None:
    await talk.say("我要请假", "m1")
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await talk.say("我要报销", "m1")
    assert isinstance(from_failure(refused.value), DuplicateKey)
    assert (await talk.status()).turns == 1


async def test_nothing_is_lost_while_it_continues_as_new(real_client: Client, parts: Parts) -> None:
    """Sixty messages in four bursts, six at a time, in runs of some turns each; some sent twice."""
    alice = await person(parts, "alice")
    talk = await Talk(real_client, parts, alice, continue_after=40).open()
    gate, runs = asyncio.Semaphore(6), set()

    async def say(number: int) -> int:
        async with gate:
            turn = await sent(talk, number)
            runs.add((await talk.handle.describe()).run_id)
            return turn

    bursts = [await asyncio.gather(*(say(n) for n in range(b, b + 15))) for b in range(0, 60, 15)]
    numbers = [number for burst in bursts for number in burst]
    again = await asyncio.gather(*(say(n) for n in range(0, 60, 7)))
    assert sorted(numbers) == list(range(1, 61))
    assert again == numbers[0::7]
    users = [line for line in await talk.transcript() if line.data["role"] == "user"]
    assert len(users) == 60
    assert len(runs) > 1


@pytest.mark.slow
async def test_what_was_taken_in_is_answered_in_order_though_nobody_comes_again(
    real_client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was told that a message is kept may be gone when its run ends before its turn."""
    monkeypatch.setattr("workflows.activity.QUIET_WITHIN", timedelta())
    alice = await person(parts, "alice")
    talk = await Talk(real_client, parts, alice, continue_after=5).open()
    await sent(talk, 0)
    await left_there(talk, range(1, 6))
    said = await spoken_by(talk, 6)
    assert said == [f"你好 {number}" for number in range(6)]
    assert await sent(talk, 3) == 4
    assert len(await spoken(talk)) == 6


@pytest.mark.slow
@pytest.mark.parametrize("breaks", ["append_turn", "turn"])
async def test_what_was_taken_in_and_breaks_in_the_next_run_is_answered_with_that(
    real_client: Client, parts: Parts, monkeypatch: pytest.MonkeyPatch, breaks: str
) -> None:
    """Its turn can't be written, or whether there is one can't be read: for good, by one try."""
    monkeypatch.setattr("workflows.activity.QUIET_WITHIN", timedelta())
    alice = await person(parts, "alice")
    long_ago = ConversationState(transcript=Transcript(has_older=True))
    talk = await Talk(real_client, parts, alice, continue_after=5, state=long_ago).open()
    await sent(talk, 0)
    broken: list[Any] = []
    works = getattr(parts.store.log, breaks)

    async def breaking(tenant: str, *given: Any) -> Any:
        if "'m3'" in str(given) and not broken:
            broken.append(given)
            raise Conflict("The row is held by somebody else.")
        return await works(tenant, *given)

    monkeypatch.setattr(parts.store.log, breaks, breaking)
    await left_there(talk, range(1, 6))
    said = await spoken_by(talk, 6)
    assert len(broken) == 1
    assert said == [f"你好 {number}" for number in range(6)]
    turn = await again(talk, 3)
    assert (turn.status, turn.turn) == ("failed", 4)
    assert [(await again(talk, number)).status for number in (2, 4)] == ["done", "done"]
    assert len(await spoken(talk)) == 6


async def left_there(talk: Talk, numbers: Iterable[int]) -> None:
    """Have messages taken in, and wait for the answer of none."""
    for number in numbers:
        message = Message(text=f"你好 {number}")
        await talk.handle.start_update(
            conversation.SUBMIT,
            conversation.Submission(message_id=f"m{number}", message=message, caller=talk.person),
            id=conversation.update_id(f"m{number}", message.digest),
            wait_for_stage=WorkflowUpdateStage.ACCEPTED,
        )


async def spoken_by(talk: Talk, count: int) -> list[str]:
    """What was said, once it is so much; it is the house that goes on."""
    async with asyncio.timeout(HANGS_AFTER_S):
        while len(said := await spoken(talk)) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return said


async def spoken(talk: Talk) -> list[str]:
    return [
        str(line.data["text"]) for line in await talk.transcript() if line.data["role"] == "user"
    ]


async def sent(talk: Talk, number: int) -> int:
    return (await again(talk, number)).turn


async def again(talk: Talk, number: int) -> Turn:
    """Send as the API does: again, with the same id, where the run ended under the update."""
    while True:
        try:
            return await talk.say(f"你好 {number}", f"m{number}")
        except WorkflowUpdateFailedError as failed:
            if not ended_meanwhile(failed.cause):
                raise


@pytest.mark.slow
async def test_an_answer_that_only_the_log_remembers_is_still_given(talk: Talk) -> None:
    first = await talk.say("我要请假", "first")
    for number in range(205):
        await talk.say("你好", f"m{number}")
    assert await talk.say("我要请假", "first") == first
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await talk.say("别的", "first")
    assert isinstance(from_failure(refused.value), DuplicateKey)


async def test_put_away_after_a_day_it_goes_on_where_it_was(passing: Passing, talk: Talk) -> None:
    first = await talk.say("我要请假", "m1")
    await passing(hours=25)
    await closed(talk)
    turn = await talk.say("年假", "m2")
    assert turn.turn == 2
    assert flow_of(turn).slots == {"leave_type": "annual"}
    assert await talk.say("我要请假", "m1") == first


@pytest.mark.slow
async def test_news_wakes_what_was_put_away(passing: Passing, talk: Talk, bob: Approver) -> None:
    run = await talk.waiting_leave()
    await passing(hours=25)
    await closed(talk)
    await bob.decide(run, "approve")
    await heard(talk, "批准")


@pytest.mark.slow
async def test_another_flow_puts_the_first_aside_and_comes_back_to_its_question(talk: Talk) -> None:
    await talk.say("我要请假")
    assert flow_of(await talk.say("我要报销")).name == "reimbursement"
    assert [p.name for p in (await talk.status()).paused_flows] == ["leave_request"]
    turn = await talk.say("取消")
    status = await talk.status()
    assert status.active_flow is not None
    assert status.active_flow.name == "leave_request"
    assert [r.type for r in turn.replies][-1] == "choices"


async def test_a_flow_that_ended_behind_its_back_is_not_answered(talk: Talk) -> None:
    turn = await talk.say("我要请假")
    where = await run_of(talk.parts, flow_of(turn).id)
    await talk.client.get_workflow_handle(where.workflow_id).terminate("by an operator")
    assert flow_of(await talk.say("我要报销")).name == "reimbursement"


async def test_busy_means_refused_where_the_message_says_so(talk: Talk) -> None:
    await talk.say("你好")
    sent = [asyncio.create_task(talk.say("你好", f"m{n}", on_busy="reject")) for n in range(6)]
    answers = await asyncio.gather(*sent, return_exceptions=True)
    refused = [a for a in answers if isinstance(a, WorkflowUpdateFailedError)]
    assert len(refused) < 6
    assert all(isinstance(from_failure(r), Conflict) for r in refused)


@pytest.mark.slow
async def test_a_seventh_message_at_once_is_told_to_come_back(talk: Talk) -> None:
    await talk.say("你好")
    sent = (talk.say("你好", f"m{n}") for n in range(9))
    answers = await asyncio.gather(*sent, return_exceptions=True)
    refused = [from_failure(a) for a in answers if isinstance(a, BaseException)]
    assert all(isinstance(one, TooManyRequests) for one in refused)
    assert (await talk.status()).turns == 1 + 9 - len(refused)
