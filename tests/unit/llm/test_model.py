import asyncio

import pytest

from router.llm.types import (
    AssistantMessage,
    FunctionCall,
    OnText,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from tests.fakes.model_server import answers, calls, decides, delta, refuses, says, streams, waits
from tests.unit.llm.asking import ANNUAL, Desk, desk, question

NO_FUNCTIONS = ("tools", "strict", "parallel_tool_calls", "tool_choice")


def listener(open_desk: Desk, streaming: bool) -> OnText | None:
    return open_desk.hear if streaming else None


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_call_comes_with_its_arguments_and_what_it_cost(streaming: bool) -> None:
    async with desk([calls(ANNUAL)]) as here:
        answer = await here.model.answer(question(prompt="v1"), on_text=listener(here, streaming))
    assert answer.calls == (
        FunctionCall(id="call_0_of_server", name="get_balance", arguments={"leave_type": "annual"}),
    )
    assert (answer.finish, answer.how, answer.attempts) == ("calls", "functions", 1)
    assert (answer.usage.tokens, answer.usage.estimated) == (110, False)
    assert (answer.model, answer.prompt, answer.problems) == ("scripted", "v1", ())


@pytest.mark.parametrize("streaming", [False, True])
async def test_plain_text_is_an_answer_too(streaming: bool) -> None:
    async with desk([says("您好，有什么可以帮您？")]) as here:
        answer = await here.model.answer(question(), on_text=listener(here, streaming))
    assert (answer.text, answer.calls) == ("您好，有什么可以帮您？", ())
    assert here.heard == ("您好，有什么可以帮您？" if streaming else "")


async def test_text_is_told_while_the_rest_is_still_being_written() -> None:
    rest = asyncio.Event()
    async with desk([waits(rest, before=3, then=says("第一句。第二句。"))]) as here:

        async def hear(piece: TextDelta) -> None:
            await here.hear(piece)
            rest.set()  # the server goes on only because this was heard

        answer = await here.model.answer(question(), on_text=hear)
    assert here.heard == answer.text == "第一句。第二句。"


@pytest.mark.parametrize(
    "script",
    [
        [calls(("respond_message", {"text": '他说"好"，\n再见 👋'}))],
        refuses(
            *NO_FUNCTIONS, otherwise=decides(("respond_message", {"text": '他说"好"，\n再见 👋'}))
        ),
    ],
)
async def test_what_a_function_says_is_streamed_like_plain_text(script: object) -> None:
    async with desk(script) as here:  # type: ignore[arg-type]
        answer = await here.model.answer(question(), on_text=here.hear)
    assert here.heard == answer.calls[0].arguments["text"] == '他说"好"，\n再见 👋'
    assert len(here.deltas) > 2


@pytest.mark.parametrize(
    "text", ['<tool_call>{"name": "get_balance", "arguments": {}}</tool_call>', "<think>hm</think>"]
)
async def test_calls_and_thoughts_written_as_text_are_never_told(text: str) -> None:
    async with desk([says(text)]) as here:
        await here.model.answer(question(), on_text=here.hear)
    assert here.heard == ""


async def test_a_history_with_calls_goes_out_as_calls() -> None:
    call = FunctionCall(id="c1", name="get_balance", arguments={"leave_type": "annual"})
    history = (
        UserMessage(text="年假？"),
        AssistantMessage(calls=(call,)),
        ToolMessage(call_id="c1", name="get_balance", text="5"),
    )
    async with desk([says("五天")]) as here:
        await here.model.answer(question(messages=history))
        sent = here.server.chats[0]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == "c1"


async def test_a_history_with_calls_goes_out_as_text_where_functions_are_unknown() -> None:
    call = FunctionCall(id="c1", name="get_balance", arguments={"leave_type": "annual"})
    history = (
        UserMessage(text="年假？"),
        AssistantMessage(calls=(call,)),
        ToolMessage(call_id="c1", name="get_balance", text="5"),
        UserMessage(text="谢谢"),
    )
    script = refuses(*NO_FUNCTIONS, otherwise=decides(("respond_message", {"text": "不客气"})))
    async with desk(script) as here:
        answer = await here.model.answer(question(messages=history))
        sent = here.server.chats[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user", "user"]
    assert "get_balance" in sent[2]["content"]
    assert sent[3]["content"] == "Result of get_balance: 5"
    assert answer.calls[0].arguments == {"text": "不客气"}


async def test_a_summary_of_calls_goes_out_as_text_where_functions_are_unknown() -> None:
    history = (ToolMessage(call_id="c1", name="get_balance", text="5"),)
    async with desk([says("五天")]) as here:
        here.memory.learn(here.model.endpoint, ["tools"])
        await here.model.answer(question(messages=history, functions=()))
        sent = here.server.chats[0]["messages"]
    assert sent == [{"role": "user", "content": "Result of get_balance: 5"}]


async def test_optional_arguments_that_came_as_null_are_absent() -> None:
    async with desk([calls(("get_balance", {"leave_type": "annual", "year": None}))]) as here:
        answer = await here.model.answer(question())
    assert answer.calls[0].arguments == {"leave_type": "annual"}


async def test_a_question_without_functions_asks_for_none() -> None:
    async with desk([says("摘要")]) as here:
        answer = await here.model.answer(question(functions=()))
        assert not {"tools", "tool_choice", "response_format"} & set(here.server.chats[0])
    assert (answer.text, answer.how) == ("摘要", "text")


async def test_a_server_that_streams_nothing_though_asked_to_is_understood() -> None:
    async with desk([lambda received: says("好")(type(received)("POST", "", {}, {}))]) as here:
        answer = await here.model.answer(question(), on_text=here.hear)
    assert answer.text == "好"


async def test_a_line_separator_within_the_text_ends_no_event() -> None:
    async with desk([says("a\u2028b")]) as here:
        answer = await here.model.answer(question(), on_text=here.hear)
    assert answer.text == here.heard == "a\u2028b"


async def test_streamed_calls_that_share_an_index_or_have_none_are_told_apart() -> None:
    def piece(name: str, given: str, **index: int) -> dict[str, object]:
        function = {"name": name, "arguments": '{"leave_type": "annual"}'}
        return delta(tool_calls=[{"id": given, "function": function, **index}])

    same = streams(piece("a", "1", index=0), piece("b", "2", index=0), delta(finish="stop"))
    none = streams(piece("a", "1"), piece("b", "2"), delta(finish="stop"))
    for script in (same, none):
        async with desk([script]) as here:
            answer = await here.model.answer(question(), on_text=here.hear)
        assert [(call.id, call.name) for call in answer.calls] == [("1", "a"), ("2", "b")]


async def test_no_other_key_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "someone's key")
    async with desk([answers({"content": "hi"})]) as here:
        from router.llm.client import ChatModel

        model = ChatModel(here.server.url, "scripted")
        await model.answer(question())
        await model.aclose()
        assert here.server.requests[0].headers["authorization"] == "Bearer none"
