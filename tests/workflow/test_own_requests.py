"""Taking back and hurrying one's own requests with a tool: the real flow, on a real server."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import Client

from activities import provided
from activities.tool_run import run_tool
from router.assembly import Parts
from router.contracts.activities import ToolCall
from router.domain.errors import ArgumentsToolError, Forbidden, PermanentToolError
from router.domain.principals import Principal
from tests.workflow.conftest import person
from tests.workflow.desk import Approver, Talk


class Tools:
    """Calls tools for one person, each call with a key of its own unless one is given."""

    def __init__(self, parts: Parts, client: Client, caller: Principal) -> None:
        self.parts, self.client, self.caller = parts, client, caller

    async def call(self, tool: str, confirmed: bool = True, **more: Any) -> Any:
        about = {"key": uuid4().hex, "now": datetime.now(UTC), **more.pop("about", {})}
        call = ToolCall(tool=tool, arguments=more, caller=self.caller, **about)
        with self.parts.dependencies.override(provided.temporal, self._client):
            dependencies, ledger = self.parts.dependencies, self.parts.store.ledger
            return await run_tool(
                self.parts.offered.registry, ledger, dependencies, call, confirmed
            )

    async def _client(self) -> Client:
        return self.client


@pytest.fixture
def tools(parts: Parts, client: Client, talk: Talk) -> Tools:
    return Tools(parts, client, talk.person)


async def test_a_request_that_waits_is_taken_back_and_then_is_over(
    tools: Tools, talk: Talk, parts: Parts
) -> None:
    run = await talk.waiting_leave()

    first = await tools.call("withdraw_request", request=run, about={"key": run})
    again = await tools.call("withdraw_request", request=run, about={"key": run})
    with pytest.raises(PermanentToolError, match="over already; nothing was changed") as over:
        await tools.call("withdraw_request", request=run)
    assert over.value.said.zh == "它已经结束了，没有任何改变。"

    assert (first["outcome"], first["status"], first["said"]) == (
        "withdrawn",
        "cancelled",
        "已经撤回。",
    )
    assert again == first
    record = await parts.store.runs.find("default", run)
    assert record is not None
    assert [line.event for line in record.history].count("withdrawn") == 1


async def test_it_is_found_by_what_it_is_called_where_that_says_which(
    client: Client, parts: Parts
) -> None:
    # Somebody who has asked for nothing else in this session's database.
    gina = await person(parts, "gina")
    talk, tools = await Talk(client, parts, gina).open(), Tools(parts, client, gina)
    run = await talk.waiting_leave("我要请事假，12月9日到10日，搬家")
    with pytest.raises(ArgumentsToolError, match=f"'搬家'; there are: .*{run}"):
        await tools.call("withdraw_request", request="搬家")

    assert (await tools.call("withdraw_request", request="我的请假申请"))["request"] == run


async def test_two_of_one_name_are_both_named_and_neither_is_touched(
    tools: Tools, talk: Talk, parts: Parts
) -> None:
    one = await talk.waiting_leave("我要请事假，12月9日到9日，搬家")
    other = await talk.waiting_leave("我要请事假，12月10日到10日，搬家")

    with pytest.raises(ArgumentsToolError, match="say which, by its id") as refused:
        await tools.call("withdraw_request", request="leave request")

    assert one in str(refused.value)
    assert other in str(refused.value)
    for run in (one, other):
        assert (await tools.call("withdraw_request", request=run))["outcome"] == "withdrawn"


async def test_an_approver_is_reminded_once_an_hour(tools: Tools, talk: Talk) -> None:
    run = await talk.waiting_leave()

    first = await tools.call("nudge_approver", request=run)
    with pytest.raises(PermanentToolError, match="reminded within the last hour"):
        await tools.call("nudge_approver", request=run)
    later = await tools.call(
        "nudge_approver", request=run, about={"now": datetime.now(UTC) + timedelta(days=400)}
    )

    assert (first["outcome"], first["waits_for"]) == ("reminded", ["陈博 Bob"])
    assert later["outcome"] == "reminded"
    await tools.call("withdraw_request", request=run)


async def test_there_is_nothing_to_hurry_where_nobody_is_waited_for(
    tools: Tools, talk: Talk, bob: Approver
) -> None:
    asking = await talk.say("我要请年假，12月7日到8日，家里有事")
    assert asking.flow is not None

    with pytest.raises(PermanentToolError, match="isn't waiting for anybody's decision"):
        await tools.call("nudge_approver", request=asking.flow.id)
    await talk.say("确认")
    await bob.decide(await bob.waiting(asking.flow.id), "reject")
    with pytest.raises(PermanentToolError, match="over already"):
        await tools.call("nudge_approver", request=asking.flow.id)


async def test_what_is_said_is_in_the_callers_language(client: Client, parts: Parts) -> None:
    frank = await person(parts, "frank")
    talk = await Talk(client, parts, frank, locale="en").open()
    run = await talk.waiting_leave("I need annual leave from 7 December to 8 December, family")

    told = await Tools(parts, client, frank).call("withdraw_request", request=run)

    assert (told["title"], told["said"]) == ("Leave request", "It is taken back.")


async def test_somebody_elses_request_is_none(
    tools: Tools, talk: Talk, parts: Parts, client: Client
) -> None:
    run = await talk.waiting_leave()

    for stranger in ("bob", "olga", "gina"):
        theirs = Tools(parts, client, await person(parts, stranger))
        for tool in ("withdraw_request", "nudge_approver"):
            with pytest.raises(ArgumentsToolError, match="no request under way is called"):
                await theirs.call(tool, request=run)
    assert (await tools.call("withdraw_request", request=run))["outcome"] == "withdrawn"


async def test_both_ask_first_unless_they_would_be_refused_anyway(tools: Tools, talk: Talk) -> None:
    run = await talk.waiting_leave()

    for tool in ("withdraw_request", "nudge_approver"):
        with pytest.raises(Forbidden, match="confirmed"):
            await tools.call(tool, request=run, confirmed=False)
        with pytest.raises(ArgumentsToolError, match="no request under way is called"):
            await tools.call(tool, request="somebody else's", confirmed=False)
    await tools.call("withdraw_request", request=run)


@pytest.mark.parametrize(
    "request_", ["", " ", "x" * 101, "a\x00b", "' or 1=1 --", "%", "_", "e", 7, None]
)
async def test_what_names_no_request_is_refused(tools: Tools, talk: Talk, request_: Any) -> None:
    run = await talk.waiting_leave()
    for tool in ("withdraw_request", "nudge_approver"):
        with pytest.raises(ArgumentsToolError, match="request"):
            await tools.call(tool, request=request_)
    assert (await tools.call("withdraw_request", request=run))["outcome"] == "withdrawn"
