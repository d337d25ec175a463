"""Requests as operators see them: one span and one measurement each, by template of their route."""

from http import HTTPMethod
from time import monotonic
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from router.api.accept import EVENTS
from router.telemetry import spans
from router.telemetry.metrics import HTTP

UNMATCHED = "unmatched"
"""The route of whatever has none: paths that somebody made up are no labels."""
SERVER_FAULT = 500
_METHODS = frozenset(HTTPMethod)


class Observed:
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
        parent = spans.incoming(Headers(scope=scope))
        attributes = {"http.request.method": method}
        with spans.span(method, spans.SERVER, attributes, parent) as span:

            async def watched(message: Message) -> None:
                seen.note(message)
                await send(message)

            try:
                await self._app(scope, receive, watched)
            finally:
                seen.measured()
                span.update_name(f"{method} {seen.route}")
                span.set_attributes(
                    {"http.route": seen.route, "http.response.status_code": seen.status}
                )
                if seen.status >= SERVER_FAULT:
                    spans.fail(span, str(seen.status))


class _Seen:
    """What one request has come to so far."""

    def __init__(self, scope: Scope, method: str) -> None:
        self.status = SERVER_FAULT
        """Of an application that ended without an answer."""
        self._scope = scope
        self._method = method
        self._began = monotonic()
        self._is_measured = False

    @property
    def route(self) -> str:
        """The template, as `/v1/conversations/{conversation}`; known once there is an answer."""
        route: Any = self._scope.get("route")
        return getattr(route, "path", UNMATCHED) or UNMATCHED

    def note(self, message: Message) -> None:
        """Take in a part of the answer."""
        if message["type"] != "http.response.start":
            return
        self.status = message["status"]
        if Headers(raw=message["headers"]).get("content-type", "").startswith(EVENTS):
            self.measured()  # it may go on for days

    def measured(self) -> None:
        """Measure it, once."""
        if not self._is_measured:
            self._is_measured = True
            labels = (self._method, self.route, str(self.status))
            HTTP.labels(*labels).observe(monotonic() - self._began)
