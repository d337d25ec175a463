"""Signing in by the company's account: OpenID Connect, code flow, PKCE."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Route, expect
from temporalio.client import Client

from router.runtime.composition import Parts
from tests.fakes.oidc_provider import API, Changed, OidcProvider
from tests.page.house import QUEUE, Door, Served, Visitor

CLIENT = "desk"
REFUSED = ("status of 401",)


@pytest.fixture
async def provider() -> AsyncIterator[OidcProvider]:
    async with OidcProvider(CLIENT) as provider:
        yield provider


@pytest.mark.slow
async def test_dev_lets_a_browser_in_by_the_address_that_it_printed(
    served: Served, door: Door
) -> None:
    stranger = await door.visitor(served, forgives=REFUSED)
    await stranger.page.context.clear_cookies()
    await stranger.come()
    await expect(stranger.page.locator("#main")).to_contain_text("启动时打印的聊天页完整地址")
    await expect(stranger.page.get_by_role("button", name="王丽 Alice")).to_have_count(0)
    await stranger.page.goto(served.printed)
    assert stranger.page.url == f"{served.origin}/"
    await stranger.page.get_by_role("button", name="王丽 Alice").click()
    await expect(stranger.box).to_be_visible()
    assert await stranger.page.evaluate("document.cookie") == ""


@pytest.mark.slow
async def test_who_signs_out_while_the_page_still_comes_stays_out(
    served: Served, door: Door
) -> None:
    alice = await (await door.visitor(served)).come("王丽 Alice")
    asked, answered = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        asked.set()
        await answered.wait()
        await route.continue_()

    await alice.page.route("**/v1/me", late)
    await alice.page.get_by_role("button", name="EN", exact=True).click()
    await asked.wait()
    await alice.page.get_by_role("button", name="Sign out").click()
    async with alice.page.expect_response("**/v1/me") as answer:
        answered.set()
    await (await answer.value).finished()
    await alice.page.evaluate("fetch('/web/config.json').then((answer) => answer.json())")
    await expect(alice.page.get_by_role("button", name="王丽 Alice")).to_be_visible()
    await expect(alice.box).to_have_count(0)


def settings(provider: OidcProvider, audience: str = API) -> dict[str, Any]:
    return {
        "auth": "jwt",
        "jwt_jwks_url": provider.keys,
        "jwt_issuer": provider.origin,
        "jwt_audience": audience,
        "oidc_issuer": provider.origin,
        "oidc_client_id": CLIENT,
    }


@pytest.fixture
async def house(parts: Parts, real_client: Client, provider: OidcProvider) -> AsyncIterator[Served]:
    async with Served(parts, real_client, QUEUE, **settings(provider)) as served:
        yield served


async def at_the_provider(
    door: Door, house: Served, provider: OidcProvider, **options: Any
) -> Visitor:
    visitor = await door.visitor(house, others=(provider.origin,), **options)
    await visitor.come(at="/#/requests")
    await visitor.press("用公司账号登录")
    await expect(visitor.page).to_have_title("Sign in")
    return visitor


async def test_one_comes_back_from_the_provider_to_where_one_was(
    house: Served, door: Door, provider: OidcProvider
) -> None:
    alice = await at_the_provider(door, house, provider)
    await alice.page.get_by_role("link", name="Continue").click()
    await expect(alice.page.locator("#who", has_text="王丽 Alice")).to_be_visible()
    await expect(alice.page.locator(".sheet h1")).to_have_text("我的申请")
    assert alice.page.url == f"{house.origin}/#/requests"
    await alice.page.reload()
    await expect(alice.page.locator("#who", has_text="王丽 Alice")).to_be_visible()
    kept = await alice.page.evaluate("JSON.stringify([{...localStorage}, document.cookie])")
    assert "eyJ" not in kept
    await alice.page.get_by_role("button", name="退出").click()
    await expect(alice.page.get_by_role("button", name="用公司账号登录")).to_be_visible()


@pytest.mark.slow
async def test_where_access_tokens_say_nothing_the_id_token_speaks(
    parts: Parts, real_client: Client, door: Door, provider: OidcProvider
) -> None:
    provider.opaque = True
    provider.person = "frank"
    async with Served(parts, real_client, QUEUE, **settings(provider, CLIENT)) as house:
        frank = await at_the_provider(door, house, provider)
        await frank.page.get_by_role("link", name="Continue").click()
        await expect(frank.page.locator("#who", has_text="Frank Novak")).to_be_visible()
        await frank.page.goto("about:blank")


@pytest.mark.slow
async def test_a_session_that_is_over_is_begun_again(
    house: Served, door: Door, provider: OidcProvider
) -> None:
    provider.lifetime = -60  # over for the API, not yet by what the page was told
    provider.id_claims = lambda claims: claims | {"exp": claims["iat"] + 60}
    alice = await at_the_provider(door, house, provider, forgives=REFUSED)
    await alice.page.get_by_role("link", name="Continue").click()
    await expect(alice.page.get_by_role("alert")).to_have_text("登录已失效，请重新登录。")
    provider.lifetime = 300
    await alice.press("用公司账号登录")
    await alice.page.get_by_role("link", name="Continue").click()
    await expect(alice.page.locator("#who", has_text="王丽 Alice")).to_be_visible()


def changed(claims: dict[str, Any]) -> Changed:
    return lambda known: known | claims


SPOILT: dict[str, dict[str, Any]] = {
    "another nonce": {"nonce": "of somebody else"},
    "another audience": {"aud": "another client"},
    "another issuer": {"iss": "https://evil.example"},
    "long over": {"exp": 1},
}


@pytest.mark.slow
async def test_a_token_for_something_else_signs_nobody_in(
    house: Served, door: Door, provider: OidcProvider
) -> None:
    visitor = await at_the_provider(door, house, provider)
    for what, claims in SPOILT.items():
        provider.id_claims = changed(claims)
        await visitor.page.get_by_role("link", name="Continue").click()
        alert = visitor.page.get_by_role("alert")
        await expect(alert, what).to_contain_text("没有登录成功: id_token")
        assert await visitor.page.evaluate("JSON.stringify({...sessionStorage})") == "{}", what
        await visitor.press("用公司账号登录")


@pytest.mark.slow
async def test_what_nobody_asked_for_signs_nobody_in(
    house: Served, door: Door, provider: OidcProvider
) -> None:
    stranger = await door.visitor(house, others=(provider.origin,))
    await stranger.come(at="/?code=stolen&state=guessed")
    await expect(stranger.page.get_by_role("alert")).to_contain_text("没有登录成功: state")
    assert stranger.page.url == f"{house.origin}/"


@pytest.mark.slow
async def test_a_refusal_is_said(house: Served, door: Door, provider: OidcProvider) -> None:
    provider.refuses = "access_denied"
    visitor = await at_the_provider(door, house, provider)
    await visitor.page.get_by_role("link", name="Continue").click()
    await expect(visitor.page.get_by_role("alert")).to_have_text("没有登录成功: access_denied")
