"""Tools of the front end: beside the house's, within skills, brought along by a client."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError
from temporalio.client import Client

from router.domain.messages import Message, ToolResultAction, Turn
from router.routing.front_end_tools import FrontEndTool
from router.runtime.composition import Parts
from router.tool.tool import tool
from tests.fakes.model_server import ModelServer, calls, counts, says
from tests.unit.extensions.ag_ui.client import FrontEnd
from tests.workflow.desk import Talk, texts
from tests.workflow.extensions.openai.test_chats import as_person
from tests.workflow.test_streaming import served
from tests.workflow.tooled import MODEL, Tooled, modelled, skill
from workflows.notices import SKILL_GONE

AT_DEVICE = "这一步要由你的设备来做，做完我接着说。"


@tool(permission="read", title={"zh": "天气", "en": "Weather"})
async def get_sky() -> str:
    """What the sky looks like."""
    return "clear"


@tool(permission="read", client=True, title={"zh": "定位", "en": "Locate"})
async def locate() -> dict[str, str]:
    """Where the employee is, as their device knows."""
    raise AssertionError("the front end makes this call")


MAP = FrontEndTool(
    name="show_map",
    description="Shows a map to the person.",
    parameters={"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]},
)
TO_GUIDE = calls(("dispatch_to_skill", {"skill_name": "guide", "request": "带我去"}))
BOTH = calls(("get_sky", {}), ("locate", {}))


@pytest.fixture
async def talk(tooled: Tooled, model: ModelServer) -> AsyncIterator[Talk]:
    guide = skill("guide", "向导", "Guide")
    async with tooled([locate, get_sky], model, [guide], llm_steps=3) as talk:
        yield talk


def found(id_: str, value: Any, error: str | None = None) -> Message:
    action = ToolResultAction(type="tool_result", tool_call_id=id_, result=value, error=error)
    return Message(action=action)


def out(turn: Turn) -> list[str]:
    return [call.id for call in turn.tool_calls if call.status == "waiting"]


def only(turn: Turn) -> str:
    (call,) = out(turn)
    return call


def results(model: ModelServer) -> dict[str, Any]:
    """What the model was told last that its calls came to, by the tools' names."""
    asked = model.chats[-1]["messages"]
    made = [call for m in asked for call in m.get("tool_calls") or []]
    names = {call["id"]: call["function"]["name"] for call in made}
    return {names[m["tool_call_id"]]: m["content"] for m in asked if m["role"] == "tool"}


async def test_the_model_sees_what_the_house_and_the_front_end_found_together(talk: Talk) -> None:
    talk.model.then(BOTH, says("浦东天晴。"))
    turn = await talk.say("我这里天气怎么样")
    assert [(c.name, c.status) for c in turn.tool_calls] == [
        ("get_sky", "done"),
        ("locate", "waiting"),
    ]
    assert (texts(turn), len(talk.model.chats)) == ([AT_DEVICE], 1)
    turn = await talk.send(found(only(turn), {"district": "浦东"}))
    assert texts(turn) == ["浦东天晴。"]
    assert results(talk.model) == {"get_sky": '"clear"', "locate": '{"district": "浦东"}'}


async def test_what_it_waits_for_survives_that_its_run_goes_on_in_another(talk: Talk) -> None:
    talk.continue_after = 1
    talk.model.then(BOTH, says("你好。"), says("浦东天晴。"))
    (call,) = out(await talk.say("我这里天气怎么样"))
    assert texts(await talk.say("你好")) == ["你好。"]
    assert texts(await talk.send(found(call, {"district": "浦东"}))) == ["浦东天晴。"]
    assert set(results(talk.model)) == {"get_sky", "locate"}
    assert (await talk.status()).waiting_calls == {}


async def test_a_call_that_the_front_end_could_not_make_is_told_as_that(talk: Talk) -> None:
    talk.model.then(BOTH, says("不知道你在哪里，天晴。"))
    (call,) = out(await talk.say("我这里天气怎么样"))
    turn = await talk.send(found(call, None, "the person said no"))
    assert [(c.name, c.status) for c in turn.tool_calls] == [("locate", "failed")]
    assert results(talk.model)["locate"] == "error: the person said no"


