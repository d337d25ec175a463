"""Prices of models: which one holds, what tokens come to, and files that can't be used."""

from decimal import Decimal
from pathlib import Path

import pytest

from router.domain.errors import DefinitionError
from router.llm.prices import SHIPPED, Price, Prices, read
from router.llm.types import TokenUsage
from tests.table import each_row

OWN = """
currency: USD
providers:
  ours:
    models:
      qwen: {input: 0, output: 0}
      gpt-5-mini: {input: 0.2, cached: 0.02, output: 1.8}
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "prices.yaml"


def test_what_ships_says_of_each_provider_when_and_where_it_was_read() -> None:
    shipped = read(SHIPPED)
    assert all(each.date and each.source and each.models for each in shipped.providers.values())
    assert {"anthropic", "openai", "google"} <= set(shipped.providers)


def test_what_is_cached_is_cheaper_and_what_is_written_into_a_cache_no_cheaper() -> None:
    for name, price in Prices.load().models.items():
        assert price.cached is None or price.cached <= price.input, name
        assert price.cache_write is None or price.cache_write >= price.input, name


def test_ones_own_file_overrides_and_adds_and_the_rest_stays(own: Path) -> None:
    own.write_text(OWN)
    prices, shipped = Prices.load(own), Prices.load()
    assert prices.models["gpt-5-mini"].input == Decimal("0.2")
    assert prices.models["qwen"].output == 0
    assert prices.models["gpt-5"] == shipped.models["gpt-5"]


def test_a_file_in_another_currency_stands_alone(own: Path) -> None:
    own.write_text(OWN.replace("USD", "CNY"))
    prices = Prices.load(own)
    assert (prices.currency, set(prices.models)) == ("CNY", {"qwen", "gpt-5-mini"})


@each_row(
    ("asked", "known"),
    [
        ("gpt-5", "gpt-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("gpt-4o:latest", "gpt-4o"),
    ],
)
def test_a_dated_version_has_the_price_of_its_model(asked: str, known: str) -> None:
    prices = Prices.load()
    found = prices.of(asked)
    assert found is not None
    assert found.price is prices.models[known]


@each_row(
    "asked", ["gpt-5-max", "gpt-55", "GPT-5", "openai/gpt-5", "gpt-5-2025-08-07-ft", "gpt-5-1", ""]
)
def test_no_price_is_guessed_from_a_name_that_only_begins_alike(asked: str) -> None:
    assert Prices.load().of(asked) is None


def test_a_token_is_paid_once_by_what_became_of_it() -> None:
    price = Price(input=3, cached="0.3", cache_write="3.75", output=15)
    usage = TokenUsage(
        prompt_tokens=10_000, cached_tokens=6_000, cache_write_tokens=3_000, completion_tokens=200
    )
    by_hand = (1_000 * 3 + 6_000 * Decimal("0.3") + 3_000 * Decimal("3.75") + 200 * 15) / 1_000_000
    assert price.of(usage) == by_hand == Decimal("0.01905")


def test_what_isnt_said_is_as_input_and_an_answer_is_rounded_once() -> None:
    price = Price(input="0.0375", output=0)
    usage = TokenUsage(prompt_tokens=3, cached_tokens=1, cache_write_tokens=1, completion_tokens=9)
    assert price.of(usage) == Decimal("0.000000112")  # 0.0000001125, to the even


HEAD = "currency: USD\nproviders:\n  x:\n    models:\n"
HOSTILE = {
    "nothing": ("", "it is no mapping"),
    "no mapping": ("- a\n- b\n", "no mapping"),
    "no YAML": ("currency: [USD\n", ""),
    "a control character": ("currency: \x07\n", "control character"),
    "no currency": ("providers: {}\n", "there is no currency"),
    "a strange currency": ("currency: dollars\nproviders: {}\n", "three letters"),
    "an unknown key": ("currency: USD\nprovider: {}\nproviders: {}\n", "there is no provider here"),
    "models as a list": ("currency: USD\nproviders:\n  x: {models: [a]}\n", "models"),
    "no output": (f"{HEAD}      a: {{input: 1}}\n", "there is no output"),
    "a negative price": (f"{HEAD}      a: {{input: -1, output: 1}}\n", "write what a million"),
    "no number": (f"{HEAD}      a: {{input: free, output: 1}}\n", "write what a million"),
    "not a number": (f"{HEAD}      a: {{input: .nan, output: 1}}\n", "write what a million"),
    "NaN": (f"{HEAD}      a: {{input: NaN, output: 1}}\n", "write what a million"),
    "without an end": (f"{HEAD}      a: {{input: Infinity, output: 1}}\n", "write what a million"),
    "a price for a token": (f"{HEAD}      a: {{input: 1e99, output: 1}}\n", "write what a million"),
    "a price as a list": (f"{HEAD}      a: {{input: [1], output: 1}}\n", "write what a million"),
    "a day that is none": (
        "currency: USD\nproviders:\n  x: {date: 2026-02-30, models: {}}\n",
        "write the day",
    ),
    "twice": (
        (
            f"{HEAD}      a: {{input: 1, output: 1}}\n"
            "  y:\n    models:\n      a: {input: 2, output: 2}\n"
        ),
        "a has a price under x already",
    ),
    "nested without an end": ("[" * 5000, ""),
    "aliases of aliases": (
        "a: &a [x, x]\nb: &b [*a, *a, *a]\ncurrency: USD\nproviders: {}\n",
        "there is no a here",
    ),
}


@pytest.mark.parametrize(("text", "told"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_that_cannot_be_used_is_refused_with_its_line(
    own: Path, text: str, told: str
) -> None:
    own.write_text(text)
    with pytest.raises(DefinitionError) as caught:
        Prices.load(own)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{own}:")


def test_a_file_that_isnt_there_or_isnt_text_is_refused(own: Path) -> None:
    with pytest.raises(DefinitionError, match="there is no such file; check the path"):
        Prices.load(own)
    own.write_bytes(b"currency: \xff\xfe\n")
    with pytest.raises(DefinitionError, match="this isn't UTF-8"):
        Prices.load(own)
