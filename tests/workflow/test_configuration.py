"""A flow that was never in a file: pushed over REST, used in chat, replaced, rolled back."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.cli.config import DocumentFolder, PushOptions, differences, pulled, pushed
from router.cli.rest import Rest
from router.domain.configuration_documents import Activation, DocumentVersion, digest_of
from router.domain.errors import DefinitionError
from router.flow.definition import FlowDefinition
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.telemetry.metrics import CONFIGURATION_UNFIT
from tests.unit.cli.test_config import fill
from tests.unit.runtime.documents import SOUND, overtime
from tests.waiting import HANGS_AFTER_S
from tests.workflow.deployments import run_for_people, serve_with_worker

QUEUE = "configured"
PEOPLE = "users:\n" + "".join(
    f"  - {{id: {id_}, name: {id_}, tenant: {tenant}, locale: en, {more}}}\n"
    for tenant in ("acme", "globex")
    for id_, more in (
        ("alice", "manager: bob"),
        ("bob", "roles: [manager]"),
        ("olga", "roles: [operator]"),
    )
)
PATH = "/v1/configuration/flows/overtime"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Parts]:
    async with run_for_people(PEOPLE, tmp_path) as parts:
        yield parts


@pytest.fixture
async def desk(house: Parts, real_client: Client) -> AsyncIterator[AsyncClient]:
    async with serve_with_worker(house, real_client, QUEUE) as client:
        yield client


class Person:
    """Somebody at the desk."""

    def __init__(self, desk: AsyncClient, who: str) -> None:
        self.desk = desk
        self.headers = {"Authorization": f"Bearer {who}"}

    async def __call__(self, method: str, path: str, **more: Any) -> Any:
        headers = {**self.headers, **more.pop("headers", {})}
        answer = await self.desk.request(method, path, headers=headers, **more)
        assert answer.is_success, answer.text
        return answer.json()

    async def begin(self, *texts: str) -> Any:
        conversation = (await self("POST", "/v1/conversations", json={}))["id"]
        for text in texts:
            path = f"/v1/conversations/{conversation}/messages"
            turn = await self("POST", path, json={"text": text})
        return turn

    async def put(self, text: str, over: int | None = None) -> Any:
        headers = {} if over is None else {"If-Match": f'"{over}"'}
        return await self("PUT", PATH, json={"text": text}, headers=headers)

    async def run(self, id_: str) -> Any:
        return await self("GET", f"/v1/flow-runs/{id_}")

    async def approve(self) -> None:
        (waiting,) = (await self("GET", "/v1/approvals"))["items"]
        body = {"decision": "approve", "digest": waiting["digest"]}
        await self("POST", f"/v1/approvals/{waiting['id']}/decision", json=body)


async def until(holds: Callable[[], Any]) -> Any:
    """What it comes to once it is true: others are at work on it."""
    async with asyncio.timeout(HANGS_AFTER_S):
        while not (found := await holds()):  # noqa: ASYNC110 - other processes do it
            await asyncio.sleep(0.1)
    return found


@pytest.mark.slow
async def test_a_pushed_flow_is_used_replaced_and_rolled_back_while_a_run_keeps_its_version(
    desk: AsyncClient,
) -> None:
    olga, alice, bob = (Person(desk, f"acme/{who}") for who in ("olga", "alice", "bob"))
    stranger = Person(desk, "globex/alice")
    await olga.put(overtime(said="First"))
    first = (await alice.begin("log overtime", "3"))["flow"]
    assert (first["name"], first["status"]) == ("overtime", "waiting_approval")
    assert (await stranger.begin("log overtime")).get("flow") is None

    await olga.put(overtime(2, said="Second", hours=2), 1)
    asked = await alice.begin("log overtime", "3")
    assert "too many" in str(asked["replies"])
    await bob.approve()

    async def ended() -> Any:
        run = await alice.run(first["id"])
        return run if run["status"] == "completed" else None

    run = await until(ended)
    assert run["version"] == 1

    await olga("POST", f"{PATH}/activate", json={"version": 1})
    again = (await alice.begin("log overtime", "3"))["flow"]
    assert again["status"] == "waiting_approval"
    assert (await alice.run(again["id"]))["version"] == 1

    await olga("DELETE", PATH)
    assert (await alice.begin("log overtime")).get("flow") is None
    names = {each["name"] for each in (await alice("GET", "/v1/capabilities"))["items"]}
    assert "overtime" not in names
    assert "leave_request" in names


@pytest.mark.slow
async def test_a_process_takes_up_what_another_activated_and_a_new_one_begins_with_it(
    house: Parts, tmp_path: Path
) -> None:
    one, two = (written(number, overtime(number)) for number in (1, 2))
    await house.store.configuration.write(one, 0)
    async with at_work(house.settings) as other:
        assert other.offered.of("acme").catalog.flows["overtime"].version == 1
        await house.store.configuration.write(two, 1)
        both = [each.offered for each in (house, other)]

        async def there() -> bool:
            return all(_version(each.of("acme").catalog.get("overtime")) == 2 for each in both)

        assert await until(there)
        assert all("overtime" not in each.of("globex").catalog.flows for each in both)


@pytest.mark.slow
async def test_what_does_not_fit_any_more_leaves_everything_as_it_was_and_is_counted(
    house: Parts,
) -> None:
    kept = house.store.configuration
    await kept.write(written(1, overtime()), 0)
    assert await until(lambda: _there(house, 1))
    # Nothing that was examined: as another build, or another machine, might have written it.
    await kept.write(written(2, overtime(2).replace("next: agree", "next: nowhere")), 1)

    async def unfit() -> bool:
        return "nowhere" in house.configuration.unfit.get("acme", "")

    assert await until(unfit)
    assert await _there(house, 1)

    async def counted() -> bool:
        return bool(CONFIGURATION_UNFIT._value.get() == 1)

    assert await until(counted)
    async with at_work(house.settings) as fresh:
        assert "overtime" not in fresh.offered.of("acme").catalog.flows
        assert "leave_request" in fresh.offered.of("acme").catalog.flows
    await kept.write(written(3, overtime(3)), 2)
    assert await until(lambda: _there(house, 3))
    assert house.configuration.unfit == {}


@pytest.mark.slow
async def test_a_retired_document_that_the_file_of_tenants_names_keeps_no_process_from_starting(
    house: Parts, tmp_path: Path
) -> None:
    file = tmp_path / "tenants.yaml"
    file.write_text("acme: {flows: [overtime]}\n", "utf-8")
    settings = house.settings.model_copy(update={"tenants": file})
    with pytest.raises(DefinitionError, match="no flow is called overtime"):
        async with at_work(settings):
            pass
    kept = house.store.configuration
    await kept.write(written(1, overtime()), 0)
    about: dict[str, Any] = {"tenant": "acme", "kind": "flows", "name": "overtime"}
    by = {"activated_by": "olga", "activated_at": datetime.now(UTC)}
    await kept.activate(Activation.model_validate({**about, **by, "version": None}), 1)
    async with at_work(settings) as fresh:
        assert "overtime" not in fresh.offered.of("acme").catalog.flows


async def _there(house: Parts, version: int) -> bool:
    return _version(house.offered.of("acme").catalog.get("overtime")) == version


def _version(flow: FlowDefinition | None) -> int:
    return flow.version if flow else 0


def written(version: int, text: str) -> DocumentVersion:
    about: dict[str, Any] = {"tenant": "acme", "kind": "flows", "name": "overtime"}
    by = {"author": "olga", "written_at": datetime.now(UTC), "digest": digest_of(text)}
    return DocumentVersion.model_validate({**about, **by, "version": version, "text": text})


@pytest.mark.slow
async def test_a_folder_is_pushed_and_pulled_to_the_byte(desk: AsyncClient, tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    folder = DocumentFolder.at(mine)
    fill(mine, SOUND)
    rest = Rest(str(desk.base_url), "acme/olga")
    try:
        lines = await pushed(rest, folder, [], PushOptions())
        assert sum("version 1 holds" in line for line in lines) == len(SOUND)
        await pulled(rest, DocumentFolder.at(theirs), [], force=False)
        assert await differences(rest, DocumentFolder.at(theirs), []) == []
    finally:
        await rest.aclose()
    for path in sorted(each for each in mine.rglob("*") if each.is_file()):
        assert (theirs / path.relative_to(mine)).read_bytes() == path.read_bytes()
