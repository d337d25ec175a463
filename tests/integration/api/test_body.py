import json
from collections.abc import AsyncIterator

import pytest
from httpx import AsyncClient
from hypothesis import given
from hypothesis import strategies as st

from router.api.params import MAX_BODY
from router.documents.strict_json import MAX_DEPTH, strict_json

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


@pytest.mark.parametrize("raw", NOT_JSON, ids=lambda raw: raw[:24])
def test_what_is_no_json_says_so(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_json(raw)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_what_is_json_comes_through_unchanged(value: object) -> None:
    assert strict_json(json.dumps(value).encode()) == value


def test_depth_counts_containers() -> None:
    assert strict_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


@pytest.mark.parametrize("path", WITH_BODY)
@pytest.mark.parametrize("raw", NOT_JSON, ids=lambda raw: raw[:24])
async def test_every_endpoint_answers_400(alice: AsyncClient, path: str, raw: bytes) -> None:
    answer = await alice.post(path, content=raw, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 400


async def _chunks(total: int) -> AsyncIterator[bytes]:
    for _ in range(total // 1024):
        yield b" " * 1024


@pytest.mark.parametrize("path", [*WITH_BODY, "/healthz", "/nowhere"])
async def test_a_large_body_is_refused_whether_or_not_it_says_so(
    alice: AsyncClient, path: str
) -> None:
    declared = await alice.post(path, content=b" " * (MAX_BODY + 1))
    streamed = await alice.post(path, content=_chunks(2 * MAX_BODY))
    for answer in (declared, streamed):
        assert answer.status_code == 413
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_largest_body_is_taken_in_pieces(alice: AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"text": "hi"'
        async for chunk in _chunks(MAX_BODY - 1024):
            yield chunk
        yield b"}"

    answer = await alice.post(
        "/v1/route", content=pieces(), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("declared", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/x-www-form-urlencoded", 415),
        ("text/plain", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 415),
    ],
)
async def test_the_body_is_declared_as_json(alice: AsyncClient, declared: str, status: int) -> None:
    answer = await alice.post(
        "/v1/route", content=b'{"text": "hi"}', headers={"Content-Type": declared}
    )
    assert answer.status_code == status


async def test_a_body_that_does_not_say_what_it_is_is_read_as_json(alice: AsyncClient) -> None:
    assert (await alice.post("/v1/route", content=b'{"text": "hi"}')).status_code == 200


async def test_what_a_missing_body_is_declared_as_does_not_matter(alice: AsyncClient) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert (await alice.post("/v1/conversations", headers=headers)).status_code == 201
    assert (await alice.get("/v1/conversations", headers=headers)).status_code == 200
