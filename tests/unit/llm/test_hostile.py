"""What model servers of strangers send to stop the process that asks them, or to learn more."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from router.llm.health import ModelAddress, ModelHealth
from router.llm.stream import UnreadableAnswer, events
from router.llm.types import ModelRefused, ModelUnavailable
from tests.fakes.model_server import Behaviour, ModelServer, answers, delta, says, streams
from tests.fakes.web_server import Got, Piece, Reply, WebServer, json_reply
from tests.table import each_row
from tests.unit.llm.asking import desk, question

NEVER = asyncio.Event()
BOMB = gzip.compress(bytes(64 * 1024 * 1024), 1)
LETTERS = "a" * 90_000
JSON = {"content-type": "application/json"}


def nested(deep: int) -> list[Any]:
    return [nested(deep - 1)] if deep else []


def replies(*pieces: Piece, status: int = 200, **headers: str) -> Behaviour:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply(pieces, status, {**JSON, **named})


@each_row(
    "script",
    [
        replies(*[b"x" * 2**20] * 2, NEVER, status=500),
        replies(BOMB, NEVER, status=500, content_encoding="gzip"),
        replies(gzip.compress(BOMB), NEVER, status=500, content_encoding="gzip, gzip"),
        replies(b"x", NEVER, status=500, content_encoding="br"),
        replies(b"x-" * 2**16, NEVER, status=500, content_type="text/plain; charset=punycode"),
        replies(b"x.", status=500, content_type="text/plain; charset=idna"),
    ],
    ids=["endless", "packed", "packed twice", "packed otherwise", "punycode", "idna"],
)
async def test_of_what_a_broken_server_says_the_beginning_is_read(script: Behaviour) -> None:
    async with desk([script]) as here:
        with pytest.raises(ModelUnavailable, match="answered 500"):
            await here.model.answer(question())


@each_row(("encoding", "said"), [("gzip", "longer than"), ("gzip, gzip", "wasn't asked for")])
async def test_an_answer_is_as_long_as_it_is_unpacked(encoding: str, said: str) -> None:
    packed = BOMB if encoding == "gzip" else gzip.compress(BOMB)
    async with desk([replies(packed, NEVER, content_encoding=encoding)]) as here:
        with pytest.raises(ModelUnavailable, match=said):
            await here.model.answer(question())


async def test_what_a_server_packs_is_read() -> None:
    body = {"choices": [{"message": {"content": "好"}, "finish_reason": "stop"}]}
    packed = gzip.compress(json.dumps(body).encode())
    refusal = gzip.compress(b'{"error": {"message": "Unsupported parameter: temperature"}}')
    refuses = replies(refusal, status=400, content_encoding="gzip")
    # What follows the end of what was packed would be kept, and copied anew with each piece.
    async with desk([refuses, replies(packed, b"x", NEVER, content_encoding="gzip")]) as here:
        assert (await here.model.answer(question())).attempts == 2


@pytest.mark.slow
async def test_arguments_that_come_letter_by_letter_are_looked_at_seldom() -> None:
    function = {"name": "respond_message", "arguments": '{"text": "'}
    first = delta(tool_calls=[{"index": 0, "id": "1", "function": function}])
    each = delta(tool_calls=[{"index": 0, "function": {"arguments": "x"}}])
    end = delta(tool_calls=[{"index": 0, "function": {"arguments": '"}'}}], finish="stop")
    async with desk([streams(first, *[each] * 15_000, end)]) as here:
        answer = await here.model.answer(question(), on_text=here.hear)
    assert here.heard == answer.calls[0].arguments["text"] == "x" * 15_000
    assert len(here.deltas) < 1000


@pytest.mark.slow
async def test_a_line_may_come_byte_by_byte() -> None:
    async def drips() -> AsyncIterator[bytes]:
        for _ in range(2**20):
            yield b"x"

    with pytest.raises(UnreadableAnswer, match="isn't JSON"):
        assert [event async for event in events(_after(b"data: ", drips()))]


async def _after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece
    yield b"\n\n"


@each_row("text", [f"get_balance({LETTERS})", f"get_balance({'a=' * 45_000})"])
async def test_what_looks_like_a_call_and_is_none_is_text(text: str) -> None:
    async with desk([says(text)]) as here:
        assert (await here.model.answer(question())).text == text


async def test_of_calls_that_cannot_be_read_few_are_named() -> None:
    async with desk([says("<tool_call>" * 9000)]) as here:
        assert len((await here.model.answer(question())).problems) <= 100


@each_row(
    ("arguments", "said"),
    [
        ({"leave_type": ["x"] * 50_000}, "more than 200000"),
        ({"leave_type": "\0"} | dict.fromkeys("abc", nested(300)), "nested too deeply"),
        ("{" * 150_000, "its arguments can't be read"),
    ],
)
async def test_arguments_without_end_are_no_call(arguments: object, said: str) -> None:
    listed = [{"function": {"name": "get_balance", "arguments": arguments}}]
    async with desk([answers({"tool_calls": listed})]) as here:
        answer = await here.model.answer(question())
    assert answer.calls == ()
    assert said in answer.problems[0].text


@each_row("status", [301, 302, 303, 307, 308])
async def test_a_prompt_goes_to_the_server_that_is_named_and_nowhere_else(status: int) -> None:
    def thanks(_: Got) -> Reply:
        return json_reply({"choices": [{"message": {"content": "thanks"}}]})

    async with WebServer(thanks) as elsewhere:
        place = f"{elsewhere.origin}/v1/chat/completions"
        async with desk([replies(b"", status=status, location=place)]) as here:
            with pytest.raises(ModelRefused, match=f"answered {status}: it leads elsewhere"):
                await here.model.answer(question())
        assert elsewhere.requests == []


async def test_a_server_that_leads_elsewhere_or_lists_without_end_is_seen_by_its_status() -> None:
    async with ModelServer() as server:
        server.listing = replies(b"x", NEVER)
        assert await ModelHealth([ModelAddress(server.url)]).trouble() == [None]
        server.listing = replies(b"", status=307, location="http://127.0.0.1:1/")
        (trouble,) = await ModelHealth([ModelAddress(server.url)]).trouble()
        assert trouble == f"{server.url} leads elsewhere (307)"
