import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from fastapi import FastAPI
from httpx import AsyncClient
from hypothesis import example, given
from hypothesis import strategies as st

from router.api import middleware
from router.api.dependencies import Services
from router.api.middleware import MAX_BODY
from router.formats.strict_json import MAX_DEPTH, MOST_VALUES, strict_json
from router.runtime import server
from router.runtime.server import create_app
from router.telemetry.metrics import HTTP
from tests.integration.api.conftest import client_of, problem, served, until
from tests.table import each_row
from tests.waiting import HANGS_AFTER_S

NOT_JSON = [
    b"{",
    b"\xff",
    b"\xef\xbb\xbf{}",
    b'{"text": NaN}',
    b'{"text": Infinity}',
    b'{"text": -Infinity}',
    b'{"text": 1e999}',
    b'{"text": ' + b"9" * 5000 + b"}",
    b'{"text": "a", "text": "b"}',
    b'{"action": {"type": "form", "values": {"a": 1, "a": 2}}}',
    b'{"text": "\\ud800"}',
    b'{"\\udfff": 1}',
    b'{"text": "\xed\xa0\x80"}',
    b'{"text": "a\nb"}',
    b"[" * 60_000,
    b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2),
    b"{'text': 'a'}",
    b'{"text": "a"} {"text": "b"}',
]

WITH_BODY = ["/v1/conversations", "/v1/route"]
JSON = {"Content-Type": "application/json"}

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(json_values)
@example(json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH))
def test_what_is_json_comes_through_unchanged(value: object) -> None:
    assert strict_json(json.dumps(value).encode()) == value


@each_row("path", WITH_BODY)
@each_row("raw", NOT_JSON, ids=lambda raw: raw[:24])
async def test_what_is_no_json_is_a_400(alice: AsyncClient, path: str, raw: bytes) -> None:
    problem(await alice.post(path, content=raw, headers=JSON), 400)


