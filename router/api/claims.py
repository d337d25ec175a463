"""What a token's claims say: who it is, of which tenant, with which further roles.

Pure: the signature has been checked before, and the directory is asked after.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from router.domain.errors import Unauthenticated
from router.domain.principals import DEFAULT_TENANT, RESERVED_ROLES
from router.settings import Settings
from router.settings.values import ROLE

MOST_ROLES = 100
"""Roles travel with every message: beyond this they have to be mapped to the few that count."""


@dataclass(frozen=True)
class Vouched:
    """Whom a token vouches for. `roles` are those it gives beyond the directory's."""

    user: str
    tenant: str = DEFAULT_TENANT
    roles: frozenset[str] = frozenset()


def vouched(claims: Mapping[str, Any], settings: Settings) -> Vouched:
    """Whom these claims are about.

    >>> vouched({"sub": "alice"}, Settings(_env_file=None)).tenant
    'default'

    Raises:
        Unauthenticated: a claim that the settings name is missing, or isn't of its kind.
    """
    tenant = settings.jwt_tenant_claim
    return Vouched(
        user=_text(claims, settings.jwt_user_claim),
        tenant=_text(claims, tenant) if tenant else DEFAULT_TENANT,
        roles=_roles(claims, settings),
    )


def claim_at(claims: Mapping[str, Any], path: str) -> Any:
    """The claim of this name, or at the end of this path; None where there is none.

    The whole is tried as a name first, for some have dots in theirs.

    >>> claim_at({"realm_access": {"roles": ["hr"]}}, "realm_access.roles")
    ['hr']
    >>> claim_at({"https://id.example.com/roles": ["hr"]}, "https://id.example.com/roles")
    ['hr']
    """
    if path in claims:
        return claims[path]
    found: Any = claims
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def claims_with(path: str, value: str) -> dict[str, Any]:
    """Claims in which `claim_at` finds the value.

    >>> claims_with("house.tenant", "acme")
    {'house': {'tenant': 'acme'}}
    """
    if "://" in path:
        return {path: value}
    first, _, rest = path.partition(".")
    return {first: claims_with(rest, value) if rest else value}


def _text(claims: Mapping[str, Any], path: str) -> str:
    found = claim_at(claims, path)
    if not isinstance(found, str) or not found:
        raise Unauthenticated(f"The token isn't valid: its claim {path!r} is missing or no text.")
    return found


def _roles(claims: Mapping[str, Any], settings: Settings) -> frozenset[str]:
    path = settings.jwt_roles_claim
    if path is None:
        return frozenset()
    names = _names(claim_at(claims, path), path)
    if settings.jwt_roles:
        return frozenset(settings.jwt_roles[name] for name in names if name in settings.jwt_roles)
    roles = frozenset(n for n in names if re.fullmatch(ROLE, n)) - RESERVED_ROLES
    if len(roles) > MOST_ROLES:
        raise Unauthenticated(
            f"The token has over {MOST_ROLES} roles: its issuer should send fewer, or "
            "ROUTER_JWT_ROLES name those that count here."
        )
    return roles


def _names(found: Any, path: str) -> list[str]:
    """Names as a list, or in one text with spaces between them, as scopes are written."""
    names = found.split() if isinstance(found, str) else ([] if found is None else found)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Unauthenticated(f"The token isn't valid: its claim {path!r} is no list of names.")
    return names
