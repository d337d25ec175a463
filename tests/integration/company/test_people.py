import asyncio
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from company.people import tables
from company.people.people import PeopleSystem
from company.people.records import ENTITLED, Change, Claim, ClaimItem, Leave, MoneyAmount, Owner
from router.domain.errors import ArgumentsToolError, NotFound, PermanentToolError
from router.store.database import Database
from router.store.tables import ROUTER
from tests.databases import OF_ROUTER

ALICE = Owner(tenant="default", person="alice")
RUN = "reimbursement/default/r1"
"""The run that makes the calls: their keys begin with it."""
BOB = Owner(tenant="default", person="bob")


def leave(days: str = "3", start: str = "2026-11-23", **more: Any) -> Leave:
    first = date.fromisoformat(start)
    fields: dict[str, Any] = {"leave_type": "annual", "start": first, "end": first, **more}
    return Leave(days=Decimal(days), **fields)


def change(days: str, reason: str = "carried over") -> Change:
    return Change(leave_type="annual", year=2026, days=Decimal(days), reason=reason, by="dave")


def item(invoice: str, amount: str = "58.00", currency: str = "CNY") -> ClaimItem:
    money = MoneyAmount(amount=Decimal(amount), currency=currency)
    return ClaimItem(category="travel", amount=money, date=date(2026, 11, 1), invoice=invoice)


class TestTables:
    @pytest.mark.slow
    async def test_migrations_make_tables(self, people: PeopleSystem, database: Database) -> None:
        def differences(connection: Connection) -> list[object]:
            found = compare_metadata(MigrationContext.configure(connection), tables.metadata)
            others = [name for each in OF_ROUTER for name in each.tables.tables] + ["alembic_"]
            return [d for d in found if not any(name in str(d) for name in others)]

        assert await database.read(differences) == []
        await database.migrate(ROUTER)
        await people.migrate()

    def test_the_head_that_is_written_down_is_the_newest_revision(self) -> None:
        config = Config()
        config.set_main_option("script_location", str(tables.PEOPLE.folder))
        config.set_main_option("path_separator", "os")
        assert ScriptDirectory.from_config(config).get_current_head() == tables.PEOPLE.head


class TestLeave:
    @pytest.mark.slow
    async def test_everyone_has_balances_from_the_start(self, people: PeopleSystem) -> None:
        for leave_type, days in ENTITLED.items():
            balance = await people.leave.balance(ALICE, leave_type, 2026)
            assert [balance.entitled, balance.used, balance.days] == [days, Decimal(0), days]

    @pytest.mark.slow
    async def test_a_grant_of_ones_own_replaces_the_usual_one(self, people: PeopleSystem) -> None:
        await people.leave.entitle(ALICE, "annual", 2026, Decimal("7.5"))
        await people.leave.entitle(ALICE, "annual", 2026, Decimal("8.5"))
        assert (await people.leave.balance(ALICE, "annual", 2026)).days == Decimal("8.5")
        assert (await people.leave.balance(ALICE, "annual", 2027)).days == 15
        assert (await people.leave.balance(BOB, "annual", 2026)).days == 15

    @pytest.mark.slow
    async def test_a_leave_is_charged_to_the_year_it_starts_in(self, people: PeopleSystem) -> None:
        across = leave("3.5", "2026-12-30", end=date(2027, 1, 5), end_half="am", reason="回家")
        record = await people.leave.record(ALICE, "k", across)
        assert record.model_dump(exclude={"id", "status"}) == across.model_dump()
        assert (await people.leave.balance(ALICE, "annual", 2026)).days == Decimal("11.5")
        assert (await people.leave.balance(ALICE, "annual", 2027)).days == 15
        assert (await people.leave.balance(ALICE, "sick", 2026)).days == 15

    async def test_the_same_key_at_once_and_later_records_once(self, people: PeopleSystem) -> None:
        records = await asyncio.gather(
            *(people.leave.record(ALICE, "k", leave("8")) for _ in range(10))
        )
        assert records == [await people.leave.record(ALICE, "k", leave("8"))] * 10
        assert (await people.leave.balance(ALICE, "annual", 2026)).used == 8

    async def test_more_than_is_left_is_refused_with_the_rest(self, people: PeopleSystem) -> None:
        await people.leave.record(ALICE, "k1", leave("14.5"))
        with pytest.raises(PermanentToolError, match=r"1 days of annual.*the 0\.5 .*2026"):
            await people.leave.record(ALICE, "k2", leave("1"))
        await people.leave.record(ALICE, "k3", leave("0.5"))

    async def test_twenty_at_once_with_days_for_three_are_three(self, people: PeopleSystem) -> None:
        recording = (people.leave.record(ALICE, f"k{number}", leave("5")) for number in range(20))
        ends = await asyncio.gather(*recording, return_exceptions=True)
        assert sum(isinstance(end, PermanentToolError) for end in ends) == 17
        assert (await people.leave.balance(ALICE, "annual", 2026)).days == 0

    async def test_only_ones_own_is_reverted_and_freed_once(self, people: PeopleSystem) -> None:
        record = await people.leave.record(ALICE, "k", leave())
        assert await people.leave.revert(BOB, "k") is None
        assert await people.leave.revert(ALICE, "another") is None
        assert (await people.leave.balance(ALICE, "annual", 2026)).used == 3
        off = record.model_copy(update={"status": "reverted"})
        assert [await people.leave.revert(ALICE, "k") for _ in range(2)] == [off, off]
        assert (await people.leave.balance(ALICE, "annual", 2026)).days == 15
        assert await people.leave.of(ALICE) == [off]

    async def test_leave_is_listed_latest_first(self, people: PeopleSystem) -> None:
        for start in ("2026-03-02", "2026-11-23", "2026-05-04"):
            await people.leave.record(ALICE, start, leave("1", start))
        assert [r.start.month for r in await people.leave.of(ALICE)] == [11, 5, 3]
        assert await people.leave.of(BOB) == []

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            (leave("1.25"), r"days: 1\.25 aren't whole or half"),
            (leave(start="2026-11-23", end=date(2026, 11, 22)), "end: 2026-11-22 is before"),
        ],
    )
    async def test_leave_that_makes_no_sense_is_refused(
        self, people: PeopleSystem, wrong: Leave, said: str
    ) -> None:
        with pytest.raises(ArgumentsToolError, match=said):
            await people.leave.record(ALICE, "k", wrong)


