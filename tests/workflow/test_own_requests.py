"""Taking back and hurrying one's own requests with a tool: the real flow, on a real server."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio.client import Client

from activities import provided
from router.contracts.activities import ToolCall
from router.domain.errors import ArgumentsToolError, Forbidden, PermanentToolError
from router.domain.locale import Locale
from router.domain.messages import ENDED, ChoicesReply, ChooseAction, ConfirmReply, Message, Turn
from tests.one_try import run_tool
from tests.samples import one_in
from tests.workflow.desk import Approver, Talk, flow_of, run_of, words


class Tools:
    """Calls tools for whoever talks, each call with a key of its own unless one is given."""

    def __init__(self, talk: Talk) -> None:
        self.parts, self.client, self.caller = talk.parts, talk.client, talk.person

    async def call(self, tool: str, confirmed: bool = True, **more: Any) -> Any:
        about = {"key": uuid4().hex, "now": datetime.now(UTC), **more.pop("about", {})}
        call = ToolCall(tool=tool, arguments=more, caller=self.caller, **about)
        with self.parts.dependencies.override(provided.temporal, self.connected):
            registry, ledger = self.parts.offered.registry, self.parts.store.ledger
            return await run_tool(registry, ledger, self.parts.dependencies, call, confirmed)

    async def connected(self) -> Client:
        return self.client


@pytest.fixture
def tools(talk: Talk) -> Tools:
    return Tools(talk)


@pytest.mark.slow
async def test_what_waits_is_taken_back_and_then_is_over(tools: Tools, talk: Talk) -> None:
    run = await talk.waiting_leave()
    first = await tools.call("withdraw_request", request=run, about={"key": run})
    again = await tools.call("withdraw_request", request=run, about={"key": run})
    with pytest.raises(PermanentToolError) as refused:
        await tools.call("withdraw_request", request=run)
    assert "它已经结束了，没有任何改变" in refused.value.said.zh
    told = [first[key] for key in ("outcome", "status", "said")]
    assert told == ["withdrawn", "cancelled", "已经撤回。"]
    assert again == first
    history = (await run_of(talk.parts, run)).history
    assert [line.event for line in history].count("withdrawn") == 1


@pytest.mark.slow
async def test_it_is_found_by_what_it_is_called_where_that_says_which(talk: Talk) -> None:
    talk, tools = await clean(talk)
    run = await talk.waiting_leave("我要请事假，12月9日到10日，搬家")
    with pytest.raises(ArgumentsToolError, match=f"'搬家'; there are: .*{run}"):
        await tools.call("withdraw_request", request="搬家")
    assert (await tools.call("withdraw_request", request="我的请假申请"))["request"] == run


@pytest.mark.slow
async def test_two_of_one_name_are_both_named_and_neither_is_touched(talk: Talk) -> None:
    talk, tools = await clean(talk)
    one = await talk.waiting_leave("我要请事假，12月9日到9日，搬家")
    other = await talk.waiting_leave("我要请事假，12月10日到10日，搬家")
    with pytest.raises(ArgumentsToolError, match="say which, by its id") as refused:
        await tools.call("withdraw_request", request="leave request")
    assert one in str(refused.value)
    assert other in str(refused.value)
    for run in (one, other):
        assert (await tools.call("withdraw_request", request=run))["outcome"] == "withdrawn"


@pytest.mark.slow
async def test_an_approver_is_reminded_once_an_hour(tools: Tools, talk: Talk) -> None:
    run = await talk.waiting_leave()
    first = await tools.call("nudge_approver", request=run)
    with pytest.raises(PermanentToolError) as refused:
        await tools.call("nudge_approver", request=run)
    assert "刚刚提醒过审批人" in refused.value.said.zh
    later = await tools.call(
        "nudge_approver", request=run, about={"now": datetime.now(UTC) + timedelta(days=400)}
    )
    assert (first["outcome"], first["waits_for"]) == ("reminded", ["陈博 Bob"])
    assert later["outcome"] == "reminded"
    await tools.call("withdraw_request", request=run)


@pytest.mark.slow
async def test_who_waits_for_nobody_hurries_none(tools: Tools, talk: Talk, bob: Approver) -> None:
    asking = await talk.say("我要请年假，12月7日到8日，家里有事")
    with pytest.raises(PermanentToolError) as refused:
        await tools.call("nudge_approver", request=flow_of(asking).id)
    assert "不在等任何人审批" in refused.value.said.zh
    await talk.say("确认")
    await bob.decide(flow_of(asking).id, "reject")
    with pytest.raises(PermanentToolError) as refused:
        await tools.call("nudge_approver", request=flow_of(asking).id)
    assert "已经结束" in refused.value.said.zh


async def test_what_is_said_is_in_the_callers_language(talk: Talk) -> None:
    talk = await talk.another("frank", "en")
    run = await talk.waiting_leave("I need annual leave from 7 December to 8 December, family")
    told = await Tools(talk).call("withdraw_request", request=run)
    assert (told["title"], told["said"]) == ("Leave request", "It is taken back.")


@pytest.mark.slow
async def test_somebody_elses_request_is_none(tools: Tools, talk: Talk) -> None:
    run = await talk.waiting_leave()
    for stranger in ("bob", "olga", "gina"):
        theirs = Tools(await talk.another(stranger))
        for tool in ("withdraw_request", "nudge_approver"):
            with pytest.raises(ArgumentsToolError, match="no request under way is called"):
                await theirs.call(tool, request=run)
    assert (await tools.call("withdraw_request", request=run))["outcome"] == "withdrawn"


@pytest.mark.slow
async def test_both_ask_first_unless_they_would_be_refused_anyway(tools: Tools, talk: Talk) -> None:
    run = await talk.waiting_leave()
    for tool in ("withdraw_request", "nudge_approver"):
        with pytest.raises(Forbidden, match="confirmed"):
            await tools.call(tool, request=run, confirmed=False)
        with pytest.raises(ArgumentsToolError, match="no request under way is called"):
            await tools.call(tool, request="somebody else's", confirmed=False)
    await tools.call("withdraw_request", request=run)


@pytest.mark.slow
@pytest.mark.parametrize(
    "request_", ["", " ", "x" * 101, "a\x00b", "' or 1=1 --", "%", "_", "e", 7, None]
)
async def test_what_names_no_request_is_refused(tools: Tools, talk: Talk, request_: Any) -> None:
    run = await talk.waiting_leave()
    for tool in ("withdraw_request", "nudge_approver"):
        with pytest.raises(ArgumentsToolError, match="request"):
            await tools.call(tool, request=request_)
    assert (await tools.call("withdraw_request", request=run))["outcome"] == "withdrawn"


@pytest.mark.slow
async def test_what_is_only_half_asked_for_is_taken_back_but_never_hurried(talk: Talk) -> None:
    talk, tools = await clean(talk)
    run = await talk.waiting_leave("我要请事假，12月9日到10日，搬家")
    begun = await (await talk.another("dave")).say("我要请假")
    reminded = await tools.call("nudge_approver", request="请假")
    with pytest.raises(ArgumentsToolError) as refused:
        await tools.call("withdraw_request", request="请假")
    assert reminded["request"] == run
    assert flow_of(begun).id in str(refused.value)
    for each in (run, flow_of(begun).id):
        await tools.call("withdraw_request", request=each)


async def test_a_word_to_a_request_is_no_request_itself(talk: Talk) -> None:
    talk = await talk.another("erin")
    assert (await talk.press("start", flow="nudge_approver", slots={})).flow is not None
    with pytest.raises(ArgumentsToolError, match="nor is there any other"):
        await Tools(talk).call("withdraw_request", request="Remind the approver")


async def clean(talk: Talk, locale: Locale = "zh") -> tuple[Talk, Tools]:
    """A conversation of somebody's who asks for nothing yet."""
    talk = await talk.another("dave", locale)
    tools = Tools(talk)
    found, _ = await talk.parts.store.runs.listed("default", "dave", None, None, None, 50)
    for run in found:
        if run.status not in ENDED:
            await tools.call("withdraw_request", request=run.id)
    return talk, tools