@pytest.mark.slow
async def test_what_is_said_meanwhile_is_answered_knowing_of_the_call(talk: Talk) -> None:
    talk.model.then(BOTH, says("你好。"), says("浦东天晴。"), says("不客气。"))
    (call,) = out(await talk.say("我这里天气怎么样"))
    assert texts(await talk.say("你好")) == ["你好。"]
    assert "not there yet" in results(talk.model)["locate"]
    await talk.send(found(call, {"district": "浦东"}))
    await talk.say("谢谢你")
    assert results(talk.model)["locate"] == '{"district": "浦东"}'
    said = [m["content"] for m in talk.model.chats[-1]["messages"]]
    assert sum("我这里天气怎么样" in (text or "") for text in said) == 1
    assert "浦东天晴。" in said


@pytest.mark.slow
async def test_no_prompt_has_a_notice_of_the_desk(talk: Talk) -> None:
    talk.model.then(BOTH, says("浦东天晴。"), says("不客气。"), TO_GUIDE, says("到了。"))
    (call,) = out(await talk.say("我这里天气怎么样"))
    await talk.send(found("nobody", 1))
    await talk.send(found(call, {"district": "浦东"}))
    await talk.say("谢谢你")
    await talk.say("带我去")
    for notice in (AT_DEVICE, "没有在等这个结果。"):
        assert notice in await talk.texts()
        assert notice not in json.dumps(talk.model.chats, ensure_ascii=False)


async def test_a_skill_goes_on_once_both_have_answered(talk: Talk) -> None:
    talk.model.then(TO_GUIDE, BOTH, says("浦东天晴，走吧。"))
    turn = await talk.say("带我去")
    assert texts(turn) == [AT_DEVICE]
    turn = await talk.send(found(only(turn), {"district": "浦东"}))
    assert (turn.route.kind, turn.route.target) == ("skill", "guide")
    assert texts(turn) == ["浦东天晴，走吧。"]
    assert results(talk.model) == {"get_sky": '"clear"', "locate": '{"district": "浦东"}'}


@pytest.mark.slow
async def test_what_a_skill_hands_back_once_its_calls_were_made_is_answered_without_it(
    talk: Talk,
) -> None:
    asks, back = calls(("ask_user", {"text": "去哪里？"})), calls(("hand_back", {}))
    talk.model.then(TO_GUIDE, asks, BOTH, back, says("天气挺好的。"))
    await talk.say("带我去")
    turn = await talk.say("先说说天气吧")
    turn = await talk.send(found(only(turn), {"district": "浦东"}))
    assert texts(turn) == ["天气挺好的。"]
    assert [(c.name, c.status) for c in turn.tool_calls] == [("locate", "done")]
    assert turn.usage.llm_calls == 2
    said = [m["content"] for m in talk.model.chats[-1]["messages"]]
    assert sum("先说说天气吧" in (text or "") for text in said) == 1


@pytest.mark.slow
async def test_a_skill_has_its_tokens_once_for_all_its_rounds_at_the_front_end(
    tooled: Tooled, model: ModelServer
) -> None:
    guide = skill("guide", "向导", "Guide", token_budget=10_000)
    call = counts(calls(("locate", {})), 4_500)
    async with tooled([locate], model, [guide]) as talk:
        talk.model.then(TO_GUIDE, call, call, says("到了。"))
        turn = await talk.say("带我去")
        spent = []
        for _ in range(2):
            turn = await talk.send(found(only(turn), {"district": "浦东"}))
            spent.append(turn.usage.llm_calls)
            if not out(turn):
                break
    assert (texts(turn), spent) == (["到了。"], [1, 1])
    assert "locate" not in str(talk.model.chats[-1].get("tools"))


async def test_a_skill_goes_on_with_no_result_for_whom_it_is_no_longer_there(
    tooled: Tooled, model: ModelServer
) -> None:
    guide = skill("guide", "向导", "Guide", roles=frozenset({"employee"}))
    async with tooled([locate], model, [guide]) as talk:
        talk.model.then(TO_GUIDE, calls(("locate", {})), says("到了。"))
        (call,) = out(await talk.say("带我去"))
        talk.person = talk.person.model_copy(update={"roles": frozenset()})
        turn = await talk.send(found(call, {"district": "浦东"}))
    assert len(talk.model.chats) == 2
    assert texts(turn) == [SKILL_GONE.zh]


