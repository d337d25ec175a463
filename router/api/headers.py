"""Headers that every answer carries: what a browser may do with it."""

from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    """The chat page's: it also shows pictures that it fetched, and may ask the issuer for tokens.

    >>> page_policy("https://id.example/realm").rpartition("; ")[2]
    "connect-src 'self' https://id.example"
    """
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
