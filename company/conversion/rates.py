"""Exchange rates of the day, from an address that the operator names.

Read are the European Central Bank's daily XML, and JSON as frankfurter.dev and others have it:
`{"base": "EUR", "date": "2026-11-20", "rates": {"USD": 1.0823}}`.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx2

from activities import provided
from router.domain.errors import PermanentToolError, RouterError, TransientToolError
from router.domain.locale import Localised
from router.domain.loopback import may_be_proxied
from router.settings import Settings
from router.tool.context import Depends, provider

FRESH = timedelta(days=1)
USABLE = timedelta(days=7)
"""How long rates are used where no newer ones can be had; the answer has their date."""
AGAIN = timedelta(minutes=10)
"""How long a source that failed isn't asked anew, while there are rates to use."""
LARGEST = 512 * 1024
SECONDS = 5.0

_NO_SOURCE = Localised(
    zh="这里没有配置汇率来源，请管理员设置 ROUTER_RATES_URL",
    en="no source of exchange rates is configured here; an operator sets ROUTER_RATES_URL",
)

_log = logging.getLogger(__name__)
_CODE = re.compile("[A-Z]{3}")
_CUBE_DAY = re.compile(r"""<Cube\s+time=["'](\d{4}-\d{2}-\d{2})["']""")
_CUBE = re.compile(r"""<Cube\s+currency=["']([A-Z]{3})["']\s+rate=["']([0-9.]{1,20})["']""")


@dataclass(frozen=True)
class DayOfRates:
    """What one unit of `base` was worth on a day, by currency."""

    day: date
    base: str
    rates: Mapping[str, Decimal]

    def worth(self, currency: str) -> Decimal | None:
        """What one of the base is in it; None where it isn't quoted."""
        return Decimal(1) if currency == self.base else self.rates.get(currency)


class ExchangeRates:
    """The latest rates, fetched at most once a day; `source` names them to people."""

    def __init__(self, address: str | None) -> None:
        self._address = address
        # The whole address may have a key in it, and is told to nobody.
        self.source = urlsplit(address).hostname or "" if address else ""
        self._fetching = asyncio.Lock()
        self._kept: tuple[datetime, DayOfRates] | None = None
        self._due = datetime.min.replace(tzinfo=UTC)

    async def latest(self, now: datetime) -> DayOfRates:
        """The rates, a day old at most; raises `PermanentToolError` or `TransientToolError`."""
        if self._address is None:
            raise PermanentToolError(_NO_SOURCE)
        async with self._fetching:
            if self._kept is None or now >= self._due:
                address = self._address
                try:
                    self._kept = now, read_rates(await self._fetched(address))
                    self._due = now + FRESH
                except RouterError as error:
                    if self._kept is None or now - self._kept[0] >= USABLE:
                        raise
                    self._due = now + AGAIN
                    _log.warning("rates of %s are used on: %s", self._kept[1].day, error)
            assert self._kept is not None  # noqa: S101 - or it would have raised
            return self._kept[1]

    async def _fetched(self, address: str) -> str:
        try:
            async with httpx2.AsyncClient(
                timeout=SECONDS, trust_env=may_be_proxied(address)
            ) as client:
                return await self._body(client, address)
        except httpx2.HTTPError as error:
            zh = f"暂时取不到汇率：{self.source} 那边是 {type(error).__name__}"
            en = f"exchange rates can't be had right now: {type(error).__name__} at {self.source}"
            raise TransientToolError(Localised(zh=zh, en=en)) from error

    async def _body(self, client: httpx2.AsyncClient, address: str) -> str:
        async with client.stream("GET", address) as response:
            if response.status_code != httpx2.codes.OK:
                kind = TransientToolError if response.is_server_error else PermanentToolError
                zh = f"汇率来源 {self.source} 的回答是 {response.status_code}"
                en = f"the source of exchange rates answers {response.status_code} at {self.source}"
                raise kind(Localised(zh=zh, en=en))
            read = b""
            async for piece in response.aiter_bytes():
                read += piece
                if len(read) > LARGEST:
                    zh = f"{self.source} 给出的内容太长，不会是汇率"
                    en = f"what {self.source} sends is too long to be exchange rates"
                    raise PermanentToolError(Localised(zh=zh, en=en))
        return read.decode("utf-8", "replace")


def read_rates(text: str) -> DayOfRates:
    """The rates in a source's answer; raises `PermanentToolError` where there are none."""
    try:
        found = _from_json(text) if text.lstrip().startswith("{") else _from_xml(text)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidOperation, RecursionError):
        found = None
    if found is None or not found.rates:
        zh = "汇率来源给出的不是汇率"
        en = "the source of exchange rates sends something else"
        raise PermanentToolError(Localised(zh=zh, en=en))
    return found


def _from_json(text: str) -> DayOfRates:
    data: dict[str, Any] = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    rates = {code: rate for code, rate in data["rates"].items() if _is_rate(code, rate)}
    base = str(data["base"])
    if not _CODE.fullmatch(base):
        raise ValueError(base)
    return DayOfRates(date.fromisoformat(data["date"]), base, rates)


def _from_xml(text: str) -> DayOfRates | None:
    """By the two attributes that are wanted: no parser, so nothing that one could be made to do."""
    day = _CUBE_DAY.search(text)
    quoted = {code: Decimal(rate) for code, rate in _CUBE.findall(text)}
    rates = {code: rate for code, rate in quoted.items() if _is_rate(code, rate)}
    return DayOfRates(date.fromisoformat(day[1]), "EUR", rates) if day else None


def _is_rate(code: str, rate: object) -> bool:
    usable = isinstance(rate, Decimal) and rate.is_finite() and rate > 0
    return usable and bool(_CODE.fullmatch(code))


@provider(unset=lambda settings: "" if settings.rates_url else "ROUTER_RATES_URL")
async def exchange_rates(
    settings: Annotated[Settings, Depends(provided.settings)],
) -> AsyncIterator[ExchangeRates]:
    """The day's rates, where somebody says where they are; what tools name them by."""
    yield ExchangeRates(settings.rates_url)
