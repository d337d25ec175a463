import json
from collections.abc import AsyncIterator

import pytest
from httpx import AsyncClient
from hypothesis import example, given
from hypothesis import strategies as st

from router.api.params import MAX_BODY
from router.documents.strict_json import MAX_DEPTH, strict_json
from tests.integration.api.conftest import problem

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


@given(json_values)
@example(json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH))
def test_what_is_json_comes_through_unchanged(value: object) -> None:
    assert strict_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize("path", WITH_BODY)
@pytest.mark.parametrize("raw", NOT_JSON, ids=lambda raw: raw[:24])
async def test_what_is_no_json_is_a_400(alice: AsyncClient, path: str, raw: bytes) -> None:
    problem(await alice.post(path, content=raw, headers=JSON), 400)


async def _chunks(total: int) -> AsyncIterator[bytes]:
    for _ in range(total // 1024):
        yield b" " * 1024


@pytest.mark.parametrize("path", [*WITH_BODY, "/healthz", "/nowhere"])
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


@pytest.mark.parametrize(
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