class TestAdjustments:
    async def test_a_change_moves_the_grant_and_stays_on_record(self, people: PeopleSystem) -> None:
        more, less = change("2.5"), change("-1", reason="typed wrong")
        await people.adjustments.adjust(ALICE, "k1", more)
        made, balance = await people.adjustments.adjust(ALICE, "k2", less)
        assert (balance.entitled, balance.days) == (Decimal("16.5"), Decimal("16.5"))
        assert made.entitled_before == Decimal("17.5")
        trail = await people.adjustments.of(ALICE, 2026)
        assert [(a.days, a.by, a.reason) for a in trail] == [
            (Decimal(-1), "dave", "typed wrong"),
            (Decimal("2.5"), "dave", "carried over"),
        ]
        assert await people.adjustments.of(BOB, 2026) == []
        assert await people.adjustments.of(ALICE, 2027) == []

    async def test_the_same_key_changes_once(self, people: PeopleSystem) -> None:
        made = await asyncio.gather(
            *(people.adjustments.adjust(ALICE, "k", change("1")) for _ in range(10))
        )
        assert len({adjustment.id for adjustment, _ in made}) == 1
        assert (await people.leave.balance(ALICE, "annual", 2026)).entitled == 16

    async def test_changes_and_leave_at_once_never_overdraw(self, people: PeopleSystem) -> None:
        taking = [
            *(people.leave.record(ALICE, f"l{number}", leave("4")) for number in range(6)),
            *(people.adjustments.adjust(ALICE, f"a{number}", change("-4")) for number in range(6)),
        ]
        ends = await asyncio.gather(*taking, return_exceptions=True)
        assert sum(isinstance(end, PermanentToolError) for end in ends) == 9
        assert (await people.leave.balance(ALICE, "annual", 2026)).days == 3

    async def test_the_database_keeps_above_zero(
        self, people: PeopleSystem, database: Database
    ) -> None:
        made, _ = await people.adjustments.adjust(ALICE, "k1", change("1"))
        row = ALICE.model_dump() | made.model_dump(exclude={"days", "entitled_before"})
        row |= {"id": "another", "key": "k2", "half_days": -31, "entitled_before": 30}
        with pytest.raises(IntegrityError):
            await database.write(lambda c: c.execute(tables.adjustments.insert(), row))


