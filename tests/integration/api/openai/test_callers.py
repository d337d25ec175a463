"""Who speaks: the token's owner, or the person that a service account vouches for."""

import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from tests.integration.api.openai.conftest import ask, client_of, house, said

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
    async with house(serviced, mail_domain="example.com") as app, client_of(app, "webui") as client:
        yield client


@pytest.fixture
async def strict(serviced: Services) -> AsyncIterator[dict[str, AsyncClient]]:
    """Clients by user of a house with a secret."""
    from pydantic import SecretStr

    secret = SecretStr(SECRET)
    async with (
        house(serviced, mail_domain="example.com", openwebui_jwt_secret=secret) as app,
        client_of(app, "webui") as webui,
        client_of(app, "bob") as bob,
    ):
        yield {"webui": webui, "bob": bob}


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
        ({"X-OpenWebUI-User-Email": "bob@evil.example"}, 401),
        ({"X-OpenWebUI-User-Email": "bob@sub.example.com"}, 401),
        ({"X-OpenWebUI-User-Email": "@example.com"}, 401),
        (signed(), 401),
    ],
)
async def test_a_service_account_speaks_for_nobody_else(
    trusting: AsyncClient, headers: dict[str, str], status: int
) -> None:
    answer = await ask(trusting, "hello", headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


async def test_a_service_account_speaks_for_people_of_its_tenant_alone(
    trusting: AsyncClient,
) -> None:
    for name in ("zed", "acme/zed"):
        assert (await ask(trusting, "hi", headers={PLAIN: name})).status_code == 401


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/conversations", {}),
        (
            "/ag-ui",
            {
                "threadId": "t",
                "runId": "r",
                "messages": [{"id": "m", "role": "user", "content": "我要请假"}],
                "tools": [],
                "context": [],
                "state": None,
                "forwardedProps": None,
            },
        ),
    ],
)
async def test_a_service_account_has_no_requests_of_its_own(
    trusting: AsyncClient, path: str, body: dict[str, Any]
) -> None:
    answer = await trusting.post(path, json=body, headers={PLAIN: "alice"})
    assert answer.status_code == 403
    assert "/v1/chat/completions" in answer.json()["detail"]
    assert (await trusting.get("/v1/conversations")).json()["items"] == []


async def test_a_signed_name_is_believed(strict: dict[str, AsyncClient]) -> None:
    assert said(await ask(strict["webui"], "hello", headers=signed())) == "alice: hello"
    by_id = signed(email=None, sub="bob")
    assert said(await ask(strict["webui"], "hello", headers=by_id)) == "bob: hello"


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


@pytest.mark.parametrize("headers", REFUSED.values(), ids=REFUSED)
async def test_with_a_secret_nothing_else_is(
    strict: dict[str, AsyncClient], headers: dict[str, str]
) -> None:
    answer = await ask(strict["webui"], "hello", headers=headers)
    assert answer.status_code == 401
    assert answer.json()["error"]["type"] == "authentication_error"


@pytest.mark.parametrize("headers", [signed(), {PLAIN: "alice"}, {SIGNED: "nonsense"}])
async def test_a_persons_token_speaks_for_that_person_alone(
    strict: dict[str, AsyncClient], headers: dict[str, str]
) -> None:
    assert said(await ask(strict["bob"], "hello", headers=headers)) == "bob: hello"


async def test_a_service_account_may_list_the_models(trusting: AsyncClient) -> None:
    listed = (await trusting.get("/v1/models")).json()["data"]
    assert [model["id"] for model in listed] == ["intent-router"]


async def test_two_people_of_one_ui_have_conversations_of_their_own(
    trusting: AsyncClient, unique: str
) -> None:
    both = [
        await ask(trusting, unique, headers={PLAIN: person, "X-OpenWebUI-Chat-Id": unique})
        for person in ("alice", "bob")
    ]
    assert [said(answer) for answer in both] == [f"alice: {unique}", f"bob: {unique}"]


async def test_each_person_of_a_ui_has_a_rate_of_their_own_however_they_come(
    serviced: Services, unique: str
) -> None:
    async with (
        house(serviced, user_requests_per_minute=2) as app,
        client_of(app, "webui") as webui,
        client_of(app, "alice") as alice,
    ):
        first = [await ask(webui, f"{unique} {n}", headers={PLAIN: "alice"}) for n in range(2)]
        too_many = [await ask(webui, unique, headers={PLAIN: "alice"}), await ask(alice, unique)]
        bobs = await ask(webui, unique, headers={PLAIN: "bob"})
    assert [answer.status_code for answer in first] == [200, 200]
    for answer in too_many:
        assert answer.status_code == 429
        assert answer.json()["error"]["type"] == "rate_limit_error"
        assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert said(bobs) == f"bob: {unique}"


async def test_a_tenants_rate_counts_the_people_of_its_ui(serviced: Services, unique: str) -> None:
    async with (
        house(serviced, tenant_requests_per_minute=1) as app,
        client_of(app, "webui") as webui,
    ):
        assert (await ask(webui, unique, headers={PLAIN: "alice"})).status_code == 200
        assert (await ask(webui, unique, headers={PLAIN: "bob"})).status_code == 429
