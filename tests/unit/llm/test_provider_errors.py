"""What providers answer instead of an answer comes out as this project's errors, for each alike."""

import asyncio
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.llm.client import ChatModel
from router.llm.protocols import anthropic, chat_completions, gemini, responses
from router.llm.types import AccessRefused, ContextTooLong, ModelRefused, ModelUnavailable
from tests.fakes.model_server import Behaviour, drips, drops, hangs, sends, sends_bytes, stops
from tests.fakes.providers import (
    ANTHROPIC,
    CHAT,
    DIALECTS,
    GEMINI,
    RESPONSES,
    Dialect,
    Said,
    Tokens,
)
from tests.fakes.web_server import Reply, WebServer, json_reply
from tests.table import each_row
from tests.unit.llm.asking import ANNUAL, question
from tests.unit.llm.test_providers import counter, dialect, streaming

__all__ = ["dialect", "streaming"]

NEVER = asyncio.Event()
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}
BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


async def refused(
    dialect: Dialect, script: Behaviour, streaming: bool, seconds: float = 20.0
) -> Any:
    async with counter(dialect, [script]) as here:
        with pytest.raises((ModelUnavailable, ModelRefused)) as caught:
            await here.model.answer(question(), seconds, here.hear if streaming else None)
    return caught.value


@pytest.mark.slow
@each_row("said", ["7", None])
async def test_a_429_is_a_wait_as_long_as_the_server_says(
    dialect: Dialect, streaming: bool, said: str | None
) -> None:
    headers = {"retry_after": said} if said else {}
    script = dialect.fails(429, "slow down", kind="rate_limit_error", headers=headers)
    error = await refused(dialect, script, streaming)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == (7 if said else None)


@pytest.mark.slow
async def test_gemini_says_in_the_error_when_to_come_again(streaming: bool) -> None:
    script = GEMINI.fails(429, "quota", kind="RESOURCE_EXHAUSTED", details=[RETRY])
    error = await refused(GEMINI, script, streaming)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == 34


@pytest.mark.slow
@each_row("status", [408, 409, 500, 502, 503, 504, 529])
async def test_a_server_in_trouble_may_work_in_a_moment(
    dialect: Dialect, streaming: bool, status: int
) -> None:
    error = await refused(dialect, dialect.fails(status, "overloaded"), streaming)
    assert isinstance(error, ModelUnavailable)
    assert f"answered {status}: " in str(error)


@pytest.mark.slow
@each_row("status", [400, 404, 422])
async def test_a_refused_request_is_not_worth_another_try(
    dialect: Dialect, streaming: bool, status: int
) -> None:
    assert type(await refused(dialect, dialect.fails(status), streaming)) is ModelRefused


@each_row("status", [401, 402, 403])
async def test_a_refused_key_is_named_as_such_and_never_quoted(
    dialect: Dialect, streaming: bool, status: int
) -> None:
    error = await refused(dialect, dialect.fails(status, "a-key is wrong"), streaming)
    assert isinstance(error, AccessRefused)
    assert "a-key" not in str(error)


async def test_gemini_refuses_a_key_as_if_it_were_a_request(streaming: bool) -> None:
    said = "API key not valid. Please pass a valid API key."
    error = await refused(GEMINI, GEMINI.fails(400, said, details=[BAD_KEY]), streaming)
    assert isinstance(error, AccessRefused)


@each_row(
    ("dialect", "message", "more"),
    [
        (CHAT, "This model's maximum context length is 8192 tokens.", {}),
        (RESPONSES, "too much", {"code": "context_length_exceeded"}),
        (RESPONSES, "Your input exceeds the context window of this model.", {}),
        (ANTHROPIC, "prompt is too long: 210000 tokens > 200000 maximum", {}),
        (ANTHROPIC, "input length and `max_tokens` exceed context limit: 199000 + 8000", {}),
        (
            GEMINI,
            "The input token count (1048577) exceeds the maximum number of tokens allowed",
            {},
        ),
    ],
)
async def test_a_context_too_long_is_named(
    dialect: Dialect, message: str, more: dict[str, Any], streaming: bool
) -> None:
    if dialect is RESPONSES and more:
        body = dialect.error(400, message) | {"error": {"message": message, **more}}
        script = sends(body, 400)
    else:
        script = dialect.fails(400, message)
    assert isinstance(await refused(dialect, script, streaming), ContextTooLong)