class TestClaims:
    async def test_a_claim_is_kept_as_it_was_made(self, people: PeopleSystem) -> None:
        items = [item("INV-2", "0.10"), item("INV-1", "12000.05")]
        claim = await people.claims.submit(ALICE, f"{RUN}:k", items, "出差")
        assert claim.total == MoneyAmount(amount=Decimal("12000.15"), currency="CNY")
        assert (claim.status, claim.items, claim.reason) == ("submitted", items, "出差")
        assert await people.claims.of(ALICE) == [claim]
        assert await people.claims.of(BOB) == []

    async def test_the_same_key_claims_once(self, people: PeopleSystem) -> None:
        claims = await asyncio.gather(
            *(people.claims.submit(ALICE, f"{RUN}:k", [item("INV-1")], "") for _ in range(10))
        )
        assert len({claim.id for claim in claims}) == 1
        assert len(await people.claims.of(ALICE)) == 1

    async def test_an_invoice_is_claimed_once_by_whomever(self, people: PeopleSystem) -> None:
        await people.claims.submit(ALICE, f"{RUN}:k1", [item("INV-1")], "")
        with pytest.raises(PermanentToolError, match="invoice INV-1 is in a claim"):
            await people.claims.submit(
                BOB, f"{RUN}:k2", [item("INV-2"), item(" ｉn\u200bv ‐1\ufe0f")], ""
            )
        with pytest.raises(ValueError, match="write it in Latin letters"):
            item("I\u039dV-1")
        assert await people.claims.claimed("default", "INV-1")
        assert not await people.claims.claimed("default", "INV-2")
        assert not await people.claims.claimed("other", "INV-1")

    async def test_a_run_may_claim_again_what_it_has_claimed_itself(
        self, people: PeopleSystem
    ) -> None:
        await people.claims.submit(ALICE, f"{RUN}:k1", [item("INV-1")], "")
        branch = f"{RUN}0"
        await people.claims.submit(ALICE, f"{branch}:k1", [item("INV-2")], "")
        assert not await people.claims.claimed("default", "INV-1", own_runs=[RUN, branch])
        assert not await people.claims.claimed("default", "INV-2", own_runs=[RUN, branch])
        for others in ([], [""], [branch], [RUN[:-1]], ["reimbursement/default/%"]):
            assert await people.claims.claimed("default", "INV-1", own_runs=others)

    async def test_of_twenty_claims_for_one_invoice_one_stands(self, people: PeopleSystem) -> None:
        def items(number: int) -> list[ClaimItem]:
            three = [item(f"INV-{number}"), item("SHARED"), item(f"INV-{number}-B")]
            return three[:: (-1) ** number]

        claiming = (people.claims.submit(ALICE, f"{RUN}:k{n}", items(n), "") for n in range(20))
        ends = await asyncio.gather(*claiming, return_exceptions=True)
        assert sum(isinstance(end, PermanentToolError) for end in ends) == 19

    async def test_the_database_claims_once(self, people: PeopleSystem, database: Database) -> None:
        claim = await people.claims.submit(ALICE, f"{RUN}:k1", [item("INV-1")], "")
        row = {"tenant": "default", "claim": claim.id, "position": 1, "category": "travel"}
        row |= {"cents": 1, "date": date(2026, 11, 1), "invoice": "INV-1", "standing": True}
        with pytest.raises(IntegrityError):
            await database.write(lambda c: c.execute(tables.claim_items.insert(), row))

    @pytest.mark.slow
    @pytest.mark.parametrize("end", ["rejected", "withdrawn", "settled then withdrawn"])
    async def test_a_claims_end_frees_its_invoices(self, people: PeopleSystem, end: str) -> None:
        claim = await people.claims.submit(ALICE, f"{RUN}:k1", [item("INV-1")], "")
        if end.startswith("settled"):
            await people.claims.settle(ALICE, claim.id, [RUN])
            assert await people.claims.claimed("default", "INV-1")
        for _ in range(2):
            if end == "rejected":
                ended: Claim | None = await people.claims.reject(ALICE, claim.id, [RUN])
            else:
                ended = await people.claims.withdraw(ALICE, f"{RUN}:k1")
            assert ended is not None
            assert ended.status == end.rsplit(maxsplit=1)[-1]
        assert not await people.claims.claimed("default", "INV-1")
        await people.claims.submit(BOB, f"{RUN}:k2", [item("INV-1")], "")

    async def test_a_claim_that_has_ended_stays_so(self, people: PeopleSystem) -> None:
        claim = await people.claims.submit(ALICE, f"{RUN}:k", [item("INV-1")], "")
        await people.claims.settle(ALICE, claim.id, [RUN])
        assert (await people.claims.settle(ALICE, claim.id, [RUN])).status == "settled"
        with pytest.raises(PermanentToolError, match="is settled and can't be rejected"):
            await people.claims.reject(ALICE, claim.id, [RUN])
        await people.claims.withdraw(ALICE, f"{RUN}:k")
        with pytest.raises(PermanentToolError, match="is withdrawn and can't be settled"):
            await people.claims.settle(ALICE, claim.id, [RUN])

    async def test_what_isnt_ones_own_cannot_be_touched(self, people: PeopleSystem) -> None:
        claim = await people.claims.submit(ALICE, f"{RUN}:k", [item("INV-1")], "")
        with pytest.raises(NotFound, match="bob has no claim"):
            await people.claims.settle(BOB, claim.id, [RUN])
        assert await people.claims.withdraw(BOB, f"{RUN}:k") is None
        assert await people.claims.claimed("default", "INV-1")

    @pytest.mark.parametrize(
        ("items", "said"),
        [
            ([], "items: a claim has at least one"),
            ([item("A"), item("B", currency="USD")], r"items\.1\.amount: USD and CNY"),
            ([item("A"), item("B"), item("a ")], r"items\.2\.invoice: A is there twice"),
        ],
    )
    async def test_items_that_do_not_go_together_are_refused(
        self, people: PeopleSystem, items: list[ClaimItem], said: str
    ) -> None:
        with pytest.raises(ArgumentsToolError, match=said):
            await people.claims.submit(ALICE, f"{RUN}:k", items, "")
