"""The sample office's people who come and go: newcomers, leavers, visitors, certificates."""

from typing import Any

from httpx import AsyncClient

from tests.table import each_row

NEWCOMER = {
    "newcomer": "李雷",
    "position": "测试工程师",
    "kind": "permanent",
    "first_day": "2026-12-01",
}
LEAVING = {"last_day": "2026-12-31", "cause": "career", "successor": "张三", "handover": "客户"}
VISIT = {
    "visitors": "Ann Lee",
    "company": "Acme",
    "people": 2,
    "at": "2026-11-19T14:00:00+08:00",
    "area": "office",
    "purpose": "a demo",
}
PROOF = {"kind": "income", "language": "en", "count": 1, "purpose": "a loan", "delivery": "fetch"}


async def made(client: AsyncClient, path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
    answer = await client.post(path, json=body, headers={"Idempotency-Key": key})
    assert answer.status_code == 201
    record: dict[str, Any] = answer.json()
    return record


@each_row(
    ("path", "body"),
    [
        ("/newcomers", NEWCOMER),
        ("/resignations", LEAVING),
        ("/visits", VISIT),
        ("/certificates", PROOF),
    ],
)
async def test_what_is_put_on_record_is_there_once_and_can_be_taken_back(
    client: AsyncClient, path: str, body: dict[str, Any]
) -> None:
    first = await made(client, path, body, "k")
    assert await made(client, path, body, "k") == first
    gone = (await client.post(f"{path}/withdrawals", json={"undoes": "k", **body})).json()
    assert (gone["id"], gone["status"]) == (first["id"], "withdrawn")
    nothing = (await client.post(f"{path}/withdrawals", json={"undoes": "other"})).json()
    assert nothing["id"] is None


async def test_a_newcomers_account_and_seat_are_of_a_file_that_is_open(client: AsyncClient) -> None:
    file = await made(client, "/newcomers", NEWCOMER, "f")
    account = await made(client, "/newcomers/accounts", {"file": file["id"]}, "a")
    assert account["mail"] == f"{file['id'].lower()}@example.com"
    place = {"file": file["id"], "first_day": "2026-12-01", "computer": "none"}
    assert (await made(client, "/newcomers/workplaces", place, "w"))["seat"].startswith("3F-")
    for path in ("/newcomers/accounts", "/newcomers/workplaces"):
        stray = {**place, "file": "NC-99"}
        answer = await client.post(path, json=stray, headers={"Idempotency-Key": "s"})
        assert answer.status_code == 404


async def test_who_has_left_has_a_certificate_and_doesnt_leave_twice(client: AsyncClient) -> None:
    id_ = (await made(client, "/resignations", LEAVING, "k"))["id"]
    left = [(await client.post(f"/resignations/{id_}/completion")).json() for _ in range(2)]
    assert left[0] == left[1]
    assert left[0]["certificate"].startswith("LC-")


async def test_a_pass_is_locked_unless_it_was_taken_back(client: AsyncClient) -> None:
    id_ = (await made(client, "/visits", VISIT, "k"))["id"]
    await client.post("/visits/withdrawals", json={"undoes": "k"})
    answer = await client.post(f"/visits/{id_}/closure")
    assert answer.status_code == 409


@each_row(
    ("path", "body"),
    [
        ("/newcomers", {**NEWCOMER, "newcomer": ""}),
        ("/newcomers", {**NEWCOMER, "kind": "friend"}),
        ("/resignations", {**LEAVING, "last_day": "soon"}),
        ("/visits", {**VISIT, "people": 0}),
        ("/visits", {**VISIT, "area": "roof"}),
        ("/certificates", {**PROOF, "count": 21}),
        ("/certificates", {**PROOF, "delivery": "by hand"}),
    ],
)
async def test_what_cant_be_is_refused(
    client: AsyncClient, path: str, body: dict[str, Any]
) -> None:
    answer = await client.post(path, json=body, headers={"Idempotency-Key": "k"})
    assert answer.status_code == 422
