"""Everything that is refused, in the shape that OpenAI's clients know."""

import asyncio
import base64
import json
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from openai import AsyncOpenAI, AuthenticationError, BadRequestError, RateLimitError

from router.api.openai import identity, response
from tests.integration.api.conftest import client_of, until
from tests.integration.api.openai.conftest import PATH, ask, body

USER = {"role": "user", "content": "hi"}


def of(*parts: Any) -> dict[str, Any]:
    return {"model": "intent-router", "messages": [{"role": "user", "content": list(parts)}]}


def picture(url: Any) -> dict[str, Any]:
    return of({"type": "image_url", "image_url": {"url": url}})


HTML = base64.b64encode(b"<html>").decode()
HOSTILE: dict[str, tuple[Any, int, str | None]] = {
    "nothing": ({}, 400, "model"),
    "a list": ([], 400, "body"),
    "no model": ({"messages": [USER]}, 400, "model"),
    "an empty model": ({"model": "", "messages": [USER]}, 400, "model"),
    "no messages": ({"model": "intent-router"}, 400, "messages"),
    "empty messages": ({"model": "intent-router", "messages": []}, 400, "messages"),
    "messages as text": ({"model": "intent-router", "messages": "hi"}, 400, "messages"),
    "a message as text": ({"model": "intent-router", "messages": ["hi"]}, 400, "messages.0"),
    "a strange role": (
        {"model": "intent-router", "messages": [{"role": "root", "content": "hi"}]},
        400,
        "messages.0.role",
    ),
    "content as number": (
        {"model": "intent-router", "messages": [{"role": "user", "content": 5}]},
        400,
        "messages.0.content",
    ),
    "the assistant last": (
        {"model": "intent-router", "messages": [USER, {"role": "assistant", "content": "yes"}]},
        400,
        "messages.1.role",
    ),
    "a system alone": (
        {"model": "intent-router", "messages": [{"role": "system", "content": "be good"}]},
        400,
        "messages.0.role",
    ),
    "two answers": (body("hi", n=2), 400, "n"),
    "no answers": (body("hi", n=0), 400, "n"),
    "a stream of words": (body("hi", stream="yes"), 400, "stream"),
    "blank": (body(" \n\u200b"), 400, "messages.0.content"),
    "no content": (
        {"model": "intent-router", "messages": [{"role": "user"}]},
        400,
        "messages.0.content",
    ),
    "a control character": (body("hi\x1b[31m"), 400, "messages.0.content"),
    "a book": (body("x" * 8001), 400, "messages.0.content"),
    "another's model": (body("hi", model="gpt-4"), 404, "model"),
    "a model of dots": (body("hi", model="intent-router/../x"), 404, "model"),
    "a skill nobody has": (body("hi", model="intent-router/none"), 404, "model"),
    "sound": (of({"type": "input_audio", "input_audio": {}}), 400, "messages.0.content.0"),
    "text that is none": (of({"type": "text", "text": 5}), 400, "messages.0.content.0.text"),
    "a part of nothing": (of({}), 400, "messages.0.content.0"),
    "a picture elsewhere": (
        picture("http://169.254.169.254/latest/meta-data"),
        400,
        "messages.0.content.0",
    ),
    "a picture as file": (picture("file:///etc/passwd"), 400, "messages.0.content.0"),
    "a picture of a number": (picture(7), 400, "messages.0.content.0"),
    "no base64": (picture("data:image/png;base64,%%%"), 400, "messages.0.content.0"),
    "a page as picture": (picture(f"data:image/png;base64,{HTML}"), 400, "messages.0.content.0"),
    "an empty picture": (picture("data:image/png;base64,"), 400, "messages.0.content.0"),
    "a picture that is too large": (
        picture("data:image/png;base64," + "A" * 14_000_000),
        413,
        None,
    ),
}


@pytest.mark.parametrize(("sent", "status", "param"), HOSTILE.values(), ids=HOSTILE)
async def test_what_cant_be_answered_says_which_field_and_changes_nothing(
    alice: AsyncClient, sent: Any, status: int, param: str | None
) -> None:
    before = (await alice.get("/v1/conversations")).json()["items"]
    answer = await alice.post(PATH, json=sent)
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (answer.status_code, error["param"]) == (status, param)
    assert error["type"] == "invalid_request_error"
    assert (await alice.get("/v1/conversations")).json()["items"] == before


