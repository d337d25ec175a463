"""Authors' texts that take more than a process may have, and authors who leave meanwhile."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import httpx
import pytest
from httpx import AsyncClient

from router.api.dependencies import Services
from router.api.flow_reading import read_flow_text
from router.api.isolated_work import LIMITS, IsolatedWork
from router.domain.principals import Principal
from router.extensions.authoring.routes import drafts
from router.flow.loader import Vocabulary
from router.isolation.limits import MIB, ProcessLimits
from router.runtime.server import create_app
from tests.badges import FLOW as BADGE
from tests.badges import Badges, installed
from tests.integration.api.conftest import client_of, served
from tests.integration.api.extensions.authoring import jobs
from tests.integration.api.test_configuration import ok
from tests.processes import wait_for_end
from tests.table import each_row
from tests.unit.runtime.documents import overtime
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.slow
PATH = "/v1/flow-drafts"
ROOT = Path(__file__).parents[5]
_NUMBERS = count()
WithLimits = Callable[[ProcessLimits], Services]


@pytest.fixture
async def with_limits(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[WithLimits]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made: list[IsolatedWork] = []

    def within(limits: ProcessLimits) -> Services:
        made.append(IsolatedWork(limits))
        return replace(services, isolated_work=made[-1])

    yield within
    for each in made:
        await each.close()


@each_row(
    ("limits", "why"),
    [
        (LIMITS.model_copy(update={"wall_seconds": 0.0}), "took too long"),
        (LIMITS.model_copy(update={"memory_bytes": 0}), "too much memory"),
    ],
)
async def test_a_draft_that_takes_too_much_has_that_problem_and_is_saved(
    with_limits: WithLimits, limits: ProcessLimits, why: str
) -> None:
    body, flow = {"flow": "overtime", "text": overtime()}, f"greedy_{next(_NUMBERS)}"
    async with client_of(create_app(with_limits(limits)), "olga") as olga:
        examined = ok(await olga.post(f"{PATH}/examination", json=body))
        saved = ok(await olga.put(f"{PATH}/{flow}", json={"text": body["text"], "revision": 0}))
        refused = await olga.post(f"{PATH}/impact", json=body)

    for each in (examined, saved["examination"]):
        assert [why in found["remedy"] for found in each["problems"]] == [True]
    assert saved["revision"] == 1
    assert (refused.status_code, why in refused.json()["detail"]) == (422, True)


async def test_flows_are_read_with_the_slot_types_and_kinds_of_states_of_extensions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with installed(Badges):
        work = IsolatedWork()
    author = Principal(id="olga", name="Olga")
    read = await work.run(author, read_flow_text, "badge.yaml", json.dumps(BADGE), Vocabulary())
    await work.close()

    assert read.problems == ()
    assert read.definition is not None
    assert read.definition.is_extended


GREEDY = overtime(patterns=f"['{'(o)|' * 14_000}o']")
"""57 KB: searched in the example, this took more than 8 GB of the API."""


async def test_a_hostile_draft_takes_nothing_of_the_api(with_limits: WithLimits) -> None:
    made = with_limits(LIMITS)
    before = peak_bytes()
    async with client_of(create_app(made), "olga") as olga:
        greedy = olga.post(f"{PATH}/examination", json={"flow": "overtime", "text": GREEDY})
        examined = ok(await greedy)
        sound = {"flow": "overtime", "text": overtime()}
        after = ok(await olga.post(f"{PATH}/examination", json=sound))

    assert examined["problems"]
    assert after["problems"] == []
    assert peak_bytes() - before < 64 * MIB


def peak_bytes() -> int:
    """The most memory that this process has had."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


async def test_an_examination_is_killed_when_its_client_leaves(
    with_limits: WithLimits, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(drafts, "examination_of", jobs.wait_instead_of_examining)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address := str(tmp_path / "told"))
        listener.listen()
        listener.setblocking(False)
        loop, body = asyncio.get_running_loop(), {"flow": "overtime", "text": address}
        async with (
            served(create_app(with_limits(LIMITS))) as url,
            AsyncClient(timeout=HANGS_AFTER_S) as client,
        ):
            headers = {"Authorization": "Bearer olga"}
            asking = asyncio.create_task(
                client.post(f"{url}{PATH}/examination", json=body, headers=headers)
            )
            told, _ = await loop.sock_accept(listener)
            with told:
                child = os.pidfd_open(int(await loop.sock_recv(told, 20)))
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await wait_for_end(child)
            assert (await client.get(f"{url}/healthz")).status_code == httpx.codes.OK
