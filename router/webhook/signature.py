"""Signatures of the Standard Webhooks convention, made and checked with its library.

The library takes any text for base64 that some of is, and stumbles over headers that it can't
split: a secret is looked at before it is used, and whatever it stumbles over is no signature.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from standardwebhooks import Webhook, WebhookVerificationError

from router.domain.errors import FaultyValue

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
_PREFIX = "whsec_"
_SHORTEST, _LONGEST = 24, 64
"""Bytes of a secret, as the convention has it."""
LONGEST_ID = 200
_ID = re.compile(rf"[!-~]{{1,{LONGEST_ID}}}")
IN_TIME = timedelta(minutes=5)
"""Between what was signed and now; the library's own."""
MOST_SECRETS = 4
"""The one that is used, and those that are on their way out."""
MOST_SIGNATURES = 8


class NotSigned(Exception):
    """Nobody who is known has signed it, now; it says why, and nothing about any secret."""


@dataclass(frozen=True)
class WebhookSecrets:
    """What two systems know each other by: each of them signs, and is taken."""

    values: tuple[str, ...] = field(repr=False)

    @classmethod
    def read(cls, text: str) -> "WebhookSecrets":
        """Those of a variable, parted by blanks; raises `ValueError` that says what is wrong.

        >>> WebhookSecrets.read("whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        WebhookSecrets()
        """
        values = tuple(text.split())
        if not 1 <= len(values) <= MOST_SECRETS:
            raise FaultyValue(f"has {len(values)} secrets", f"write one, or up to {MOST_SECRETS}")
        for value in values:
            _check(value)
        return cls(values)

    def headers(self, id_: str, at: datetime, body: str) -> dict[str, str]:
        """What is sent with a body: signed with each, so that either side may change first."""
        signed = " ".join(Webhook(value).sign(id_, at, body) for value in self.values)
        return {ID: id_, TIMESTAMP: str(int(at.timestamp())), SIGNATURE: signed}

    def verify(self, headers: Mapping[str, str], body: bytes) -> str:
        """The id of what was signed within five minutes of now; raises `NotSigned`."""
        given = signed_headers(headers, datetime.now(UTC))
        why = "it isn't signed with this secret"
        for value in self.values:
            try:
                Webhook(value).verify(body, given, json_parse=False)
            except WebhookVerificationError as error:
                why = str(error).lower()
            except ValueError:  # what the library can't split, decode or read
                why = "the signature can't be read"
            else:
                return given[ID]
        raise NotSigned(why)


def signed_headers(headers: Mapping[str, str], now: datetime) -> dict[str, str]:
    """The three, where they may be a signature of now; else raises `NotSigned`, without any HMAC.

    So what nobody can have signed is refused before its body is read.
    """
    given = {name: headers.get(name, "") for name in (ID, TIMESTAMP, SIGNATURE)}
    if missing := [name for name, value in given.items() if not value]:
        raise NotSigned(f"the header {missing[0]} is missing")
    if not _ID.fullmatch(given[ID]):
        raise NotSigned(f"{ID} isn't 1 to {LONGEST_ID} visible ASCII characters")
    if not re.fullmatch(r"[0-9]{1,12}", given[TIMESTAMP]):
        raise NotSigned(f"{TIMESTAMP} isn't the seconds since 1970")
    if abs(int(given[TIMESTAMP]) - now.timestamp()) > IN_TIME.total_seconds() + 1:
        raise NotSigned(f"{TIMESTAMP} isn't within five minutes of now")
    if given[SIGNATURE].count(" ") >= MOST_SIGNATURES:
        raise NotSigned(f"there are more than {MOST_SIGNATURES} signatures")
    return given


def _check(value: str) -> None:
    try:
        secret = base64.b64decode(value.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise FaultyValue("isn't base64", f"write {_PREFIX} and the base64 of 32 bytes") from None
    if not _SHORTEST <= len(secret) <= _LONGEST:
        remedy = f"take {_SHORTEST} to {_LONGEST}: `openssl rand -base64 32`"
        raise FaultyValue(f"has {len(secret)} bytes", remedy)


def signer_of(
    known: Iterable[tuple[str, WebhookSecrets]], headers: Mapping[str, str], body: bytes
) -> tuple[str, str]:
    """Who of these has signed it, by name, and its id; raises `NotSigned` where nobody has."""
    why = NotSigned("nobody who signs is known here")
    for name, secrets in known:
        try:
            return name, secrets.verify(headers, body)
        except NotSigned as error:
            why = error
    raise why
