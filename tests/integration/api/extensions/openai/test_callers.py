"""Who speaks: the token's owner, or the person that a service account vouches for."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import jwt
import pytest
from httpx import AsyncClient
from pydantic import SecretStr

from router.api.dependencies import Services
from router.runtime.server import create_app
from tests.integration.api.conftest import client_of, desk, problem
from tests.integration.api.extensions.openai.conftest import ask, fault, said
from tests.integration.api.test_rates import RUN

SECRET = "a secret that the chat UI and we share"
SIGNED = "X-OpenWebUI-User-Jwt"
PLAIN = "X-OpenWebUI-User-Id"


def signed(secret: str = SECRET, algorithm: str = "HS256", **more: Any) -> dict[str, str]:
    claims = {
        "sub": "0d9f",
        "email": "alice@example.com",
        "name": "Alice",
        "role": "user",
        "iss": "open-webui",
        "iat": int(time.time()),
        "exp": int(time.time()) + 300,
    } | more
    kept = {name: value for name, value in claims.items() if value is not None}
    return {SIGNED: jwt.encode(kept, secret, algorithm)}


@pytest.fixture
async def trusting(serviced: Services) -> AsyncIterator[AsyncClient]:
    """The service account's client where no secret is set."""
    async with desk(serviced, "webui", mail_domain="example.com") as client:
        yield client


@pytest.fixture
async def strict(serviced: Services) -> AsyncIterator[AsyncClient]:
    """The service account's client of a house with a secret."""
    secret = {"openwebui_jwt_secret": SecretStr(SECRET)}
    async with desk(serviced, "webui", mail_domain="example.com", **secret) as client:
        yield client


@pytest.mark.parametrize(
    ("headers", "who"),
    [
        ({PLAIN: "alice"}, "alice"),
        ({"X-OpenWebUI-User-Email": "bob@example.com", PLAIN: "0d9f"}, "bob"),
        ({"X-OpenWebUI-User-Email": "bob@EXAMPLE.com"}, "bob"),
        ({"X-LibreChat-User-Email": "alice@example.com"}, "alice"),
        ({"X-LibreChat-User-Email": "{{LIBRECHAT_USER_EMAIL}}", PLAIN: "bob"}, "bob"),
    ],
)
async def test_a_service_account_says_for_whom_it_asks(
    trusting: AsyncClient, headers: dict[str, str], who: str
) -> None:
    assert said(await ask(trusting, "hello", headers=headers)) == f"{who}: hello"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({PLAIN: ""}, 401),
        ({PLAIN: "nobody"}, 401),
        ({PLAIN: "other-ui"}, 403),
        ({PLAIN: "webui"}, 403),
        ({PLAIN: "zed"}, 401),
        ({PLAIN: "acme/zed"}, 401),
        ({"X-OpenWebUI-User-Email": "bob@evil.example"}, 401),
        ({"X-OpenWebUI-User-Email": "bob@sub.example.com"}, 401),
        ({"X-OpenWebUI-User-Email": "@example.com"}, 401),
        (signed(), 401),
    ],
)
async def test_a_service_account_speaks_for_nobody_else(
    trusting: AsyncClient, headers: dict[str, str], status: int
) -> None:
    assert fault(await ask(trusting, "hello", headers=headers), status)["message"]


@pytest.mark.parametrize(("path", "body"), [("/v1/conversations", {}), ("/ag-ui", RUN)])
async def test_a_service_account_has_no_requests_of_its_own(
    trusting: AsyncClient, path: str, body: dict[str, Any]
) -> None:
    answer = await trusting.post(path, json=body, headers={PLAIN: "alice"})
    assert "/v1/chat/completions" in problem(answer, 403)["detail"]
    assert (await trusting.get("/v1/conversations")).json()["items"] == []


async def test_a_signed_name_is_believed(strict: AsyncClient) -> None:
    for headers, user in ((signed(), "alice"), (signed(email=None, sub="bob"), "bob")):
        assert said(await ask(strict, "hello", headers=headers)) == f"{user}: hello"


REFUSED: dict[str, dict[str, str]] = {
    "nobody": {},
    "a plain id": {PLAIN: "alice"},
    "a plain address": {"X-OpenWebUI-User-Email": "alice@example.com"},
    "of LibreChat": {"X-LibreChat-User-Id": "alice"},
    "no token": {SIGNED: "alice"},
    "no algorithm": signed("", "none"),
    "another algorithm": signed(SECRET * 2, "HS512"),
    "another secret": signed("another secret of the right length"),
    "another issuer": signed(iss="librechat"),
    "no issuer": signed(iss=None),
    "expired": signed(exp=int(time.time()) - 60),
    "for ever": signed(exp=None),
    "no subject": signed(sub=None),
    "an unknown person": signed(email="nobody@example.com"),
    "an address elsewhere": signed(email="alice@evil.example"),
    "signed and plain, the one wrong": {**signed(iss="x"), PLAIN: "alice"},
}


@pytest.mark.slow
@pytest.mark.parametrize("headers", REFUSED.values(), ids=REFUSED)
async def test_with_a_secret_nothing_else_is(strict: AsyncClient, headers: dict[str, str]) -> None:
    refused = fault(await ask(strict, "hello", headers=headers), 401)
    assert refused["type"] == "authentication_error"


@pytest.mark.parametrize("headers", [signed(), {PLAIN: "alice"}, {SIGNED: "nonsense"}])
async def test_a_person_speaks_for_themselves(serviced: Services, headers: dict[str, str]) -> None:
    async with desk(serviced, "bob", openwebui_jwt_secret=SecretStr(SECRET)) as bob:
        assert said(await ask(bob, "hello", headers=headers)) == "bob: hello"


async def test_a_service_account_may_list_the_models(trusting: AsyncClient) -> None:
    listed = (await trusting.get("/v1/models")).json()["data"]
    assert [model["id"] for model in listed] == ["intent-router"]


async def test_two_people_of_one_ui_share_no_chat(trusting: AsyncClient, unique: str) -> None:
    both = [
        await ask(trusting, unique, headers={PLAIN: person, "X-OpenWebUI-Chat-Id": unique})
        for person in ("alice", "bob")
    ]
    assert [said(answer) for answer in both] == [f"alice: {unique}", f"bob: {unique}"]


async def test_a_persons_rate_is_one_by_whichever_way(serviced: Services, unique: str) -> None:
    settings = serviced.settings.model_copy(update={"user_requests_per_minute": 2})
    app = create_app(replace(serviced, settings=settings))
    async with client_of(app, "webui") as webui, client_of(app, "alice") as alice:
        for n in range(2):
            said(await ask(webui, f"{unique} {n}", headers={PLAIN: "alice"}))
        for client, headers in ((webui, {PLAIN: "alice"}), (alice, {})):
            too_many = await ask(client, unique, headers=headers)
            assert fault(too_many, 429)["type"] == "rate_limit_error"
            assert 1 <= int(too_many.headers["retry-after"]) <= 60
        assert said(await ask(webui, unique, headers={PLAIN: "bob"})) == f"bob: {unique}"


async def test_a_tenants_rate_counts_the_people_of_its_ui(serviced: Services, unique: str) -> None:
    async with desk(serviced, "webui", tenant_requests_per_minute=1) as webui:
        said(await ask(webui, unique, headers={PLAIN: "alice"}))
        fault(await ask(webui, unique, headers={PLAIN: "bob"}), 429)
