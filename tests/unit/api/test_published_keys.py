"""Keys of an issuer that rotates them, is away, and is asked for keys that there are not."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from router.api.auth import COOLDOWN, LIFETIME, STALE, PublishedKeys
from router.domain.errors import Unauthenticated, Unavailable
from tests.fakes.clock import Clock
from tests.fakes.oidc_provider import Served, jwk, serving

OLD = rsa.generate_private_key(public_exponent=65537, key_size=2048)
NEW = rsa.generate_private_key(public_exponent=65537, key_size=2048)
WEAK = rsa.generate_private_key(public_exponent=65537, key_size=1024)
EC = ec.generate_private_key(ec.SECP256R1())
WIDE = ec.generate_private_key(ec.SECP384R1())


@pytest.fixture
def issuer() -> Iterator[Served]:
    served = Served()
    served.publish(jwk(OLD.public_key(), "old"))
    with serving(served):
        yield served


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(issuer: Served, clock: Clock) -> PublishedKeys:
    return PublishedKeys(issuer.url, clock)


def token(kid: str | None, key: Any = OLD, algorithm: str = "RS256") -> str:
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode({"sub": "alice", "exp": time.time() + 60}, key, algorithm, headers=headers)


async def test_a_key_is_fetched_once_and_a_new_one_when_a_token_names_it(
    keys: PublishedKeys, issuer: Served, clock: Clock
) -> None:
    await asyncio.gather(*(keys.key_of(token("old")) for _ in range(20)))
    assert len(issuer.asked) == 1
    issuer.publish(jwk(OLD.public_key(), "old"), jwk(NEW.public_key(), "new"))
    clock.now += COOLDOWN
    assert (await keys.key_of(token("new", NEW))).key_id == "new"


async def test_a_withdrawn_key_ends(keys: PublishedKeys, issuer: Served, clock: Clock) -> None:
    await keys.key_of(token("old"))
    issuer.publish(jwk(NEW.public_key(), "new"))
    clock.now += LIFETIME
    await keys.key_of(token("old"))
    clock.now += 1
    with pytest.raises(Unauthenticated):
        await keys.key_of(token("old"))


async def test_made_up_names_do_not_flood_the_issuer(
    keys: PublishedKeys, issuer: Served, clock: Clock
) -> None:
    for name in range(50):
        with pytest.raises(Unauthenticated):
            await keys.key_of(token(f"made-up-{name}"))
    assert len(issuer.asked) == 1
    clock.now += COOLDOWN
    with pytest.raises(Unauthenticated):
        await keys.key_of(token("made-up"))
    assert len(issuer.asked) == 2
    assert (await keys.key_of(token("old"))).key_id == "old"


async def test_known_keys_count_for_a_while_where_the_issuer_is_away(
    keys: PublishedKeys, issuer: Served, clock: Clock
) -> None:
    await keys.key_of(token("old"))
    issuer.status = 503
    clock.now += LIFETIME + 1
    assert (await keys.key_of(token("old"))).key_id == "old"
    clock.now += STALE
    with pytest.raises(Unavailable):
        await keys.key_of(token("old"))
    issuer.status = 200
    clock.now += COOLDOWN
    assert (await keys.key_of(token("old"))).key_id == "old"


@pytest.mark.parametrize(
    "unusable",
    [
        jwk(NEW.public_key(), "k", use="enc"),
        jwk(NEW.public_key(), "k", alg="RS512"),
        jwk(WEAK.public_key(), "k"),
        jwk(WIDE.public_key(), "k"),
        {"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "kid": "k", "alg": "HS256"},
        {key: value for key, value in jwk(NEW.public_key(), "k").items() if key != "kid"},
    ],
    ids=["encrypts", "another algorithm", "weak", "another curve", "shared", "nameless"],
)
async def test_keys_that_may_not_sign_are_passed_over(
    keys: PublishedKeys, issuer: Served, unusable: dict[str, Any]
) -> None:
    issuer.publish(unusable, jwk(OLD.public_key(), "old"))
    assert (await keys.key_of(token("old"))).key_id == "old"
    with pytest.raises(Unauthenticated):
        await keys.key_of(token("k", NEW))


async def test_a_key_is_for_one_algorithm(keys: PublishedKeys, issuer: Served) -> None:
    issuer.publish(jwk(OLD.public_key(), "both"), jwk(EC.public_key(), "both"))
    assert (await keys.key_of(token("both"))).algorithm_name == "RS256"
    assert (await keys.key_of(token("both", EC, "ES256"))).algorithm_name == "ES256"


@pytest.mark.parametrize(
    "made",
    ["", "a.b.c", "!", token(None), token("old", "s" * 32, "HS256"), token("old", OLD, "PS256")],
    ids=["empty", "rubbish", "no token", "no kid", "shared", "another algorithm"],
)
async def test_no_kid_asks_for_no_key(keys: PublishedKeys, issuer: Served, made: str) -> None:
    with pytest.raises(Unauthenticated):
        await keys.key_of(made)
    assert issuer.asked == []