async def _chunks(total: int) -> AsyncIterator[bytes]:
    for _ in range(total // 1024):
        yield b" " * 1024


@each_row("path", [*WITH_BODY, "/healthz", "/nowhere"])
async def test_a_large_body_is_refused_even_if_undeclared(alice: AsyncClient, path: str) -> None:
    for content in (b" " * (MAX_BODY + 1), _chunks(2 * MAX_BODY)):
        answer = await alice.post(path, content=content)
        problem(answer, 413)
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_largest_body_is_taken_in_pieces(alice: AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"text": "hi"'
        async for chunk in _chunks(MAX_BODY - 1024):
            yield chunk
        yield b"}"

    answer = await alice.post("/v1/route", content=pieces(), headers=JSON)
    assert answer.status_code == 200


@each_row(
    ("declared", "status"),
    [
        (None, 200),
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/x-www-form-urlencoded", 415),
        ("text/plain", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 415),
    ],
)
async def test_a_body_is_json(alice: AsyncClient, declared: str | None, status: int) -> None:
    headers = {} if declared is None else {"Content-Type": declared}
    answer = await alice.post("/v1/route", content=b'{"text": "hi"}', headers=headers)
    assert answer.status_code == status
    assert (await alice.post("/v1/conversations", headers=headers)).status_code == 201
    assert (await alice.get("/v1/conversations", headers=headers)).status_code == 200


Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]
READ = ["/v1/route", "/ag-ui", "/mcp", "/codec/decode", "/v1/files", "/v1/chat/completions"]
"""A path of each entrance that reads a body, which is of a size of its own."""
FORM = "multipart/form-data; boundary=x"


def head(path: str, *lines: str, token: str | None = "alice") -> bytes:
    kind = FORM if path == "/v1/files" else "application/json"
    known = [f"Authorization: Bearer {token}"] if token else []
    named = ["Host: 127.0.0.1", f"Content-Type: {kind}", *known, *lines]
    return "\r\n".join([f"POST {path} HTTP/1.1", *named, "", ""]).encode()


@asynccontextmanager
async def wire(address: str, sent: bytes = b"") -> AsyncIterator[Wire]:
    """A connection to the server, on which this has been sent."""
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    yield reader, writer
    writer.close()


async def status(reader: asyncio.StreamReader) -> int:
    async with asyncio.timeout(HANGS_AFTER_S):
        return int((await reader.readuntil(b"\r\n")).split()[1])


async def hung_up(reader: asyncio.StreamReader) -> bool:
    with suppress(ConnectionResetError):
        async with asyncio.timeout(HANGS_AFTER_S):
            await reader.read()
    return True


@each_row("token", [None, "nobody"])
@each_row("path", READ)
async def test_a_strangers_body_is_not_waited_for(
    address: str, path: str, token: str | None
) -> None:
    for length in ("Content-Length: 60000", "Transfer-Encoding: chunked"):
        async with wire(address, head(path, length, token=token)) as (reader, _):
            assert await status(reader) == 401


@each_row("path", [*READ, "/healthz", "/nowhere"])
async def test_a_length_said_in_two_ways_is_a_400(address: str, path: str) -> None:
    sent = head(path, "Content-Length: 4", "Transfer-Encoding: chunked")
    async with wire(address, sent + b"0\r\n\r\nGET /v1/me HTTP/1.1\r\n\r\n") as (reader, _):
        assert await status(reader) == 400
        assert await hung_up(reader)


@pytest.mark.slow
@pytest.mark.parametrize("path", READ)
async def test_a_body_that_never_ends_is_given_up(
    address: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.3)
    token = "olga" if path.startswith("/codec") else "alice"
    async with wire(address, head(path, "Content-Length: 60000", token=token)) as (reader, writer):
        writer.write(b"--x\r\n")
        assert await status(reader) == 408
        assert await hung_up(reader)


@pytest.mark.slow
@pytest.mark.parametrize("path", READ)
async def test_a_body_broken_off_is_no_fault_of_the_server(
    address: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    def counted(status: str) -> float:
        found = (s for m in HTTP.collect() for s in m.samples if s.name.endswith("_count"))
        return sum(s.value for s in found if s.labels["http_response_status_code"] == status)

    faults, refusals = counted("500"), counted("400")
    async with wire(address, head(path, "Content-Length: 60000")) as (_, writer):
        writer.write(b"--x\r\n")
        await writer.drain()
    async with asyncio.timeout(HANGS_AFTER_S):
        while counted("400") == refusals:  # noqa: ASYNC110 - the server counts in its own time
            await asyncio.sleep(0.02)
    assert counted("500") == faults
    assert [each.getMessage() for each in caplog.records] == []


async def test_all_bodies_together_are_bounded(
    address: str, online: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "MOST_HELD", 50_000)
    body = {"text": "a" * 2000}
    async with wire(address, head("/v1/route", "Content-Length: 60000") + b" " * 49_000):
        await until(lambda: online.post("/v1/route", json=body), lambda it: it.status_code == 503)
    await until(lambda: online.post("/v1/route", json=body), lambda it: it.status_code == 200)


@each_row("path", ["/v1/chat/completions", "/codec/decode"])
@each_row("value", [b"{},", b"[],", b"1,", b'{"a":0},'])
async def test_many_values_are_not_made(app: FastAPI, path: str, value: bytes) -> None:
    body = b'{"messages": [' + value * MOST_VALUES + b"0]}"
    async with client_of(app, "olga") as client:
        answer = await client.post(path, content=body, headers=JSON)
    assert answer.status_code == 400
    assert f"more than {MOST_VALUES} values" in answer.text


USER = {"role": "user", "content": "hi"}


@pytest.mark.slow
@each_row(
    "messages",
    [
        [{}] * 100_000,
        [{}] * 1000,
        [{"role": "user", "content": [1] * 400_000}],
        [{"role": "user", "content": [{}] * 2000}],
        [{**USER, "content": "x" * 30_000_000 + "\0"}],
        [USER] * 5001,
    ],
    ids=str.split("many none no-parts many-parts long-text long-chat"),
)
async def test_many_faults_are_one(alice: AsyncClient, messages: list[object]) -> None:
    sent = {"model": "intent-router", "messages": messages}
    answer = await alice.post("/v1/chat/completions", json=sent)
    assert answer.status_code == 400
    assert len(answer.content) < 1000


async def test_connections_are_bounded_in_number(services: Services) -> None:
    few = services.settings.model_copy(update={"connections": 2})
    async with served(create_app(replace(services, settings=few))) as address:
        async with wire(address), wire(address), wire(address) as (third, _):
            assert await status(third) == 503
            assert await hung_up(third)
        async with AsyncClient(base_url=address, timeout=HANGS_AFTER_S) as client:
            await until(lambda: client.get("/v1/me"), lambda answer: answer.status_code == 401)


ASKED = b"GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", b"GET /v1/me HT", ASKED + b"GET"])
async def test_a_request_that_never_comes_is_not_waited_for(
    address: str, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.3)
    async with wire(address, sent) as (reader, _):
        assert await hung_up(reader)
