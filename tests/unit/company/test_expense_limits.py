"""Expense limits: the same figures as the policies have, for whoever asks and wherever."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from company.policies.book import SHIPPED, read_policies
from company.policies.limits import ExpenseLimits, Limit, expense_limits
from router.domain.errors import ArgumentsToolError, MisconfiguredError
from router.domain.locale import LOCALES, Locale
from tests.unit.activities.tools.conftest import ALICE, FRANK, Desk

LIMITS = ExpenseLimits.load()
REST = "per: night, policy: p, heading: {zh: a, en: b}}"
FIGURE = {"zh": r"(\d[\d,]*) 元", "en": r"(\d[\d,]*) CNY"}


@pytest.fixture(autouse=True)
def limits_at_hand(desk: Desk) -> None:
    desk.dependencies.provide(expense_limits, LIMITS)


async def amounts(desk: Desk, caller: Any = ALICE, **asked: Any) -> list[tuple[str, str]]:
    found = await desk.ask("get_expense_limits", caller, **asked)
    return [(limit["category"], limit["amount"]) for limit in found["limits"]]


class TestAsking:
    async def test_a_figure_comes_with_where_it_is_written(self, desk: Desk) -> None:
        found = await desk.ask("get_expense_limits", FRANK, category="hotel", city="Shanghai")
        (limit,) = found.pop("limits")
        assert found.pop("summary").endswith(", staff | 600 CNY per night |")
        assert found == {"grade": "staff", "city": "Shanghai", "city_is_listed": True}
        where = {"place": "Beijing, Shanghai, Guangzhou, Shenzhen, Hong Kong", "grades": ["staff"]}
        written = {"file": "travel.en.md", "heading": "Hotels"}
        amount = {"category": "hotel", "amount": "600", "currency": "CNY", "per": "night"}
        assert limit == {**amount, **where, **written}

    @pytest.mark.parametrize(
        ("category", "city", "amount"),
        [
            *(("hotel", city, "600") for city in ("上海", "上海市", " shanghai ", "SHANGHAI")),
            ("trip_meals", "北京", "100"),
        ],
    )
    async def test_a_city_has_the_limits_of_itself_and_what_is_around_it(
        self, desk: Desk, category: str, city: str, amount: str
    ) -> None:
        assert await amounts(desk, category=category, city=city) == [(category, amount)]

    async def test_of_an_unlisted_city_all_that_may_hold_are_told(self, desk: Desk) -> None:
        found = await desk.ask("get_expense_limits", category="hotel", city="Chengdu")
        assert not found["city_is_listed"]
        told = [(one["place"], one["amount"]) for one in found["limits"]]
        assert told == [("国内", "400"), ("国外", "1200")]

    async def test_the_grade_is_the_callers_unless_one_is_named(self, desk: Desk) -> None:
        carol = await desk.person("carol")
        asked = {"category": "hotel", "city": "Beijing"}
        assert await amounts(desk, carol, **asked) == [("hotel", "900")]
        assert await amounts(desk, carol, grade="staff", **asked) == [("hotel", "600")]
        assert await amounts(desk, ALICE, grade="director", **asked) == [("hotel", "900")]

    async def test_everything_comes_where_nothing_is_named(self, desk: Desk) -> None:
        categories = {category for category, _ in await amounts(desk)}
        assert categories == {limit.category for limit in LIMITS.limits}

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({"category": "yacht"}, "category: "), ({"category": ""}, "category: "),
            ({"grade": "emperor"}, "grade: "), ({"grade": ["staff"]}, "grade: "),
            ({"city": "x" * 61}, "city: "), ({"city": "a\x00"}, "control characters"),
            ({"city": 7}, "city: "), ({"amount": 10**9}, "amount: "),
        ],
    )  # fmt: skip
    async def test_odd_limits_are_refused(
        self, desk: Desk, asked: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(ArgumentsToolError, match=said):
            await desk.ask("get_expense_limits", **asked)

    @pytest.mark.parametrize("city", ["' or 1=1 --", "../../etc/passwd", "🦄", ".*"])
    async def test_a_city_of_any_spelling_is_just_not_listed(self, desk: Desk, city: str) -> None:
        assert not (await desk.ask("get_expense_limits", city=city))["city_is_listed"]


class TestAgreement:
    """A figure that the policies say otherwise would be worse than none."""

    def sections(self, locale: Locale) -> dict[tuple[str, str], str]:
        found: dict[tuple[str, str], str] = {}
        for passage in read_policies(SHIPPED)[locale]:
            where = passage.file.split(".")[0], passage.heading
            found[where] = f"{found.get(where, '')}\n{passage.text}"
        return found

    @pytest.mark.parametrize("locale", LOCALES)
    def test_the_sections_named_have_exactly_these_figures(self, locale: Locale) -> None:
        sections, said = self.sections(locale), dict[tuple[str, str], set[Decimal]]()
        for limit in LIMITS.limits:
            said.setdefault(self.where(limit, locale), set()).add(limit.amount)
        for where, figures in said.items():
            written = re.findall(FIGURE[locale], sections[where])
            assert {Decimal(figure.replace(",", "")) for figure in written} == figures, where

    @pytest.mark.parametrize("locale", LOCALES)
    def test_each_stands_in_row_of_place_and_column_of_grade(self, locale: Locale) -> None:
        for limit in (one for one in LIMITS.limits if one.grades):
            assert limit.place is not None
            place = LIMITS.places[limit.place].label.within(locale)
            section = self.sections(locale)[self.where(limit, locale)]
            (row,) = [line for line in section.splitlines() if place in line]
            column = {"staff": 2, "director": 3}[limit.grades[0]]
            assert row.split("|")[column].split()[0] == f"{limit.amount:,}", (row, limit)

    def where(self, limit: Limit, locale: Locale) -> tuple[str, str]:
        return limit.policy, limit.heading.within(locale)


class TestFiles:
    async def test_a_folder_without_limits_has_none(self, desk: Desk, tmp_path: Path) -> None:
        with desk.dependencies.override(expense_limits, ExpenseLimits.load(tmp_path)):
            assert await amounts(desk) == []

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("limits: [", r"limits\.yaml:1"),
            ("- 1", r"limits\.yaml:1: .*dictionary"),
            ("currency: yuan", r"limits\.yaml:1: currency: "),
            ("currency: CNY\nlimit: []", r"limits\.yaml:2: limit: "),
            (
                f"limits:\n  - {{category: hotel, amount: -1, {REST}",
                r"limits\.yaml:2: limits\.0\.amount: ",
            ),
            (
                f"limits:\n  - {{category: hotel, amount: 1, place: mars, {REST}",
                "mars: there is no such place",
            ),
            ("currency: !!python/object/apply:os.system ['id']", r"limits\.yaml:"),
        ],
    )
    def test_a_faulty_file_is_told_by_line(self, tmp_path: Path, text: str, said: str) -> None:
        (tmp_path / "limits.yaml").write_text(text, "utf-8")
        with pytest.raises(MisconfiguredError, match=said):
            ExpenseLimits.load(tmp_path)
