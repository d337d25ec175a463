"""Somebody's OpenID Connect provider over real HTTP; and an address that serves keys, or anything.

async with OidcProvider("desk") as provider:
    ...  # provider.origin is its issuer; whoever presses the button there is `provider.person`
"""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tests.fakes.web_server import Got, Reply, WebServer, json_reply, threaded


def jwk(key: RSAPublicKey | EllipticCurvePublicKey, kid: str, **more: Any) -> dict[str, Any]:
    """The key as it is published."""
    if isinstance(key, RSAPublicKey):
        published = RSAAlgorithm.to_jwk(key, as_dict=True)
    else:
        published = ECAlgorithm.to_jwk(key, as_dict=True)
    return published | {"kid": kid, "use": "sig"} | more


@dataclass
class Served:
    """What an address answers, and what it was asked."""

    body: bytes = b""
    status: int = 200
    etag: str | None = None
    asked: list[dict[str, str]] = field(default_factory=list)
    """The headers of each request, their names in lower case."""
    url: str = ""

    def publish(self, *keys: dict[str, Any]) -> None:
        """From now on these are all keys."""
        self.body = json.dumps({"keys": keys}).encode()


@contextmanager
def serving(served: Served) -> Iterator[Served]:
    """Answer at `served.url` until the block is left."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append({name.lower(): value for name, value in self.headers.items()})
            same = served.etag is not None and self.headers["If-None-Match"] == served.etag
            body = b"" if same else served.body
            self.send_response(304 if same else served.status)
            if served.etag:
                self.send_header("ETag", served.etag)
            if not same:
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(body)

    with threaded(Handler) as origin:
        served.url = f"{origin}/served"
        yield served


KEY_ID = "k1"
API = "desk-api"
"""The audience of access tokens."""
Changed = Callable[[dict[str, Any]], dict[str, Any]]


class OidcProvider(WebServer):
    """Signs everybody in as `person`. `lifetime` is of its tokens, in seconds; `id_claims` and
    `opaque` spoil them."""

    def __init__(self, client_id: str, person: str = "alice") -> None:
        super().__init__(self._answer)
        self.client_id = client_id
        self.person = person
        self.lifetime = 300
        self.id_claims: Changed = dict
        self.opaque = False
        self.refuses: str | None = None
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._asked: dict[str, Mapping[str, str]] = {}

    @property
    def keys(self) -> str:
        """Where its keys are published."""
        return f"{self.origin}/keys"

    def _answer(self, got: Got) -> Reply:
        asked = urlsplit(got.target)
        query = dict(parse_qsl(asked.query))
        published = jwk(self._key.public_key(), KEY_ID, alg="RS256")
        answers: Mapping[tuple[str, str], Callable[[], Reply]] = {
            ("GET", "/.well-known/openid-configuration"): lambda: _readable(self._described()),
            ("GET", "/keys"): lambda: json_reply({"keys": [published]}),
            ("GET", "/authorize"): lambda: self._page(query),
            ("GET", "/consent"): lambda: self._sent_back(query),
            ("GET", "/favicon.ico"): lambda: Reply([b""], 204),
            ("POST", "/token"): lambda: self._tokens(dict(parse_qsl(got.body.decode()))),
        }
        return answers.get((got.method, asked.path), lambda: Reply([b""], 404))()

    def _described(self) -> dict[str, str]:
        return {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "jwks_uri": self.keys,
        }

    def _page(self, query: Mapping[str, str]) -> Reply:
        wanted = {"client_id": self.client_id, "response_type": "code"}
        wanted["code_challenge_method"] = "S256"
        wrong = [name for name, value in wanted.items() if query.get(name) != value]
        wrong += [name for name in ("state", "nonce", "code_challenge") if not query.get(name)]
        if wrong or "openid" not in query.get("scope", "").split():
            return Reply([f"bad request: {wrong}".encode()], 400)
        consent = f"/consent?{urlencode(query)}".replace("&", "&amp;")
        page = f'<!doctype html><title>Sign in</title><a href="{consent}">Continue</a>'
        return Reply([page.encode()], 200, {"content-type": "text/html"})

    def _sent_back(self, query: Mapping[str, str]) -> Reply:
        code = secrets.token_urlsafe(16)
        self._asked[code] = query
        came = {"error": self.refuses} if self.refuses else {"code": code}
        back = f"{query['redirect_uri']}?{urlencode({**came, 'state': query['state']})}"
        return Reply([b""], 302, {"location": back})

    def _tokens(self, form: Mapping[str, str]) -> Reply:
        asked = self._asked.pop(form.get("code", ""), None)
        if asked is None or not _proves(form.get("code_verifier", ""), asked["code_challenge"]):
            return _readable({"error": "invalid_grant"}, 400)
        if form.get("redirect_uri") != asked["redirect_uri"]:
            return _readable({"error": "invalid_grant"}, 400)
        identity = {"aud": self.client_id, "nonce": asked["nonce"]}
        body = {
            "token_type": "Bearer",
            "id_token": self._signed(self.id_claims(self._claims(**identity))),
            "access_token": "opaque" if self.opaque else self._signed(self._claims(aud=API)),
        }
        return _readable(body)

    def _claims(self, **more: str) -> dict[str, Any]:
        now = int(time.time())
        about = {"iss": self.origin, "sub": self.person, "iat": now, "exp": now + self.lifetime}
        return about | more

    def _signed(self, claims: dict[str, Any]) -> str:
        return jwt.encode(claims, self._key, "RS256", headers={"kid": KEY_ID})


def _proves(verifier: str, challenge: str) -> bool:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == challenge


def _readable(body: Any, status: int = 200) -> Reply:
    return json_reply(body, status, access_control_allow_origin="*")
