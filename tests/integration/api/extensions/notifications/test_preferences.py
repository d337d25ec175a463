"""How a caller wishes to be written to, over HTTP: theirs alone, and whole or not at all."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from router.directory.file import FileDirectory
from router.extensions.notifications.preferences import USUAL
from router.extensions.notifications.store import Notifications
from router.runtime.server import create_app
from router.store.store import Store
from tests.integration.api.conftest import As, client_of, problem
from tests.table import each_row

PATH = "/v1/notification-preferences"
NIGHT = {"begins": "19:00", "ends": "08:00"}
PEOPLE = """
users:
  - {id: alice, name: Alice, locale: en, accounts: {mail: alice@example.com, slack: U1}}
  - {id: bob, name: Bob}
"""


@pytest.fixture
async def alice(services: Services, store: Store) -> AsyncIterator[AsyncClient]:
    """Somebody with an address and an account."""
    await Notifications(store.database).choose("default", "alice", USUAL)
    directory = FileDirectory.read(PEOPLE, "people")
    async with client_of(create_app(replace(services, directory=directory)), "alice") as client:
        yield client


async def test_whoever_has_said_nothing_has_what_is_usual(alice: AsyncClient) -> None:
    assert (await alice.get(PATH)).json() == USUAL.model_dump(mode="json")


async def test_what_is_chosen_is_chosen_whole(alice: AsyncClient) -> None:
    chosen = {"channels": ["mail", "slack", "mail"], "quiet": NIGHT, "digest": "08:30"}
    answer = await alice.put(PATH, json=chosen)
    assert answer.status_code == 200
    assert answer.json()["channels"] == ["mail", "slack"]
    assert (await alice.get(PATH)).json() == answer.json()
    assert (await alice.put(PATH, json={})).json() == USUAL.model_dump(mode="json")


@each_row(
    "body",
    [
        {"quiet": {"begins": "19:00", "ends": "19:00"}},
        {"quiet": "always"},
        {"digest": "9 o'clock"},
        {"digest": "19:30", "quiet": NIGHT},
        {"channels": ["feishu"]},
        {"channels": ["../etc"]},
        {"channels": [f"c{n}" for n in range(9)]},
        {"days_off": 3},
        {"nothing": "of ours"},
        [],
        None,
    ],
)
async def test_what_can_t_be_had_changes_nothing(alice: AsyncClient, body: Any) -> None:
    await alice.put(PATH, json={"days_off": True})
    problem(await alice.put(PATH, json=body), 422)
    assert (await alice.get(PATH)).json()["days_off"] is True


async def test_what_is_wrong_is_at_the_field_that_was_sent(alice: AsyncClient) -> None:
    answer = await alice.put(PATH, json={"quiet": {"begins": "19:00", "ends": "19:00"}})
    assert {fault["field"] for fault in answer.json()["errors"]} == {"quiet"}


async def test_nobody_sees_or_changes_anothers(caller: As, store: Store) -> None:
    await caller("bob").put(PATH, json={"days_off": True})
    await caller("carol").put(PATH, json={"requests_wait": True})
    assert (await caller("bob").get(PATH)).json()["requests_wait"] is False
    assert await Notifications(store.database).chosen("acme", "bob") == USUAL
