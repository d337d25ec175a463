"""Turns with a model of each provider, which takes only what its provider takes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from temporalio.client import Client

from router.llm.client import ChatModel
from router.llm.fallback import FallbackChains
from router.runtime.composition import Parts
from router.settings import ModelOptions
from tests.fakes.provider_rules import seals_in, strictly
from tests.fakes.providers import DIALECTS, Dialect, ProviderServer, Said, sealed
from tests.table import each_row
from tests.workflow.desk import Talk, flow_of, texts
from tests.workflow.tooled import working

ASKS = Said(calls=(("get_leave_balance", {"leave_type": "annual"}),), thoughts=("查一下余额",))
SLOTS = {"leave_type": "sick", "start": "2027-03-01", "end": "2027-03-02", "reason": "牙疼"}
BEGINS = Said(calls=(("dispatch_to_flow", {"flow_name": "leave_request", "slots": SLOTS}),))


@asynccontextmanager
async def talking(
    client: Client, parts: Parts, dialect: Dialect, *script: Said
) -> AsyncIterator[Talk]:
    told = [strictly(dialect, dialect.says(said)) for said in script]
    async with ProviderServer(dialect, told) as server:
        options = ModelOptions(effort="low")
        chat = ChatModel(server.url, "scripted", "k", spoken=dialect.name, options=options)
        house = replace(parts, chains=FallbackChains([chat]))
        async with working(client, house, [server]) as talk:
            yield talk
        await chat.aclose()


@each_row("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_tool_is_called_and_said_and_a_form_begun(
    real_client: Client, parts: Parts, dialect: Dialect
) -> None:
    said = Said("还有 365 天。", thoughts=("够了",))
    async with talking(real_client, parts, dialect, ASKS, said, BEGINS) as talk:
        turn = await talk.say("我的年假还有多少来着呗")
        assert texts(turn) == ["还有 365 天。"]
        assert [(c.name, c.status) for c in turn.tool_calls] == [("get_leave_balance", "done")]
        assert turn.usage.llm_calls == 2
        back = "查一下余额" if dialect.name == "chat_completions" else sealed("查一下余额")
        assert seals_in(talk.model.chats[1]) == [back]
        form = flow_of(await talk.say("牙疼得厉害，三月头两天来不了"))
        assert (form.name, form.slots["reason"]) == ("leave_request", "牙疼")
