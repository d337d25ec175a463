"""`ROUTER_AUTH=dev`, whose bearers anybody can guess, as pages of others reach for it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from http.cookies import SimpleCookie

import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from router.api.dev_access import cookie_of
from router.runtime.server import create_app
from tests.integration.api.conftest import client_of, problem
from tests.table import each_row

TOKEN = "t" * 43
HERE = "http://localhost"
COOKIE = {"Cookie": f"{cookie_of(TOKEN)}={TOKEN}"}
OWN = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
REACHED_BY = ("GET", "/v1/me"), ("POST", "/v1/conversations"), ("GET", "/v1/dev/users")


@pytest.fixture
async def alice(services: Services) -> AsyncIterator[AsyncClient]:
    """What sends alice's name: a program, or with the headers of one a browser."""
    async with client_of(create_app(replace(services, page_token=TOKEN)), "alice") as client:
        yield client


HOSTILE = {
    "a name that leads here": ({"Host": "evil.example"}, 403),
    "a name that leads here, at our port": ({"Host": "evil.example:8000", **COOKIE}, 403),
    "a name that begins like ours": ({"Host": "localhost.evil.example", **COOKIE}, 403),
    "an address that begins like ours": ({"Host": "127.0.0.1.evil.example", **COOKIE}, 403),
    "an address of the network": ({"Host": "192.168.0.7:8000", **COOKIE}, 403),
    "no host": ({"Host": "", **COOKIE}, 403),
    "no host that can be read": ({"Host": "[::1", **COOKIE}, 403),
    "a page elsewhere": ({"Origin": "http://evil.example", **COOKIE}, 403),
    "a page at another port": ({"Origin": f"{HERE}:3000", **COOKIE}, 403),
    "a page by another name of ours": ({"Origin": "http://127.0.0.1", **COOKIE}, 403),
    "a page in a sandbox": ({"Origin": "null", **COOKIE}, 403),
    "a page of our origin that was never let in": ({"Origin": HERE}, 401),
    "a request of no origin, by a browser": ({"Sec-Fetch-Site": "same-site"}, 401),
    "a browser that was never let in": (OWN, 401),
    "a guess": ({**OWN, "Cookie": f"{cookie_of(TOKEN)}={'u' * 43}"}, 401),
    "nothing for a cookie": ({**OWN, "Cookie": f"{cookie_of(TOKEN)}="}, 401),
    "the cookie of another folder": ({**OWN, "Cookie": f"{cookie_of('x')}=x"}, 401),
}


@pytest.mark.slow
@each_row(("method", "path"), REACHED_BY)
@each_row(("headers", "status"), HOSTILE.values(), ids=HOSTILE)
async def test_a_page_of_others_is_refused(
    alice: AsyncClient, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    problem(await alice.request(method, path, headers=headers), status)


@each_row(
    "headers",
    [
        {},
        {"Host": "127.0.0.1:8000"},
        {"Host": "[::1]:8000"},
        {"Host": "LOCALHOST:8000"},
        {**OWN, **COOKIE},
        {"Origin": HERE, **COOKIE},
        {"Host": "localhost:9000", "Origin": f"{HERE}:9000", **OWN, **COOKIE},
    ],
)
async def test_programs_and_the_page_come_in(alice: AsyncClient, headers: dict[str, str]) -> None:
    for method, path in REACHED_BY:
        assert (await alice.request(method, path, headers=headers)).is_success


async def test_the_printed_address_lets_a_browser_in(alice: AsyncClient) -> None:
    came = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
    answer = await alice.get("/", params={"token": TOKEN}, headers=came)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    (kept,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert (kept.value, kept["httponly"], kept["samesite"], kept["path"]) == (
        TOKEN,
        True,
        "strict",
        "/",
    )
    assert (await alice.get("/v1/me", headers=OWN)).status_code == 200  # the client keeps cookies


@pytest.mark.slow
async def test_another_token_lets_nobody_in(alice: AsyncClient) -> None:
    for shown in ("", "t", "u" * 43, "é", "\ud800".encode("utf-8", "surrogatepass")):
        answer = await alice.get("/", params={"token": shown})
        assert (answer.status_code, answer.headers.get("set-cookie")) == (303, None)
    for path in ("/", "/docs", "/openapi.json", "/healthz", "/web/app.js"):
        assert (await alice.get(path, headers=OWN)).status_code == 200, path
        assert (await alice.get(path, headers={"Host": "evil.example"})).status_code == 403


async def test_what_a_platform_signs_comes_by_any_name(alice: AsyncClient) -> None:
    problem(await alice.post("/adapters/none/events", headers={"Host": "tunnel.example"}), 404)
