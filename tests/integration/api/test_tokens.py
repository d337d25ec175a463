import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fastapi import FastAPI

from router.api.auth import Tokens, Vouched, mint
from router.api.dependencies import Services
from router.domain.errors import MisconfiguredError, Unauthenticated, Unavailable
from router.runtime.server import create_app
from router.settings import Settings
from tests.fakes.oidc_provider import Served, jwk, serving
from tests.integration.api.conftest import client_of, problem

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


@pytest.mark.parametrize("token", REFUSED.values(), ids=REFUSED.keys())
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


@pytest.mark.parametrize(("key", "algorithm", "kid"), [(RSA, "RS256", "r"), (EC, "ES256", "e")])
async def test_published_keys_verify(jwks_url: str, key: Any, algorithm: str, kid: str) -> None:
    token = jwt.encode(claims(), key, algorithm, headers={"kid": kid})
    assert await Tokens(published(jwks_url)).vouched(token) == Vouched("alice")


@pytest.mark.parametrize(
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