@pytest.mark.slow
async def test_a_skill_that_is_spoken_to_goes_on_without_the_result(talk: Talk) -> None:
    talk.model.then(TO_GUIDE, BOTH, TO_GUIDE, says("那就这样。"))
    (call,) = out(await talk.say("带我去"))
    assert texts(await talk.say("算了，带我去别处")) == ["那就这样。"]
    assert results(talk.model)["locate"].startswith("no result came")
    assert (await talk.status()).waiting_calls == {}
    assert texts(await talk.send(found(call, 1))) == ["没有在等这个结果。"]


@pytest.mark.slow
async def test_what_came_with_a_message_is_offered_to_the_router_and_to_skills(talk: Talk) -> None:
    show = calls(("show_map", {"of": "浦东"}))
    talk.model.then(show, says("地图在上面。"), TO_GUIDE, show, says("看地图。"))
    turn = await talk.say("浦东在哪里", tools=[MAP])
    assert [(c.name, c.arguments) for c in turn.tool_calls] == [("show_map", {"of": "浦东"})]
    assert texts(await talk.send(found(only(turn), "shown"))) == ["地图在上面。"]
    turn = await talk.say("带我去")
    assert texts(await talk.send(found(only(turn), "shown"))) == ["看地图。"]


async def test_it_is_offered_no_longer_than_a_message_says_so(talk: Talk) -> None:
    talk.model.then(says("你好。"), says("你好。"), says("你好。"))
    offered = []
    for tools in ([MAP], None, []):
        await talk.say("你好啊", tools=tools)
        offered.append([each["function"]["name"] for each in talk.model.chats[-1]["tools"]])
    assert ["show_map" in names for names in offered] == [True, True, False]


async def test_a_tool_of_the_house_is_never_shadowed(talk: Talk) -> None:
    """Not by one that is called so and came before the house had it, either."""
    mine = FrontEndTool(name="get_sky", description="Mine.")
    talk.model.then(calls(("get_sky", {})), says("天晴。"))
    turn = await talk.say("天气怎么样", tools=[mine])
    assert [(c.name, c.status) for c in turn.tool_calls] == [("get_sky", "done")]
    described = {f["function"]["name"]: f["function"] for f in talk.model.chats[0]["tools"]}
    assert "Mine" not in described["get_sky"]["description"]


@pytest.fixture
async def house(parts: Parts, real_client: Client, model: ModelServer) -> AsyncIterator[Any]:
    """Alice's connection to a house whose worker asks the scripted model."""
    known = {"llm_base_url": model.url, "llm_model": MODEL}
    async with (
        modelled(real_client, parts, model, **known) as talk,
        served(talk.parts, real_client, talk.queue) as http,
    ):
        yield http


SENT: Any = {
    "type": "function",
    "function": {
        "name": "show_map",
        "description": "Shows a map to the person.",
        "parameters": MAP.parameters,
    },
}


@dataclass
class Agent:
    """A program that makes the calls that a model asks for, as OpenAI's documentation has it."""

    client: AsyncOpenAI
    messages: list[Any] = field(default_factory=list)

    async def ask(self, *said: Any, **more: Any) -> Any:
        self.messages += said
        made = await self.client.chat.completions.create(
            model="intent-router", messages=self.messages, **{"tools": [SENT], **more}
        )
        self.messages.append(made.choices[0].message.model_dump(exclude_none=True))
        return made.choices[0]


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def answer(call: Any, content: str) -> Any:
    return {"role": "tool", "tool_call_id": call.id, "content": content}


@pytest.mark.slow
async def test_openais_client_is_called_and_answers(house: Any, model: ModelServer) -> None:
    model.then(
        calls(
            *(("show_map", {"of": "浦东"}), ("get_leave_balance", {"leave_type": "annual"})),
            ("show_map", {"of": "徐汇"}),
        ),
        says("还剩 365 天。"),
    )
    agent = Agent(as_person(house, "alice"))
    choice = await agent.ask(user("我的年假还有多少来着呗"))
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    first, second = choice.message.tool_calls
    assert json.loads(first.function.arguments) == {"of": "浦东"}
    choice = await agent.ask(answer(first, "shown"), answer(second, '{"ok": true}'))
    assert (choice.finish_reason, choice.message.content) == (
        "stop",
        "还剩 365 天。",
    )
    assert set(results(model)) == {"show_map", "get_leave_balance"}


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_openais_client_is_given_what_its_results_led_to_before_its_next_message(
    house: Any, model: ModelServer, stream: bool
) -> None:
    model.then(calls(("show_map", {"of": "浦东"}), ("show_map", {"of": "徐汇"})))
    agent = Agent(as_person(house, "alice"))
    choice = await agent.ask(user("浦东和徐汇在哪里呢"))
    first, second = choice.message.tool_calls
    model.then(counts(says("地图都在上面呢。"), 700), counts(says("不客气啦。"), 300))
    agent.messages += [answer(first, "shown"), answer(second, "shown"), user("谢谢你的地图呀")]
    asked: Any = {"messages": agent.messages, "tools": [SENT], "model": "intent-router"}
    if stream:
        more: Any = {"stream": True, "stream_options": {"include_usage": True}}
        chunks = [
            each async for each in await agent.client.chat.completions.create(**asked, **more)
        ]
        said = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        usage = chunks[-1].usage
    else:
        made = await agent.client.chat.completions.create(**asked)
        said, usage = made.choices[0].message.content, made.usage
    assert said == "地图都在上面呢。\n\n不客气啦。"
    assert usage.prompt_tokens == 1_000


