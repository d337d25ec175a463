"""Conversions, as tools: of units, exactly, and of currencies, at the rates of a day."""

from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Annotated

from pydantic import BaseModel, Field, WithJsonSchema

from company.conversion.rates import DayOfRates, ExchangeRates, exchange_rates
from company.conversion.units import converted, unit_called
from company.tools.calculator import DIGITS, plainly
from router.domain.errors import ArgumentsToolError
from router.domain.locale import Localised
from router.entities.money import currency_of
from router.flow.prompts.field_names import name_in_chinese
from router.tool.context import Depends, ToolContext
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

name_in_chinese(
    {
        "from_currency": "原币种",
        "to_currency": "目标币种",
        "from_unit": "原单位",
        "to_unit": "目标单位",
        "rate": "汇率",
        "rates_of": "汇率日期",
        "rounded": "经过舍入",
    }
)

LARGEST = 10**15

_CENT = Decimal("0.01")
_PLACES = {"JPY": Decimal(1), "KRW": Decimal(1), "VND": Decimal(1)}
"""Currencies whose amounts have other than two decimals."""


def _number(words: str, *, least: int = -LARGEST) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "number", "minimum": least, "maximum": LARGEST, "description": words}
    )


UnitName = Annotated[str, Field(min_length=1, max_length=40)]
CurrencyName = Annotated[str, Field(min_length=1, max_length=20)]


class Converted(BaseModel):
    """A quantity in two units. Numbers are text: JSON's lose digits on their way."""

    value: str
    from_unit: str
    result: str
    to_unit: str
    rounded: bool
    """True where the result has more digits than the 34 that are kept."""


class Exchanged(BaseModel):
    """An amount in two currencies, at the reference rate of a day: no bank's own."""

    amount: Decimal
    from_currency: str
    result: Decimal
    to_currency: str
    rate: str
    """What one of the first is in the second."""
    rates_of: date
    source: str


@tool(
    permission="read",
    title={"zh": "单位换算", "en": "Convert units"},
    description_zh="单位换算：长度、重量、面积、体积、时间、速度、温度、能量和数据量。",
    examples=[
        "5 英里是多少公里",
        "180 磅等于多少斤",
        "华氏 100 度是多少摄氏度",
        "how many pounds are 80 kg",
        "convert 3 feet to centimetres",
        "20 GiB in GB",
    ],
)
async def convert_units(
    value: Annotated[
        Decimal,
        Field(ge=-LARGEST, le=LARGEST, max_digits=34, allow_inf_nan=False),
        _number("How many"),
        ChineseLabel("数值"),
    ],
    from_unit: Annotated[
        UnitName,
        Field(description="Of what, such as km, lb, 斤, °F or GiB"),
        ChineseLabel("原单位"),
    ],
    to_unit: Annotated[UnitName, Field(description="In what"), ChineseLabel("目标单位")],
) -> Converted:
    """Convert a quantity from one unit to another: how long, heavy, large, warm or fast it is.

    Length, mass, area, volume, time, speed, temperature, energy and data; metric, imperial, US
    and Chinese units. For money see `convert_currency`.
    """
    source, target = unit_called(from_unit, "from_unit"), unit_called(to_unit, "to_unit")
    result, rounded = converted(value, source, target)
    return Converted(
        value=plainly(value),
        from_unit=source.symbol,
        result=plainly(result),
        to_unit=target.symbol,
        rounded=rounded,
    )


@tool(
    permission="read",
    timeout="15s",
    title={"zh": "汇率换算", "en": "Convert currencies"},
    description_zh="按最新参考汇率换算货币，结果注明汇率日期。",
    examples=[
        "100 美元是多少人民币",
        "今天欧元汇率多少",
        "3000 日元换成人民币",
        "how much is 50 euros in dollars",
        "convert 1200 CNY to USD",
    ],
)
async def convert_currency(
    amount: Annotated[
        Decimal,
        Field(ge=0, le=LARGEST, max_digits=20, allow_inf_nan=False),
        _number("How much", least=0),
        ChineseLabel("金额"),
    ],
    from_currency: Annotated[
        CurrencyName, Field(description="Of what, such as USD or 美元"), ChineseLabel("原币种")
    ],
    to_currency: Annotated[
        CurrencyName, Field(description="In what, such as CNY or 人民币"), ChineseLabel("目标币种")
    ],
    ctx: ToolContext,
    rates: Annotated[ExchangeRates, Depends(exchange_rates)],
) -> Exchanged:
    """Convert an amount of money at the latest reference rates; the answer has their date.

    Claims are reckoned otherwise: at the bank's selling rate of the day that was paid, as the
    expense policy says.
    """
    source, target = _code(from_currency, "from_currency"), _code(to_currency, "to_currency")
    latest = await rates.latest(ctx.now)
    own, other = _worth(latest, source, "from_currency"), _worth(latest, target, "to_currency")
    context = Context(prec=DIGITS)
    rate = context.divide(other, own)
    # Multiplied first: 3 at a rate of one third are 1, and not 0.99.
    exact = context.divide(context.multiply(amount, other), own)
    return Exchanged(
        amount=amount,
        from_currency=source,
        result=exact.quantize(_PLACES.get(target, _CENT), ROUND_HALF_UP, Context(prec=DIGITS)),
        to_currency=target,
        rate=plainly(rate.normalize(Context(prec=8))),
        rates_of=latest.day,
        source=rates.source,
    )


def _code(name: str, field: str) -> str:
    written = name.strip()
    if (known := currency_of(written.casefold())) is not None:
        return known
    if len(written) == 3 and written.isascii() and written.isalpha():  # noqa: PLR2004
        return written.upper()
    zh = f"{field}：“{name[:20]}”不是货币，请写 USD 这样的代码"
    en = f"{field}: {name[:20]!r} is no currency; write a code such as USD"
    raise ArgumentsToolError(Localised(zh=zh, en=en))


def _worth(rates: DayOfRates, currency: str, field: str) -> Decimal:
    found = rates.worth(currency)
    if found is None:
        known = ", ".join(sorted({rates.base, *rates.rates}))
        zh = f"{field}：没有 {currency} 的汇率，现有：{known}"
        en = f"{field}: there is no rate for {currency}; there are: {known}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    return found
