"""Each of the office's families: what it makes once, what it knows of that, and what undoes it."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from httpx import AsyncClient

from company.office.service import office
from tests.table import each_row

ORDER = {
    "items": [{"article": "椅子", "quantity": 2, "price": {"amount": "500.00", "currency": "CNY"}}],
    "total": {"amount": "1000.00", "currency": "CNY"},
    "department": "sales",
    "needed_by": "2026-12-01",
    "reason": "新同事",
}
SEAL = {
    "counterparty": "蓝海",
    "kind": "nda",
    "seal": "contract",
    "copies": 2,
    "paper": "保密协议",
    "reason": "新项目",
}
RIGHT = {"system": "crm", "level": "read", "until": "2026-12-31", "reason": "周报"}
MONEY = {
    "amount": {"amount": "900.00", "currency": "CNY"},
    "purpose": "event",
    "needed_by": "2026-11-25",
    "repay_by": "2026-12-01",
    "reason": "年会",
}
REPORT = {
    "kind": "hazard",
    "severity": "low",
    "happened_on": "2026-11-17",
    "place": "楼梯",
    "injured": False,
    "account": "台阶松了",
}
MADE: dict[str, dict[str, Any]] = {
    "/purchase-orders": ORDER,
    "/contracts": SEAL,
    "/access": RIGHT,
    "/advances": MONEY,
    "/incidents": REPORT,
}


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    transport = httpx.ASGITransport(office())
    headers = {"X-User": "alice", "Accept-Language": "en", "Idempotency-Key": "k"}
    async with AsyncClient(transport=transport, base_url="http://office", headers=headers) as it:
        yield it


async def posted(client: AsyncClient, path: str, body: Any = None, key: str = "k") -> Any:
    answer = await client.post(path, json=body, headers={"Idempotency-Key": key})
    assert answer.is_success, answer.text
    return answer.json()


@each_row("path", MADE)
async def test_a_second_try_is_the_first_and_an_undo_takes_it_back(
    client: AsyncClient, path: str
) -> None:
    first, second = [await posted(client, path, MADE[path]) for _ in range(2)]
    assert first == second
    assert (await posted(client, path, MADE[path], "other"))["id"] != first["id"]
    undone = {"undoes": "k", "on": "2026-11-24", **MADE[path]}
    for _ in range(2):
        gone = await posted(client, f"{path}/withdrawals", undone)
        assert (gone["id"], gone["status"]) == (first["id"], "withdrawn")
    assert (await posted(client, f"{path}/withdrawals", {**undone, "undoes": "never"}))[
        "id"
    ] is None


@each_row("path", MADE)
async def test_a_body_that_lacks_something_is_refused_by_its_name(
    client: AsyncClient, path: str
) -> None:
    for field in MADE[path].keys() - {"detail"}:
        body = {name: value for name, value in MADE[path].items() if name != field}
        answer = await client.post(path, json=body)
        assert (answer.status_code, answer.text) == (422, f"{field}: Field required")


async def test_a_budget_shrinks_by_what_is_ordered_and_grows_by_what_is_called_off(
    client: AsyncClient,
) -> None:
    async def left(department: str) -> tuple[str, bool]:
        asked = {"amount": "299500", "department": department}
        said = (await client.get("/purchase-orders/budget", params=asked)).json()
        return said["left"], said["enough"]

    assert await left("sales") == ("300000.00", True)
    order = await posted(client, "/purchase-orders", ORDER)
    assert await left("sales") == ("299000.00", False)
    assert await left("finance") == ("300000.00", True)
    received = await posted(client, f"/purchase-orders/{order['id']}/receipt")
    assert received["status"] == "received"
    assert await left("sales") == ("299000.00", False)
    await posted(client, "/purchase-orders/withdrawals", {"undoes": "k"})
    assert await left("sales") == ("300000.00", True)


async def test_a_seal_that_is_out_seals_nothing_until_it_is_back(client: AsyncClient) -> None:
    out = await posted(client, "/contracts", {**SEAL, "return_by": "2026-11-20"})
    assert out["status"] == "seal_out"
    refused = await client.post("/contracts", json=SEAL, headers={"Idempotency-Key": "k2"})
    assert (refused.status_code, out["id"] in refused.text) == (409, True)
    other = await posted(client, "/contracts", {**SEAL, "seal": "company"}, "k3")
    assert other["status"] == "open"
    archived = await posted(client, f"/contracts/{out['id']}/archive")
    assert archived["status"] == "archived"
    assert (await posted(client, "/contracts", SEAL, "k2"))["status"] == "open"


@each_row(
    ("name", "allowed"), [("蓝海", True), ("黑石贸易", False), (" Black Stone Trading ", False)]
)
async def test_with_whom_one_signs(client: AsyncClient, name: str, allowed: bool) -> None:
    said = (await client.get("/contracts/counterparty", params={"name": name})).json()
    assert said["allowed"] is allowed


async def test_a_right_is_known_until_it_ends(client: AsyncClient) -> None:
    right = await posted(client, "/access", RIGHT)
    held = (await client.get("/access/systems/crm")).json()
    assert (held["held"], held["until"], held["owner"]) == ("read", "2026-12-31", "bob")
    await posted(client, f"/access/{right['id']}/end")
    assert (await client.get("/access/systems/crm")).json()["held"] is None
    assert (await client.get("/access/systems/nothing")).status_code == 404


async def test_an_advance_is_owed_until_all_of_it_is_back(client: AsyncClient) -> None:
    async def owed(on: str) -> tuple[str, bool]:
        said = (await client.get("/advances/debts", params={"on": on})).json()
        return said["owed"], said["overdue"]

    advance = await posted(client, "/advances", MONEY)
    path = f"/advances/{advance['id']}/repayments"
    for _ in range(2):
        part = await posted(client, path, {"amount": 400}, "part")
        assert (part["status"], part["owed"]) == ("open", "500.00")
    assert await owed("2026-12-01") == ("500.00", False)
    assert await owed("2026-12-02") == ("500.00", True)
    rest = await posted(client, path, {"amount": 500}, "rest")
    assert (rest["status"], rest["owed"]) == ("settled", "0.00")
    assert await owed("2026-12-02") == ("0.00", False)


@each_row("ended", [None, "repayments", "deduction"])
async def test_money_that_has_gone_out_is_not_stopped(
    client: AsyncClient, ended: str | None
) -> None:
    advance = await posted(client, "/advances", MONEY)
    stopped = {"undoes": "k", "on": "2026-11-24" if ended else MONEY["needed_by"]}
    if ended:
        await posted(client, f"/advances/{advance['id']}/{ended}", {"amount": 400}, "part")
    before = (await client.get("/advances/debts", params={"on": "2026-12-02"})).json()
    refused = await client.post("/advances/withdrawals", json=stopped)
    assert (refused.status_code, "only repaid" in refused.text) == (409, True)
    after = (await client.get("/advances/debts", params={"on": "2026-12-02"})).json()
    assert after == before


@each_row("amount", ["-5", "0", "500.01", "90000"])
async def test_what_was_never_owed_is_no_repayment(client: AsyncClient, amount: str) -> None:
    advance = await posted(client, "/advances", MONEY)
    path = f"/advances/{advance['id']}/repayments"
    await posted(client, path, {"amount": "400"}, "part")
    refused = await client.post(path, json={"amount": amount}, headers={"Idempotency-Key": "more"})
    assert refused.status_code == 422
    assert (await posted(client, path, {"amount": "500"}, "rest"))["status"] == "settled"
    again = await client.post(path, json={"amount": "1"}, headers={"Idempotency-Key": "last"})
    assert (again.status_code, "0.00 CNY are owed" in again.text) == (422, True)


async def test_what_is_kept_from_wages_is_owed_no_more(client: AsyncClient) -> None:
    advance = await posted(client, "/advances", MONEY)
    kept = await posted(client, f"/advances/{advance['id']}/deduction")
    assert (kept["status"], kept["owed"]) == ("deducted", "900.00")
    said = (await client.get("/advances/debts", params={"on": "2026-12-02"})).json()
    assert said["owed"] == "0.00"


async def test_an_incident_is_closed_once_with_its_cause(client: AsyncClient) -> None:
    incident = await posted(client, "/incidents", REPORT)
    path = f"/incidents/{incident['id']}/closure"
    for _ in range(2):
        assert (await posted(client, path, {"cause": "螺丝"}))["status"] == "closed"
    await posted(client, "/incidents/withdrawals", {"undoes": "k"})
    late = await client.post(path, json={"cause": "螺丝"})
    assert (late.status_code, "withdrawn" in late.text) == (409, True)
