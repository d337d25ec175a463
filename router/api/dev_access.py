"""Who comes in under `ROUTER_AUTH=dev`, where a bearer is a name that anybody can guess.

Programs of this machine do, with nothing but a bearer. A browser also carries what pages of
others want: by a name of theirs that leads to this machine (DNS rebinding), or from another port
of it. So what it sends has to name this machine, to come from this very page, and to have the
cookie that the printed address gives once: no page reads that cookie, and none of elsewhere sends
it. A browser says of itself that it is one, in headers that no page can leave out.
"""

import hashlib
from collections.abc import Iterable, Mapping
from hmac import compare_digest

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from router.api.errors import CHALLENGE, problem
from router.api.middleware import origin_of
from router.domain.loopback import names_this_machine

PARAMETER = "token"
"""Of the printed address' query."""
FOR_A_YEAR = 365 * 24 * 3600
BY_BROWSERS = ("sec-fetch-site", "sec-fetch-mode", "origin")
SIGNED = "/adapters/"
"""What comes from a chat platform proves itself by its signature, through whichever tunnel."""
OPEN = frozenset({"/", "/docs", "/openapi.json", "/healthz", "/readyz"})
ASSETS = "/web/"


class DevAccess:
    """ASGI middleware: refuses what a page of others may have sent.

    `token` is what a browser shows once; None, and none is asked for. `shared` has, by what paths
    begin with, URLs of others whose pages may ask for those.
    """

    def __init__(
        self, app: ASGIApp, token: str | None, shared: Mapping[str, Iterable[str]]
    ) -> None:
        self._app = app
        self._token = token
        self._cookie = cookie_of(token or "")
        self._shared = [(path, {*map(origin_of, urls)}) for path, urls in shared.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or say why not; the printed address gives the cookie."""
        if scope["type"] != "http" or scope["path"].startswith(SIGNED):
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        answer = self._refusal(request) or self._admission(request) or self._app
        await answer(scope, receive, send)

    def _refusal(self, request: HTTPConnection) -> Response | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        path = request.scope["path"]
        if not names_this_machine(host):
            detail = (
                f"The request is for {host[:200]!r}, and ROUTER_AUTH=dev answers by the names of "
                "this machine alone: use 127.0.0.1 or localhost, or set ROUTER_AUTH=jwt."
            )
            return problem(403, detail)
        if any(path.startswith(at) and origin in origins for at, origins in self._shared):
            return None
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            detail = (
                f"A page of {origin[:200]!r} asks, and ROUTER_AUTH=dev answers its own alone: "
                "ask from a program, which sends no Origin, or set ROUTER_AUTH=jwt."
            )
            return problem(403, detail)
        if self._wants_cookie(request) and path not in OPEN and not path.startswith(ASSETS):
            detail = (
                "This browser hasn't been let in yet: open the address of the chat page as "
                "`intent-router dev` printed it, with its token."
            )
            return problem(401, detail, headers={"WWW-Authenticate": CHALLENGE})
        return None

    def _wants_cookie(self, request: HTTPConnection) -> bool:
        from_browser = any(name in request.headers for name in BY_BROWSERS)
        return from_browser and not self._is_token(request.cookies.get(self._cookie, ""))

    def _admission(self, request: HTTPConnection) -> Response | None:
        """The page without the token in its address, which is in the cookie from now on."""
        shown = request.query_params.get(PARAMETER)
        if self._token is None or shown is None or request.scope["path"] != "/":
            return None
        answer = RedirectResponse("/", 303, {"Cache-Control": "no-store"})
        if self._is_token(shown):
            answer.set_cookie(
                self._cookie, shown, max_age=FOR_A_YEAR, httponly=True, samesite="strict"
            )
        return answer

    def _is_token(self, shown: str) -> bool:
        return self._token is None or compare_digest(shown.encode(), self._token.encode())


def cookie_of(token: str) -> str:
    """What the cookie is called: browsers keep one jar for all ports, and several `dev` may run."""
    return f"intent-router-{hashlib.sha256(token.encode()).hexdigest()[:8]}"
