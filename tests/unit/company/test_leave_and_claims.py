"""The sample tools, called as a flow or a person calls them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from router.domain.errors import ArgumentsToolError, Forbidden, PermanentToolError
from router.domain.principals import Principal
from tests.unit.activities.tools.conftest import ALICE, Desk

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

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
    item = {"category": "travel", "amount": money, "date": "2026-11-01"}
    return {"items": [{**item, "invoice": invoice} for invoice in invoices], "reason": "出差"}


@pytest.fixture
def desk(kept: Desk) -> Desk:
    kept.now = datetime(2026, 12, 31, 20, 0, tzinfo=UTC)  # in Shanghai it is 2027 already
    return kept


async def test_a_balance_is_of_the_callers_year(desk: Desk) -> None:
    balance = await desk.ask("get_leave_balance", leave_type="annual")
    days = {"entitled": 15.0, "used": 0.0, "days": 15.0}
    assert balance.pop("summary").startswith("你 2027 年的年假还剩 ")
    assert balance == {"leave_type": "annual", "year": 2027, **days}


async def test_a_leave_is_recorded_charged_listed_and_taken_back(desk: Desk) -> None:
    async def left() -> float:
        found = await desk.ask("get_leave_balance", leave_type="annual", on="2026-06-01")
        return float(found["days"])

    recorded = await desk.flow("record_leave", "k1", LEAVE)
    again = await desk.flow("record_leave", "k1", LEAVE)
    assert await left() == 12.5
    (listed,) = (await desk.ask("get_my_leave"))["records"]
    assert (listed["start"], listed["end_half"], listed["days"]) == ("2026-11-23", "am", 2.5)
    reverted = await desk.flow("revert_leave", "k2", LEAVE, undoes="k1")
    assert recorded == again == reverted == {"record": listed["id"], "days": 2.5}
    assert await left() == 15.0


async def test_what_crashes_records_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def crash(key: str, result: Any) -> None:
        raise SystemExit

    writes = {"record_leave": LEAVE, "submit_claim": claim("INV-1")}
    with monkeypatch.context() as patch:
        patch.setattr(desk.store.ledger, "finish", crash)
        for tool, arguments in writes.items():
            with pytest.raises(SystemExit):
                await desk.flow(tool, tool, arguments)
    recorded, submitted = [await desk.flow(tool, tool, given) for tool, given in writes.items()]
    assert [r["id"] for r in (await desk.ask("get_my_leave"))["records"]] == [recorded["record"]]
    assert [c["id"] for c in (await desk.ask("get_my_claims"))["claims"]] == [submitted["claim"]]


@pytest.mark.parametrize(
    ("undo", "arguments", "nothing"),
    [
        ("revert_leave", LEAVE, {"record": None, "days": 0.0}),
        ("withdraw_claim", claim("A"), {"claim": None}),
    ],
)
async def test_an_undo_names_what_it_undoes_and_is_nothing_where_that_never_was(
    desk: Desk, undo: str, arguments: Any, nothing: dict[str, Any]
) -> None:
    assert nothing.items() <= (await desk.flow(undo, "k2", arguments, undoes="k1")).items()
    with pytest.raises(ArgumentsToolError, match="name its key"):
        await desk.flow(undo, "k", arguments)


async def test_a_claim_is_submitted_and_settled_or_rejected_or_withdrawn(desk: Desk) -> None:
    first = await desk.flow("submit_claim", "k1", claim("A", "B", amount="6000.05"))
    settled = await desk.flow("settle_claim", "k2", {"claim": first["claim"]})
    second = await desk.flow("submit_claim", "k3", claim("C"))
    rejected = await desk.flow("reject_claim", "k4", {"claim": second["claim"]})
    assert first["total"] == {"amount": "12000.10", "currency": "CNY"}
    assert settled == {"claim": first["claim"], "status": "settled"}
    assert rejected["status"] == "rejected"
    assert {c["status"] for c in (await desk.ask("get_my_claims"))["claims"]} == {
        "settled",
        "rejected",
    }
    assert (await desk.ask("get_my_claims", caller=BOB))["claims"] == []
    with pytest.raises(PermanentToolError, match="invoice A"):
        await desk.flow("submit_claim", "k5", claim("a"), caller=BOB)
    await desk.flow("withdraw_claim", "k6", claim("A", "B"), undoes="k1")
    assert await desk.flow("submit_claim", "k7", claim("A"), caller=BOB)


async def test_a_claim_of_another_run_is_neither_settled_nor_rejected(desk: Desk) -> None:
    other = await desk.flow("submit_claim", "k1", claim("A"), run="reimbursement/default/r9")
    for tool in ("settle_claim", "reject_claim"):
        with pytest.raises(PermanentToolError, match=r"has no claim .* in this request"):
            await desk.flow(tool, tool, {"claim": other["claim"]})
    (kept,) = (await desk.ask("get_my_claims"))["claims"]
    assert kept["status"] == "submitted"


async def test_nobody_records_anything_by_themselves(desk: Desk) -> None:
    for tool in ("record_leave", "revert_leave", "submit_claim", "settle_claim", "reject_claim"):
        with pytest.raises(Forbidden, match="it is for flow"):
            await desk.ask(tool)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"days": 0}, "days"), ({"days": 0.25}, "days"), ({"days": 1e9}, "days"),
        ({"days": "NaN"}, "days"), ({"start": "2026-02-30"}, "start"),
        ({"leave_type": "gardening"}, "leave_type"), ({"end_half": "noon"}, "end_half"),
        ({"reason": "x" * 1001}, "reason"), ({"end": "2026-11-01"}, "end"),
    ],
)  # fmt: skip
async def test_senseless_leave_is_refused(desk: Desk, changed: dict[str, Any], field: str) -> None:
    with pytest.raises(ArgumentsToolError, match=f"{field}: "):
        await desk.flow("record_leave", "k", {**LEAVE, **changed})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"items": []}, "items"),
        *(
            (claim("A", amount=amount), r"items\.0\.amount\.amount")
            for amount in ("0", "-5", "1.005", "Infinity", "99999999999999")
        ),
        (claim(" "), r"items\.0\.invoice"),
        (claim("A", "Ａ"), r"items\.1\.invoice"),
        (claim(*[str(n) for n in range(101)]), "items"),
    ],
)
async def test_a_senseless_claim_is_refused(desk: Desk, arguments: Any, field: str) -> None:
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