async def two_leaves(talk: Talk) -> tuple[str, str]:
    opening = "I need {} leave from {} December to {} December, family"
    first = await talk.waiting_leave(opening.format("annual", 7, 8))
    return first, await talk.waiting_leave(opening.format("sick", 9, 10))


def options_of(turn: Turn) -> list[tuple[str, JsonValue]]:
    (reply,) = [reply for reply in turn.replies if isinstance(reply, ChoicesReply)]
    return [(option.label, option.value) for option in reply.options]


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    one_in(3, ("the first one", "2", "sick leave", "the one for December 9", "第一个", "button")),
)
async def test_of_several_that_fit_one_is_chosen_in_any_way(talk: Talk, answer: str) -> None:
    talk, tools = await clean(talk, "en")
    annual, sick = await two_leaves(talk)
    asked = await talk.say("withdraw my leave")
    assert options_of(asked) == [
        ("Leave request (sick, 9 Dec to 10 Dec): waiting approval", sick),
        ("Leave request (annual, 7 Dec to 8 Dec): waiting approval", annual),
    ]
    with talk.parts.dependencies.override(provided.temporal, tools.connected):
        pressed = Message(action=ChooseAction(type="choose", value=sick))
        chosen = await (talk.send(pressed) if answer == "button" else talk.say(answer))
        flow = flow_of(chosen)
        assert (flow.name, flow.status) == ("withdraw_request", "confirming"), chosen
        await talk.say("yes")
    meant = annual if answer == "2" else sick
    assert (await run_of(talk.parts, meant)).status == "cancelled"
    other = sick if meant == annual else annual
    assert (await run_of(talk.parts, other)).status == "waiting_approval"
    await tools.call("withdraw_request", request=other)


