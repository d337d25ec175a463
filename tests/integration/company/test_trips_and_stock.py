"""Trips on record, and pieces set aside: once for each key, and never twice the same."""

import asyncio
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from company.people.people import PeopleSystem
from company.people.records import STOCK, MoneyAmount, Owner, StockRequest, Trip
from router.domain.errors import ArgumentsToolError, PermanentToolError

ALICE = Owner(tenant="default", person="alice")
BOB = Owner(tenant="default", person="bob")
ELSEWHERE = Owner(tenant="other", person="alice")
NOW = datetime(2026, 11, 20, 2, 0, tzinfo=UTC)


def trip(start: str = "2026-12-14", end: str = "2026-12-16", to: str = "Berlin") -> Trip:
    return Trip(
        destination=to,
        start=date.fromisoformat(start),
        end=date.fromisoformat(end),
        transport="train",
        estimate=MoneyAmount(amount=Decimal("800.50"), currency="CNY"),
        reason="a customer",
    )


def dates(start: str = "2026-12-14", end: str = "2026-12-16") -> tuple[date, date]:
    return date.fromisoformat(start), date.fromisoformat(end)


def wanted(quantity: int = 1) -> StockRequest:
    return StockRequest(kind="projector", quantity=quantity)


ALL = STOCK["projector"].pieces


class TestTrips:
    async def test_the_same_key_books_once_and_gives_the_same(self, people: PeopleSystem) -> None:
        first = await people.trips.book(ALICE, "k", trip())
        assert await people.trips.book(ALICE, "k", trip()) == first
        assert await people.trips.of(ALICE) == [first]
        assert (first.status, first.estimate.amount) == ("booked", Decimal("800.50"))

    @pytest.mark.parametrize("days", [("2026-12-16", "2026-12-17"), ("2026-12-01", "2026-12-31")])
    async def test_trips_share_no_day(self, people: PeopleSystem, days: tuple[str, str]) -> None:
        await people.trips.book(ALICE, "k", trip())
        with pytest.raises(PermanentToolError, match="Berlin from 2026-12-14 to 2026-12-16"):
            await people.trips.check(ALICE, *dates(*days))
        with pytest.raises(PermanentToolError):
            await people.trips.book(ALICE, "k2", trip(*days))
        assert len(await people.trips.of(ALICE)) == 1

    async def test_the_day_after_and_other_people_are_free(self, people: PeopleSystem) -> None:
        await people.trips.book(ALICE, "k", trip())
        await people.trips.check(ALICE, *dates("2026-12-17", "2026-12-18"))
        await people.trips.check(BOB, *dates())
        await people.trips.check(ELSEWHERE, *dates())

    async def test_one_that_ends_before_it_starts_is_refused(self, people: PeopleSystem) -> None:
        backwards = trip("2026-12-16", "2026-12-14")
        with pytest.raises(ArgumentsToolError, match="before the start"):
            await people.trips.check(ALICE, backwards.start, backwards.end)
        with pytest.raises(ArgumentsToolError, match="before the start"):
            await people.trips.book(ALICE, "k", backwards)
        assert await people.trips.of(ALICE) == []

    async def test_called_off_by_its_owner_its_days_are_free(self, people: PeopleSystem) -> None:
        booked = await people.trips.book(ALICE, "k", trip())
        assert await people.trips.cancel(BOB, "k") is None
        assert await people.trips.cancel(ELSEWHERE, "k") is None
        assert await people.trips.of(ALICE) == [booked]
        off = booked.model_copy(update={"status": "cancelled"})
        assert [await people.trips.cancel(ALICE, "k") for _ in range(2)] == [off, off]
        await people.trips.book(ALICE, "k2", trip())
        assert {one.status for one in await people.trips.of(ALICE)} == {"booked", "cancelled"}

    async def test_of_two_at_once_one_gets_the_days(self, people: PeopleSystem) -> None:
        both = [people.trips.book(ALICE, key, trip()) for key in ("k1", "k2")]
        found = await asyncio.gather(*both, return_exceptions=True)
        assert sum(isinstance(one, PermanentToolError) for one in found) == 1
        assert len(await people.trips.of(ALICE)) == 1


class TestStock:
    async def test_the_same_key_reserves_once(self, people: PeopleSystem) -> None:
        first = await people.stock.reserve(ALICE, "k", wanted(), NOW)
        assert await people.stock.reserve(ALICE, "k", wanted(), NOW) == first
        assert await people.stock.left("default", "projector") == ALL - 1

    async def test_no_more_is_promised_than_there_is(self, people: PeopleSystem) -> None:
        await people.stock.reserve(ALICE, "k", wanted(ALL), NOW)
        with pytest.raises(PermanentToolError, match="0 are left in stock, and 1 are wanted"):
            await people.stock.reserve(BOB, "k2", wanted(), NOW)
        assert await people.stock.left("other", "projector") == ALL

    async def test_released_it_is_back_on_the_shelf_once(self, people: PeopleSystem) -> None:
        await people.stock.reserve(ALICE, "k", wanted(ALL), NOW)
        assert await people.stock.release(BOB, "k") is None
        assert await people.stock.left("default", "projector") == 0
        for _ in range(2):
            back = await people.stock.release(ALICE, "k")
            assert back is not None
            assert back.status == "released"
            assert await people.stock.left("default", "projector") == ALL

    async def test_of_two_at_once_for_the_last_one_gets_it(self, people: PeopleSystem) -> None:
        await people.stock.reserve(ALICE, "k", wanted(ALL - 1), NOW)
        both = [people.stock.reserve(BOB, key, wanted(), NOW) for key in ("k1", "k2")]
        found = await asyncio.gather(*both, return_exceptions=True)
        assert sum(isinstance(one, PermanentToolError) for one in found) == 1
        assert await people.stock.left("default", "projector") == 0

    def test_what_is_wanted_is_worth_its_sum(self, people: PeopleSystem) -> None:
        worth = people.stock.value([wanted(2), wanted()])
        assert worth == MoneyAmount(
            amount=Decimal(STOCK["projector"].cents * 3) / 100, currency="CNY"
        )
