"""Pages of the public web, read as text."""

import json
from collections.abc import AsyncIterator
from typing import Annotated

import httpx2
from pydantic import AfterValidator, BaseModel, Field

from activities import provided
from router.domain.errors import ArgumentsToolError, FaultyValue, PermanentToolError
from router.domain.locale import Localised
from router.formats.origin import Origin, origin_of
from router.outbound.client import OutgoingRequest, Sender
from router.outbound.guard import OutboundGuard
from router.outbound.response import Redaction, failure_of, value_of
from router.settings import Settings
from router.tool.context import Depends, provider
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

_NOTHING_SECRET = Redaction(())
LONGEST_ADDRESS = 2000
SECONDS = 15.0


class PageGuard(OutboundGuard):
    """Lets a reader of pages go wherever the public web leads, over https alone.

    What declared tools may call besides is nothing that a model may name, and no setting adds to
    it: so none is named where something is refused.
    """

    def refusal(self, host: str, port: int, address: str) -> Localised | None:
        """Of a host that is anywhere but on the public web."""
        return _not_public(host) if self.fault_at(host, port, address) else None

    def check_redirect(self, before: Origin, after: Origin) -> None:
        """Raise `PermanentToolError` where the answer leads off the public web."""
        if refusal := _refusal(self, after):
            zh = f"{before} 转到了别处：{refusal.zh}"
            raise PermanentToolError(Localised(zh=zh, en=f"{before} leads on: {refusal.en}"))


def _refusal(guard: OutboundGuard, origin: Origin) -> Localised | None:
    """Why no page of it is read; None where one is, if its host turns out to be public."""
    if guard.fault(origin) is None:
        return None
    if origin.scheme != "https":
        zh = f"{origin} 没有加密，只能读 https:// 开头的网页"
        return Localised(zh=zh, en=f"{origin} isn't encrypted; only pages at https:// are read")
    return _not_public(origin.host)


def _not_public(host: str) -> Localised:
    zh = f"{host} 不是公网上的网站，只能读公网上的网页"
    return Localised(zh=zh, en=f"{host} isn't public; only pages of the public web are read")


@provider(unset=lambda settings: "" if settings.fetch_pages else "ROUTER_FETCH_PAGES", outward=True)
async def page_sender(
    settings: Annotated[Settings, Depends(provided.settings)],
) -> AsyncIterator[Sender]:
    """What fetches pages. Where nobody may, the tool is offered to nobody."""
    del settings
    yield Sender(PageGuard())


def _address(written: str) -> str:
    address = written.strip().partition("#")[0]
    if origin_of(address).scheme != "https":
        raise FaultyValue("it isn't https", "write a whole address that begins with https://")
    return address


class WebPage(BaseModel):
    """What a page says, as text; whoever wrote it is a stranger."""

    url: str
    text: str


@tool(
    permission="read",
    timeout="20s",
    retries=1,
    per_minute=20,
    ephemeral=3,
    title={"zh": "读网页", "en": "Read a web page"},
    description_zh="打开一个公开的网页，取其中的文字。",
    examples=["看看这个网页说了什么", "read this web page for me"],
)
async def fetch_page(
    url: Annotated[
        str,
        Field(description="It begins with https://", max_length=LONGEST_ADDRESS),
        ChineseLabel("网址"),
        AfterValidator(_address),
    ],
    sender: Annotated[Sender, Depends(page_sender)],
) -> WebPage:
    """Fetch a page of the public web, as text."""
    origin = origin_of(url)
    if refusal := _refusal(sender.guard, origin):
        raise ArgumentsToolError(Localised(zh=f"url：{refusal.zh}", en=f"url: {refusal.en}"))
    received = await sender.send(OutgoingRequest("GET", origin, _target(url)), SECONDS)
    if not received.fine:
        raise failure_of(received, str(origin), _NOTHING_SECRET)
    value = value_of(received)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return WebPage(url=url, text=text)


def _target(url: str) -> str:
    return httpx2.URL(url).raw_path.decode("ascii")
