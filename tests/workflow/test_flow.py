from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateFailedError

from router.contracts.failures import from_failure
from router.contracts.flow import TELL, VIEW, FlowAnswer, Tell
from router.domain.errors import Conflict, NotFound
from router.domain.messages import Reply
from router.domain.principals import DEFAULT_TENANT
from router.flow.engine.events import Answered
from router.flow.view import FlowView
from router.runtime.composition import Parts
from tests.workflow.conftest import Passing
from tests.workflow.desk import (
    Approver,
    Talk,
    becomes,
    flow_of,
    heard,
    person,
    run_of,
    withdrawn,
)


async def test_an_approver_is_reminded_then_it_goes_up_and_expires(
    passing: Passing, talk: Talk, bob: Approver, carol: Approver
) -> None:
    parts, run = talk.parts, await talk.waiting_leave()
    await passing(hours=25)
    await becomes(parts, run, lambda r: r.history[-1].event == "reminded")
    assert (await bob.waiting(run)).person == "bob"
    await passing(hours=48)
    await becomes(parts, run, lambda r: "escalated" in [h.event for h in r.history])
    assert (await carol.waiting(run)).person == "carol"
    await passing(days=14)
    assert (await becomes(parts, run, lambda r: r.status == "expired")).state == "tell_late"


@pytest.mark.slow
async def test_a_decision_of_others_or_other_content_is_refused(talk: Talk, bob: Approver) -> None:
    run = await talk.waiting_leave()
    approval = await bob.waiting(run)
    for approver, changed, kind in (
        (talk.approver("gina"), approval, NotFound),
        (bob, approval.model_copy(update={"digest": "0" * 32}), Conflict),
    ):
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await approver.decide(changed, "approve")
        assert isinstance(from_failure(refused.value), kind)
    assert (await bob.decide(approval, "approve")).status == "completed"
    with pytest.raises(WorkflowUpdateFailedError) as refused:
        await bob.decide(approval, "reject")


@pytest.mark.slow
async def test_a_withdrawal_reaches_the_conversation_and_the_approvers_list(talk: Talk) -> None:
    run = await talk.waiting_leave()
    await withdrawn(talk, run)
    await heard(talk, "已取消")
    waiting, _ = await talk.parts.store.runs.waiting_for(DEFAULT_TENANT, "bob", None, 200)
    assert run not in [item.run for item in waiting]


async def test_a_run_keeps_the_definition_that_it_began_with(talk: Talk) -> None:
    turn = await talk.say("我要请假")
    where = await run_of(talk.parts, flow_of(turn).id)
    history = await talk.client.get_workflow_handle(where.workflow_id).fetch_history()
    started = history.events[0].workflow_execution_started_event_attributes
    assert b'"flow":"leave_request"' in started.input.payloads[0].data


@pytest.mark.slow
async def test_what_is_sent_back_is_changed_and_goes_up_again(talk: Talk, bob: Approver) -> None:
    run = await talk.waiting_leave()
    await bob.decide(run, "return", comment="日期不对")
    await heard(talk, "日期不对")
    turn = await talk.say("结束日期改成12月9日")
    assert str(flow_of(turn).slots["end"]).endswith("-12-09")
    assert flow_of(turn).status == "confirming"
    await talk.say("确认")
    await bob.decide(run, "approve")
    await becomes(talk.parts, run, lambda r: r.status == "completed")


@pytest.mark.slow
async def test_nobody_fills_in_what_is_worked_out_from_the_rest(talk: Talk) -> None:
    """A form that claims half a day for a week would spare itself the director's approval."""
    turn = await talk.say("我要请年假，12月7日到11日，家里有事")
    truth = flow_of(turn).slots
    for claimed in ({}, {"start": truth["start"], "end": truth["end"]}):
        turn = await talk.press("form", values={**claimed, "days": 0.5})
        assert flow_of(turn).slots == truth
        assert "工作日天数" in turn.replies[0].text


@pytest.mark.slow
async def test_what_was_looked_up_is_asked_when_someone_wants_it_changed(talk: Talk) -> None:
    """Two days gave the end; who wants another end isn't told the same one again."""
    await talk.say("请两天年假，从12月7日开始，家里有事")
    await talk.say("不")
    turn = await talk.press("choose", value="end")
    assert flow_of(turn).awaiting == ["end"]
    turn = await talk.say("12月9日")
    assert flow_of(turn).status == "confirming"
    assert str(flow_of(turn).slots["end"]).endswith("-12-09")


