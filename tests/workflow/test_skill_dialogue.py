"""A skill's dialogue with the employee: questions, forms in between, and words while it works."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle

from router.contracts import conversation
from router.domain.locale import Localised
from router.runtime.composition import Parts
from tests.fakes.model_server import Behaviour, ModelServer, calls, hangs, reaches, says
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk, flow_of, texts
from tests.workflow.skill_histories import at_work
from tests.workflow.tooled import skill, talking
from tests.workflow.trip import book_seat, clear, entered, find_train, leave, wait_long

HELPER = skill(
    *("trip-helper", "行程助手", "Trip helper"),
    allowed_tools=frozenset({"find_train", "wait_long", "book_seat"}),
    max_turns=6,
)
COOK = HELPER.model_copy(update={"name": "cook", "title": Localised(zh="大厨", en="Cook")})
CHOOSE = calls(("dispatch_to_skill", {"skill_name": "trip-helper", "request": "计划去上海"}))
FIND = calls(("find_train", {"to": "上海"}))
BACK = calls(("hand_back", {}))
BOOK = ("dispatch_to_flow", {"flow_name": "book_seat", "slots": {"train": "G1"}})


@pytest.fixture
async def talk(real_client: Client, parts: Parts, model: ModelServer) -> AsyncIterator[Talk]:
    clear()
    tools = (find_train, wait_long, book_seat)
    flows = [parts.offered.catalog.get("leave_request")]
    known = [flow for flow in flows if flow is not None]
    async with talking(real_client, parts, tools, model, [HELPER, COOK], known) as talk:
        yield talk


def asks(text: str) -> Behaviour:
    return calls(("ask_user", {"text": text}))


def told(talk: Talk, role: str) -> list[str]:
    """What the model was told last by these."""
    return [m["content"] for m in talk.model.chats[-1]["messages"] if m["role"] == role]


SIGNALLED = [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED]
FOUND_A_TRAIN = [
    EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,  # it has thought
    EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
    EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
]


async def happened(
    talk: Talk,
    kinds: list["EventType.ValueType"],
    where: "WorkflowHandle[Any, Any] | None" = None,
) -> None:
    """Return once this has happened to the sub-agent of this conversation, in this order.

    Or to what is there `where`.
    """
    handle, left = where or await at_work(talk), list(kinds)
    async with asyncio.timeout(HANGS_AFTER_S):
        async for event in handle.fetch_history_events(wait_new_event=True):
            if event.event_type == left[0]:
                left.pop(0)
            if not left:
                return


async def taken_in(talk: Talk, messages: int) -> None:
    """Return once so many messages of this conversation were taken in."""
    kind = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    seen = 0
    async with asyncio.timeout(HANGS_AFTER_S):
        async for event in talk.handle.fetch_history_events(wait_new_event=True):
            seen += event.event_type == kind
            if seen == messages:
                return


@pytest.mark.slow
async def test_the_answer_to_its_question_goes_to_the_skill_at_no_other_call(talk: Talk) -> None:
    talk.model.then(CHOOSE, FIND, asks("几点走？"), says("G1 正好。"))
    assert texts(await talk.say("帮我安排去上海")) == ["几点走？"]
    turn = await talk.say("早上八点")
    assert texts(turn) == ["G1 正好。"]
    assert (turn.route.kind, turn.route.target, turn.route.by) == ("skill", "trip-helper", "slot")
    assert turn.usage.llm_calls == 1
    assert told(talk, "tool") == ['"G1 to 上海"', "早上八点"]


@pytest.mark.slow
async def test_once_it_has_answered_the_next_message_is_anybodys(talk: Talk) -> None:
    talk.model.then(CHOOSE, asks("几点走？"), says("好的。"), says("不客气。"))
    await talk.say("帮我安排去上海")
    await talk.say("早上八点")
    turn = await talk.say("谢谢")
    assert (turn.route.kind, turn.route.by) == ("reply", "llm")


@pytest.mark.slow
async def test_a_skill_that_is_called_off_asks_no_more(talk: Talk) -> None:
    talk.model.then(CHOOSE, asks("几点走？"), says("不客气。"))
    await talk.say("帮我安排去上海")
    turn = await talk.say("算了")
    assert (turn.route.kind, turn.route.target) == ("cancel", "trip-helper")
    assert (await talk.say("谢谢")).route.kind == "reply"


@pytest.mark.slow
async def test_a_flow_in_between_leads_back_to_the_question(talk: Talk) -> None:
    talk.model.then(CHOOSE, asks("几点走？"), says("G1 正好。"))
    await talk.say("帮我安排去上海")
    assert (await talk.say("我要请年假")).route.target == "leave_request"
    assert texts(await talk.say("取消"))[-1] == "我们回到行程助手。几点走？"
    assert texts(await talk.say("早上八点")) == ["G1 正好。"]


@pytest.mark.slow
async def test_what_is_not_for_the_skill_is_decided_anew_and_then_asked_again(talk: Talk) -> None:
    talk.model.then(CHOOSE, asks("几点走？"), BACK, says("食堂有面。"), says("好。"))
    await talk.say("帮我安排去上海")
    turn = await talk.say("中午吃什么")
    assert texts(turn) == ["食堂有面。", "我们回到行程助手。几点走？"]
    assert (turn.route.kind, turn.usage.llm_calls) == ("reply", 2)
    await talk.say("早上八点")
    assert told(talk, "tool") == ["中午吃什么", "早上八点"]


@pytest.mark.slow
async def test_one_that_waits_keeps_waiting_while_another_comes_to_its_end(talk: Talk) -> None:
    other = calls(("dispatch_to_skill", {"skill_name": "cook", "request": "推荐个菜"}))
    talk.model.then(CHOOSE, asks("几点走？"), BACK, other, says("吃面。"), says("好。"))
    await talk.say("帮我安排去上海")
    assert texts(await talk.say("中午吃什么")) == ["吃面。", "我们回到行程助手。几点走？"]
    await talk.say("早上八点")
    assert told(talk, "tool") == ["中午吃什么", "早上八点"]


@pytest.mark.slow
async def test_a_flow_asked_for_while_a_skill_works_is_begun_after_it(talk: Talk) -> None:
    talk.model.then(CHOOSE, calls(("wait_long", {"number": 1})), says("好了。"))
    working = asyncio.create_task(talk.say("帮我安排去上海"))
    await entered.wait()
    steering = asyncio.create_task(talk.say("我要请年假", on_busy="steer"))
    await taken_in(talk, 2)
    leave.set()
    assert texts(await working) == ["好了。"]
    assert (await steering).route.target == "leave_request"


@pytest.mark.slow
async def test_it_comes_back_from_a_form_with_what_became_of_it(talk: Talk) -> None:
    talk.model.then(CHOOSE, calls(BOOK), says("订好了，12A。"))
    asked = await talk.say("帮我安排去上海")
    assert (flow_of(asked).name, flow_of(asked).status) == ("book_seat", "confirming")
    done = await talk.say("确认")
    assert [call.name for call in done.tool_calls] == ["book_seat"]
    assert texts(done)[-1] == "订好了，12A。"
    assert done.route.kind == "flow"
    (result,) = told(talk, "tool")
    assert result.startswith("The employee is done with the form: it is completed")


@pytest.mark.slow
async def test_a_form_that_is_not_wanted_is_told_as_cancelled(talk: Talk) -> None:
    talk.model.then(CHOOSE, calls(BOOK), says("那就不订了。"))
    await talk.say("帮我安排去上海")
    assert texts(await talk.say("取消"))[-1] == "那就不订了。"
    (result,) = told(talk, "tool")
    assert "it is cancelled" in result


@pytest.mark.slow
async def test_words_while_it_works_skip_what_is_not_begun(talk: Talk) -> None:
    waits = [("wait_long", {"number": n}) for n in range(6)]
    talk.model.then(CHOOSE, calls(*waits), says("改去北京了。"))
    working = asyncio.create_task(talk.say("帮我安排去上海"))
    await entered.wait()
    steering = asyncio.create_task(talk.say("改去北京", message_id="steer-1", on_busy="steer"))
    await happened(talk, SIGNALLED)
    leave.set()
    turn = await working
    assert texts(turn) == ["改去北京了。"]
    assert sorted(call.status for call in turn.tool_calls) == ["done"] * 4 + ["skipped"] * 2
    assert told(talk, "user")[-1] == "The employee says meanwhile: 改去北京"
    results = told(talk, "tool")
    assert results[4:] == ["skipped: the employee said something meanwhile"] * 2
    landed = await steering
    assert (landed.route.kind, landed.route.target) == ("skill", "trip-helper")


async def test_words_that_come_too_late_are_a_message_like_any_other(talk: Talk) -> None:
    talk.model.then(says("你好。"))
    assert texts(await talk.say("你好", on_busy="steer")) == ["你好。"]


@pytest.mark.slow
async def test_stopped_it_keeps_what_it_has_and_can_go_on_from_there(talk: Talk) -> None:
    talk.model.then(
        CHOOSE,
        calls(("find_train", {"to": "上海"}), ("wait_long", {"number": 1})),
        CHOOSE,
        says("G1 正好。"),
    )
    working = asyncio.create_task(talk.say("帮我安排去上海", message_id="to-stop"))
    await entered.wait()
    await happened(talk, FOUND_A_TRAIN)
    await talk.handle.signal(conversation.CANCEL, "to-stop")
    stopped = await working
    assert stopped.status == "cancelled"
    assert stopped.usage.llm_calls >= 1
    assert texts(await talk.say("接着安排吧")) == ["G1 正好。"]
    cut_off = "stopped by the employee after it had begun: what came of it isn't known"
    assert told(talk, "tool") == ['"G1 to 上海"', cut_off]
    assert [(call.name, call.status) for call in stopped.tool_calls] == [
        ("find_train", "done"),
        ("wait_long", "unknown"),
    ]
    assert texts(stopped) == [*STOPPED, "车次：已经办完；等：已经开始，结果不明。"]


STOPPED = ["好的，停下了。"]
TRAIN_AND_WAIT = calls(("find_train", {"to": "上海"}), ("wait_long", {"number": 1}))


@pytest.mark.slow
async def test_what_had_begun_and_ended_when_a_turn_was_stopped_is_told(talk: Talk) -> None:
    """To the person as a notice of the desk, and to models as what came of the calls."""
    talk.model.then(TRAIN_AND_WAIT, says("不客气。"))
    working = asyncio.create_task(talk.say("等 1 下，再看去上海的车次", message_id="to-stop"))
    async with asyncio.timeout(HANGS_AFTER_S):
        await entered.wait()
    await happened(talk, FOUND_A_TRAIN, talk.handle)
    await talk.handle.signal(conversation.CANCEL, "to-stop")
    stopped = await working
    assert texts(stopped) == [*STOPPED, "车次：已经办完；等：已经开始，结果不明。"]
    assert [call.status for call in stopped.tool_calls] == ["done", "unknown"]
    await talk.say("谢谢你")
    found, waited = told(talk, "tool")
    assert found == '"G1 to 上海"'
    assert waited.startswith("it had begun when the person stopped it")
    assert "stopped this" in told(talk, "assistant")[-1]
    for notice in texts(stopped):
        assert notice in "\n".join(await talk.texts())
        assert notice not in json.dumps(talk.model.chats, ensure_ascii=False)


@pytest.mark.slow
async def test_what_never_began_when_a_skill_was_stopped_is_told(talk: Talk) -> None:
    talk.model.then(CHOOSE, calls(*(("wait_long", {"number": n}) for n in range(6))))
    working = asyncio.create_task(talk.say("帮我安排去上海", message_id="to-stop"))
    async with asyncio.timeout(HANGS_AFTER_S):
        await entered.wait()
    await talk.handle.signal(conversation.CANCEL, "to-stop")
    stopped = await working
    assert texts(stopped) == [*STOPPED, "等 ×4：已经开始，结果不明；等 ×2：没有开始。"]
    talk.model.then(CHOOSE, says("算了吧。"))
    await talk.say("接着安排吧")
    assert told(talk, "tool")[4:] == ["never begun: stopped by the employee before"] * 2


@pytest.mark.slow
async def test_what_it_said_at_its_limit_is_what_it_goes_on_from(talk: Talk) -> None:
    found = [calls(("find_train", {"to": to})) for to in ("上海", "北京", "杭州", "苏州", "宁波")]
    talk.model.then(CHOOSE, *found, FIND, CHOOSE, says("G1 正好。"))
    (said,) = texts(await talk.say("帮我安排去上海"))
    assert said.startswith("步数用完了")
    assert texts(await talk.say("接着安排吧")) == ["G1 正好。"]
    heard = talk.model.chats[-1]["messages"]
    assert [m["content"] for m in heard if m["role"] == "assistant"][-1] == said


@pytest.mark.slow
async def test_a_skill_that_is_stopped_beside_a_tool_is_heard_out(talk: Talk) -> None:
    thinking, over = asyncio.Event(), asyncio.Event()
    both = calls(
        ("wait_long", {"number": 1}),
        ("dispatch_to_skill", {"skill_name": "trip-helper", "request": "计划去上海"}),
    )
    talk.model.then(both, FIND, reaches(thinking, hangs(over)), says("好。"))
    working = asyncio.create_task(talk.say("等一下，再帮我安排去上海", message_id="to-stop"))
    await thinking.wait()
    await talk.handle.signal(conversation.CANCEL, "to-stop")
    stopped = await working
    over.set()
    assert [call.name for call in stopped.tool_calls if call.status == "done"] == ["find_train"]
    assert (await talk.say("谢谢")).tool_calls == []


async def test_a_stopped_skill_ends_within_a_second(talk: Talk) -> None:
    thinking, over = asyncio.Event(), asyncio.Event()
    talk.model.then(CHOOSE, reaches(thinking, hangs(over)))
    working = asyncio.create_task(talk.say("帮我安排去上海", message_id="to-stop"))
    await thinking.wait()
    async with asyncio.timeout(HANGS_AFTER_S):
        await talk.handle.signal(conversation.CANCEL, "to-stop")
        assert (await working).status == "cancelled"
    over.set()
