"""The sample office's rooms and cars: the smallest that is free, and nobody's twice."""

from typing import Any

from httpx import AsyncClient

from tests.table import each_row

MORNING: dict[str, Any] = {"start": "2026-11-23T09:00:00+08:00", "length": {"hours": 3}}

PLAN: dict[str, Any] = {
    "resource": "R-301",
    "asked_at": "2026-11-18T10:00:00+08:00",
    "people": 4,
    "purpose": "a talk",
    **MORNING,
}


async def found(client: AsyncClient, what: str, people: int, **more: Any) -> dict[str, Any]:
    wish = {"what": what, "people": people, **MORNING, **more}
    answer = await client.post("/bookings/search", json=wish)
    assert answer.status_code == 200
    said: dict[str, Any] = answer.json()
    return said


async def booked(client: AsyncClient, key: str, resource: str, **more: Any) -> dict[str, Any]:
    plan = {**PLAN, "resource": resource, **more}
    answer = await client.post("/bookings", json=plan, headers={"Idempotency-Key": key})
    assert answer.status_code == 200
    made: dict[str, Any] = answer.json()
    return made


@each_row(
    ("what", "people", "driver", "resource"),
    [
        ("room", 8, False, "R-301"),
        ("room", 9, False, "R-302"),
        ("room", 200, False, "R-100"),
        ("room", 201, False, None),
        ("car", 4, False, "C-1"),
        ("car", 4, True, "C-2"),  # the driver sits somewhere too
        ("car", 19, True, None),
    ],
)
async def test_the_smallest_that_is_large_enough_is_offered(
    client: AsyncClient, what: str, people: int, driver: bool, resource: str | None
) -> None:
    offer = await found(client, what, people, driver=driver)
    assert (offer["resource"], offer["free"]) == (resource, resource is not None)
    assert offer["next_free"] is None


@each_row(
    ("start", "hours", "resource"),
    [
        ("2026-11-23T10:00:00+08:00", 1, "R-302"),
        ("2026-11-23T07:00:00+08:00", 8, "R-302"),
        ("2026-11-23T03:00:00+00:00", 1, "R-302"),  # the same hours elsewhere
        ("2026-11-23T12:00:00+08:00", 1, "R-301"),
        ("2026-11-23T07:00:00+08:00", 2, "R-301"),
    ],
)
async def test_what_shares_some_of_the_time_with_a_booking_is_not_offered(
    client: AsyncClient, start: str, hours: int, resource: str
) -> None:
    await booked(client, "k", "R-301")
    offer = await found(client, "room", 4, start=start, length={"hours": hours})
    assert offer["resource"] == resource


@each_row(("what", "driver", "most"), [("room", False, 200), ("car", False, 19), ("car", True, 18)])
async def test_it_is_said_for_how_many_there_is_one_at_all(
    client: AsyncClient, what: str, driver: bool, most: int
) -> None:
    for people in (1, 500):
        assert (await found(client, what, people, driver=driver))["most"] == most


async def test_where_all_are_taken_it_is_said_when_the_first_is_free_in_the_askers_hours(
    client: AsyncClient,
) -> None:
    await booked(client, "k", "R-100")
    offer = await found(client, "room", 150, start="2026-11-23T02:00:00+00:00")
    assert (offer["free"], offer["next_free"]) == (False, "2026-11-23 04:00")


async def test_a_second_try_is_the_same_booking_and_somebody_elses_is_none(
    client: AsyncClient,
) -> None:
    first = await booked(client, "k", "C-1")
    assert await booked(client, "k", "C-1") == first
    assert first["due"] == "2026-11-23T14:00:00+08:00"
    client.headers["X-User"] = "frank"
    assert (await booked(client, "other", "C-1"))["resource"] is None
    client.headers["X-Tenant"] = "acme"
    assert (await booked(client, "third", "C-1"))["resource"] == "C-1"


async def test_what_is_taken_back_is_free_again(client: AsyncClient) -> None:
    await booked(client, "k", "R-301")
    gone = (await client.post("/bookings/withdrawals", json={"undoes": "k"})).json()
    assert gone["status"] == "withdrawn"
    assert (await found(client, "room", 4))["resource"] == "R-301"
    nothing = (await client.post("/bookings/withdrawals", json={"undoes": "k2"})).json()
    assert nothing["id"] is None


@each_row(
    "change",
    [
        {"what": "boat"},
        {"people": 0},
        {"people": 501},
        {"length": {"hours": 0}},
        {"length": {"years": 1}},
        {"start": "soon"},
    ],
)
async def test_what_nobody_can_book_is_refused(
    client: AsyncClient, change: dict[str, object]
) -> None:
    body = {"what": "room", "people": 4, **MORNING, **change}
    assert (await client.post("/bookings/search", json=body)).status_code == 422


@each_row("asked_at", ["2026-11-23T09:00:00+08:00", "2026-11-23T01:30:00+00:00"])
async def test_what_has_begun_is_not_booked_any_more(client: AsyncClient, asked_at: str) -> None:
    headers = {"Idempotency-Key": "late"}
    refused = await client.post("/bookings", json={**PLAN, "asked_at": asked_at}, headers=headers)
    assert (refused.status_code, "has passed" in refused.text) == (422, True)
    first = await booked(client, "k", "R-301")
    assert await booked(client, "k", "R-301", asked_at=asked_at) == first
