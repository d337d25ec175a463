"""Who may call from another page than ours: Temporal's UI, for the codec, and nobody else."""

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from router.api.problems import problem

_METHODS = "POST"
_HEADERS = "authorization, content-type, x-namespace"
"""What Temporal's UI sends along; it never needs a cookie of ours."""
_REMEMBERED = "600"
"""Seconds that a browser need not ask again."""


class CrossOrigin:
    """ASGI middleware: what is under `prefix` may be read by pages of exactly one origin.

    Others get the same answers and may not read them; their browsers aren't let ask first.
    `origin` is taken from any URL of that origin.
    """

    def __init__(self, app: ASGIApp, prefix: str, origin: str) -> None:
        self._app = app
        self._prefix = f"{prefix}/"
        self._origin = origin_of(origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what a browser asks first; pass everything else on, and say who may read it."""
        if scope["type"] != "http" or not scope["path"].startswith(self._prefix):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        allowed = headers.get("origin") == self._origin
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            await self._preflight(allowed)(scope, receive, self._named(send, allowed))
            return
        await self._app(scope, receive, self._named(send, allowed))

    def _preflight(self, allowed: bool) -> ASGIApp:
        if not allowed:
            return problem(403, "Pages of this origin may not call here: see ROUTER_TEMPORAL_UI.")
        return Response(
            status_code=204,
            headers={
                "Access-Control-Allow-Methods": _METHODS,
                "Access-Control-Allow-Headers": _HEADERS,
                "Access-Control-Max-Age": _REMEMBERED,
            },
        )

    def _named(self, send: Send, allowed: bool) -> Send:
        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header("Origin")
                if allowed:
                    headers["Access-Control-Allow-Origin"] = self._origin
            await send(message)

        return send_named


def origin_of(url: str) -> str:
    """The origin as a browser writes it.

    >>> origin_of("https://Temporal.example:443/ui")
    'https://temporal.example'
    """
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}" + (
        f":{parts.port}" if parts.port not in {None, usual} else ""
    )