@pytest.mark.slow
async def test_without_a_name_the_only_one_is_meant_or_one_is_asked_for(talk: Talk) -> None:
    talk, tools = await clean(talk)
    first = await talk.waiting_leave("我要请年假，12月14日到15日，家里有事")
    alone = await talk.say("催一下")
    assert (flow_of(alone).name, flow_of(alone).status) == ("nudge_approver", "confirming")
    await talk.say("不用了")
    second = await talk.waiting_leave("我要请年假，12月16日到17日，家里有事")
    asked = await talk.say("催一下")
    assert options_of(asked) == [
        ("请假申请（年假，12月16日 至 12月17日）：审批中", second),
        ("请假申请（年假，12月14日 至 12月15日）：审批中", first),
    ]
    narrowed = await talk.say("12月15日那个")
    assert (flow_of(narrowed).status, flow_of(narrowed).slots) == ("confirming", {"request": first})
    (confirm,) = [reply.text for reply in narrowed.replies if isinstance(reply, ConfirmReply)]
    which = "请假申请（年假，12月14日 至 12月15日）：审批中"
    assert confirm == f"催办审批：{which}，要执行吗？"
    await talk.say("不用了")
    for each in (first, second):
        await tools.call("withdraw_request", request=each)


@pytest.mark.slow
async def test_what_is_none_of_the_choices_is_asked_for_once_more(talk: Talk) -> None:
    talk, tools = await clean(talk, "en")
    runs = await two_leaves(talk)
    await talk.say("withdraw my leave")
    again = await talk.say("the one about penguins")
    assert {value for _, value in options_of(again)} == set(runs)
    assert "no such request" in str(again.replies)
    for each in runs:
        await tools.call("withdraw_request", request=each)


@pytest.mark.slow
async def test_tools_speak_the_language_of_the_conversation(talk: Talk) -> None:
    talk = await talk.another("erin", "en")
    tools = Tools(talk)
    run = await talk.waiting_leave("I need annual leave from 14 December to 15 December, family")
    await talk.press("start", flow="nudge_approver", slots={"request": run})
    with talk.parts.dependencies.override(provided.temporal, tools.connected):
        reminded = await talk.say("yes")
    assert "The approvers were reminded." in words(reminded)
    assert "Leave request" in words(reminded)
    await tools.call("withdraw_request", request=run)
