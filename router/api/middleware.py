"""What every request passes: headers for browsers, other origins, spans and measurements."""

from http import HTTPMethod
from time import monotonic
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from router.api.params import EVENTS
from router.telemetry import tracing
from router.telemetry.metrics import HTTP

POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PERSONAL = ("/v1/", "/ag-ui", "/codec/")
NEVER_KEPT = {"Cache-Control": "no-store"}
ASKED_ANEW = {"Cache-Control": "no-cache"}


def page_policy(issuer: str | None) -> str:
    """The chat page's: it also shows pictures that it fetched, and may ask the issuer."""
    pictures = f"{POLICY}; img-src 'self' blob:"
    if issuer is None:
        return pictures
    parts = urlsplit(issuer)
    return f"{pictures}; connect-src 'self' {parts.scheme}://{parts.netloc}"


class SafeHeaders:
    """ASGI middleware: answers load nothing from elsewhere, are framed by nobody, guessed by none.

    What the API answers is some person's, so that no cache may keep it. A route that says
    otherwise of its own answer is heard.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and its answer back with the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        keeping = NEVER_KEPT if scope["path"].startswith(PERSONAL) else ASKED_ANEW

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, **keeping}.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_safely)


class CodecOrigin:
    """ASGI middleware: what is under `prefix` may be read by pages of exactly one origin.

    That is Temporal's UI, which needs no cookie of ours. `origin` is taken from any URL of it.
    """

    def __init__(self, app: ASGIApp, prefix: str, origin: str) -> None:
        self._app = app
        self._prefix = f"{prefix}/"
        self._shared = CORSMiddleware(
            app,
            allow_origins=[origin_of(origin)],
            allow_methods=["POST"],
            allow_headers=["authorization", "content-type", "x-namespace"],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, by way of starlette's CORS where it is under the prefix."""
        shared = scope["type"] == "http" and scope["path"].startswith(self._prefix)
        await (self._shared if shared else self._app)(scope, receive, send)


def origin_of(url: str) -> str:
    """The origin as a browser writes it: in lower case, without the scheme's own port."""
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in {None, usual} else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


UNMATCHED = "unmatched"
"""The route of whatever has none: paths that somebody made up are no labels."""
SERVER_FAULT = 500
_METHODS = frozenset(HTTPMethod)


class ObservabilityMiddleware:
    """ASGI middleware, the outermost: goes on with the trace that a request says it belongs to."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note what it came to."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "other"
        seen = _Seen(scope, method)
        parent = tracing.incoming(Headers(scope=scope))
        attributes = {"http.request.method": method}
        with tracing.span(method, tracing.SERVER, attributes, parent) as span:

            async def watched(message: Message) -> None:
                seen.note(message)
                await send(message)

            try:
                await self._app(scope, receive, watched)
            finally:
                seen.measure()
                span.update_name(f"{method} {seen.route}")
                span.set_attribute("http.route", seen.route)
                span.set_attribute("http.response.status_code", seen.status)
                if seen.status >= SERVER_FAULT:
                    tracing.fail(span, str(seen.status))


class _Seen:
    def __init__(self, scope: Scope, method: str) -> None:
        self.status = SERVER_FAULT
        """Of an application that ended without an answer."""
        self._scope = scope
        self._method = method
        self._began: float | None = monotonic()

    @property
    def route(self) -> str:
        """The template, as `/v1/conversations/{conversation}`; known once there is an answer."""
        return getattr(self._scope.get("route"), "path", UNMATCHED) or UNMATCHED

    def note(self, message: Message) -> None:
        if message["type"] != "http.response.start":
            return
        self.status = message["status"]
        if Headers(raw=message["headers"]).get("content-type", "").startswith(EVENTS):
            self.measure()  # it may go on for days

    def measure(self) -> None:
        if self._began is not None:
            took, self._began = monotonic() - self._began, None
            HTTP.labels(self._method, self.route, str(self.status)).observe(took)
