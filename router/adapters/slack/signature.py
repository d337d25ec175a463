"""Whether a request is Slack's: signed with the app's secret, and not an old one sent again."""

import hashlib
import hmac
import time
from collections.abc import Mapping

from router.domain.errors import Unauthenticated

FRESH = 300
"""Seconds, either way: what Slack recommends."""


def check(secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> None:
    """Return where the request was signed by Slack within the last five minutes.

    Raises `Unauthenticated` otherwise, whatever is wrong.
    """
    stamp = headers.get("x-slack-request-timestamp", "")
    given = headers.get("x-slack-signature", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):  # noqa: PLR2004
        raise Unauthenticated("The request isn't signed: X-Slack-Request-Timestamp is no time.")
    if abs((time.time() if now is None else now) - int(stamp)) > FRESH:
        raise Unauthenticated("The request is more than five minutes old; sign a new one.")
    if not hmac.compare_digest(signature(secret, stamp, body).encode(), given.encode()):
        raise Unauthenticated("The signature isn't that of this body; sign it with the secret.")


def signature(secret: str, stamp: str, body: bytes) -> str:
    """Slack's signature, version 0, of a body at a time in seconds."""
    signed = b"v0:" + stamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
