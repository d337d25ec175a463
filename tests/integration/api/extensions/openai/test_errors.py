"""Everything that is refused, in the shape that OpenAI's clients know."""

import asyncio
import base64
import json
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from openai import AsyncOpenAI, AuthenticationError, BadRequestError, RateLimitError

from router.extensions.openai import identity, response
from router.routing.front_end_tools import MAX_SENT_CHARS
from tests.costly import REFUSED_PATTERNS, object_of
from tests.integration.api.conftest import client_of, until
from tests.integration.api.extensions.openai.conftest import PATH, ask, body, fault, release
from tests.table import each_row

USER = {"role": "user", "content": "hi"}
FULL: Any = {"role": "user", "content": "full"}


def of(*messages: Any) -> dict[str, Any]:
    return {"model": "intent-router", "messages": list(messages)}


def parts(*parts: Any) -> dict[str, Any]:
    return of({"role": "user", "content": list(parts)})


def picture(url: Any) -> dict[str, Any]:
    return parts({"type": "image_url", "image_url": {"url": url}})


def data(content: str) -> dict[str, Any]:
    return picture(f"data:image/png;base64,{content}")


def format_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def function_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "theirs", "parameters": schema}}


HTML = base64.b64encode(b"<html>").decode()
PART = "messages.0.content.0"
HOSTILE: dict[str, tuple[Any, int, str | None]] = {
    "nothing": ({}, 400, "model"),
    "a list": ([], 400, "body"),
    "no model": ({"messages": [USER]}, 400, "model"),
    "an empty model": ({"model": "", "messages": [USER]}, 400, "model"),
    "no messages": ({"model": "intent-router"}, 400, "messages"),
    "empty messages": (of(), 400, "messages"),
    "messages as text": ({"model": "intent-router", "messages": "hi"}, 400, "messages"),
    "a message as text": (of("hi"), 400, "messages.0"),
    "a strange role": (of({"role": "root", "content": "hi"}), 400, "messages.0.role"),
    "content as number": (of({"role": "user", "content": 5}), 400, "messages.0.content"),
    "the assistant last": (
        *(of(USER, {"role": "assistant", "content": "yes"}), 400, "messages.1.role"),
    ),
    "a tool's result alone": (
        *(of({"role": "tool", "content": None, "tool_call_id": "0" * 200}), 400, "messages"),
    ),
    "a tool to be called": (body("hi", tool_choice=0), 400, "tool_choice"),
    "a system alone": (of({"role": "system", "content": "be good"}), 400, "messages.0.role"),
    "two answers": (body("hi", n=2), 400, "n"),
    "no answers": (body("hi", n=0), 400, "n"),
    "a stream of words": (body("hi", stream="yes"), 400, "stream"),
    "blank": (body(" \n\u200b"), 400, "messages.0.content"),
    "no content": (of({"role": "user"}), 400, "messages.0.content"),
    "a control character": (body("hi\x1b[31m"), 400, "messages.0.content"),
    "a book": (body("x" * 8001), 400, "messages.0.content"),
    "another's model": (body("hi", model="gpt-4"), 404, "model"),
    "a model of dots": (body("hi", model="intent-router/../x"), 404, "model"),
    "a skill nobody has": (body("hi", model="intent-router/none"), 404, "model"),
    "sound": (parts({"type": "input_audio", "input_audio": {}}), 400, PART),
    "text that is none": (parts({"type": "text", "text": 5}), 400, f"{PART}.text"),
    "a part of nothing": (parts({}), 400, PART),
    "a picture elsewhere": (picture("http://169.254.169.254/latest/meta-data"), 400, PART),
    "a picture as file": (picture("file:///etc/passwd"), 400, PART),
    "a picture of a number": (picture(7), 400, PART),
    "no base64": (data("%%%"), 400, PART),
    "a page as picture": (data(HTML), 400, PART),
    "an empty picture": (data(""), 400, PART),
    "a picture that is too large": (data("A" * 14_000_000), 413, None),
}
HOSTILE |= {
    f"an answer with {name}": (
        body("hi", response_format=format_of(object_of(a={"pattern": pattern}))),
        400,
        "response_format.json_schema.schema",
    )
    for name, pattern in REFUSED_PATTERNS.items()
}
HOSTILE |= {
    f"a tool with {name}": (
        body("hi", tools=[function_of(object_of(a={"pattern": pattern}))]),
        400,
        "tools" if len(pattern) > MAX_SENT_CHARS - 100 else "tools.0.function.parameters",
    )
    for name, pattern in REFUSED_PATTERNS.items()
}


