"""What models cost: prices by name, from a file that ships and one of the operator's own.

A file has one currency, and under each provider where its prices are published, when they were
read there, and a price for each model, for a million tokens:

    currency: USD
    providers:
      anthropic:
        source: https://platform.claude.com/docs/en/about-claude/pricing
        date: 2026-10-24
        models:
          claude-haiku-4-5: {input: 1, cached: 0.10, cache_write: 1.25, output: 5}

What is computed is exact, and rounded once an answer, to a billionth of the currency.
"""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from importlib import resources
from pathlib import Path
from typing import Annotated, Self

from annotated_types import Ge, Le
from pydantic import AfterValidator, ConfigDict

from router.domain.errors import DefinitionError, Fault, FaultyValue
from router.domain.messages import Cost
from router.formats.validation import (
    Complaint,
    Entry,
    FileWording,
    problems_in,
    said,
    validated,
    yaml_file,
)
from router.formats.yaml_document import YamlDocument
from router.llm.types import TokenUsage

SHIPPED = Path(str(resources.files("router.llm") / "prices.yaml"))
LARGEST = 1024 * 1024
"""Bytes of a file."""
MILLION = Decimal(1_000_000)
SMALLEST = Decimal("1E-9")
"""What costs are rounded to: a billionth of the currency."""
DEAREST = Decimal(1_000_000)
"""For a million tokens: more is a slip, whatever the currency."""
_DATED = re.compile(r"[-@:](?:latest|\d{3,8}|\d{4}-\d\d-\d\d)")
"""What providers put behind a model's name for one of its versions, at the same price."""

Amount = Annotated[
    Decimal,
    Ge(Decimal(0)),
    Le(DEAREST),
    said("write what a million tokens cost, such as 0.25, or 0 where they cost nothing"),
]


class Price(Entry):
    """What a million tokens of a model cost, in the currency of the file that they stand in.

    >>> haiku = Price(input=1, cached="0.1", cache_write="1.25", output=5)
    >>> haiku.of(TokenUsage(prompt_tokens=3000, cached_tokens=2000, completion_tokens=100))
    Decimal('0.001700000')
    """

    input: Amount
    """Read, and not from a cache."""
    cached: Amount | None = None
    """Read from the provider's cache; as `input`, where it isn't said."""
    cache_write: Amount | None = None
    """Read, and written into that cache; as `input`, where it isn't said."""
    output: Amount
    """Written, thoughts included."""

    def of(self, usage: TokenUsage) -> Decimal:
        """What so many tokens cost."""
        fresh = usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens
        parts = (
            (fresh, self.input),
            (usage.cached_tokens, self.input if self.cached is None else self.cached),
            (
                usage.cache_write_tokens,
                self.input if self.cache_write is None else self.cache_write,
            ),
            (usage.completion_tokens, self.output),
        )
        whole = sum((tokens * each for tokens, each in parts), Decimal()) / MILLION
        return whole.quantize(SMALLEST, ROUND_HALF_EVEN)


def _currency(value: str) -> str:
    if not re.fullmatch(r"[A-Z]{3}", value):
        raise FaultyValue("{key} is {value}", "write it in three letters, such as USD or CNY")
    return value


class ProviderPrices(Entry):
    """The prices of one provider."""

    source: str | None = None
    """Where they are published."""
    date: Annotated[dt.date | None, said("write the day they were read, as 2026-11-26")] = None
    models: dict[str, Price]


class PriceFile(Entry):
    """A file of prices."""

    model_config = ConfigDict(title="Prices of models")

    currency: Annotated[str, AfterValidator(_currency)]
    providers: dict[str, ProviderPrices]


@dataclass(frozen=True)
class ModelPrice:
    """The price of a model, and of which currency it is."""

    price: Price
    currency: str

    def of(self, usage: TokenUsage) -> Cost:
        """What so many tokens cost."""
        return Cost(amount=self.price.of(usage), currency=self.currency)

    def ahead(self, tokens: int) -> Cost:
        """What a question of so many tokens costs before anything is answered."""
        return self.of(TokenUsage(prompt_tokens=tokens, completion_tokens=0))


@dataclass(frozen=True)
class Prices:
    """Every price that there is, in one currency, by the model's name.

    >>> Prices.load().of("claude-haiku-4-5-20251001").price.output
    Decimal('5')
    """

    currency: str
    models: Mapping[str, Price] = field(default_factory=dict)

    @classmethod
    def load(cls, own: Path | None = None) -> Self:
        """Those that ship, and over them those of one's own file.

        A file in another currency stands alone: two currencies don't add up. Raises
        `DefinitionError` with every problem of the file.
        """
        shipped = read(SHIPPED)
        if own is None:
            return cls(shipped.currency, _by_name(shipped))
        given = read(own)
        below = _by_name(shipped) if given.currency == shipped.currency else {}
        return cls(given.currency, below | _by_name(given))

    def of(self, model: str) -> ModelPrice | None:
        """The price of the model of this name, or of which this is a dated version; None for none.

        Nothing is guessed: `gpt-5-mini` isn't `gpt-5`.
        """
        name = model if model in self.models else self._undated(model)
        price = self.models.get(name)
        return None if price is None else ModelPrice(price, self.currency)

    def _undated(self, model: str) -> str:
        known = (n for n in self.models if model.startswith(n) and _DATED.fullmatch(model, len(n)))
        return max(known, key=len, default="")


def _by_name(file: PriceFile) -> dict[str, Price]:
    return {name: price for each in file.providers.values() for name, price in each.models.items()}


_WORDING = FileWording(
    unknown="there is no {key} here",
    add="write {key}: …",
    mapping="{key} is no mapping",
    write="write keys and values below it",
)


def read(path: Path) -> PriceFile:
    """The file; raises `DefinitionError` with every problem."""
    # As it is written: 0.1 is a tenth, and not what a computer makes of it.
    document = yaml_file(path, LARGEST, "leave out what nobody asks", as_written=True)
    reading = validated(PriceFile, document.data, (), _WORDING)
    complaints = [*reading.complaints, *_twice(document)]
    if problems := problems_in(str(path), document, complaints):
        raise DefinitionError(problems)
    assert reading.value is not None  # noqa: S101 - there are no complaints
    return reading.value


def _twice(document: YamlDocument) -> Iterator[Complaint]:
    """A model that two providers have: which price holds would be chance."""
    seen: dict[str, str] = {}
    for place in document.lines:
        match place:
            case ("providers", str(provider), "models", str(model)):
                first = seen.setdefault(model, provider)
                if first != provider:
                    what = f"{model} has a price under {first} already"
                    yield Complaint(place, Fault(what, "leave one of them out"))
