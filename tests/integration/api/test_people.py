"""Who the caller is, and who the others are."""

from typing import Any

from fastapi import FastAPI

from tests.integration.api.conftest import As, client_of


async def test_everybody_may_know_who_they_are_and_whom_to_ask(caller: As) -> None:
    frank = caller("frank")
    me: dict[str, Any] = {
        "id": "frank",
        "name": "Frank Novak",
        "locale": "en",
        "roles": ["employee"],
        "helps": False,
    }
    me |= {"timezone": "Asia/Shanghai", "assistant": None}
    assert (await frank.get("/v1/me")).json() == me
    for wished, answered in (("zh", "zh"), ("en", "en"), ("fr", "en"), ("", "en")):
        told = (await frank.get("/v1/me", headers={"X-Locale": wished})).json()
        assert told == {**me, "locale": answered}
    people = (await frank.get("/v1/people")).json()
    assert people["next"] is None
    assert people["items"][0] == {"id": "alice", "name": "王丽 Alice", "department": "sales"}
    assert {person["id"] for person in people["items"]} > {"bob", "carol", "frank"}


async def test_strangers_are_told_of_nobody_but_whom_dev_lets_them_be(app: FastAPI) -> None:
    async with client_of(app, None) as client:
        for path in ("/v1/me", "/v1/people"):
            assert (await client.get(path)).status_code == 401
        people = (await client.get("/v1/dev/users")).json()
    assert [person["id"] for person in people][:2] == ["alice", "bob"]
