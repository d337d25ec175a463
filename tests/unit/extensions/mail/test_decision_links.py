"""Tokens of links: for one approval, person and digest, signed for this and nothing else."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from pydantic import SecretStr

from router.extensions.mail.decision_links import BadLink, DecisionLink, DecisionLinks
from tests.table import each_row
from tests.unit.extensions.channels.test_blocks import APPROVAL

SECRET = SecretStr("0123456789abcdef0123456789abcdef")
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
LINKS = DecisionLinks(SECRET, 24)


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def signed(secret: bytes | str, **changes: Any) -> str:
    claims = {"tenant": "t", "person": "bob", "approval": "a1", "digest": "d1", "aud": "x"}
    return jwt.encode({**claims, "exp": 2**32, **changes}, secret, "HS256")


def test_a_token_says_what_it_is_for() -> None:
    link = LINKS.read(LINKS.token(APPROVAL, NOW))
    assert (link.tenant, link.person, link.approval, link.digest) == ("t", "bob", "a1", "d1")
    assert not link.is_over(NOW + timedelta(hours=23, minutes=59))
    assert link.is_over(NOW + timedelta(hours=24))


def test_it_is_over_with_its_approval() -> None:
    soon = APPROVAL.model_copy(update={"expires": NOW + timedelta(hours=1)})
    assert LINKS.read(LINKS.token(soon, NOW)).is_over(NOW + timedelta(hours=1))


def test_another_house_s_secret_makes_no_link() -> None:
    other = DecisionLinks(SecretStr("f" * 32), 24)
    with pytest.raises(BadLink):
        LINKS.read(other.token(APPROVAL, NOW))


@each_row(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "....",
        "\x00",
        "令牌",
        "x" * 1001,
        "x" * 1_000_000,
        f"{part({'alg': 'none'})}.{part({'person': 'bob'})}.",
        # What signs people in is no link, though it were signed with the same secret.
        signed(SECRET.get_secret_value()),
        signed(SECRET.get_secret_value(), aud="decision-link"),
    ],
)
def test_what_we_have_not_signed_is_none_of_ours(token: str) -> None:
    with pytest.raises(BadLink):
        LINKS.read(token)


@each_row(
    "changes",
    [
        {"aud": "other"},
        {"aud": None},
        {"exp": None},
        {"exp": "soon"},
        {"person": 7},
        {"approval": None},
        {"digest": ["d1"]},
    ],
)
def test_what_is_signed_and_not_whole_is_none_either(changes: dict[str, Any]) -> None:
    assert isinstance(LINKS.read(signed(LINKS._key, aud="decision-link")), DecisionLink)
    with pytest.raises(BadLink):
        LINKS.read(signed(LINKS._key, **{"aud": "decision-link", **changes}))


def test_a_link_that_stops_a_digest_decides_nothing_and_the_other_way_round() -> None:
    stopping = LINKS.stopping("t", "bob")
    assert LINKS.whose_digest(stopping).person == "bob"
    with pytest.raises(BadLink):
        LINKS.read(stopping)
    with pytest.raises(BadLink):
        LINKS.whose_digest(LINKS.token(APPROVAL, NOW))
