"""What models cost in a house over some days: lines by whom, by which model, and for what. Pure.

Costs are in one currency, that of the prices of today. What had no price when it was asked, or one
in another currency, isn't in them, and is counted: then they say "at least".
"""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, Field

from router.domain.errors import InvalidInput
from router.domain.messages import plain_decimal

CostDimension = Literal["day", "person", "model", "role", "prompt"]
"""What costs are told apart by."""
PARTS: tuple[CostDimension, ...] = get_args(CostDimension)
MOST_LINES = 5_000
"""Of one report: nobody reads more, and a spreadsheet's worth is asked for by fewer days."""


class Purpose(NamedTuple):
    """What a model was asked for: the role it had, its configured name, and which prompt.

    The role is the job that the prompt is for, such as `router`, `phrase` or `skill`.

    >>> Purpose.of("router-2@55f749c8", "gpt-5-mini")
    Purpose(role='router', model='gpt-5-mini', prompt='router-2')
    """

    role: str = ""
    model: str = ""
    prompt: str = ""

    @classmethod
    def of(cls, fingerprint: str, model: str) -> Self:
        """The purpose of a question that was made with the prompt of this fingerprint."""
        version = fingerprint.partition("@")[0]
        return cls(version.rpartition("-")[0], model, version)


class SpentAmounts(NamedTuple):
    """What was spent, in all of a line."""

    calls: int
    prompt_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    cost: Decimal
    unpriced_calls: int


class SpendingLine(BaseModel):
    """What models cost, of one day, person, model, role or prompt, as far as that is asked for."""

    day: date | None = Field(None, exclude_if=lambda day: day is None)
    """Of whom it was for."""
    person: str | None = Field(None, exclude_if=lambda person: person is None)
    """The id of whom it was for; a pseudonym where they were erased."""
    model: str | None = Field(None, exclude_if=lambda model: model is None)
    """Its configured name; empty where it was asked before names were kept."""
    role: str | None = Field(None, exclude_if=lambda role: role is None)
    """What it was asked for: the job of the prompt, such as `router`, `phrase` or `skill`."""
    prompt: str | None = Field(None, exclude_if=lambda prompt: prompt is None)
    """The version of the prompt, such as `router-1`."""
    calls: int
    prompt_tokens: int
    """All that was read, from a cache or not."""
    cached_tokens: int
    """Those of the prompts that came out of a provider's cache."""
    cache_write_tokens: int
    """Those of the prompts that were written into one."""
    completion_tokens: int
    """All that was written, thoughts included."""
    reasoning_tokens: int
    """Those of the completions that were thoughts."""
    cost: str | None
    """In the report's currency, as a decimal number, to a billionth; null where no call had a
    price."""
    unpriced_calls: int
    """Calls that aren't in the cost: their model had no price, or one in another currency."""

    @classmethod
    def of(cls, amounts: SpentAmounts, **parts: Any) -> Self:
        """The line of these parts."""
        known = amounts.calls > amounts.unpriced_calls
        cost = plain_decimal(amounts.cost) if known or not amounts.calls else None
        return cls(**parts, **{**amounts._asdict(), "cost": cost})


class SpendingReport(BaseModel):
    """What models cost over some days."""

    since: date
    until: date
    """The last day, which is included."""
    timezone: str
    currency: str
    """Of all costs here: that of the prices of today."""
    by: list[CostDimension]
    lines: list[SpendingLine]
    """The dearest first; by the day, the oldest day first."""
    total: SpendingLine


def parts_of(written: str) -> list[CostDimension]:
    """What costs are to be told apart by, of `day,model`; raises `InvalidInput`.

    >>> parts_of("model, day")
    ['day', 'model']
    """
    asked = {name.strip() for name in written.split(",")}
    if not asked <= set(PARTS):
        strange = ", ".join(sorted(asked - set(PARTS)))[:60]
        raise InvalidInput.at("by", f"there is no {strange!r}: name some of {', '.join(PARTS)}")
    return [part for part in PARTS if part in asked]


def total_of(lines: Sequence[SpendingLine]) -> SpendingLine:
    """All of the lines in one."""
    counted = [name for name in SpentAmounts._fields if name != "cost"]
    sums = {name: sum(getattr(line, name) for line in lines) for name in counted}
    cost = sum((Decimal(line.cost or 0) for line in lines), Decimal())
    return SpendingLine.of(SpentAmounts(**sums, cost=cost))
