"""The sample office: what is made once, what is whose, what is taken back, and what it refuses."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from httpx import AsyncClient

from company.office.ledger import Holder, Ledger
from company.office.service import office
from router.domain.errors import Conflict, NotFound
from tests.table import each_row

ALICE = Holder(tenant="default", person="alice")
EVENING = {"day": "2026-11-19", "hours": 3, "compensation": "pay", "reason": "赶版本"}


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    transport = httpx.ASGITransport(office())
    headers = {"X-User": "alice", "Accept-Language": "zh"}
    async with AsyncClient(transport=transport, base_url="http://office", headers=headers) as it:
        yield it


def test_what_a_key_has_made_is_there_once() -> None:
    ledger = Ledger()
    first = ledger.make(ALICE, "OT", "k", {"hours": 2})
    assert ledger.make(ALICE, "OT", "k", {"hours": 2}) == first
    assert ledger.entries(ALICE, "OT") == [first]


def test_a_tenant_sees_nothing_of_another() -> None:
    ledger = Ledger()
    made = ledger.make(ALICE, "OT", "k", {})
    other = Holder(tenant="acme", person="alice")
    with pytest.raises(NotFound):
        ledger.find(other, made.id)
    assert ledger.take_back(other, "OT", "k") is None
    assert ledger.make(other, "OT", "k", {}).id != made.id


def test_what_has_ended_goes_on_to_nothing_else() -> None:
    ledger = Ledger()
    made = ledger.make(ALICE, "OT", "k", {})
    ledger.take_back(ALICE, "OT", "k")
    with pytest.raises(Conflict):
        ledger.move(ALICE, made.id, "settled", {"open"})


def test_a_file_keeps_what_is_on_record(tmp_path: Path) -> None:
    first = Ledger(str(tmp_path / "office.db"))
    made = first.make(ALICE, "OT", "k", {"hours": 2})
    first.close()
    again = Ledger(str(tmp_path / "office.db"))
    assert again.find(ALICE, made.id) == made
    again.close()


@each_row("id_", ["", "OT", "OT-", "OT-x", "OT-1' OR 1=1", "-1", "OT-²", "XX-1"])
def test_what_is_no_id_is_found_nowhere(id_: str) -> None:
    ledger = Ledger()
    ledger.make(ALICE, "OT", "k", {})
    with pytest.raises(NotFound):
        ledger.find(ALICE, id_)


async def test_overtime_is_recorded_once_settled_and_taken_back(client: AsyncClient) -> None:
    for _ in range(2):
        made = await client.post("/overtime", json=EVENING, headers={"Idempotency-Key": "k"})
        assert made.status_code == 201
    id_ = made.json()["id"]
    asked = {"day": "2026-11-20", "hours": "2"}
    estimate = (await client.get("/overtime/estimate", params=asked)).json()
    assert estimate == {"kind": "workday", "rate": 1.5, "month_hours": 3.0, "over_limit": False}
    settled = (await client.post(f"/overtime/{id_}/settlement", json={"hours": 2})).json()
    assert (settled["status"], settled["credit"]) == ("settled", 3.0)
    gone = (await client.post("/overtime/withdrawals", json={"undoes": "k", **EVENING})).json()
    assert (gone["id"], gone["status"]) == (id_, "withdrawn")
    nothing = (await client.post("/overtime/withdrawals", json={"undoes": "other"})).json()
    assert nothing["id"] is None


@each_row(
    ("change", "said"),
    [
        ({"hours": 0}, "hours"),
        ({"hours": 2.25}, "hours"),
        ({"hours": 13}, "hours"),
        ({"day": "tomorrow"}, "day"),
        ({"compensation": "cake"}, "compensation"),
        ({"reason": None}, "reason"),
    ],
)
async def test_what_no_overtime_can_be_is_refused_by_its_name(
    client: AsyncClient, change: dict[str, object], said: str
) -> None:
    body = {**EVENING, **change}
    answer = await client.post("/overtime", json=body, headers={"Idempotency-Key": "k"})
    assert (answer.status_code, answer.text.partition(":")[0]) == (422, said)


async def test_a_refusal_is_in_the_callers_language(client: AsyncClient) -> None:
    zh = await client.post("/overtime/OT-9/settlement", json={"hours": 2})
    english = {"Accept-Language": "en"}
    en = await client.post("/overtime/OT-9/settlement", json={"hours": 2}, headers=english)
    assert (zh.status_code, zh.text) == (404, "没有编号为 OT-9 的记录")
    assert en.text == "there is no OT-9"


async def test_nobody_is_answered_who_doesnt_say_for_whom(client: AsyncClient) -> None:
    del client.headers["X-User"]
    answer = await client.post("/overtime", json=EVENING, headers={"Idempotency-Key": "k"})
    assert (answer.status_code, answer.text) == (422, "缺少请求头 X-User")
