"""The page, and what it is made of."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from httpx import AsyncClient
from pydantic import SecretStr

from router.api.dependencies import Services
from router.api.routes.page import WEB
from router.flow.view import STATUSES
from router.runtime.extensions import load_extensions
from router.settings import Settings
from tests.integration.api.conftest import desk
from tests.table import each_row

PAGE_FILE = re.compile(
    r'(?:src|href)="(/web/[^"]+)"|(?:from |import\()"(\.[^"]+)"|"(/web/[^"]+\.css)"'
)


@each_row("page", ["/", "/docs"])
async def test_the_pages_and_all_they_are_made_of_are_here(alice: AsyncClient, page: str) -> None:
    seen: set[str] = set()
    waiting = [page]
    while waiting:
        path = waiting.pop()
        answer = await alice.get(path)
        assert answer.status_code == 200, path
        assert "innerHTML" not in answer.text
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert not re.search(r"<script(?![^>]*src)| style=| on\w+=", answer.text) or ".js" in path
        seen.add(path)
        found = (urljoin(path, "".join(named)) for named in PAGE_FILE.findall(answer.text))
        waiting += [one for one in found if one not in seen]
    assert len(seen) > 3


@each_row("file", ["app.js", "chat.js", "style.css", "index.html", "docs.js", "author/editor.js"])
async def test_nothing_is_asked_of_other_hosts(alice: AsyncClient, file: str) -> None:
    assert "://" not in (await alice.get(f"/web/{file}")).text


async def test_it_may_load_nothing_from_elsewhere(alice: AsyncClient) -> None:
    page = await alice.head("/")
    policy = page.headers["content-security-policy"]
    assert page.status_code == 200
    assert "default-src 'self'" in policy
    assert "img-src 'self' blob:" in policy
    assert not {each for each in ("connect-src", "unsafe") if each in policy}
    config = (await alice.get("/web/config.json")).json()
    assert config.pop("extensions") == [each.name for each in load_extensions()]
    assert config == {"auth": "dev", "oidc": None, "has_model": False, "title": None}


async def test_it_may_ask_the_issuer_where_there_is_one(services: Services) -> None:
    issuer = "https://id.example:8443/realms/house"
    named: dict[str, Any] = {"auth": "jwt", "jwt_secret": SecretStr("x" * 32)}
    async with desk(services, oidc_issuer=issuer, oidc_client_id="desk", **named) as client:
        page, config = await client.get("/"), await client.get("/web/config.json")
    policy = page.headers["content-security-policy"]
    assert policy.endswith("; connect-src 'self' https://id.example:8443")
    oidc = {"issuer": issuer, "client_id": "desk", "scope": "openid profile"}
    found = config.json()
    assert found | {"extensions": []} == {
        "auth": "jwt",
        "oidc": oidc,
        "has_model": False,
        "extensions": [],
        "title": None,
    }


LOGO = b"""<?xml version="1.0"?><!-- Acme --><svg xmlns="http://www.w3.org/2000/svg">
<script>alert(1)</script></svg>"""


async def test_a_company_has_its_own_title_logo_and_colour(
    services: Services, tmp_path: Path
) -> None:
    (logo := tmp_path / "logo.svg").write_bytes(LOGO)
    title = '{"zh": "Acme 办事", "en": "Acme desk"}'
    names = ("page_title", "page_logo", "page_accent")
    own = Settings.load(**dict(zip(names, (title, logo, "#FF6600"), strict=True)))
    settings = {name: getattr(own, name) for name in names}

    async with desk(services, **settings) as client:
        config = (await client.get("/web/config.json")).json()
        shown, sheet = await client.get("/web/logo"), await client.get("/web/brand.css")

    assert config["title"] == {"zh": "Acme 办事", "en": "Acme desk"}
    assert (shown.content, shown.headers["content-type"]) == (LOGO, "image/svg+xml")
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")
    assert shown.headers["content-security-policy"].endswith("sandbox")
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert sheet.headers["content-type"].startswith("text/css")
    assert "--accent: light-dark(#" in sheet.text


async def test_without_a_brand_the_page_is_as_it_ships(alice: AsyncClient) -> None:
    shown, sheet = await alice.get("/web/logo"), await alice.get("/web/brand.css")
    assert shown.text == (WEB / "icon.svg").read_text()
    assert sheet.text == ""


async def test_it_calls_a_runs_statuses_as_everybody_else_does(alice: AsyncClient) -> None:
    answer = await alice.get("/web/statuses.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    table = answer.text.removeprefix("export const STATUSES = ").removesuffix(";\n")
    assert json.loads(table) == {status: words.model_dump() for status, words in STATUSES.items()}
