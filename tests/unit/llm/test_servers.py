"""What a server refuses is learned from its refusals: one extra request each, once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from router.llm.refusals import refused_feature
from router.llm.servers import FEATURES, ServerMemory
from router.llm.types import ModelRefused, ModelUnavailable
from tests.fakes.model_server import Behaviour, answers, calls, decides, fails, refuses, says, sends
from tests.fakes.web_server import Received, Reply
from tests.table import each_row
from tests.unit.llm.asking import ANNUAL, Desk, desk, question

CALL = calls(ANNUAL)
DECISION = decides(ANNUAL)


@each_row(
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


@each_row(
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


SILENT = says("")
CUT = says("我去查查，查查，查查，", finish="length")
UNREADABLE = says('<tool_call>{"name": "get_balance", "arguments": {"leave_type": </tool_call>')
STRAYS = fails(500, "Failed to parse input at pos 0")


class Calendar:
    now = datetime(2026, 11, 24, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


async def ways(here: Desk, questions: int, **more: Any) -> list[str]:
    return [(await here.model.answer(question(**more))).how for _ in range(questions)]


@each_row("failure", [SILENT, CUT, UNREADABLE])
async def test_a_model_that_fails_on_functions_three_times_is_asked_in_json(
    failure: Behaviour,
) -> None:
    async with desk([failure] * 3 + [DECISION] * 2) as here:
        assert await ways(here, 5) == ["functions"] * 3 + ["json_schema"] * 2


async def test_one_that_strays_from_the_format_is_asked_in_json_for_good_the_third_time() -> None:
    script = [STRAYS, STRAYS, DECISION] * 3 + [DECISION]
    async with desk(script) as here:
        answers = [await here.model.answer(question()) for _ in range(4)]
    assert [answer.attempts for answer in answers] == [3, 3, 3, 1]
    assert {answer.how for answer in answers} == {"json_schema"}


async def test_an_answer_with_a_call_makes_up_for_failures_before_it() -> None:
    async with desk([UNREADABLE, UNREADABLE, CALL] * 2) as here:
        assert await ways(here, 6) == ["functions"] * 6


FINE = [
    *(says("我去查查。"), calls(("make_coffee", {})), calls(("it can't be read", {}))),
    *(says(None, refusal="I'd rather not"), says("", finish="content_filter")),
]


@each_row(
    "fine", FINE, ids=["talks", "makes a name up", "names a failure", "declines", "is withheld"]
)
async def test_what_strangers_words_could_bring_a_model_to_is_no_failure(fine: Behaviour) -> None:
    async with desk([fine] * 4) as here:
        assert await ways(here, 4) == ["functions"] * 4


async def test_to_be_cut_is_none_where_no_call_has_to_be_made() -> None:
    async with desk([CUT] * 4) as here:
        assert await ways(here, 4, must_call=False) == ["functions"] * 4


async def test_functions_are_tried_again_after_a_week(tmp_path: Path) -> None:
    today, path = Calendar(), tmp_path / "servers.json"
    async with desk([SILENT] * 3 + [DECISION, CALL], ServerMemory(path, today)) as here:
        await ways(here, 3)
        today.now += timedelta(days=6)
        assert await ways(here, 1) == ["json_schema"]
        assert "tools" in ServerMemory(path, today).refused(here.model.endpoint)
        today.now += timedelta(days=1)
        assert await ways(here, 1) == ["functions"]
        assert ServerMemory(path, today).refused(here.model.endpoint) == frozenset()


async def test_another_model_behind_the_same_name_is_given_functions(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    newer = answers({"content": '{"calls": []}'}, model="newer")
    async with desk([SILENT] * 3 + [newer, CALL], ServerMemory(path)) as here:
        assert await ways(here, 5) == ["functions"] * 3 + ["json_schema", "functions"]


async def test_what_is_only_read_is_neither() -> None:
    async with desk([CALL]) as here:
        here.server.reading = STRAYS
        for _ in range(4):
            await here.model.read(question(max_tokens=1), 5)
        assert len(here.server.readings) == 4
        assert await ways(here, 1) == ["functions"]


def test_what_was_learned_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "data" / "servers.json"
    ServerMemory(path).learn("qwen at http://gpu/v1", ["strict", "tools"])
    assert ServerMemory(path).refused("qwen at http://gpu/v1") == {"strict", "tools"}


@each_row(
    "content",
    [
        *(b"", b"{", b"[]", b"3", b"\xff", b"[" * 5000, b'{"a": 3}', b'{"a": "strict"}'),
        *(b'{"a": ["magic"]}', b'{"a": {"refused": ["magic", {}, null], "unfit": 3}}'),
        *(b'{"a": {"unfit": {"since": "soon"}}}', b'{"a": {"unfit": {"since": "2026-11-24"}}}'),
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