@pytest.mark.slow
@each_row(("sent", "status", "param"), HOSTILE.values(), ids=HOSTILE)
async def test_what_cant_be_answered_says_which_field_and_changes_nothing(
    alice: AsyncClient, sent: Any, status: int, param: str | None
) -> None:
    before = (await alice.get("/v1/conversations")).json()["items"]
    error = fault(await alice.post(PATH, json=sent), status)
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert (await alice.get("/v1/conversations")).json()["items"] == before


@each_row(
    ("method", "raw", "media", "status"),
    [
        ("POST", b"{", "application/json", 400),
        ("POST", b'{"model": NaN}', "application/json", 400),
        ("POST", b"[" * 60_000, "application/json", 400),
        ("POST", b"", "application/json", 400),
        ("POST", b"{}", "text/plain", 415),
        *((method, b"{}", "application/json", 405) for method in ("GET", "PUT", "DELETE")),
    ],
)
async def test_what_is_no_json_or_no_post_is_refused_likewise(
    alice: AsyncClient, method: str, raw: bytes, media: str, status: int
) -> None:
    answer = await alice.request(method, PATH, content=raw, headers={"Content-Type": media})
    assert fault(answer, status)["type"] == "invalid_request_error"


async def test_a_body_may_be_a_long_chat_but_not_any_size(
    alice: AsyncClient, monkeypatch: pytest.MonkeyPatch, unique: str
) -> None:
    long = ["x" * 7000] * 20
    assert (await ask(alice, *long, unique)).status_code == 200
    monkeypatch.setattr(identity, "MOST_BYTES", 1000)

    async def endless() -> Any:
        while True:
            yield b" " * 600

    for answer in (await ask(alice, *long), await alice.post(PATH, content=endless())):
        assert fault(answer, 413)["message"].startswith("The body is larger than 1000 bytes")


@each_row("path", [PATH, "/v1/models", "/v1/models/intent-router"])
@each_row("token", [None, "nobody"])
async def test_a_strangers_body_is_not_read(app: FastAPI, path: str, token: str | None) -> None:
    post = path == PATH
    async with client_of(app, token) as stranger:
        answer = await stranger.request("POST" if post else "GET", path, content=b"{" * post)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert fault(answer, 401)["code"] == "invalid_api_key"


async def test_a_model_that_isnt_there_is_a_404(alice: AsyncClient) -> None:
    assert fault(await alice.get("/v1/models/gpt-4"), 404)["code"] == "model_not_found"


async def test_the_client_knows_each_error_by_its_own_name(address: str, unique: str) -> None:
    alice = AsyncOpenAI(base_url=f"{address}/v1", api_key="alice", max_retries=0)
    chat: Any = {"model": "intent-router", "extra_headers": {"X-Conversation-Id": unique}}
    with pytest.raises(AuthenticationError):
        await alice.with_options(api_key="nobody").models.list()
    with pytest.raises(BadRequestError) as refused:
        await alice.chat.completions.create(**chat, messages=[{"role": "user", "content": ""}])
    assert refused.value.param == "messages.0.content"
    for stream in (False, True):
        with pytest.raises(RateLimitError) as full:
            await alice.chat.completions.create(**chat, messages=[FULL], stream=stream)
        assert int(full.value.response.headers["retry-after"]) > 0


async def test_what_takes_too_long_is_503_and_the_same_request_gets_the_answer(
    alice: AsyncClient, monkeypatch: pytest.MonkeyPatch, unique: str
) -> None:
    chat = {"X-Conversation-Id": unique}
    with monkeypatch.context() as patch:
        patch.setattr(response, "WAIT", 0.2)
        slow = await ask(alice, "held", headers=chat)
    assert fault(slow, 503)["type"] == "server_error"
    assert slow.headers["retry-after"]
    await release(alice)
    assert (await ask(alice, "held", headers=chat)).status_code == 200


async def test_a_broken_turns_stream_ends_with_that(alice: AsyncClient, unique: str) -> None:
    chat = {"X-Conversation-Id": unique}
    assert (await ask(alice, "hello", headers=chat)).status_code == 200
    conversation = (await alice.get("/v1/conversations")).json()["items"][0]["id"]
    asking = asyncio.create_task(ask(alice, "hello", "break", headers=chat, stream=True))
    cancel = f"/v1/conversations/{conversation}/cancel"
    await until(lambda: alice.post(cancel), lambda cancelled: cancelled.status_code == 202)
    last = (await asking).text.strip().split("\n\n")[-1]
    assert "it broke" in json.loads(last.removeprefix("data: "))["error"]["message"]
