"""What claims say: who, of which tenant, with which further roles."""

from typing import Any

import pytest

from router.api.auth import MOST_ROLES, Vouched, claim_at, claims_with, vouched
from router.domain.errors import Unauthenticated
from router.domain.principals import Principal
from router.settings import Settings
from tests.table import each_row


def read(claims: dict[str, Any], **named: Any) -> Vouched:
    return vouched(claims, Settings(_env_file=None, **named))


def test_by_default_the_subject_is_the_user_of_the_only_tenant() -> None:
    claims = {"sub": "alice", "tenant": "acme", "roles": ["operator"]}
    assert read(claims) == Vouched("alice", "default", frozenset())


def test_user_tenant_and_roles_come_from_the_claims_that_are_named() -> None:
    roles = {"roles": ["hr", "Ops Team", "offline_access"]}
    user = {"sub": "0b1c", "preferred_username": "alice", "org": {"id": "acme"}}
    named = {"jwt_user_claim": "preferred_username", "jwt_tenant_claim": "org.id"}
    found = read(user | {"realm_access": roles}, **named, jwt_roles_claim="realm_access.roles")
    assert found == Vouched("alice", "acme", frozenset({"hr", "offline_access"}))


def test_a_mapping_says_which_names_count() -> None:
    claims = {"sub": "alice", "groups": ["IT-Admins", "hr", "4711"]}
    counting = {"IT-Admins": "operator", "4711": "travel_desk"}
    found = read(claims, jwt_roles_claim="groups", jwt_roles=counting)
    assert found.roles == {"operator", "travel_desk"}


@each_row(
    ("given", "roles"),
    [
        *(({"r": names}, {"hr", "finance"}) for names in ("hr finance", ["hr", "finance"])),
        ({}, set()),
        ({"r": None}, set()),
        ({"r": []}, set()),
        ({"r": ""}, set()),
    ],
)
def test_names_are_a_list_one_text_or_none(given: dict[str, Any], roles: set[str]) -> None:
    assert read({"sub": "a", **given}, jwt_roles_claim="r").roles == roles


def test_no_token_makes_anybody_a_flow_or_a_service() -> None:
    claims = {"sub": "a", "r": ["flow", "service", "hr"]}
    assert read(claims, jwt_roles_claim="r").roles == {"hr"}
    person = Principal(id="a", name="A").also(frozenset({"flow", "service"}))
    assert person.roles == {"employee"}


@each_row(
    ("claims", "named"),
    [
        ({}, {}),
        ({"sub": ""}, {}),
        ({"sub": 7}, {}),
        ({"sub": "a"}, {"jwt_user_claim": "email"}),
        ({"sub": "a"}, {"jwt_tenant_claim": "tenant"}),
        ({"sub": "a", "tenant": ["acme", "evil"]}, {"jwt_tenant_claim": "tenant"}),
        ({"sub": "a", "tenant": {"id": "acme"}}, {"jwt_tenant_claim": "tenant"}),
        ({"sub": "a", "tenant": "acme"}, {"jwt_tenant_claim": "tenant.id"}),
        ({"sub": "a", "r": {"hr": True}}, {"jwt_roles_claim": "r"}),
        ({"sub": "a", "r": [["hr"]]}, {"jwt_roles_claim": "r"}),
        ({"sub": "a", "r": 1}, {"jwt_roles_claim": "r"}),
        ({"sub": "a", "r": [f"r{n}" for n in range(MOST_ROLES + 1)]}, {"jwt_roles_claim": "r"}),
    ],
)
def test_claims_of_other_kinds_are_refused(claims: dict[str, Any], named: dict[str, str]) -> None:
    with pytest.raises(Unauthenticated):
        read(claims, **named)


@each_row("path", ["sub", "a.b.c", "https://id.example.com/tenant"])
def test_what_is_written_at_a_path_is_read_there(path: str) -> None:
    assert claim_at(claims_with(path, "acme"), path) == "acme"
