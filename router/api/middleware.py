"""What every request passes: bounds, headers for browsers, other origins, spans, measurements."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPMethod
from time import monotonic
from types import MappingProxyType
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from router.api.errors import answer_to
from router.api.params import EVENTS, declared_size
from router.domain.errors import Unavailable
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
    # A browser would look up the host of each link that is shown, and a name can carry a secret.
    "X-DNS-Prefetch-Control": "off",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PERSONAL = ("/v1/", "/ag-ui", "/mcp", "/codec/")
NEVER_KEPT = {"Cache-Control": "no-store"}
ASKED_ANEW = {"Cache-Control": "no-cache"}


MAX_BODY = 64 * 1024
MOST_HELD = 256 * 1024 * 1024
"""Bytes of all the bodies that a process holds at once."""
BODY_SECONDS = 20.0
"""What a body may take, and a second more for each `SLOWEST` bytes of it that came."""
SLOWEST = 32 * 1024
_CLOSE = {"Connection": "close"}


class BodyLimit:
    """ASGI middleware: takes in at most `MAX_BODY` bytes of a body, counted as they arrive.

    The body is complete before anything behind this runs, so that what is refused was never
    half processed, and one under `PERSONAL` isn't read before `admit` has let its sender in. Some
    paths have `others`, and so has what is below one that ends in `/`; None: passed on as it comes,
    whose it is and how long seen there.
    """

    def __init__(
        self,
        app: ASGIApp,
        admit: Callable[[Request], Awaitable[object]],
        others: Mapping[str, int | None] = MappingProxyType({}),
    ) -> None:
        self._app = app
        self._admit = admit
        self._others = others
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body read, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope["method"], scope["path"])
        body, request = _Body(self, receive, limit), Request(scope)
        try:
            await self._look_at(request, limit)
            if limit is not None:
                await body.read()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is answered
            await (await answer_to(request, error))(scope, receive, send)
        else:
            await self._app(scope, body.next, send)
        finally:
            self.held -= body.size

    def _limit(self, method: str, path: str) -> int | None:
        """A path is posted to; one that ends with a slash stands for all below, also put there."""
        if method == "POST" and path in self._others:
            return self._others[path]
        below = (most for at, most in self._others.items() if at[-1] == "/" and path.startswith(at))
        return next(below, MAX_BODY) if method in {"POST", "PUT"} else MAX_BODY

    async def _look_at(self, request: Request, limit: int | None) -> None:
        """Refuse by its head alone what isn't worth reading."""
        size, chunked = declared_size(request.scope), "transfer-encoding" in request.headers
        if chunked and "content-length" in request.headers:
            raise HTTPException(400, "The body's length is said in two ways; send one.", _CLOSE)
        if limit is None:
            return
        if (size or chunked) and request.url.path.startswith(PERSONAL):
            await self._admit(request)
        if size > limit:
            raise _too_large(limit)


class _Body:
    """A request's body, on its way in."""

    def __init__(self, all_: BodyLimit, receive: Receive, limit: int | None) -> None:
        self.size = 0
        self._all = all_
        self._receive = receive
        self._limit = limit
        self._began = monotonic()
        self._complete = False
        self._read: list[Message] = []

    async def read(self) -> None:
        """Take all of it in."""
        while not self._complete:
            self._read.append(await self._more())
        self._read.reverse()

    async def next(self) -> Message:
        """What was read, and then whatever else comes."""
        if self._read:
            return self._read.pop()
        return await (self._receive if self._complete else self._more)()

    async def _more(self) -> Message:
        left = self._began + BODY_SECONDS + self.size / SLOWEST - monotonic()
        try:
            async with asyncio.timeout(left):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "The body comes too slowly; send it again.", _CLOSE) from None
        if message["type"] == "http.disconnect":
            raise HTTPException(400, "The body ends before its end.", _CLOSE)
        self._count(len(message.get("body", b"")))
        self._complete = not message.get("more_body", False)
        return message

    def _count(self, came: int) -> None:
        self.size += came
        self._all.held += came
        if self._limit is not None and self.size > self._limit:
            raise _too_large(self._limit)
        if self._all.held > MOST_HELD:
            raise Unavailable("There are too many large requests right now; send it again later.")


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"The body is larger than {limit} bytes.")


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


class SharedOrigins:
    """ASGI middleware: what is under `prefixes` may be asked by pages of exactly these origins.

    None of it needs a cookie of ours, and none is let through. An origin is taken from any URL.
    """

    def __init__(
        self,
        app: ASGIApp,
        prefixes: Sequence[str],
        origins: Iterable[str],
        methods: Sequence[str],
        headers: Sequence[str],
    ) -> None:
        self._app = app
        self._prefixes = tuple(prefixes)
        self._shared = CORSMiddleware(
            app,
            allow_origins=[origin_of(each) for each in origins],
            allow_methods=methods,
            allow_headers=["authorization", "content-type", *headers],
            expose_headers=["content-disposition", "retry-after"],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, by way of starlette's CORS where it is under a prefix."""
        shared = scope["type"] == "http" and scope["path"].startswith(self._prefixes)
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
