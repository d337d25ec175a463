"""What newcomers send that can't be: each is told what is wrong, which value, and what to do."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import jwt
import pytest

from router.api.dependencies import Services
from router.runtime.server import create_app
from router.settings import Settings
from tests.integration.api.conftest import client_of

PROBLEM = "application/problem+json"
JSON = {"Content-Type": "application/json"}
SECRET = "a secret of the right length, 32+"

SENT: dict[str, tuple[str, str, dict[str, Any], int, tuple[str, ...]]] = {
    "A body without a content type, as curl -d sends it": (
        *("POST", "/v1/route"),
        {
            "content": b'{"text": "hello"}',
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
        },
        *(415, ("'application/x-www-form-urlencoded'", "Content-Type: application/json")),
    ),
    "JSON with a comma too many": (
        *("POST", "/v1/route", {"content": b'{"text": "hello",}', "headers": JSON}),
        *(400, ("JSON",)),
    ),
    "JSON with single quotes": (
        *("POST", "/v1/route", {"content": b"{'text': 'hello'}", "headers": JSON}, 400, ("JSON",)),
    ),
    "No body": ("POST", "/v1/route", {"headers": JSON}, 422, ("body",)),
    "A list where an object belongs": ("POST", "/v1/route", {"json": []}, 422, ("object",)),
    "A key that is misspelt": ("POST", "/v1/route", {"json": {"txt": "hello"}}, 422, ("text",)),
    "A text that is a number": ("POST", "/v1/route", {"json": {"text": 3}}, 422, ("text",)),
    "A text that is blank": ("POST", "/v1/route", {"json": {"text": " "}}, 422, ("white space",)),
    "A text that is too long": (
        *("POST", "/v1/route", {"json": {"text": "x" * 8001}}, 422, ("8001", "8000")),
    ),
    "A language that there isn't": (
        *("POST", "/v1/conversations", {"json": {"locale": "fr"}}, 422, ("locale", "'zh'")),
    ),
    "A conversation that there isn't": (
        *("POST", "/v1/conversations/nothing/messages", {"json": {"text": "hello"}}),
        *(404, ("conversation",)),
    ),
    "An address without v1": ("GET", "/conversations", {}, 404, ("/conversations",)),
    "An address that is misspelt": ("GET", "/v1/conversation", {}, 404, ("/v1/conversation",)),
    "A method that isn't that address's": (
        "GET",
        "/v1/route",
        {},
        405,
        ("GET /v1/route", "there is POST"),
    ),
    "A run that there isn't": ("GET", "/v1/flow-runs/nothing", {}, 404, ("run",)),
    "A status that there isn't": ("GET", "/v1/flow-runs?status=open", {}, 422, ("status",)),
    "A decision on nothing": (
        *("POST", "/v1/approvals/nothing/decision", {"json": {"decision": "approve"}}),
        *(404, ("approval",)),
    ),
}


@pytest.mark.parametrize("sentence", SENT)
async def test_a_request_that_cannot_be_is_answered_with_what_to_do(
    sentence: str, alice: httpx.AsyncClient
) -> None:
    method, path, given, status, said = SENT[sentence]
    answer = await alice.request(method, path, **given)
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    told = answer.json()
    assert told["status"] == status
    for each in said:
        assert each in str({"detail": told["detail"], "errors": told.get("errors")})


async def test_who_names_nobody_is_told_how(services: Services) -> None:
    async with client_of(create_app(services), None) as nobody:
        answer = await nobody.get("/v1/conversations")
    assert (answer.status_code, answer.headers["content-type"]) == (401, PROBLEM)
    assert "Authorization: Bearer" in answer.json()["detail"]


async def test_who_is_not_in_the_directory_is_told_so(services: Services) -> None:
    async with client_of(create_app(services), "alcie") as nobody:
        answer = await nobody.get("/v1/conversations")
    assert answer.status_code == 401
    assert "directory" in answer.json()["detail"]


TOKENS: Mapping[str, tuple[str | Mapping[str, Any], str]] = {
    "A user id where tokens are signed": ("alice", "send one that is signed"),
    "A token that has run out": ({"exp": -120}, "expired; sign in again"),
    "A token from a clock that is ahead": ({"iat": 120}, "set its issuer's and this server's"),
    "A token for another audience": ({"aud": "another"}, "another audience: get one for this API"),
    "A token of another issuer": ({"iss": "https://other.example"}, "get one from the issuer"),
}


def signed(changes: Mapping[str, Any]) -> str:
    usual = {"sub": "alice", "iss": "https://id.example", "aud": "router", "exp": 60}
    claims: dict[str, Any] = {**usual, **changes}
    claims |= {name: claims[name] + int(time.time()) for name in ("exp", "iat") if name in claims}
    return jwt.encode(claims, SECRET, "HS256")


@pytest.mark.parametrize("sentence", TOKENS)
async def test_a_token_that_does_not_do_is_told_why(sentence: str, services: Services) -> None:
    given, said = TOKENS[sentence]
    signing = Settings(
        _env_file=None,
        auth="jwt",
        jwt_secret=SECRET,
        jwt_issuer="https://id.example",
        jwt_audience="router",
    )
    token = given if isinstance(given, str) else signed(given)
    async with client_of(create_app(replace(services, settings=signing)), token) as alice:
        answer = await alice.get("/v1/conversations")
    assert (answer.status_code, answer.headers["content-type"]) == (401, PROBLEM)
    assert said in answer.json()["detail"]
