"""Conversions: exact where units are, dated where rates are, and honest where there are none."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from company.conversion.rates import (
    LARGEST,
    DayOfRates,
    ExchangeRates,
    exchange_rates,
    read_rates,
)
from company.conversion.units import _EXACT, converted, unit_called
from router.domain.errors import ArgumentsToolError, PermanentToolError, TransientToolError
from tests.fakes.web_server import Reply, WebServer, json_reply
from tests.unit.activities.tools.conftest import FRANK, NOW, Desk

ECB = """<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01"><Cube>
<Cube time='2026-11-20'><Cube currency='USD' rate='1.0800'/><Cube currency='CNY' rate='7.8000'/>
<Cube currency='JPY' rate='168.00'/></Cube></Cube></gesmes:Envelope>"""
FRANKFURTER = {"base": "EUR", "date": "2026-11-20", "rates": {"USD": 1.08, "CNY": 7.8, "JPY": 168}}


class TestUnits:
    @pytest.mark.parametrize(
        ("value", "source", "target", "result"),
        [
            (5, "miles", "公里", "8.04672"), (3, "feet", "cm", "91.44"),
            (180, "磅", "斤", "163.2932532"),
            (80, "KG", "pounds", "176.3698097479020645783790410760216"),
            (100, "°F", "°C", "37.77777777777777777777777777777778"),
            (-40, "华氏度", "摄氏", "-40"), (0, "K", "°C", "-273.15"),
            (20, "GiB", "GB", "21.47483648"), (100, "Mb", "MB", "12.5"),
            (1, "亩", "平方米", "666.6666666666666666666666666666667"), (15, "亩", "ha", "1"),
            (1.5, "hours", "minutes", "90"), (2, " square   feet ", "m2", "0.18580608"),
            (90, "km/h", "m/s", "25"), (1, "度电", "kJ", "3600"), (0.1, "m", "cm", "10"),
            (1, "gallon", "升", "3.785411784"),
        ],
    )  # fmt: skip
    async def test_it_is_what_it_is(
        self, desk: Desk, value: float, source: str, target: str, result: str
    ) -> None:
        found = await desk.ask("convert_units", value=value, from_unit=source, to_unit=target)
        assert found["result"] == result

    async def test_it_says_which_units_it_read_and_what_was_lost(self, desk: Desk) -> None:
        asked: dict[str, Any] = {"value": 10, "from_unit": "尺", "to_unit": "meters"}
        found = await desk.ask("convert_units", FRANK, **asked)
        result = {"result": "3.333333333333333333333333333333333", "rounded": True}
        assert found == {"value": "10", "from_unit": "尺", "to_unit": "m", **result}

    @given(st.decimals(-(10**9), 10**9, places=3), st.sampled_from(sorted(_EXACT)))
    def test_there_and_back_is_where_it_began(self, value: Decimal, name: str) -> None:
        source = unit_called(name, "from_unit")
        for target in {unit for unit in _EXACT.values() if unit.dimension == source.dimension}:
            try:
                there, _ = converted(value, source, target)
            except ArgumentsToolError:
                assert source.dimension == "temperature"
                continue
            back, _ = converted(there, target, source)
            assert abs(back - value) <= Decimal("1e-15")

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"from_unit": "parsec"}, "from_unit: 'parsec' is no unit"),
            ({"to_unit": "kilometrs"}, r"to_unit: .*did you mean kilometr"),
            ({"from_unit": "mB"}, r"from_unit: 'mB' .*did you mean MB or Mbit\?"),
            ({"from_unit": "kg"}, "to_unit: m measures length and kg mass"),
            ({"from_unit": "K", "to_unit": "°C", "value": -1}, "nothing is as cold"),
            ({"from_unit": ""}, "from_unit: "),
            ({"from_unit": " "}, "from_unit: "),
            ({"from_unit": "m" * 41}, "from_unit: "),
            ({"from_unit": "k\x00m"}, "control characters"),
            ({"from_unit": "m**9**9"}, "is no unit"),
            ({"from_unit": "__import__('os')"}, "is no unit"),
            ({"value": "NaN"}, "value: "),
            ({"value": "Infinity"}, "value: "),
            ({"value": "1e400"}, "value: "),
            ({"value": 1e16}, "value: "),
            ({"value": "five"}, "value: "),
            ({"value": "0." + "1" * 40}, "value: "),
            ({"value": None}, "value: "),
            ({"value": [1]}, "value: "),
            ({"unit": "m"}, "unit: "),
        ],
    )
    async def test_what_cannot_be_converted_is_refused_by_name(
        self, desk: Desk, changed: dict[str, Any], said: str
    ) -> None:
        asked = {"value": 1, "from_unit": "km", "to_unit": "m", **changed}
        with pytest.raises(ArgumentsToolError, match=said):
            await desk.ask("convert_units", **asked)


def says(text: str, status: int = 200) -> Callable[..., Reply]:
    return lambda _: Reply([text.encode()], status)


class TestCurrencies:
    async def ask(self, desk: Desk, url: str | None, **changed: Any) -> Any:
        source = url and f"{url}/rates?key=secret"
        desk.dependencies.provide(exchange_rates, ExchangeRates(source))
        asked = {"amount": 100, "from_currency": "USD", "to_currency": "CNY", **changed}
        return await desk.ask("convert_currency", **asked)

    @pytest.mark.parametrize("answer", [says(ECB), lambda _: json_reply(FRANKFURTER)])
    async def test_an_amount_comes_with_the_rate(
        self, desk: Desk, answer: Callable[..., Reply]
    ) -> None:
        async with WebServer(answer) as server:
            found = await self.ask(desk, server.origin)
        rate = {"rate": "7.2222222", "rates_of": "2026-11-20", "source": "127.0.0.1"}
        asked = {"amount": "100", "from_currency": "USD", "to_currency": "CNY"}
        assert found == {**asked, **rate, "result": "722.22"}

    @pytest.mark.parametrize(
        ("amount", "source", "target", "result"),
        [
            (50, "欧元", "美元", "54.00"), (3000, "日元", "人民币", "139.29"),
            ("10", "usd", "jpy", "1556"), (0, "EUR", "USD", "0.00"), (7, "EUR", "EUR", "7.00"),
            (0.1, "$", "$", "0.10"), (999999999999999, "USD", "USD", "999999999999999.00"),
        ],
    )  # fmt: skip
    async def test_currencies_go_by_code_sign_and_name(
        self, desk: Desk, amount: Any, source: str, target: str, result: str
    ) -> None:
        asked = {"amount": amount, "from_currency": source, "to_currency": target}
        async with WebServer(says(ECB)) as server:
            assert (await self.ask(desk, server.origin, **asked))["result"] == result

    async def test_rates_are_fetched_once_a_day_however_many_ask(self) -> None:
        async with WebServer(says(ECB)) as server:
            rates = ExchangeRates(server.origin)
            await asyncio.gather(*(rates.latest(NOW) for _ in range(10)))
            await rates.latest(NOW + timedelta(hours=23))
            first = len(server.requests)
            await rates.latest(NOW + timedelta(hours=25))
            assert (first, len(server.requests)) == (1, 2)

    async def test_old_rates_will_do_for_a_week_and_no_longer(self) -> None:
        async with WebServer(says(ECB)) as server:
            rates = ExchangeRates(server.origin)
            known = await rates.latest(NOW)
            server.answer = says("", 503)
            for minute in range(3):
                later = NOW + timedelta(days=6, minutes=minute)
                assert await rates.latest(later) == known
            assert len(server.requests) == 2
            with pytest.raises(TransientToolError, match="answers 503"):
                await rates.latest(NOW + timedelta(days=8))

    async def test_without_a_source_it_says_so(self, desk: Desk) -> None:
        said = r"no source of exchange rates .*ROUTER_RATES_URL"
        with pytest.raises(PermanentToolError, match=said):
            await self.ask(desk, None)

    @pytest.mark.parametrize(
        ("answer", "error", "said"),
        [
            (says("", 404), PermanentToolError, "answers 404"),
            (says("", 500), TransientToolError, "answers 500"),
            (says("", 302), PermanentToolError, "answers 302"),
            (says(""), PermanentToolError, "something else"),
            (says("<html>hello</html>"), PermanentToolError, "something else"),
            (says("{"), PermanentToolError, "something else"),
            (says("{}"), PermanentToolError, "something else"),
            (says('{"base": "EUR", "date": "soon", "rates": {}}'), PermanentToolError, "something"),
            (says('{"rates": ' * 5000), PermanentToolError, "something else"),
            (says("x" * (LARGEST + 1)), PermanentToolError, "too long"),
        ],
    )
    async def test_a_source_that_sends_no_rates_is_said_to(
        self, desk: Desk, answer: Callable[..., Reply], error: type[Exception], said: str
    ) -> None:
        async with WebServer(answer) as server:
            with pytest.raises(error, match=said) as raised:
                await self.ask(desk, server.origin)
        assert "secret" not in str(raised.value)

    async def test_a_source_that_is_away_may_come_back(self, desk: Desk) -> None:
        async with WebServer(says(ECB)) as server:
            gone = server.origin
        with pytest.raises(TransientToolError, match="can't be had right now") as raised:
            await self.ask(desk, gone)
        assert "secret" not in str(raised.value)

    def test_rates_that_are_none_are_left_out(self) -> None:
        text = (
            '{"base": "EUR", "date": "2026-11-20", "rates": {"USD": 0, "CNY": -1, "JPY": "9",'
            ' "GBP": NaN, "usd": 1, "CHF": 0.95, "SEK": true}}'
        )
        assert read_rates(text) == DayOfRates(read_rates(text).day, "EUR", {"CHF": Decimal("0.95")})

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"amount": -1}, "amount: "),
            ({"amount": "NaN"}, "amount: "),
            ({"amount": "Infinity"}, "amount: "),
            ({"amount": 1e16}, "amount: "),
            ({"amount": "1.111111111111111111111"}, "amount: "),
            ({"amount": "a lot"}, "amount: "),
            ({"amount": None}, "amount: "),
            ({"from_currency": "doubloon"}, "from_currency: 'doubloon' is no currency"),
            (
                {"from_currency": "XYZ"},
                "from_currency: there is no rate for XYZ; there are: CNY, EUR",
            ),
            ({"to_currency": "BTC"}, "to_currency: there is no rate for BTC"),
            ({"to_currency": "ＵＳＤ"}, "to_currency: "),
            ({"to_currency": ""}, "to_currency: "),
            ({"to_currency": " "}, "to_currency: "),
            ({"to_currency": "U\x00D"}, "control characters"),
            ({"to_currency": "x" * 21}, "to_currency: "),
            ({"rates_of": "2020-01-01"}, "rates_of: "),
        ],
    )
    async def test_what_is_no_money_is_refused_by_name(
        self, desk: Desk, changed: dict[str, Any], said: str
    ) -> None:
        async with WebServer(says(ECB)) as server:
            with pytest.raises(ArgumentsToolError, match=said):
                await self.ask(desk, server.origin, **changed)