@pytest.mark.slow
async def test_openais_client_is_told_of_calls_that_its_earlier_results_led_to(
    house: Any, model: ModelServer
) -> None:
    again = calls(("show_map", {"of": "静安"}))
    model.then(calls(("show_map", {"of": "浦东"})), again, says("好的呀。"))
    agent = Agent(as_person(house, "alice"))
    (call,) = (await agent.ask(user("浦东在哪里呢"))).message.tool_calls
    choice = await agent.ask(answer(call, "shown"), user("谢谢你的地图呀"))
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "好的呀。")
    (call,) = choice.message.tool_calls
    assert json.loads(call.function.arguments) == {"of": "静安"}


async def test_openais_client_hears_of_calls_in_a_stream(house: Any, model: ModelServer) -> None:
    model.then(calls(("show_map", {"of": "浦东"})), says("在上面。"))
    client = as_person(house, "alice")
    asked: Any = {"messages": [user("浦东在哪里呢")], "tools": [SENT]}
    stream = await client.chat.completions.create(model="intent-router", stream=True, **asked)
    chunks = [chunk.choices[0] async for chunk in stream]
    (call,) = [one for chunk in chunks for one in chunk.delta.tool_calls or []]
    assert (call.index, call.function.name) == (0, "show_map")
    assert chunks[-1].finish_reason == "tool_calls"
    assert not any(chunk.delta.content for chunk in chunks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"tools": [{"type": "web_search"}]}, "tools.0"),
        ({"tools": [{"type": "function", "function": {"name": "get_my_requests"}}]}, "tools.0"),
        ({"tools": [SENT, SENT]}, "tools.1"),
        ({"tool_choice": "required"}, "tool_choice"),
    ],
    ids=["no function", "a name of the house", "one name twice", "a call that has to be made"],
)
async def test_openais_client_is_told_what_cannot_be_offered(
    house: Any, model: ModelServer, more: Any, field: str
) -> None:
    agent = Agent(as_person(house, "alice"))
    with pytest.raises(BadRequestError) as refused:
        await agent.ask(user("浦东在哪里呢"), **more)
    assert str(refused.value.param).startswith(field)
    assert model.chats == []


@pytest.mark.slow
async def test_ag_uis_front_end_is_called_and_answers(house: Any, model: ModelServer) -> None:
    model.then(calls(("show_map", {"of": "浦东"})), says("在上面。"))
    front_end, tools = FrontEnd(house), [MAP.model_dump()]
    told = await front_end.say("浦东在哪里呢", tools=tools)
    (start,) = [e for e in told.events if e.type.value == "TOOL_CALL_START"]
    assert (start.tool_call_name, told.text) == ("show_map", "")
    made = {"id": start.tool_call_id, "type": "function"}
    function = {"name": "show_map", "arguments": "{}"}
    front_end.history += [
        {"id": "c", "role": "assistant", "toolCalls": [{**made, "function": function}]},
        {"id": "r", "role": "tool", "toolCallId": start.tool_call_id, "content": "shown"},
    ]
    assert (await front_end.run(front_end.input(tools=tools))).text == "在上面。"


async def test_ag_uis_front_end_is_refused_a_name_of_the_house(house: Any) -> None:
    front_end = FrontEnd(house)
    front_end.history.append({"id": "m", "role": "user", "content": "你好"})
    shadow = {"name": "get_my_requests", "description": "Mine.", "parameters": {}}
    refused = await front_end.refused(front_end.input(tools=[shadow]))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "tools.0.name"
