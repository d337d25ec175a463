"""Other people's leave: who may see it, who may change it, and what is kept of that."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from activities import provided
from company.people.people import PeopleSystem
from company.people.records import Leave, Owner
from router.directory.file import FileDirectory
from router.domain.errors import ArgumentsToolError, Forbidden, PermanentToolError
from router.domain.principals import Principal
from tests.unit.activities.tools.conftest import Desk

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

OF_FRANK = Owner(tenant="default", person="frank")
TWO_DAYS: dict[str, Any] = {
    "employee": "frank",
    "leave_type": "annual",
    "days": 2,
    "reason": "carried over",
}


async def take(people: PeopleSystem, days: str, start: date = date(2026, 11, 23)) -> None:
    first: Any = {"leave_type": "annual", "start": start, "end": start, "reason": "an operation"}
    await people.leave.record(OF_FRANK, f"leave {start}", Leave(days=Decimal(days), **first))


async def look(kept: Desk, reader: str, employee: str = "frank", **more: Any) -> Any:
    caller = await kept.person(reader)
    return await kept.ask("get_employee_leave", caller, employee=employee, **more)


async def adjust(kept: Desk, caller: str = "dave", key: str = "k", **changed: Any) -> Any:
    hr = await kept.person(caller)
    return await kept.write("adjust_leave_balance", hr, key, **{**TWO_DAYS, **changed})


class TestLooking:
    @pytest.mark.parametrize("reader", ["dave", "bob", "carol"])
    async def test_hr_and_those_who_lead_see_balances_and_records_and_never_why(
        self, kept: Desk, people: PeopleSystem, reader: str
    ) -> None:
        await take(people, "1")
        await take(people, "1", date(2025, 11, 24))
        found = await look(kept, reader)
        who = (found["employee"], found["department"], found["year"])
        assert who == ("Frank Novak", "sales", 2026)
        annual = next(one for one in found["balances"] if one["leave_type"] == "annual")
        assert (len(found["balances"]), annual["days"], annual["used"]) == (8, 14.0, 1.0)
        assert [record["start"] for record in found["records"]] == ["2026-11-23"]
        assert "operation" not in str(found)

    @pytest.mark.parametrize("reader", ["alice", "frank", "erin", "gina", "olga"])
    async def test_others_are_told_whom_to_ask(self, kept: Desk, reader: str) -> None:
        with pytest.raises(Forbidden, match=r"Frank Novak's leave is for HR and for those who"):
            await look(kept, reader)

    @pytest.mark.parametrize(
        ("reader", "employee", "said"),
        [
            ("alice", "alice", "your own is in get_my_leave and get_leave_balance"),
            ("bob", "carol", "for HR"),
        ],
    )
    async def test_leading_goes_downwards_only_and_one_s_own_is_elsewhere(
        self, kept: Desk, reader: str, employee: str, said: str
    ) -> None:
        with pytest.raises(Forbidden, match=said):
            await look(kept, reader, employee)

    async def test_a_circle_of_managers_has_an_end(self, kept: Desk) -> None:
        circle = [Principal(id=a, name=f"Name {a}", manager=b) for a, b in ("xy", "yz", "zx")]
        kept.dependencies.provide(provided.directory, FileDirectory(circle))
        assert await kept.ask("get_employee_leave", circle[1], employee="x")
        with pytest.raises(Forbidden):
            await look(kept, "bob", "x")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "employee"),
        [("Frank", "Frank Novak"), ("novak", "Frank Novak"), ("王丽", "王丽 Alice"),
         (" ＦＲＡＮＫ ", "Frank Novak"), ("吉娜", "吉娜 Gina")],
    )  # fmt: skip
    async def test_words_of_a_name_will_do(self, kept: Desk, name: str, employee: str) -> None:
        assert (await look(kept, "dave", name))["employee"] == employee

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({"employee": "nobody"}, "employee: 'nobody' is nobody here"),
            ({"employee": "ran"}, r"employee: 'ran' may be Frank Novak \(sales\); say which"),
            ({"employee": " "}, "employee: ' ' is nobody here"),
            ({"employee": "\u200b"}, "employee: .* is nobody here"),
            ({"employee": ""}, "employee: "),
            ({"employee": "x" * 101}, "employee: "),
            ({"employee": "' or 1=1 --"}, "is nobody here"),
            ({"employee": "fr\x00ank"}, "control characters"),
            ({"employee": "frank", "year": 1066}, "year: "),
            ({"employee": "frank", "year": 9999}, "year: "),
            ({"employee": "frank", "year": "next"}, "year: "),
            ({"employee": "frank", "tenant": "other"}, "tenant: "),
        ],
    )
    async def test_no_person_or_year_is_refused(
        self, kept: Desk, asked: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(ArgumentsToolError, match=said):
            await look(kept, "dave", **asked)

    async def test_two_of_one_name_are_named_with_their_departments(self, kept: Desk) -> None:
        twins = [
            Principal(id=i, name="Li Na", department=d) for i, d in (("u1", "IT"), ("u2", "HR"))
        ]
        hr = Principal(id="h", name="Boss", roles=frozenset({"employee", "hr"}))
        kept.dependencies.provide(provided.directory, FileDirectory([*twins, hr]))
        with pytest.raises(ArgumentsToolError, match=r"may be Li Na \(IT\), Li Na \(HR\)"):
            await kept.ask("get_employee_leave", hr, employee="li na")
        assert (await kept.ask("get_employee_leave", hr, employee="u2"))["department"] == "HR"

    async def test_another_tenants_people_are_nobody(self, kept: Desk) -> None:
        dave = (await kept.person("dave")).model_copy(update={"tenant": "other"})
        with pytest.raises(ArgumentsToolError, match="is nobody here"):
            await kept.ask("get_employee_leave", dave, employee="frank")


class TestAdjusting:
    async def test_changes_happen_once(self, kept: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        async def crash(key: str, result: Any) -> None:
            raise SystemExit

        with monkeypatch.context() as patch:
            patch.setattr(kept.store.ledger, "finish", crash)
            with pytest.raises(SystemExit):
                await adjust(kept)
        first = await adjust(kept)
        assert first == await adjust(kept)
        balance = first["balance"]
        after = (first["employee"], balance["entitled"], balance["days"])
        assert after == ("Frank Novak", 17.0, 17.0)
        (trace,) = (await look(kept, "dave"))["adjustments"]
        assert trace == first["adjustment"]
        change = {"days": 2.0, "entitled_before": 15.0, "reason": "carried over", "by": "dave"}
        assert change.items() <= trace.items()

    async def test_the_employee_sees_the_change_and_managers_not_why(self, kept: Desk) -> None:
        await adjust(kept)
        own = await kept.ask("get_leave_balance", await kept.person("frank"), leave_type="annual")
        assert (own["days"], (await look(kept, "bob"))["adjustments"]) == (17.0, None)

    async def test_no_more_is_taken_than_is_left(self, kept: Desk, people: PeopleSystem) -> None:
        await take(people, "10.5")
        said = r"5 days are more than the 4\.5 that are left"
        with pytest.raises(PermanentToolError, match=said):
            await adjust(kept, key="k1", days=-5)
        await adjust(kept, key="k2", days=-4.5)
        found = await look(kept, "dave")
        assert next(b["days"] for b in found["balances"] if b["leave_type"] == "annual") == 0.0
        assert len(found["adjustments"]) == 1

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"days": -16}, r"16 days are more than the 15 that are left"),
            ({"employee": "Dave"}, "nobody adjusts their own"),
        ],
    )
    async def test_what_would_be_refused_is_said_before_anybody_confirms(
        self, kept: Desk, changed: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(PermanentToolError, match=said):
            await kept.ask(
                "adjust_leave_balance", await kept.person("dave"), **{**TWO_DAYS, **changed}
            )

    @pytest.mark.parametrize("caller", ["bob", "carol", "frank", "erin", "olga"])
    async def test_it_is_for_hr_alone(self, kept: Desk, caller: str) -> None:
        with pytest.raises(Forbidden, match="it is for hr"):
            await adjust(kept, caller)

    async def test_it_asks_first(self, kept: Desk) -> None:
        with pytest.raises(Forbidden, match="confirmed"):
            await kept.ask("adjust_leave_balance", await kept.person("dave"), **TWO_DAYS)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"days": 0}, "days: .*change nothing"), ({"days": -0.0}, "days: .*change nothing"),
            ({"days": 0.25}, "days: "), ({"days": 367}, "days: "), ({"days": -1e9}, "days: "),
            ({"days": "NaN"}, "days: "), ({"days": "Infinity"}, "days: "),
            ({"days": "two"}, "days: "), ({"days": True}, "days: "), ({"days": None}, "days: "),
            ({"leave_type": "gardening"}, "leave_type: "),
            ({"leave_type": ["annual"]}, "leave_type: "), ({"reason": ""}, "reason: "),
            ({"reason": " \t\n"}, "reason: .*say why"), ({"reason": "x" * 1001}, "reason: "),
            ({"reason": "a\x1b[2J"}, "control characters"),
            ({"employee": "nobody"}, "employee: 'nobody' is nobody here"),
            ({"employee": "o"}, "employee: 'o' may be .*say which"), ({"year": 1066}, "year: "),
            ({"by": "carol"}, "by: "),
        ],
    )  # fmt: skip
    async def test_what_makes_no_sense_is_refused_and_changes_nothing(
        self, kept: Desk, people: PeopleSystem, changed: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(ArgumentsToolError, match=said):
            await adjust(kept, **changed)
        assert (await people.leave.balance(OF_FRANK, "annual", 2026)).days == 15
        assert await people.adjustments.of(OF_FRANK, 2026) == []
