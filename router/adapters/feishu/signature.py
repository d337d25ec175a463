"""Whether a callback is Feishu's, and what is in it.

Feishu's own library passes what isn't signed where no encrypt key is set, and never asks how old
a callback is. Here the key is always set, and both are checked.
"""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

from router.api.body import strict_json
from router.domain.errors import Unauthenticated

FRESH = 300
"""Seconds, either way."""
BLOCK = 16


def check(key: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> None:
    """Return where the request was signed with the encrypt key within the last five minutes.

    Raises `Unauthenticated` otherwise, whatever is wrong.
    """
    stamp = headers.get("x-lark-request-timestamp", "")
    nonce = headers.get("x-lark-request-nonce", "")
    given = headers.get("x-lark-signature", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):  # noqa: PLR2004
        raise Unauthenticated("The request isn't signed: X-Lark-Request-Timestamp is no time.")
    if abs((time.time() if now is None else now) - int(stamp)) > FRESH:
        raise Unauthenticated("The request is more than five minutes old; sign a new one.")
    if not hmac.compare_digest(signature(key, stamp, nonce, body).encode(), given.encode()):
        raise Unauthenticated("The signature isn't that of this body; sign it with the key.")


def signature(key: str, stamp: str, nonce: str, body: bytes) -> str:
    """Feishu's signature of a body, in hex."""
    return hashlib.sha256(f"{stamp}{nonce}{key}".encode() + body).hexdigest()


def opened(key: str, sealed: str) -> dict[str, Any]:
    """What was encrypted: AES-256-CBC under the key's SHA-256, the IV before it, in base64.

    Raises `Unauthenticated` where it wasn't with this key.
    """
    try:
        raw = base64.b64decode(sealed, validate=True)
        cipher = Cipher(AES(hashlib.sha256(key.encode()).digest()), CBC(raw[:BLOCK]))
        decryptor, unpadder = cipher.decryptor(), PKCS7(BLOCK * 8).unpadder()
        padded = decryptor.update(raw[BLOCK:]) + decryptor.finalize()
        value = strict_json(unpadder.update(padded) + unpadder.finalize())
    except (ValueError, binascii.Error) as error:
        raise Unauthenticated("The body can't be decrypted with ROUTER_FEISHU_ENCRYPT_KEY.") from (
            error
        )
    if not isinstance(value, dict):
        raise Unauthenticated("What was encrypted is no JSON object.")
    return value