@pytest.mark.slow
@pytest.mark.parametrize("nothing", ["不改了", "没什么要改的", "确认"])
async def test_who_declined_may_change_nothing_after_all(talk: Talk, nothing: str) -> None:
    before = await talk.say("我要请年假，12月7日到8日，家里有事")
    await talk.say("不")
    turn = await talk.say(nothing)
    assert (flow_of(turn).status, flow_of(turn).slots) == ("confirming", flow_of(before).slots)
    assert [_shown(reply) for reply in turn.replies] == [_shown(r) for r in before.replies]


async def test_a_turn_lists_the_tools_that_its_flow_called(talk: Talk) -> None:
    turn = await talk.say("我要请年假，下周一到周二，家里有事")
    (call,) = turn.tool_calls
    assert (call.name, call.status) == ("get_leave_balance", "done")
    assert call.arguments["leave_type"] == "annual"
    assert '"days"' in call.result_preview
    assert (await talk.say("理由改成搬家")).tool_calls[0].id != call.id


def _shown(reply: Reply) -> dict[str, Any]:
    return reply.model_dump(exclude={"question"})


async def test_a_run_of_many_turns_continues_as_new_and_loses_nothing(
    real_client: Client, parts: Parts
) -> None:
    alice = await person(parts, "alice")
    talk = await Talk(real_client, parts, alice).open()
    run = flow_of(await talk.say("我要请年假")).id
    await talk.say("2027-03-10")
    handle = real_client.get_workflow_handle((await run_of(parts, run)).workflow_id)
    first = (await handle.describe()).run_id
    for _ in range(60):
        again = await talk.say("2027-03-09")
        assert again.route.by == "slot"
        assert flow_of(again).slots == {"leave_type": "annual", "start": "2027-03-10"}
        if (await handle.describe()).run_id != first:
            break
    assert (await handle.describe()).run_id != first
    assert flow_of(await talk.say("2027-03-11")).slots["end"] == "2027-03-11"


@pytest.mark.slow
async def test_what_a_run_was_told_before_it_continued_as_new_is_not_taken_again(
    real_client: Client, parts: Parts
) -> None:
    """Temporal knows an update's id within one run alone."""
    talk = await Talk(real_client, parts, await person(parts, "alice")).open()
    run = flow_of(await talk.say("我要请年假")).id
    handle = real_client.get_workflow_handle((await run_of(parts, run)).workflow_id)
    first, number, answer = (await handle.describe()).run_id, 0, None
    while (await handle.describe()).run_id == first:
        number += 1
        before, answer = answer, await told(handle, f"word-{number}", number)
    assert await told(handle, f"word-{number}", number) == answer
    # A copy of the word before it that the network has held back until now.
    assert await told(handle, f"word-{number - 1}", number - 1) == before
    taken = (await handle.query(VIEW, result_type=FlowView)).events
    assert taken == answer.view.events


@pytest.mark.slow
async def test_a_decision_is_answered_as_before_where_it_comes_again_to_the_next_run(
    real_client: Client, parts: Parts
) -> None:
    talk = await Talk(real_client, parts, await person(parts, "alice")).open()
    run = await talk.waiting_leave("我要请年假，12月7日到11日，家里有事")
    bob = Approver(real_client, parts, "bob")
    approval = await bob.waiting(run)
    taken = await bob.decide(approval, "approve", word="bob decides")
    handle = real_client.get_workflow_handle((await run_of(parts, run)).workflow_id)
    first, number = (await handle.describe()).run_id, 0
    while (await handle.describe()).run_id == first:
        number += 1
        await told(handle, f"word-{number}", number)

    again = await bob.decide(approval, "approve", word="bob decides")

    assert (taken.status, again) == ("waiting_approval", taken)
    with pytest.raises(WorkflowUpdateFailedError):
        await bob.decide(approval, "reject")


async def told(handle: WorkflowHandle[Any, Any], id_: str, number: int) -> FlowAnswer:
    event = Answered(slots={"reason": f"reason {number}"})
    answer: FlowAnswer = await handle.execute_update(
        TELL, Tell(event=event, locale="zh"), id=id_, result_type=FlowAnswer
    )
    return answer
