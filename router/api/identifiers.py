"""Ids and digests: opaque, URL-safe, and the same again where a repeat has to give the same."""

import base64
import hashlib
import json
import secrets
from typing import Any

_BYTES = 15


def fresh_id() -> str:
    """A new id that nobody can guess: 24 lower-case letters and digits."""
    return _spelt(secrets.token_bytes(_BYTES))


def derived_id(*parts: str) -> str:
    """The id that these parts always lead to, and that leads to none of them."""
    return _spelt(hashlib.sha256(json.dumps(parts).encode()).digest()[:_BYTES])


def digest_of(value: Any) -> str:
    """Sixteen hex digits that differ where the JSON value does."""
    body = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _spelt(raw: bytes) -> str:
    return base64.b32encode(raw).decode().lower()
