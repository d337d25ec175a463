"""What a server refuses is learned from its refusals: one extra request each, once."""

from pathlib import Path

import pytest

from router.llm.client import refused_feature
from router.llm.servers import FEATURES, ServerMemory
from router.llm.types import ModelRefused, ModelUnavailable
from tests.fakes.model_server import Behaviour, calls, decides, fails, refuses, says, sends
from tests.fakes.web_server import Received, Reply
from tests.unit.llm.asking import ANNUAL, desk, question

CALL = calls(ANNUAL)
DECISION = decides(ANNUAL)


@pytest.mark.parametrize(
    ("script", "how", "attempts"),
    [
        (CALL, "functions", 1),
        (refuses("strict", otherwise=CALL), "functions", 2),
        (refuses("parallel_tool_calls", otherwise=CALL), "functions", 2),
        (refuses("tool_choice=required", otherwise=CALL), "functions", 2),
        (refuses("max_tokens", otherwise=CALL), "functions", 2),
        (refuses("temperature", otherwise=CALL), "functions", 2),
        (refuses("strict", "parallel_tool_calls", otherwise=CALL), "functions", 3),
        (refuses("tool_choice=required", "tool_choice=auto", otherwise=DECISION), "json_schema", 3),
        (refuses("tool_choice", otherwise=CALL), "functions", 2),
        (refuses("tools", otherwise=DECISION), "json_schema", 2),
        (refuses("tools", "limits", otherwise=DECISION), "json_schema", 3),
        (refuses("tools", "json_schema", otherwise=DECISION), "json_object", 3),
        (refuses("tools", "response_format", otherwise=DECISION), "text", 4),
    ],
)
async def test_each_refusal_costs_one_request_and_only_once(
    script: Behaviour, how: str, attempts: int
) -> None:
    async with desk(script) as here:
        first = await here.model.answer(question())
        again = await here.model.answer(question())
        assert len(here.server.chats) == attempts + 1
    assert (first.how, first.attempts) == (how, attempts)
    assert (again.how, again.attempts) == (how, 1)
    assert [call.arguments for call in first.calls] == [{"leave_type": "annual"}]


async def test_another_model_at_the_same_server_is_learned_by_itself() -> None:
    memory = ServerMemory()
    memory.learn("other at http://127.0.0.1/v1", ["tools"])
    async with desk([CALL], memory) as here:
        assert (await here.model.answer(question())).how == "functions"


async def test_nothing_is_learned_where_leaving_it_out_did_not_help() -> None:
    async with desk([fails(400, "tools are bad"), fails(400, "you are bad")]) as here:
        with pytest.raises(ModelRefused, match="you are bad"):
            await here.model.answer(question())
        assert here.memory.refused(here.model.endpoint) == frozenset()


async def test_an_answer_off_format_under_auto_leads_to_a_schema_through_required() -> None:
    off = fails(500, "Failed to parse input at pos 0")
    async with desk([off, off, DECISION]) as here:
        answer = await here.model.answer(question(must_call=False))
        choices = [chat.get("tool_choice") for chat in here.server.chats]
    assert choices == ["auto", "required", None]
    assert answer.how == "json_schema"


async def test_a_500_that_says_nothing_of_formats_teaches_nothing() -> None:
    async with desk([fails(500, "for more information ask the operator")]) as here:
        with pytest.raises(ModelUnavailable):
            await here.model.answer(question())
        assert len(here.server.chats) == 1


async def test_usage_is_left_out_of_streams_where_the_server_refuses_it() -> None:
    async with desk(refuses("stream_options", otherwise=says("好"))) as here:
        answer = await here.model.answer(question(), on_text=here.hear)
        assert (answer.text, answer.attempts) == ("好", 2)
        assert "stream_options" not in here.server.chats[-1]


async def test_rules_told_as_text_follow_the_system_message_and_stay_the_same() -> None:
    async with desk(refuses("tools", otherwise=DECISION)) as here:
        await here.model.answer(question("一"))
        await here.model.answer(question("二"))
        first, second = (chat["messages"] for chat in here.server.chats[-2:])
    assert first[0] == second[0]
    assert first[0]["content"].startswith("You route.\n\n")
    assert "get_balance: How much leave is left" in first[0]["content"]
    assert [message["content"] for message in (first[-1], second[-1])] == ["一", "二"]


async def test_a_schema_gives_every_text_an_end() -> None:
    async with desk(refuses("tools", otherwise=DECISION)) as here:
        await here.model.answer(question())
        schema = here.server.chats[-1]["response_format"]["json_schema"]["schema"]
    calls_schema = schema["properties"]["calls"]
    spoken = calls_schema["items"]["anyOf"][1]["properties"]["arguments"]["properties"]["text"]
    assert spoken["maxLength"] > 0
    assert calls_schema["maxItems"] == 8


@pytest.mark.parametrize(
    ("status", "message", "feature"),
    [
        (400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", "max_tokens"),
        (400, "max_tokens is too large: 100000", None),
        (400, "registry/gemma does not support tools", "tools"),
        (404, "No endpoints found that support tool use", "tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice', "tool_choice=required"),
        (400, "Invalid schema for function 'x': additionalProperties is required", "strict"),
        (422, '{"loc": ["body", "parallel_tool_calls"], "msg": "extra"}', "parallel_tool_calls"),
        (400, "This response_format type is unavailable now", "json_schema"),
        (400, "temperature does not support 0", "temperature"),
        (400, "your prompt breaks our rules", None),
        (429, "too many tools", None),
        (500, "tools exploded", None),
        (500, "tools param requires --jinja flag", "tools"),
        (500, "tool_choice param requires --jinja flag", "tool_choice=required"),
        (500, "response_format is not supported by this model", "json_schema"),
        (503, "tools are not supported while loading", None),
        (500, "failed to parse grammar", "tool_choice=auto"),
    ],
)
def test_servers_in_use_are_understood(status: int, message: str, feature: str | None) -> None:
    assert refused_feature(status, message, set(FEATURES)) == feature


def test_what_was_learned_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "data" / "servers.json"
    ServerMemory(path).learn("qwen at http://gpu/v1", ["strict", "tools"])
    assert ServerMemory(path).refused("qwen at http://gpu/v1") == {"strict", "tools"}


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"3", b"\xff", b"[" * 5000, b'{"a": 3}', b'{"a": "strict"}'),
        *(b'{"a": ["magic"]}', b'{"a": ["magic", {}, null]}'),
    ],
)
def test_a_memory_file_that_cannot_be_read_is_written_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "servers.json"
    path.write_bytes(content)
    memory = ServerMemory(path)
    assert memory.refused("a") == frozenset()
    memory.learn("a", ["tools"])
    assert ServerMemory(path).refused("a") == {"tools"}


def test_a_memory_that_cannot_be_kept_still_serves(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    memory = ServerMemory(tmp_path / "file" / "servers.json")
    memory.learn("a", ["tools"])
    assert memory.refused("a") == {"tools"}


async def test_a_server_that_knows_no_choice_of_tools_still_takes_functions() -> None:
    unknown = sends({"error": {"message": "Unsupported parameter: 'tool_choice'"}}, 400)

    def answer(received: Received) -> Reply:
        behaviour = unknown if "tool_choice" in received.body else CALL
        return behaviour(received)

    async with desk(answer) as open_desk:
        answers = [await open_desk.model.answer(question()) for _ in range(2)]
        assert [a.how for a in answers] == ["functions", "functions"]
        assert [a.attempts for a in answers] == [2, 1]
        assert open_desk.memory.refused(open_desk.model.endpoint) == {"tool_choice"}
