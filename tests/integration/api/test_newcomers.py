"""What newcomers send that can't be: each is told what is wrong, which value, and what to do."""

import time
from collections.abc import Mapping
from typing import Any

import jwt
from fastapi import FastAPI
from httpx import AsyncClient
from pydantic import SecretStr

from router.api.dependencies import Services
from tests.integration.api.conftest import client_of, desk, problem
from tests.table import each_row

SECRET = "a secret of the right length, 32+"

JSON = {"Content-Type": "application/json"}
ROUTE = ("POST", "/v1/route")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

SENT: dict[str, tuple[str, str, dict[str, Any], int, tuple[str, ...]]] = {
    "A body without a content type, as curl -d sends it": (
        *(*ROUTE, {"content": b'{"text": "hello"}', "headers": FORM}),
        *(415, (f"'{FORM['Content-Type']}'", "Content-Type: application/json")),
    ),
    "JSON with a comma too many": (
        *(*ROUTE, {"content": b'{"text": "hello",}', "headers": JSON}, 400, ("JSON",)),
    ),
    "JSON with single quotes": (
        *(*ROUTE, {"content": b"{'text': 'hello'}", "headers": JSON}, 400, ("JSON",)),
    ),
    "No body": (*ROUTE, {"headers": JSON}, 422, ("body",)),
    "A list where an object belongs": (*ROUTE, {"json": []}, 422, ("object",)),
    "A key that is misspelt": (*ROUTE, {"json": {"txt": "hello"}}, 422, ("text", "txt")),
    "A text that is a number": (*ROUTE, {"json": {"text": 3}}, 422, ("text",)),
    "A text that is blank": (*ROUTE, {"json": {"text": " "}}, 422, ("white space",)),
    "A text that is too long": (*ROUTE, {"json": {"text": "x" * 8001}}, 422, ("8001", "8000")),
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
        *("GET", "/v1/route", {}, 405, ("GET /v1/route", "there is POST")),
    ),
    "A run that there isn't": ("GET", "/v1/flow-runs/nothing", {}, 404, ("run",)),
    "A status that there isn't": ("GET", "/v1/flow-runs?status=open", {}, 422, ("status",)),
    "A decision on nothing": (
        *("POST", "/v1/approvals/nothing/decision"),
        {"json": {"decision": "approve", "digest": "d1"}},
        *(404, ("approval",)),
    ),
}


@each_row("sentence", SENT)
async def test_what_cannot_be_is_told_what_to_do(sentence: str, alice: AsyncClient) -> None:
    method, path, given, status, said = SENT[sentence]
    told = problem(await alice.request(method, path, **given), status)
    for each in said:
        assert each in str({"detail": told["detail"], "errors": told.get("errors")})


@each_row(("user", "said"), [(None, "Authorization: Bearer"), ("alcie", "directory")])
async def test_who_is_nobody_is_told_so(app: FastAPI, user: str | None, said: str) -> None:
    async with client_of(app, user) as nobody:
        assert said in problem(await nobody.get("/v1/conversations"), 401)["detail"]


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


@each_row("sentence", TOKENS)
async def test_a_token_that_does_not_do_is_told_why(sentence: str, services: Services) -> None:
    given, said = TOKENS[sentence]
    signing = {"auth": "jwt", "jwt_secret": SecretStr(SECRET)}
    named = {"jwt_issuer": "https://id.example", "jwt_audience": "router"}
    token = given if isinstance(given, str) else signed(given)
    async with desk(services, token, **signing, **named) as alice:
        assert said in problem(await alice.get("/v1/conversations"), 401)["detail"]
