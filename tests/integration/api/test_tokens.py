import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fastapi import FastAPI
from httpx import AsyncClient

from router.api.auth import Tokens, Vouched, mint
from router.api.dependencies import Services
from router.domain.errors import MisconfiguredError, Unauthenticated, Unavailable
from router.runtime.server import create_app
from router.settings import Settings
from tests.fakes.oidc_provider import Served, jwk, serving
from tests.integration.api.conftest import QUEUE, client_of, problem, served
from tests.integration.api.test_operators import among_us
from tests.table import each_row
from tests.waiting import HANGS_AFTER_S

SECRET = "a secret of the right length, 32+"
ISSUER, AUDIENCE = "https://issuer.example", "router"


def settings(**more: Any) -> Settings:
    given = {"auth": "jwt", "jwt_secret": SECRET, "jwt_issuer": ISSUER, "jwt_audience": AUDIENCE}
    return Settings(_env_file=None, **(given | more))


def claims(**more: Any) -> dict[str, Any]:
    now = int(time.time())
    whole = {"sub": "alice", "exp": now + 60, "iss": ISSUER, "aud": AUDIENCE} | more
    return {name: value for name, value in whole.items() if value is not None}


def signed(secret: str = SECRET, algorithm: str = "HS256", **more: Any) -> str:
    return jwt.encode(claims(**more), secret, algorithm)


async def test_a_minted_token_names_its_user() -> None:
    assert await Tokens(settings()).vouched(mint(settings(), "bob", 60)) == Vouched("bob")


def test_nothing_is_minted_without_a_secret() -> None:
    with pytest.raises(MisconfiguredError, match="ROUTER_JWT_SECRET"):
        mint(Settings(_env_file=None), "bob", 60)


async def test_clocks_may_differ_a_little() -> None:
    assert await Tokens(settings()).vouched(signed(exp=int(time.time()) - 10)) == Vouched("alice")


async def test_without_issuer_and_audience_neither_matters() -> None:
    lax = settings(jwt_issuer=None, jwt_audience=None)
    assert await Tokens(lax).vouched(signed(iss="any", aud="any")) == Vouched("alice")


REFUSED = {
    "empty": "",
    "no token": "alice",
    "two parts": "a.b",
    "not base64": "!.!.!",
    "alg none": jwt.encode(claims(), "", "none"),
    "another algorithm": jwt.encode(claims(), SECRET * 2, "HS512"),
    "another secret": signed("another secret of the right length"),
    "expired": signed(exp=int(time.time()) - 120),
    "no exp": signed(exp=None),
    "no sub": signed(sub=None),
    "sub is no text": signed(sub="")[:-4],
    "not yet": signed(nbf=int(time.time()) + 120),
    "another issuer": signed(iss="https://evil.example"),
    "no issuer": signed(iss=None),
    "another audience": signed(aud="other"),
    "no audience": signed(aud=None),
}


@each_row("token", REFUSED.values(), ids=REFUSED.keys())
async def test_what_proves_nothing_is_refused(token: str) -> None:
    with pytest.raises(Unauthenticated):
        await Tokens(settings()).vouched(token)


RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def jwks_url() -> Iterator[str]:
    """A real issuer's keys over real HTTP."""
    served = Served()
    served.publish(jwk(RSA.public_key(), "r"), jwk(EC.public_key(), "e"))
    with serving(served):
        yield served.url


def published(jwks_url: str) -> Settings:
    return settings(jwt_secret=None, jwt_jwks_url=jwks_url)


@each_row(("key", "algorithm", "kid"), [(RSA, "RS256", "r"), (EC, "ES256", "e")])
async def test_published_keys_verify(jwks_url: str, key: Any, algorithm: str, kid: str) -> None:
    token = jwt.encode(claims(), key, algorithm, headers={"kid": kid})
    assert await Tokens(published(jwks_url)).vouched(token) == Vouched("alice")


@each_row(
    ("key", "algorithm", "kid"),
    [
        (STRANGER, "RS256", "r"),
        (STRANGER, "RS256", "unknown"),
        (RSA, "RS512", "r"),
        (SECRET, "HS256", "r"),
        (None, "none", "r"),
    ],
)
async def test_other_keys_verify_nothing(jwks_url: str, key: Any, algorithm: str, kid: str) -> None:
    token = jwt.encode(claims(), key, algorithm, headers={"kid": kid})
    with pytest.raises(Unauthenticated):
        await Tokens(published(jwks_url)).vouched(token)


async def test_keys_out_of_reach_are_nobodys_fault() -> None:
    token = jwt.encode(claims(), RSA, "RS256", headers={"kid": "r"})
    with pytest.raises(Unavailable):
        await Tokens(published("http://127.0.0.1:9/keys")).vouched(token)


