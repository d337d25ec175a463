"""`Idempotency-Key`: a repeat with the same key does nothing twice."""

from typing import Annotated

from fastapi import Depends, Header
from pydantic import JsonValue

from router.api.deps import Services
from router.api.identifiers import digest_of
from router.api.plain import MAX_KEY
from router.domain.errors import FieldProblem, InvalidInput
from router.domain.principals import Principal


async def _idempotency_key(
    idempotency_key: Annotated[
        str | None,
        Header(description="Repeats with the same key do nothing twice. Bare or quoted."),
    ] = None,
) -> str | None:
    if idempotency_key is None:
        return None
    key = unquoted(idempotency_key)
    if not 1 <= len(key) <= MAX_KEY or not all("!" <= character <= "~" for character in key):
        raise InvalidInput(
            f"Idempotency-Key: write 1 to {MAX_KEY} visible ASCII characters.",
            [FieldProblem("Idempotency-Key", f"not 1 to {MAX_KEY} visible ASCII characters")],
        )
    return key


def unquoted(header: str) -> str:
    r"""The key, whether it came bare or as a structured field's string.

    >>> unquoted('"a-1"'), unquoted("a-1")
    ('a-1', 'a-1')
    """
    text = header.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return text


IdempotencyKey = Annotated[str | None, Depends(_idempotency_key)]
"""The request's key, or None where it has none."""


async def claim(
    services: Services, caller: Principal, key: str | None, what: str, body: JsonValue = None
) -> None:
    """Bind the key to this very request, if there is a key.

    Raises:
        DuplicateKey: it was used for another one.
    """
    if key is not None:
        digest = digest_of([what, body])
        await services.store.keys.claim(caller.tenant, caller.id, key, digest)


async def claimed(services: Services, caller: Principal, key: str | None) -> bool:
    """True where a request with this key was accepted before: this is its repeat."""
    if key is None:
        return False
    return await services.store.keys.claimed(caller.tenant, caller.id, key)
