"""An identity provider: publishes keys over real HTTP, rotates them, fails as it is told to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, RSAAlgorithm


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

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}/served"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
