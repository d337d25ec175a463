"""Back up, lose everything, restore: what was under way goes on."""

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from router.runtime import temporal_server
from router.runtime.data_folder import claimed
from router.runtime.server import Ports
from tests.deployed import browser, conversation, last_words, ready, running, said, token, variables
from tests.e2e.house import free_ports
from tests.postgres import make_database, postgres_server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dev")]

REQUEST = "我要请年假，2026-12-07到2026-12-09，家里有事"


@asynccontextmanager
async def at_work(folder: Path, database: str, ports: Ports) -> AsyncIterator[dict[str, str]]:
    """Temporal, an API and a worker on this state; all stopped in order on leaving."""
    environment = variables(database, ports)
    with claimed(folder) as data:
        async with temporal_server.running(data, ports, "default", {}):
            await ready(ports.ui_url)
            async with (
                running(environment, "serve", "--port", str(ports.api)) as api,
                running(environment, "worker") as worker,
            ):
                await ready(f"{ports.api_url}/readyz", api, worker)
                yield environment
                ends = [await last_words(process) for process in (worker, api)]
                assert [status for status, _ in ends] == [0, 0]


def backed_up(database: str, folder: Path, into: Path) -> None:
    """Both halves, at one moment: nothing of ours runs."""
    into.mkdir()
    subprocess.run(
        ["pg_dump", "--format=custom", f"--file={into}/router.dump", database], check=True
    )
    for file in folder.glob("temporal.db*"):
        shutil.copy2(file, into)


def lost_for_good(database: str, folder: Path) -> None:
    server, _, name = database.rpartition("/")
    subprocess.run(["dropdb", f"--maintenance-db={server}/postgres", name], check=True)
    shutil.rmtree(folder)


def restored(database: str, folder: Path, backup: Path) -> None:
    """Both halves into places that are empty."""
    subprocess.run(
        ["pg_restore", "--exit-on-error", f"--dbname={database}", backup / "router.dump"],
        check=True,
    )
    folder.mkdir()
    for file in backup.glob("temporal.db*"):
        shutil.copy2(file, folder)


async def asked_for_leave(client: httpx.AsyncClient) -> tuple[str, str]:
    """A conversation, and its run that waits for an approver."""
    chat = await conversation(client)
    assert (await said(client, chat, REQUEST))["flow"]["status"] == "confirming"
    turn = await said(client, chat, "好的")
    assert turn["flow"]["status"] == "waiting_approval"
    return chat, turn["flow"]["id"]


async def approved(client: httpx.AsyncClient, run: str) -> None:
    waiting = (await client.get("/approvals")).raise_for_status().json()["items"]
    (approval,) = (one["id"] for one in waiting if one["flow_run"] == run)
    answer = await client.post(f"/approvals/{approval}/decision", json={"decision": "approve"})
    answer.raise_for_status()


async def ended(client: httpx.AsyncClient, run: str) -> dict[str, Any]:
    """The run when it has ended; its end is an event, so nobody asks twice."""
    async with client.stream("GET", "/events", headers={"Last-Event-ID": "0"}) as events:
        async for line in events.aiter_lines():
            if line.startswith("data:") and run in line and "completed" in line:
                break
    found: dict[str, Any] = (await client.get(f"/flow-runs/{run}")).raise_for_status().json()
    return found


async def test_a_request_that_waits_for_approval_survives_the_loss_of_everything(
    tmp_path: Path,
) -> None:
    ports = Ports(*free_ports(3))
    lost, backup, fresh = tmp_path / "lost", tmp_path / "backup", tmp_path / "fresh"
    with postgres_server() as server:
        before = await make_database(server, "before")
        async with at_work(lost, before, ports) as environment:
            bearers = {who: await token(environment, who) for who in ("alice", "bob")}
            async with browser(ports.api_url, bearers["alice"]) as alice:
                chat, run = await asked_for_leave(alice)
        backed_up(before, lost, backup)
        lost_for_good(before, lost)
        after = await make_database(server, "after")
        restored(after, fresh, backup)
        async with (
            at_work(fresh, after, ports),
            browser(ports.api_url, bearers["alice"]) as alice,
            browser(ports.api_url, bearers["bob"]) as bob,
        ):
            await approved(bob, run)
            end = await ended(alice, run)
            turn = await said(alice, chat, "我还有几天年假？")
            transcript = (await alice.get(f"/conversations/{chat}/messages")).json()["items"]
    assert end["status"] == "completed"
    assert turn["turn"] == 3
    assert transcript[0]["text"] == REQUEST
