"""Several wishes in one message: each is done or asked, and none becomes another's slot."""

from collections.abc import AsyncIterator

import pytest
from temporalio.client import Client

from router.domain.messages import ChoicesReply
from router.runtime.composition import Parts
from tests.fakes.model_server import ModelServer, calls, fails, says
from tests.workflow.desk import Talk, flow_of, texts, words
from tests.workflow.tooled import modelled


@pytest.fixture
async def asked(real_client: Client, parts: Parts, model: ModelServer) -> AsyncIterator[Talk]:
    """A conversation with a model."""
    async with modelled(real_client, parts, model) as talk:
        yield talk


async def test_two_requests_are_both_taken_and_a_look_up_is_answered_first(talk: Talk) -> None:
    turn = await talk.say("看看我年假还有几天，顺便帮我报销昨天打车的58块")
    assert [r.target for r in turn.routes or []] == ["get_leave_balance", "reimbursement"]
    assert [call.name for call in turn.tool_calls] == ["get_leave_balance"]
    flow = flow_of(turn)
    assert flow.name == "reimbursement"
    assert "reason" not in flow.slots
    assert turn.replies[-1].text.startswith("发票号码")


@pytest.mark.slow
async def test_a_look_up_behind_a_request_is_said_before_its_question(talk: Talk) -> None:
    turn = await talk.say("下周一请一天年假，顺便看看我年假还剩几天")
    assert [call.name for call in turn.tool_calls] == ["get_leave_balance"]
    assert flow_of(turn).awaiting == ["reason"]
    assert "事由" in texts(turn)[-1]
    assert (await talk.say("家里有事")).replies[-1].type == "confirm"


@pytest.mark.slow
async def test_of_two_flows_the_second_comes_after_the_first(talk: Talk) -> None:
    turn = await talk.say("下周一请一天年假，家里有事；顺便报个63块的打车费")
    assert flow_of(turn).name == "leave_request"
    assert flow_of(turn).slots["reason"] == "家里有事"
    assert "费用报销随后接着办" in words(turn)
    done = await talk.press("confirm", value=True)
    assert "我们回到费用报销" in words(done)


async def test_without_a_model_the_rest_is_offered_before_the_flows_question(talk: Talk) -> None:
    turn = await talk.say("我要请年假，下周一到周三，顺便查下上海那几天的天气")
    assert "reason" not in flow_of(turn).slots
    assert [r.kind for r in turn.routes or []] == ["flow", "clarify"]
    offer, question = turn.replies[-2:]
    assert isinstance(offer, ChoicesReply)
    assert offer.text == "另外，“查下上海那几天的天气”是想办哪一项？"
    assert "get_weather" in [option.value for option in offer.options]
    assert "事由" in question.text
    answered = await talk.say("回老家")
    assert flow_of(answered).status == "confirming"
    assert flow_of(answered).slots["reason"] == "回老家"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["button", "words"])
async def test_what_is_offered_beside_a_flow_is_chosen(talk: Talk, how: str) -> None:
    turn = await talk.say("我要请年假，下周一到周三，顺便查下上海那几天的天气")
    offer = next(reply for reply in turn.replies if isinstance(reply, ChoicesReply))
    chosen = next(option for option in offer.options if option.value == "get_weather")
    if how == "button":
        turn = await talk.press("choose", value=chosen.value, question=offer.question)
    else:
        turn = await talk.say(chosen.label)
    names = [call.name for call in turn.tool_calls] + [flow_of(turn).name]
    assert "get_weather" in names
    assert "leave_request" in {p.name for p in (await talk.status()).paused_flows} | {
        flow_of(turn).name
    }


async def test_the_flows_question_stays_the_one_that_is_open(talk: Talk) -> None:
    await talk.say("我要请假，另外告诉我食堂几点开饭")
    status = await talk.status()
    assert isinstance(status.asked, ChoicesReply)
    assert "annual" in [option.value for option in status.asked.options]
    assert flow_of(await talk.say("1")).slots == {"leave_type": "annual"}