class TestOverHttp:
    @pytest.mark.parametrize(
        "header",
        [None, "", "Bearer", "Bearer ", "Basic YTpi", "alice", "Bearer nobody", "Bearer flow"],
    )
    async def test_dev_refuses_who_is_nobody(self, app: FastAPI, header: str | None) -> None:
        headers = {} if header is None else {"Authorization": header}
        async with client_of(app, None) as client:
            answer = await client.get("/v1/conversations", headers=headers)
        problem(answer, 401)
        assert answer.headers["www-authenticate"].startswith("Bearer")

    async def test_jwt_lets_in_those_of_the_directory(self, services: Services) -> None:
        app = create_app(replace(services, settings=settings()))
        for token, path, status in (
            (signed(sub="alice"), "conversations", 200),
            (signed(sub="nobody"), "conversations", 401),
            ("alice", "conversations", 401),
            ("alice", "dev/users", 404),
        ):
            async with client_of(app, token) as client:
                assert (await client.get(f"/v1/{path}")).status_code == status

    @pytest.mark.slow
    async def test_some_pages_are_for_everybody(self, app: FastAPI) -> None:
        async with client_of(app, None) as client:
            for path in ("/healthz", "/readyz", "/", "/docs", "/openapi.json"):
                assert (await client.get(path)).status_code == 200

    async def test_a_tokens_roles_last_while_it_is_sent(self, services: Services) -> None:
        app = create_app(replace(services, settings=settings(jwt_roles_claim="house.roles")))
        for roles, status in ((["operator"], 200), (["hr"], 403), ([], 403)):
            async with client_of(app, signed(house={"roles": roles})) as client:
                assert (await client.get("/v1/flow-runs?all=true")).status_code == status
                assert set((await client.get("/v1/me")).json()["roles"]) == {"employee", *roles}

    async def test_a_token_without_a_tenant_is_refused(self, services: Services) -> None:
        app = create_app(replace(services, settings=settings(jwt_tenant_claim="tenant")))
        for tenant, status in (("default", 200), ("acme", 401), (None, 401), ("", 401)):
            async with client_of(app, signed(tenant=tenant)) as client:
                assert (await client.get("/v1/me")).status_code == status


SLOW = {"role": "user", "content": "slow"}
STREAMS: dict[str, tuple[str, str, Any]] = {
    "the caller's": ("GET", "/v1/events", None),
    "a conversation's": ("GET", "{conversation}/events", None),
    "a turn's": ("POST", "{conversation}/messages", {"text": "slow"}),
    "an OpenAI client's": (
        *("POST", "/v1/chat/completions"),
        {"model": "intent-router", "stream": True, "messages": [SLOW]},
    ),
    "a front end's": (
        *("POST", "/ag-ui"),
        {"threadId": "t", "runId": "r", "messages": [{"id": "m", **SLOW}]},
    ),
}


class TestStreams:
    """Whatever is streamed ends with what let it begin."""

    @staticmethod
    @asynccontextmanager
    async def opened(
        services: Services,
        stream: tuple[str, str, Any],
        token: str,
        more: Mapping[str, str] = MappingProxyType({}),
    ) -> AsyncIterator[AsyncIterator[str]]:
        """The lines of the stream, opened with this token at an API of its own."""
        method, path, body = stream
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", **more}
        async with (
            served(create_app(services)) as address,
            AsyncClient(base_url=address, headers=headers, timeout=60) as client,
        ):
            if "{" in path:
                begun = (await client.post("/v1/conversations", json={})).json()["id"]
                path = path.format(conversation=f"/v1/conversations/{begun}")
            async with client.stream(method, path, json=body) as answer:
                assert answer.status_code == 200
                lines = answer.aiter_lines()
                await anext(lines)
                yield lines

    @pytest.mark.slow
    @pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
    async def test_no_stream_outlives_its_token(
        self, services: Services, stream: tuple[str, str, Any], unique: str
    ) -> None:
        ends = int(time.time()) + 2
        person = among_us(services, unique, "clerk")
        there = replace(person, settings=settings(task_queue=QUEUE))
        async with self.opened(there, stream, signed(sub=unique, exp=ends)) as lines:
            async with asyncio.timeout(60):  # within a heartbeat
                assert not [line async for line in lines if "turn" in line]
        assert time.time() >= ends

    @pytest.mark.slow
    @pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
    async def test_no_stream_outlives_its_person_s_place_in_the_directory(
        self,
        services: Services,
        stream: tuple[str, str, Any],
        unique: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.05)
        there = among_us(services, unique, "clerk")
        async with self.opened(there, stream, unique) as lines, asyncio.timeout(HANGS_AFTER_S):
            while "ping" not in await anext(lines):
                pass
            monkeypatch.setattr(there.directory, "_people", {})
            assert not [line async for line in lines if "turn" in line]

    @pytest.mark.slow
    async def test_nor_that_of_whom_it_speaks_for(
        self, services: Services, unique: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("router.api.streams.HEARTBEAT", 0.05)
        there = among_us(services, unique, "service")
        stream = STREAMS["an OpenAI client's"]
        for_frank = {"X-OpenWebUI-User-Id": "frank"}
        async with (
            self.opened(there, stream, unique, for_frank) as lines,
            asyncio.timeout(HANGS_AFTER_S),
        ):
            people = there.directory._people  # type: ignore[attr-defined]
            monkeypatch.delitem(people, ("default", "frank"))
            assert not [line async for line in lines if "DONE" in line]

    async def test_nothing_is_followed_with_a_token_that_is_over(self, services: Services) -> None:
        """Requests are still answered then, for clocks differ."""
        app = create_app(replace(services, settings=settings()))
        async with client_of(app, signed(exp=int(time.time()) - 5)) as client:
            assert (await client.get("/v1/me")).status_code == 200
            assert "exp" in problem(await client.get("/v1/events"), 401)["detail"]
