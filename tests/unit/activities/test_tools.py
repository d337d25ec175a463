"""The sample tools, called as a flow or a person calls them."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

import activities.builtin
import activities.tools
from activities.people.people import PeopleSystem, human_resources
from router.contracts.activities import ToolCall
from router.domain.errors import ArgumentsToolError, Forbidden, PermanentToolError
from router.domain.principals import Principal
from router.store.database import Database
from router.store.store import Store
from router.tool.context import Dependencies
from router.tool.registry import Registry
from tests.one_try import run_tool

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

ALICE = Principal(id="alice", name="Alice")
BOB = Principal(id="bob", name="Bob")
LEAVE = {
    "leave_type": "annual",
    "start": "2026-11-23",
    "end": "2026-11-25",
    "start_half": None,
    "end_half": "am",
    "days": 2.5,
    "reason": "家里有事",
}


def claim(*invoices: str, amount: str = "58.00") -> dict[str, Any]:
    money = {"amount": amount, "currency": "CNY"}
    items = [
        {"category": "travel", "amount": money, "date": "2026-11-01", "invoice": invoice}
        for invoice in invoices
    ]
    return {"items": items, "reason": "出差"}


class Desk:
    """Calls tools for people and flows."""

    def __init__(self, database: Database, people: PeopleSystem) -> None:
        self.registry = Registry().discover(activities.builtin, activities.tools)
        self.dependencies = Dependencies()
        self.dependencies.provide(human_resources, people)
        self.ledger = Store(database).ledger

    async def ask(self, tool: str, caller: Principal = ALICE, **arguments: Any) -> Any:
        return await self._call(ToolCall(tool=tool, arguments=arguments, caller=caller, now=NOW))

    async def flow(
        self, tool: str, key: str, arguments: Any, undoes: str = "", caller: Principal = ALICE
    ) -> Any:
        call = ToolCall(
            tool=tool,
            arguments=arguments,
            caller=caller,
            key=key,
            undoes=undoes,
            flow_run="f/default/r1",
            now=NOW,
        )
        return await self._call(call)

    async def _call(self, call: ToolCall) -> Any:
        return await run_tool(self.registry, self.ledger, self.dependencies, call)


NOW = datetime(2026, 12, 31, 20, 0, tzinfo=UTC)  # in Shanghai it is 2027 already


@pytest.fixture
def desk(database: Database, people: PeopleSystem) -> Desk:
    return Desk(database, people)


async def test_a_balance_is_of_the_callers_year(desk: Desk) -> None:
    assert await desk.ask("get_leave_balance", leave_type="annual") == {
        "leave_type": "annual",
        "year": 2027,
        "entitled": 15.0,
        "used": 0.0,
        "days": 15.0,
    }


async def test_a_leave_is_recorded_charged_listed_and_taken_back(desk: Desk) -> None:
    recorded = await desk.flow("record_leave", "k1", LEAVE)
    again = await desk.flow("record_leave", "k1", LEAVE)
    balance = await desk.ask("get_leave_balance", leave_type="annual", on="2026-06-01")
    (listed,) = await desk.ask("get_my_leave")
    reverted = await desk.flow("revert_leave", "k2", LEAVE, undoes="k1")
    assert recorded == again == reverted == {"record": listed["id"], "days": 2.5}
    assert balance["days"] == 12.5
    assert (listed["start"], listed["end_half"], listed["days"]) == ("2026-11-23", "am", 2.5)
    after = await desk.ask("get_leave_balance", leave_type="annual", on="2026-06-01")
    assert after["days"] == 15.0


async def test_a_crash_between_recording_and_noting_it_records_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(key: str, result: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(desk.ledger, "finish", crash)
        for tool, arguments in (("record_leave", LEAVE), ("submit_claim", claim("INV-1"))):
            with pytest.raises(SystemExit):
                await desk.flow(tool, tool, arguments)
    recorded = await desk.flow("record_leave", "record_leave", LEAVE)
    submitted = await desk.flow("submit_claim", "submit_claim", claim("INV-1"))
    assert [r["id"] for r in await desk.ask("get_my_leave")] == [recorded["record"]]
    assert [c["id"] for c in await desk.ask("get_my_claims")] == [submitted["claim"]]


async def test_twenty_leaves_at_once_with_a_balance_for_three_are_three(desk: Desk) -> None:
    five_days = {**LEAVE, "days": 5}
    results = await asyncio.gather(
        *(desk.flow("record_leave", f"k{n}", five_days) for n in range(20)), return_exceptions=True
    )
    refused = [result for result in results if isinstance(result, PermanentToolError)]
    assert len(refused) == 17
    balance = await desk.ask("get_leave_balance", leave_type="annual", on="2026-11-23")
    assert balance["days"] == 0.0


async def test_taking_back_what_never_was_is_nothing(desk: Desk) -> None:
    assert await desk.flow("revert_leave", "k2", LEAVE, undoes="k1") == {
        "record": None,
        "days": 0.0,
    }
    assert (await desk.flow("withdraw_claim", "k4", claim("A"), undoes="k3"))["claim"] is None


async def test_an_undo_names_what_it_undoes(desk: Desk) -> None:
    with pytest.raises(ArgumentsToolError, match="name its key"):
        await desk.flow("revert_leave", "k", LEAVE)
    with pytest.raises(ArgumentsToolError, match="name its key"):
        await desk.flow("withdraw_claim", "k5", claim("A"))


async def test_a_claim_is_submitted_and_settled_or_rejected(desk: Desk) -> None:
    first = await desk.flow("submit_claim", "k1", claim("A", "B", amount="6000.05"))
    settled = await desk.flow("settle_claim", "k2", {"claim": first["claim"]})
    second = await desk.flow("submit_claim", "k3", claim("C"))
    rejected = await desk.flow("reject_claim", "k4", {"claim": second["claim"]})
    assert first["total"] == {"amount": "12000.10", "currency": "CNY"}
    assert settled == {"claim": first["claim"], "status": "settled"}
    assert rejected["status"] == "rejected"
    assert {c["status"] for c in await desk.ask("get_my_claims")} == {"settled", "rejected"}
    assert await desk.ask("get_my_claims", caller=BOB) == []


async def test_an_invoice_that_is_taken_is_named(desk: Desk) -> None:
    await desk.flow("submit_claim", "k1", claim("INV-1"))
    with pytest.raises(PermanentToolError, match="INV-1"):
        await desk.flow("submit_claim", "k2", claim("inv-1"), caller=BOB)
    await desk.flow("withdraw_claim", "k3", claim("INV-1"), undoes="k1")
    assert await desk.flow("submit_claim", "k4", claim("INV-1"), caller=BOB)


async def test_nobody_records_anything_by_themselves(desk: Desk) -> None:
    for tool in ("record_leave", "revert_leave", "submit_claim", "settle_claim", "reject_claim"):
        with pytest.raises(Forbidden, match="it is for flow"):
            await desk.ask(tool)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"days": 0}, "days"),
        ({"days": 0.25}, "days"),
        ({"days": 1e9}, "days"),
        ({"days": "NaN"}, "days"),
        ({"start": "2026-02-30"}, "start"),
        ({"leave_type": "gardening"}, "leave_type"),
        ({"end_half": "noon"}, "end_half"),
        ({"reason": "x" * 1001}, "reason"),
        ({"end": "2026-11-01"}, "end"),
    ],
)
async def test_leave_that_makes_no_sense_is_refused(
    desk: Desk, changed: dict[str, Any], field: str
) -> None:
    with pytest.raises(ArgumentsToolError, match=f"{field}: "):
        await desk.flow("record_leave", "k", {**LEAVE, **changed})


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"items": []}, "items"),
        (claim("A", amount="0"), r"items\.0\.amount\.amount"),
        (claim("A", amount="-5"), r"items\.0\.amount\.amount"),
        (claim("A", amount="1.005"), r"items\.0\.amount\.amount"),
        (claim("A", amount="Infinity"), r"items\.0\.amount\.amount"),
        (claim("A", amount="99999999999999"), r"items\.0\.amount\.amount"),
        (claim(" "), r"items\.0\.invoice"),
        (claim("A", "Ａ"), r"items\.1\.invoice"),
        (claim(*[str(n) for n in range(101)]), "items"),
    ],
)
async def test_a_claim_that_makes_no_sense_is_refused(
    desk: Desk, arguments: Any, field: str
) -> None:
    with pytest.raises(ArgumentsToolError, match=f"{field}: "):
        await desk.flow("submit_claim", "k", arguments)


def test_only_the_looking_and_ones_own_requests_are_for_everyone(desk: Desk) -> None:
    shown = {capability.name for capability in desk.registry.capabilities(ALICE)}
    own = {"withdraw_request", "nudge_approver"}
    reads = {tool.name for tool in desk.registry if not tool.writes and tool.options.listed}
    assert shown == reads | own
    assert "read_more" not in shown
    assert {"get_leave_balance", "get_my_claims", "get_my_leave"} <= shown


def test_an_undo_takes_what_the_call_takes(desk: Desk) -> None:
    parameters = desk.registry.parameters()
    assert parameters["revert_leave"] == parameters["record_leave"] == set(LEAVE)
    assert parameters["withdraw_claim"] == parameters["submit_claim"] == {"items", "reason"}
