"""`Idempotency-Key`: a repeat with the same key does nothing twice."""

import re
from typing import Annotated

from fastapi import Depends, Header
from pydantic import JsonValue, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from router.api.dependencies import Services
from router.api.params import MAX_KEY, digest_of
from router.domain.errors import FieldProblem, InvalidInput
from router.domain.principals import Principal
from router.store.idempotency import KeyClaim

BARE = rf"[!#-~][!-~]{{0,{MAX_KEY - 1}}}"
QUOTED = rf'"(?:[!#-\[\]-~]|\\["\\]){{1,{MAX_KEY}}}"'
KEY = rf"^(?:{BARE}|{QUOTED})$"
"""Visible ASCII, as it is or as a structured field's string (RFC 9651), in which it is escaped."""

_KEY = re.compile(KEY.removesuffix("$"))
_ESCAPED = re.compile(r"\\(.)")

_Written = Annotated[str, WithJsonSchema({"type": "string", "pattern": KEY})]


async def _idempotency_key(
    idempotency_key: Annotated[
        _Written | SkipJsonSchema[None],
        Header(description="Repeats with the same key do nothing twice. Bare or quoted."),
    ] = None,
) -> str | None:
    if idempotency_key is None:
        return None
    written = idempotency_key.strip(" \t")
    if not _KEY.fullmatch(written):
        raise InvalidInput(
            f"Idempotency-Key: write 1 to {MAX_KEY} visible ASCII characters.",
            [FieldProblem("Idempotency-Key", f"not 1 to {MAX_KEY} visible ASCII characters")],
        )
    return _ESCAPED.sub(r"\1", written[1:-1]) if written.startswith('"') else written


IdempotencyKey = Annotated[str | None, Depends(_idempotency_key)]
"""The request's key, or None where it has none."""


async def claim(
    services: Services, caller: Principal, key: str | None, what: str, body: JsonValue = None
) -> None:
    """Bind the key, if any, to this very request; `DuplicateKey` where it was another one's."""
    if key is not None:
        await services.store.keys.claim(caller.tenant, caller.id, key, digest_of([what, body]))


def claim_of(
    caller: Principal, key: str | None, what: str, body: JsonValue = None
) -> KeyClaim | None:
    """The same for a function of the store that binds it as it writes; None without a key."""
    if key is None:
        return None
    return KeyClaim(caller.tenant, caller.id, key, digest_of([what, body]))


async def claimed(services: Services, caller: Principal, key: str | None) -> bool:
    """True where a request with this key was accepted before: this is its repeat."""
    if key is None:
        return False
    return await services.store.keys.claimed(caller.tenant, caller.id, key)