async def test_a_request_too_large_is_too_long(dialect: Dialect, streaming: bool) -> None:
    script = dialect.fails(413, "Request exceeds the maximum size", kind="request_too_large")
    assert isinstance(await refused(dialect, script, streaming), ContextTooLong)


IN_THE_MIDDLE = [
    (CHAT, {"error": {"message": "out of memory"}}, ModelUnavailable),
    (RESPONSES, {"type": "error", "code": "server_error", "message": "broke"}, ModelUnavailable),
    (
        RESPONSES,
        {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded"}}},
        ModelUnavailable,
    ),
    (
        RESPONSES,
        {"type": "response.failed", "response": {"error": {"code": "invalid_prompt"}}},
        ModelRefused,
    ),
    (ANTHROPIC, ANTHROPIC.error(529, "Overloaded", kind="overloaded_error"), ModelUnavailable),
    (ANTHROPIC, ANTHROPIC.error(400, "bad", kind="invalid_request_error"), ModelRefused),
    (ANTHROPIC, ANTHROPIC.error(403, "no", kind="permission_error"), AccessRefused),
    (GEMINI, GEMINI.error(503, "overloaded", kind="UNAVAILABLE"), ModelUnavailable),
    (GEMINI, GEMINI.error(403, "denied", kind="PERMISSION_DENIED"), AccessRefused),
]


@each_row(("dialect", "event", "wanted"), IN_THE_MIDDLE)
async def test_an_error_in_the_middle_of_a_stream_is_an_error(
    dialect: Dialect, event: Any, wanted: type[Exception]
) -> None:
    begun = list(dialect.events(Said("这句话到不了头"), "scripted"))[:4]
    error = await refused(dialect, lambda _: dialect.streamed([*begun, event]), streaming=True)
    assert type(error) is wanted


@each_row("pieces", [0, 1, 3])
async def test_a_connection_that_drops_is_no_answer(dialect: Dialect, pieces: int) -> None:
    said = dialect.says(Said("这句话到不了头，断了"))
    assert isinstance(await refused(dialect, drops(said, pieces), True), ModelUnavailable)
    assert isinstance(await refused(dialect, stops(said, pieces), True), ModelUnavailable)


async def test_an_answer_that_drops_is_none(dialect: Dialect) -> None:
    script = drops(dialect.says(Said("好")), 1)
    assert isinstance(await refused(dialect, script, False), ModelUnavailable)


async def test_a_server_that_does_not_listen_is_out_of_reach(
    dialect: Dialect, streaming: bool
) -> None:
    async with counter(dialect, []) as here:
        url = here.server.url
    model = ChatModel(url, "scripted", spoken=dialect.name)

    async def hear(_: object) -> None:
        raise AssertionError

    with pytest.raises(ModelUnavailable, match="can't be reached"):
        await model.answer(question(), on_text=hear if streaming else None)
    await model.aclose()


@pytest.mark.slow
async def test_a_hang_costs_the_deadline_and_no_more(dialect: Dialect, streaming: bool) -> None:
    for script in (hangs(), drips(dialect.says(Said("很慢" * 100)), 0.01)):
        error = await refused(dialect, script, streaming, seconds=0.3)
        assert "took longer than 0.3 s" in str(error)


@pytest.mark.slow
@each_row(
    "script",
    [
        sends_bytes(b"<html>Welcome to the hotel wifi</html>"),
        sends_bytes(b"data: {broken\n\n", content_type="text/event-stream"),
        sends_bytes(b"[" * 100_000, content_type="application/json"),
        sends_bytes(b"data: " + b"[" * 100_000 + b"\n\n", content_type="text/event-stream"),
        sends_bytes(b'data: [1, "a"]\n\n', content_type="text/event-stream"),
        sends_bytes(b'data: {"candidates": 7}\n\n', content_type="text/event-stream"),
        sends_bytes(b""),
    ],
)
async def test_what_is_no_answer_is_none(
    dialect: Dialect, script: Behaviour, streaming: bool
) -> None:
    assert isinstance(await refused(dialect, script, streaming), ModelUnavailable)


@pytest.mark.slow
async def test_an_endless_answer_is_not_kept(dialect: Dialect, streaming: bool) -> None:
    error = await refused(dialect, sends_bytes(*[b"x" * 2**20] * 5), streaming)
    assert isinstance(error, ModelUnavailable)


@pytest.mark.slow
@each_row(
    ("pieces", "headers"),
    [
        ([*[b"x" * 2**20] * 2, NEVER], {}),
        ([gzip.compress(bytes(64 * 1024 * 1024), 1), NEVER], {"content-encoding": "gzip"}),
        ([b"x-" * 2**16, NEVER], {"content-type": "text/plain; charset=punycode"}),
        ([b"[" * 60_000], {"content-type": "application/json"}),
    ],
)
async def test_of_what_a_broken_server_says_the_beginning_is_read(
    dialect: Dialect, streaming: bool, pieces: list[Any], headers: dict[str, str]
) -> None:
    error = await refused(dialect, lambda _: Reply(pieces, 500, headers), streaming)
    assert isinstance(error, ModelUnavailable)
    assert "answered 500" in str(error)


@pytest.mark.slow
@each_row("status", [301, 307, 308])
async def test_a_prompt_goes_to_the_server_that_is_named_and_nowhere_else(
    dialect: Dialect, streaming: bool, status: int
) -> None:
    async with WebServer(lambda _: json_reply({})) as elsewhere:
        headers = {"location": f"{elsewhere.origin}{dialect.path}"}
        error = await refused(dialect, lambda _: Reply([], status, headers), streaming)
        assert type(error) is ModelRefused
        assert f"answered {status}: it leads elsewhere" in str(error)
        assert elsewhere.requests == []


MODULES = {
    CHAT: chat_completions,
    RESPONSES: responses,
    ANTHROPIC: anthropic,
    GEMINI: gemini,
}
FULL = Said("稍等", (ANNUAL, ANNUAL), ("嗯", "哦"), tokens=Tokens(9, 5, 2, 1))
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


def places(node: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to everything in a document."""
    listed = node if isinstance(node, list) else []
    inner: Any = node.items() if isinstance(node, dict) else enumerate(listed)
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


def broken(whole: Any, place: tuple[Any, ...], junk: Any) -> Any:
    if not place:
        return junk
    copied = json.loads(json.dumps(whole))
    node = copied
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = junk
    return copied


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@given(data=st.data())
def test_an_answer_with_anything_in_it_is_read_somehow(
    dialect: Dialect, data: st.DataObject
) -> None:
    body = dialect.whole(FULL, "scripted")
    body = broken(body, data.draw(st.sampled_from(places(body))), data.draw(JUNK))
    answer = MODULES[dialect].read(body, question(), "functions", "scripted", 1)
    assert all(call.id and len(call.id) <= 64 for call in answer.calls)
    assert len({call.id for call in answer.calls}) == len(answer.calls)
    assert answer.usage.prompt_tokens >= answer.usage.cached_tokens >= 0


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@given(data=st.data())
def test_events_with_anything_in_them_are_put_together_somehow(
    dialect: Dialect, data: st.DataObject
) -> None:
    events: Any = list(dialect.events(FULL, "scripted"))
    ways = [place for place in places(events) if place]
    events = broken(events, data.draw(st.sampled_from(ways)), data.draw(JUNK))
    partial = MODULES[dialect].partial()
    for event in events:
        partial.add(event)
        assert isinstance(partial.is_complete, bool)
        assert all({"name", "arguments"} <= set(call) for call in partial.calls)
    MODULES[dialect].read(partial.body(), question(), "functions", "scripted", 1)