@pytest.mark.parametrize(
    ("raw", "media", "status"),
    [
        (b"{", "application/json", 400),
        (b'{"model": NaN}', "application/json", 400),
        (b"[" * 60_000, "application/json", 400),
        (b"", "application/json", 400),
        (b"{}", "text/plain", 415),
    ],
)
async def test_what_is_no_json_is_refused_likewise(
    alice: AsyncClient, raw: bytes, media: str, status: int
) -> None:
    answer = await alice.post(PATH, content=raw, headers={"Content-Type": media})
    assert answer.status_code == status
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_a_body_may_be_a_long_chat_but_not_any_size(
    alice: AsyncClient, monkeypatch: pytest.MonkeyPatch, unique: str
) -> None:
    long = ["x" * 7000] * 20
    assert (await ask(alice, *long, unique)).status_code == 200
    monkeypatch.setattr(identity, "MOST_BYTES", 1000)

    async def endless() -> Any:
        while True:
            yield b" " * 600

    declared = await ask(alice, *long)
    streamed = await alice.post(PATH, content=endless())
    for answer in (declared, streamed):
        assert answer.status_code == 413
        assert answer.json()["error"]["message"].startswith("The body is larger than 1000 bytes")


@pytest.mark.parametrize("path", [PATH, "/v1/models", "/v1/models/intent-router"])
@pytest.mark.parametrize("token", [None, "nobody"])
async def test_a_stranger_gets_401_before_the_body_is_read(
    app: FastAPI, path: str, token: str | None
) -> None:
    async with client_of(app, token) as stranger:
        method = "POST" if path == PATH else "GET"
        answer = await stranger.request(method, path, content=b"{" if path == PATH else None)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["error"]["code"] == "invalid_api_key"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_what_cant_be_done_is_said_in_the_same_shape(alice: AsyncClient, method: str) -> None:
    answer = await alice.request(method, PATH)
    assert answer.status_code == 405
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_a_model_that_isnt_there_is_a_404(alice: AsyncClient) -> None:
    answer = await alice.get("/v1/models/gpt-4")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "model_not_found"


async def test_the_client_knows_each_error_by_its_own_name(address: str, unique: str) -> None:
    alice = AsyncOpenAI(base_url=f"{address}/v1", api_key="alice", max_retries=0)
    stranger = AsyncOpenAI(base_url=f"{address}/v1", api_key="nobody", max_retries=0)
    chat: Any = {"model": "intent-router", "extra_headers": {"X-Conversation-Id": unique}}
    with pytest.raises(AuthenticationError):
        await stranger.models.list()
    with pytest.raises(BadRequestError) as refused:
        await alice.chat.completions.create(**chat, messages=[{"role": "user", "content": ""}])
    assert refused.value.param == "messages.0.content"
    with pytest.raises(RateLimitError) as full:
        await alice.chat.completions.create(**chat, messages=[{"role": "user", "content": "full"}])
    assert int(full.value.response.headers["retry-after"]) > 0


async def test_a_stream_that_is_refused_is_refused_with_its_status(
    alice: AsyncClient, unique: str
) -> None:
    answer = await ask(alice, "full", headers={"X-Conversation-Id": unique}, stream=True)
    assert answer.status_code == 429
    assert answer.headers["retry-after"]


async def test_what_takes_too_long_is_503_and_the_same_request_gets_the_answer(
    alice: AsyncClient, monkeypatch: pytest.MonkeyPatch, unique: str
) -> None:
    monkeypatch.setattr(response, "WAIT", 0.2)
    chat = {"X-Conversation-Id": unique}
    slow = await ask(alice, "soon", headers=chat)
    assert slow.status_code == 503
    assert slow.json()["error"]["type"] == "server_error"
    assert slow.headers["retry-after"]
    monkeypatch.undo()
    assert (await ask(alice, "soon", headers=chat)).status_code == 200


async def test_a_turn_that_breaks_ends_its_stream_with_an_error(
    alice: AsyncClient, unique: str
) -> None:
    chat = {"X-Conversation-Id": unique}
    first = (await ask(alice, "hello", headers=chat)).status_code
    assert first == 200
    conversation = (await alice.get("/v1/conversations")).json()["items"][0]["id"]
    asking = asyncio.create_task(ask(alice, "hello", "break", headers=chat, stream=True))
    await until(
        lambda: alice.post(f"/v1/conversations/{conversation}/cancel"),
        lambda cancelled: cancelled.status_code == 202,
    )
    answer = await asking
    last = answer.text.strip().split("\n\n")[-1]
    assert "it broke" in json.loads(last.removeprefix("data: "))["error"]["message"]