async def test_the_rest_goes_to_the_model_and_the_flow_asks_last(asked: Talk) -> None:
    asked.model.then(says("食堂的事我这里查不到。"))
    turn = await asked.say("我要请年假，下周一到周三，另外告诉我食堂几点开饭")
    assert texts(turn)[0] == "食堂的事我这里查不到。"
    assert [r.by for r in turn.routes or []] == ["pattern", "llm"]
    assert flow_of(turn).slots["start"] == "2026-11-23" or flow_of(turn).awaiting == ["reason"]
    (chat,) = asked.model.chats
    last = chat["messages"][-1]["content"]
    assert "告诉我食堂几点开饭" in last
    assert "我要请年假" not in last


async def test_a_tool_that_the_model_calls_for_the_rest_is_said_before_the_flow_asks(
    asked: Talk,
) -> None:
    asked.model.then(calls(("get_leave_balance", {"leave_type": "sick"})), says("病假还有 15 天。"))
    turn = await asked.say("我要请年假，下周一到周三，另外告诉我生病了还能歇多少天")
    assert texts(turn)[0] == "病假还有 15 天。"
    assert flow_of(turn).awaiting == ["reason"]


async def test_what_rules_began_is_not_begun_again_by_the_model(asked: Talk) -> None:
    again = {"flow_name": "leave_request", "slots": {"leave_type": "sick"}}
    asked.model.then(calls(("dispatch_to_flow", again), ("respond_message", {"text": "好的"})))
    turn = await asked.say("我要请年假，下周一到周三，另外告诉我食堂几点开饭")
    assert flow_of(turn).slots["leave_type"] == "annual"
    assert (await asked.status()).paused_flows == []


async def test_an_answer_is_taken_and_the_wish_beside_it_decided(asked: Talk) -> None:
    await asked.say("申请出差")
    asked.model.then(says("天气我这里查不到。"))
    turn = await asked.say("上海，顺便查下那边天气")
    assert texts(turn)[0] == "天气我这里查不到。"
    assert flow_of(turn).slots["destination"] == "上海"


async def test_an_answer_counts_where_the_model_fails_for_the_wish_beside_it(asked: Talk) -> None:
    await asked.say("申请出差")
    asked.model.then(*[fails(400)] * 4)
    turn = await asked.say("上海，顺便查下那边天气")
    assert flow_of(turn).slots["destination"] == "上海"
    offer = next(reply for reply in turn.replies if isinstance(reply, ChoicesReply))
    assert "查下那边天气" in offer.text


@pytest.mark.slow
async def test_the_next_round_is_about_the_rest_and_begins_nothing_again(asked: Talk) -> None:
    again = {"flow_name": "leave_request", "slots": {"leave_type": "sick"}}
    asked.model.then(
        calls(("get_leave_balance", {"leave_type": "sick"})),
        calls(("respond_message", {"text": "病假还有 15 天。"}), ("dispatch_to_flow", again)),
    )
    turn = await asked.say("我要请年假，下周一到周三，另外告诉我生病了还能歇多少天")
    assert texts(turn)[0] == "病假还有 15 天。"
    assert flow_of(turn).awaiting == ["reason"]
    assert flow_of(turn).slots["leave_type"] == "annual"
    assert (await asked.status()).paused_flows == []
    for chat in asked.model.chats:
        (said,) = [
            message["content"]
            for message in chat["messages"]
            if message["role"] == "user" and "Now:" in message["content"]
        ]
        assert "生病了还能歇多少天" in said
        assert "我要请年假" not in said


@pytest.mark.slow
async def test_what_the_model_says_of_the_rest_and_does_not_hold_is_asked_by_its_words(
    asked: Talk,
) -> None:
    asked.model.then(says("食堂 12 点 30 分开饭。"))
    turn = await asked.say("我要请年假，下周一到周三，另外告诉我食堂几点开饭")
    offer = next(reply for reply in turn.replies if isinstance(reply, ChoicesReply))
    assert offer.text == "另外，“告诉我食堂几点开饭”是想办哪一项？"
    assert flow_of(turn).awaiting == ["reason"]
