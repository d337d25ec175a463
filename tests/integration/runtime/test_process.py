"""A process's own life: what it registers, how it runs and stops."""

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from temporalio.client import Client
from typing_extensions import override

from router.domain.errors import MisconfiguredError
from router.runtime.process import CORE_LOG, observed
from router.runtime.server import LOOPBACK, Ports
from router.runtime.temporal import check_namespace
from router.settings import Settings
from router.telemetry.logs import JsonLines
from tests.temporal import dev_server
from tests.unit.runtime.test_pieces import free_ports
from tests.waiting import HANGS_AFTER_S


async def test_a_namespace_that_is_not_there_is_named_with_the_command_that_makes_it(
    temporal_client: Client,
) -> None:
    await check_namespace(temporal_client)
    address = temporal_client.service_client.config.target_host
    elsewhere = await Client.connect(address, namespace="defualt")
    with pytest.raises(MisconfiguredError) as refused:
        await check_namespace(elsewhere)
    assert str(refused.value) == (
        "ROUTER_TEMPORAL_NAMESPACE=defualt isn't there: correct it, or run "
        "`temporal operator namespace create --namespace defualt`"
    )


class Heard(logging.Handler):
    """Knows when the first line has come."""

    def __init__(self) -> None:
        super().__init__()
        self.first: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.loop = asyncio.get_running_loop()

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.loop.call_soon_threadsafe(self._take, JsonLines().format(record))

    def _take(self, line: str) -> None:
        if not self.first.done():
            self.first.set_result(line)


@pytest.mark.slow
async def test_what_temporals_core_complains_of_is_a_line_as_any_other(
    capfd: pytest.CaptureFixture[str],
) -> None:
    log = logging.getLogger(CORE_LOG)
    log.addHandler(heard := Heard())
    try:
        with observed(Settings(_env_file=None), "test") as seen:
            server = await dev_server(runtime=seen.runtime)
            await server.shutdown()
            asking = asyncio.create_task(server.client.count_workflows(""))
            line = json.loads(await asyncio.wait_for(heard.first, HANGS_AFTER_S))
            asking.cancel()
    finally:
        log.removeHandler(heard)
    assert (line["logger"], line["level"]) == ("temporalio.core", "warning")
    assert "gRPC call" in line["message"]
    assert "\x1b[" not in capfd.readouterr().err


class Dev:
    """One start of the command, in a process group of its own."""

    def __init__(self, folder: Path, ports: Ports, **environment: str) -> None:
        self._errors = folder.with_name(f"dev-{ports.api}.err")
        words = ("--port", ports.api, "--temporal-port", ports.temporal, "--ui-port", ports.ui)
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "router", "dev", *map(str, words), "--data", folder],
                env={**os.environ, **environment},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    @property
    def errors(self) -> str:
        return self._errors.read_text()

    def until_ready(self) -> list[str]:
        """The lines before `ready`."""
        lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line == "ready\n":
                return lines
            lines.append(line.rstrip("\n"))
        raise AssertionError(f"it ended before it was ready: {self.errors}")

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def ended(self) -> int:
        return self.process.wait(HANGS_AFTER_S)


@pytest.fixture
def ports() -> Ports:
    return free_ports()


Start = Callable[..., Dev]


@pytest.fixture
def start(tmp_path: Path, ports: Ports) -> Iterator[Start]:
    """Starts one with the data folder of the test; all are killed at the end."""
    every: list[Dev] = []

    def started(ports: Ports = ports, **environment: str) -> Dev:
        every.append(Dev(tmp_path / "data", ports, **environment))
        return every[-1]

    yield started
    for dev in every:
        dev.process.kill()
        dev.process.wait()


def gone(processes: list[psutil.Process], seconds: float) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return not alive


@pytest.mark.slow
def test_runs_until_it_is_told_to_stop_and_leaves_nothing(
    tmp_path: Path, ports: Ports, start: Start
) -> None:
    dev = start()
    lines = dev.until_ready()
    assert any(ports.api_url in line for line in lines)
    assert any(ports.ui_url in line for line in lines)
    assert httpx.get(f"{ports.api_url}/readyz").status_code == 200
    assert httpx.get(ports.ui_url, follow_redirects=True).status_code == 200
    assert {"temporal.db", "router.db"} <= {path.name for path in (tmp_path / "data").iterdir()}
    second = start(free_ports())
    assert second.ended() == 1
    assert f"is in use by process {dev.process.pid}: " in second.errors
    children = dev.children()
    assert children
    dev.process.send_signal(signal.SIGINT)
    assert dev.ended() == 0
    assert gone(children, HANGS_AFTER_S)
    assert dev.errors == ""


@pytest.mark.slow
def test_goes_on_after_kill_9_and_says_when_temporal_dies(ports: Ports, start: Start) -> None:
    killed = start()
    killed.until_ready()
    mine = {"Authorization": "Bearer alice"}
    made = httpx.post(f"{ports.api_url}/v1/conversations", headers=mine, json={}).json()
    children = killed.children()
    os.killpg(killed.process.pid, signal.SIGKILL)
    again = start()
    again.until_ready()
    assert gone(children, 0)
    kept = httpx.get(f"{ports.api_url}/v1/conversations", headers=mine).json()["items"]
    assert [one["id"] for one in kept] == [made["id"]]
    for child in again.children():
        child.kill()
    assert again.ended() == 1
    assert "error: the Temporal server ended with status -9" in again.errors


@pytest.mark.slow
def test_a_port_in_use_is_one_line_and_nothing_is_started(
    tmp_path: Path, ports: Ports, start: Start
) -> None:
    with socket.create_server((LOOPBACK, ports.ui)):
        dev = start()
        assert dev.ended() == 1
    assert dev.errors == (
        f"error: port {ports.ui} for the Temporal UI can't be opened (address already in use): "
        "choose another with --ui-port\n"
    )
    assert not (tmp_path / "data" / "temporal.db").exists()


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, start: Start) -> None:
    (tmp_path / "data").touch()
    dev = start()
    assert dev.ended() == 1
    assert dev.errors.startswith("error: the data folder ")
    assert dev.errors.count("\n") == 1


@pytest.mark.slow
def test_a_bad_flow_is_refused_with_its_line_and_temporal_is_stopped(
    tmp_path: Path, ports: Ports, start: Start
) -> None:
    flows = tmp_path / "flows"
    flows.mkdir()
    (flows / "broken.yaml").write_text("flow: broken\n")
    dev = start(ROUTER_FLOWS=str(flows))
    assert dev.ended() == 1
    assert dev.errors.startswith(f"error: {flows}/broken.yaml:1: ")
    assert "Traceback" not in dev.errors
    socket.create_server((LOOPBACK, ports.temporal)).close()
