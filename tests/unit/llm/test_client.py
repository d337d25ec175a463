"""One model at one server: what is asked, what comes back, and what goes wrong."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.domain.errors import Unavailable
from router.llm.client import ChatModel
from router.llm.refusals import LONGEST_WAIT, retry_after
from router.llm.types import (
    AccessRefused,
    AssistantMessage,
    ChatAnswer,
    ContextTooLong,
    FunctionCall,
    ModelRefused,
    ModelUnavailable,
    TextDelta,
    TokenUsage,
    ToolMessage,
    UserMessage,
)
from tests.fakes.model_server import (
    Behaviour,
    answers,
    calls,
    decides,
    delta,
    drips,
    drops,
    fails,
    hangs,
    rate_limits,
    reaches,
    refuses,
    says,
    sends,
    sends_bytes,
    stops,
    streams,
    waits,
)
from tests.fakes.web_server import Received, Reply
from tests.table import each_row
from tests.unit.llm.asking import ANNUAL, desk, question

NO_FUNCTIONS = ("tools", "strict", "parallel_tool_calls", "tool_choice")
QUOTING = ("respond_message", {"text": '他说"好"，\n再见 👋'})
CALL = FunctionCall(id="c1", name="get_balance", arguments={"leave_type": "annual"})
RESULT = ToolMessage(call_id="c1", name="get_balance", text="5")
HISTORY = (UserMessage(text="年假？"), AssistantMessage(calls=(CALL,)), RESULT)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def streaming(request: pytest.FixtureRequest) -> Any:
    return request.param


async def ask(script: Behaviour, streaming: bool, seconds: float = 20.0, **more: Any) -> ChatAnswer:
    async with desk([script]) as here:
        on_text = here.hear if streaming else None
        answer = await here.model.answer(question(**more), seconds, on_text)
    assert not streaming or here.heard == answer.text
    return answer


async def refused(script: Behaviour, streaming: bool, seconds: float = 20.0) -> Any:
    with pytest.raises((ModelUnavailable, ModelRefused)) as caught:
        await ask(script, streaming, seconds)
    return caught.value


async def test_a_call_comes_with_its_arguments_and_what_it_cost(streaming: bool) -> None:
    assert await ask(calls(ANNUAL), streaming, prompt="v1") == ChatAnswer(
        text="",
        calls=(CALL.model_copy(update={"id": "call_0_of_server"}),),
        finish="calls",
        usage=TokenUsage(prompt_tokens=100, completion_tokens=10),
        model="scripted",
        asked="scripted",
        how="functions",
        prompt="v1",
    )


async def test_plain_text_is_an_answer_too(streaming: bool) -> None:
    answer = await ask(says("您好，有什么可以帮您？"), streaming)
    assert (answer.text, answer.calls) == ("您好，有什么可以帮您？", ())


async def test_text_is_told_while_the_rest_is_still_being_written() -> None:
    rest = asyncio.Event()
    async with desk([waits(rest, before=3, then=says("第一句。第二句。"))]) as here:

        async def hear(piece: TextDelta) -> None:
            await here.hear(piece)
            rest.set()  # the server goes on only because this was heard

        answer = await here.model.answer(question(), on_text=hear)
    assert here.heard == answer.text == "第一句。第二句。"


@each_row("script", [calls(QUOTING), refuses(*NO_FUNCTIONS, otherwise=decides(QUOTING))])
async def test_what_a_function_says_is_streamed_like_plain_text(script: Behaviour) -> None:
    async with desk(script) as here:
        answer = await here.model.answer(question(), on_text=here.hear)
    assert here.heard == answer.calls[0].arguments["text"] == QUOTING[1]["text"]
    assert len(here.deltas) > 2


async def test_a_call_written_as_text_is_a_call_and_never_told(streaming: bool) -> None:
    text = '<tool_call>\n{"name": "get_balance", "arguments": {"leave_type": "sick"}}\n</tool_call>'
    answer = await ask(says(text), streaming)
    assert [call.arguments for call in answer.calls] == [{"leave_type": "sick"}]
    assert answer.text == (await ask(says("<think>hm</think>"), streaming)).text == ""


async def test_a_history_with_calls_goes_out_as_calls() -> None:
    async with desk([says("五天")]) as here:
        await here.model.answer(question(messages=HISTORY))
        sent = here.server.chats[0]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == "c1"


async def test_a_history_with_calls_goes_out_as_text_where_functions_are_unknown() -> None:
    script = refuses(*NO_FUNCTIONS, otherwise=decides(("respond_message", {"text": "不客气"})))
    async with desk(script) as here:
        thanked = question(messages=(*HISTORY, UserMessage(text="谢谢")))
        answer = await here.model.answer(thanked)
        sent = here.server.chats[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user", "user"]
    assert "get_balance" in sent[2]["content"]
    assert sent[3]["content"] == "Result of get_balance: 5"
    assert answer.calls[0].arguments == {"text": "不客气"}


async def test_a_summary_of_calls_goes_out_as_text_where_functions_are_unknown() -> None:
    async with desk([says("五天")]) as here:
        here.memory.learn(here.model.endpoint, ["tools"])
        await here.model.answer(question(messages=(RESULT,), functions=()))
        sent = here.server.chats[0]["messages"]
    assert sent == [{"role": "user", "content": "Result of get_balance: 5"}]


async def test_optional_arguments_that_came_as_null_are_absent() -> None:
    answer = await ask(calls(("get_balance", {"leave_type": "annual", "year": None})), False)
    assert answer.calls[0].arguments == {"leave_type": "annual"}


async def test_a_question_without_functions_asks_for_none() -> None:
    async with desk([says("摘要")]) as here:
        answer = await here.model.answer(question(functions=()))
        assert not {"tools", "tool_choice", "response_format"} & set(here.server.chats[0])
    assert (answer.text, answer.how) == ("摘要", "text")


async def test_a_server_that_streams_nothing_though_asked_to_is_understood() -> None:
    body = {"choices": [{"message": {"content": "好"}, "finish_reason": "stop"}]}
    async with desk([sends(body)]) as here:
        answer = await here.model.answer(question(), on_text=here.hear)
    assert answer.text == "好"


async def test_a_line_separator_within_the_text_ends_no_event() -> None:
    assert (await ask(says("a\u2028b"), streaming=True)).text == "a\u2028b"


@each_row("indices", [({"index": 0}, {"index": 0}), ({}, {})], ids=["same", "none"])
async def test_streamed_calls_that_share_an_index_or_have_none_are_told_apart(indices: Any) -> None:
    def piece(name: str, given: str, index: dict[str, int]) -> dict[str, Any]:
        function = {"name": name, "arguments": '{"leave_type": "annual"}'}
        return delta(tool_calls=[{"id": given, "function": function, **index}])

    events = piece("a", "1", indices[0]), piece("b", "2", indices[1]), delta(finish="stop")
    answer = await ask(streams(*events), streaming=True)
    assert [(call.id, call.name) for call in answer.calls] == [("1", "a"), ("2", "b")]


async def test_no_other_key_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "someone's key")
    async with desk([answers({"content": "hi"})]) as here:
        model = ChatModel(here.server.url, "scripted")
        await model.answer(question())
        await model.aclose()
        assert here.server.requests[0].headers["authorization"] == "Bearer none"


@each_row(("said", "seconds"), [(None, None), ("7", 7), ("0.5", 0.5), ("soon", None), ("-3", None)])
async def test_a_429_is_a_wait_as_long_as_the_server_says(
    said: str | None, seconds: float | None, streaming: bool
) -> None:
    error = await refused(rate_limits(said), streaming)
    assert isinstance(error, ModelUnavailable)
    assert isinstance(error, Unavailable)  # which Temporal's side knows to retry
    assert error.retry_after == seconds


async def test_a_429_may_name_a_date() -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    error = await refused(rate_limits(then), streaming=False)
    assert 50 < error.retry_after <= 60


@pytest.mark.slow
@given(st.text() | st.from_regex(r"\A[0-9.]{1,400}\Z") | st.datetimes().map(format_datetime))
def test_any_retry_after_is_a_bounded_wait_or_none(value: str) -> None:
    seconds = retry_after({"retry-after": value}, datetime.now(UTC))
    assert seconds is None or 0 <= seconds <= LONGEST_WAIT


@each_row("status", [408, 409, 500, 502, 503, 529])
async def test_a_server_in_trouble_may_work_in_a_moment(status: int, streaming: bool) -> None:
    error = await refused(fails(status), streaming)
    assert isinstance(error, ModelUnavailable)
    assert f"answered {status}: " in str(error)


@each_row("status", [400, 404, 418, 422])
async def test_a_refused_request_is_not_worth_another_try(status: int, streaming: bool) -> None:
    assert type(await refused(fails(status), streaming)) is ModelRefused


@each_row("status", [401, 403])
async def test_a_refused_key_is_named_as_such_and_never_quoted(status: int, streaming: Any) -> None:
    error = await refused(fails(status, "the key a-key is wrong"), streaming)
    assert isinstance(error, AccessRefused)
    assert "a-key" not in str(error)


@each_row(
    "script",
    [
        fails(400, "too much", code="context_length_exceeded"),
        fails(400, "exceeds the available context size", type="exceed_context_size_error"),
        fails(400, "This model's maximum context length is 8192 tokens. max_tokens is 9000"),
        fails(413),
    ],
)
async def test_a_context_too_long_is_named(script: Behaviour) -> None:
    assert isinstance(await refused(script, streaming=False), ContextTooLong)


async def test_a_server_that_does_not_listen_is_out_of_reach() -> None:
    async with desk([]) as here:
        url = here.server.url
    model = ChatModel(url, "scripted")
    with pytest.raises(ModelUnavailable, match="can't be reached"):
        await model.answer(question())
    await model.aclose()


@each_row("script", [hangs(), drips(says("很慢" * 100), 0.01)])
async def test_a_hang_costs_the_deadline_and_no_more(script: Behaviour, streaming: bool) -> None:
    error = await refused(script, streaming, seconds=0.3)
    assert "took longer than 0.3 s" in str(error)


@each_row(("pieces", "streaming"), [(0, False), (1, False), (0, True), (1, True), (3, True)])
async def test_a_connection_that_drops_is_no_answer(pieces: int, streaming: bool) -> None:
    error = await refused(drops(says("这句话到不了头"), pieces), streaming)
    assert isinstance(error, ModelUnavailable)


async def test_a_stream_that_ends_in_the_middle_is_no_answer() -> None:
    error = await refused(stops(says("这句话到不了头"), 3), streaming=True)
    assert isinstance(error, ModelUnavailable)
    assert "ended before the answer did" in str(error)


async def test_a_stream_that_said_it_was_finished_needs_no_done() -> None:
    assert (await ask(stops(says("好"), 3), streaming=True)).text == "好"


async def test_an_error_in_the_body_of_a_200_is_an_error(streaming: bool) -> None:
    error = await refused(sends({"error": {"message": "upstream is busy"}}), streaming)
    assert isinstance(error, ModelUnavailable)
    assert isinstance(await refused(sends({"error": {"code": 403}}), streaming), AccessRefused)


async def test_an_error_in_the_middle_of_a_stream_is_an_error() -> None:
    error = await refused(streams({"error": {"message": "out of memory"}}), streaming=True)
    assert "out of memory" in str(error)


@each_row(
    "script",
    [
        sends_bytes(b"<html>Welcome to the hotel wifi</html>"),
        sends_bytes(b"data: {broken\n\n", content_type="text/event-stream"),
        sends_bytes(b"[" * 100_000, content_type="application/json"),
        sends_bytes(b""),
    ],
)
async def test_what_is_not_json_is_no_answer(script: Behaviour, streaming: bool) -> None:
    assert isinstance(await refused(script, streaming), ModelUnavailable)


async def test_an_endless_answer_is_not_kept() -> None:
    error = await refused(sends_bytes(*[b"x" * 2**20] * 5), streaming=False)
    assert "longer than" in str(error)


async def test_usage_that_is_absent_is_estimated_and_marked(streaming: bool) -> None:
    usage = (await ask(answers({"content": "你好，世界"}, usage=None), streaming)).usage
    assert usage.estimated
    assert 2 <= usage.completion_tokens <= 8
    assert usage.prompt_tokens > 10


@each_row(
    ("script", "problem", "known"),
    [
        (sends({"choices": []}), "holds no choices", []),
        (says(None, "content_filter"), "content filter", []),
        (calls(("get_balance", '{"leave_type": "ann'), finish="length"), "was cut", []),
        (calls(("get_balance", "{{{!")), "call 1 (get_balance): its arguments can't be read", []),
        (calls(("drop_tables", {})), "no function 'drop_tables'", [False]),
        (calls(*[ANNUAL] * 30), "only 8 calls are taken at once; left out: get_", [True] * 8),
    ],
)
async def test_what_cannot_be_used_is_named(
    script: Behaviour, problem: str, known: list[bool], streaming: bool
) -> None:
    answer = await ask(script, streaming)
    assert problem in " ".join(map(str, answer.problems))
    assert [call.known for call in answer.calls] == known


@each_row("refusal", [None, "I can't help with that."])
async def test_a_refusal_is_told_in_the_models_words(refusal: str | None, streaming: bool) -> None:
    answer = await ask(says(None, refusal=refusal), streaming)
    assert (answer.text, answer.calls, answer.refusal) == ("", (), refusal)


@each_row("ids", [[None, None], ["x", "x"], ["", ""], ["y" * 300, "z"]])
async def test_every_call_has_an_id_of_its_own(ids: list[Any], streaming: bool) -> None:
    sick = ("get_balance", {"leave_type": "sick"})
    answer = await ask(calls(ANNUAL, sick, ids=ids), streaming)
    assert [call.arguments["leave_type"] for call in answer.calls] == ["annual", "sick"]
    assert len({call.id for call in answer.calls}) == 2
    assert all(0 < len(call.id) <= 64 for call in answer.calls)


async def test_a_call_given_up_leaves_the_model_usable() -> None:
    well = asyncio.Event()

    def behave(received: Received) -> Reply:
        return (says("好了") if well.is_set() else hangs())(received)

    async with desk(behave) as here:
        with pytest.raises(ModelUnavailable):
            await here.model.answer(question(), 0.1)
        well.set()
        assert (await here.model.answer(question())).text == "好了"


async def test_a_timeout_of_the_listener_is_not_blamed_on_the_server() -> None:
    async def hear(_: object) -> None:
        raise TimeoutError("the log was too slow")

    async with desk([says("好")]) as here:
        with pytest.raises(TimeoutError, match="the log was too slow"):
            await here.model.answer(question(), on_text=hear)


async def test_a_cancelled_call_is_cancelled() -> None:
    arrived = asyncio.Event()
    async with desk([reaches(arrived, hangs())]) as here:
        task = asyncio.create_task(here.model.answer(question()))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
