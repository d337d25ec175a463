"""Standard Webhooks: what we sign is known to its own library, and what isn't signed is refused."""

import base64
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from router.webhook.signature import NotSigned, WebhookSecrets, signer_of
from tests.table import each_row

OURS = "whsec_" + base64.b64encode(b"o" * 32).decode()
THEIRS = "whsec_" + base64.b64encode(b"t" * 32).decode()
BODY = json.dumps({"type": "flow.completed", "data": {"备注": "验收"}}, ensure_ascii=False)
Headers = dict[str, str]


def signed(secret: str = OURS, at: datetime | None = None, body: str = BODY) -> Headers:
    return WebhookSecrets.read(secret).headers("msg_1", at or datetime.now(UTC), body)


def test_what_is_signed_is_known_to_the_library() -> None:
    assert Webhook(OURS).verify(BODY, signed()) == json.loads(BODY)


def test_each_of_several_secrets_signs_and_is_taken() -> None:
    both = WebhookSecrets.read(f"{THEIRS} {OURS}")
    headers = both.headers("msg_1", datetime.now(UTC), BODY)
    for secret in (OURS, THEIRS):
        assert Webhook(secret).verify(BODY, headers)
        assert both.verify(signed(secret), BODY.encode()) == "msg_1"


def test_the_one_who_signed_is_found_among_several() -> None:
    known = [("erp", WebhookSecrets.read(THEIRS)), ("wms", WebhookSecrets.read(OURS))]
    assert signer_of(known, signed(), BODY.encode()) == ("wms", "msg_1")


def test_a_secret_is_never_shown() -> None:
    assert "b29v" not in repr(WebhookSecrets.read(OURS))


ALTERED: Mapping[str, Callable[[Headers], Headers]] = {
    "no id": lambda h: {**h, "webhook-id": ""},
    "no time": lambda h: {n: v for n, v in h.items() if n != "webhook-timestamp"},
    "no signature": lambda h: {n: v for n, v in h.items() if n != "webhook-signature"},
    "another id": lambda h: {**h, "webhook-id": "msg_2"},
    "an id that is none": lambda h: {**h, "webhook-id": "m\n"},
    "an endless id": lambda h: {**h, "webhook-id": "m" * 201},
    "another time": lambda h: {**h, "webhook-timestamp": str(int(h["webhook-timestamp"]) + 1)},
    "a time that is none": lambda h: {**h, "webhook-timestamp": "nan"},
    "an endless time": lambda h: {**h, "webhook-timestamp": "9" * 40},
    "another version": lambda h: {
        **h,
        "webhook-signature": h["webhook-signature"].replace("v1,", "v2,"),
    },
    "no version": lambda h: {**h, "webhook-signature": h["webhook-signature"].removeprefix("v1,")},
    "nothing behind the version": lambda h: {**h, "webhook-signature": "v1,"},
    "no base64": lambda h: {**h, "webhook-signature": "v1,=é="},
    "many signatures": lambda h: {**h, "webhook-signature": " ".join(["v1,eA=="] * 9)},
    "another signature": lambda h: {**h, "webhook-signature": "v1," + "A" * 43 + "="},
    "an old one": lambda _: signed(at=datetime.now(UTC) - timedelta(minutes=6)),
    "one of later": lambda _: signed(at=datetime.now(UTC) + timedelta(minutes=6)),
    "somebody else's": lambda _: signed(THEIRS),
    "of another body": lambda _: signed(body="{}"),
}


@each_row("how", ALTERED)
def test_what_is_altered_is_refused(how: str) -> None:
    with pytest.raises(NotSigned):
        WebhookSecrets.read(OURS).verify(ALTERED[how](signed()), BODY.encode())


def test_a_body_that_is_no_text_is_refused() -> None:
    with pytest.raises(NotSigned):
        WebhookSecrets.read(OURS).verify(signed(), b"\xff\xfe")


@each_row(
    ("text", "why"),
    [
        ("", "has 0 secrets"),
        ("   ", "has 0 secrets"),
        (" ".join([OURS] * 5), "has 5 secrets"),
        ("whsec_", "has 0 bytes"),
        ("whsec_hello!", "isn't base64"),
        ("密钥", "isn't base64"),
        (base64.b64encode(b"s" * 23).decode(), "has 23 bytes"),
        (base64.b64encode(b"s" * 65).decode(), "has 65 bytes"),
    ],
)
def test_a_secret_that_is_none_is_refused_with_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        WebhookSecrets.read(text)
