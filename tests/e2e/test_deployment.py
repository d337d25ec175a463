"""`serve` and `worker` as they are deployed: boxed in, stopped, side by side, and restored."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from ruamel.yaml import YAML

from router.runtime import temporal_server
from router.runtime.data_folder import claimed
from router.runtime.server import Ports
from tests.deployed import (
    SECRET,
    browser,
    conversation,
    deployment,
    last_words,
    ready,
    running,
    said,
    said_to,
    token,
    variables,
)
from tests.fakes.model_server import ModelServer, reaches, says, waits
from tests.ports import free_ports
from tests.postgres import make_database, postgres_server
from tests.waiting import HANGS_AFTER_S

ROOT = Path(__file__).parents[2]
NOBODY = 10001
PYTHON = os.environ.get("ROUTER_TESTS_PYTHON", sys.executable)
MODULES = Path(os.environ.get("ROUTER_TESTS_MODULES", ROOT))
"""Another interpreter, and where it finds what was installed as the image installs it."""
DATA = "/tmp/data"
SECRETS = "/tmp/secrets"


def box(data: Path, secrets: Path) -> list[str]:
    """What goes before a command: it sees everything, and writes to `data` and `/tmp` alone."""
    return [
        *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--perms", "1777", "--tmpfs", "/tmp"),
        *_kept(ROOT),
        *_kept(Path(PYTHON).parents[1]),
        *_kept(MODULES),
        *("--bind", str(data), DATA, "--ro-bind", str(secrets), SECRETS),
        *("--chdir", DATA, "--setenv", "HOME", "/nonexistent", "--setenv", "ROUTER_DATA", DATA),
        *("--die-with-parent", *_nobody()),
        *(PYTHON, "-m", "router"),
    ]


def innermost(process: Process) -> psutil.Process:
    """What runs in the box: bubblewrap hands no signal on, as the `init` of compose does."""
    found = psutil.Process(process.pid)
    while within := found.children():
        (found,) = within
    return found


def _kept(folder: Path) -> list[str]:
    if not folder.is_relative_to("/tmp"):
        return []
    above = [parent for parent in folder.parents if parent.is_relative_to("/tmp")][-2::-1]
    passable = [word for parent in above for word in ("--perms", "0755", "--dir", str(parent))]
    return [*passable, "--ro-bind", str(folder), str(folder)]


def _nobody() -> list[str]:
    """The image's user, where this one may become it and the interpreter lets it in."""
    change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if os.geteuid() != 0 or subprocess.run([*change, PYTHON, "-c", ""], check=False).returncode:
        return []
    rights = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    return [*rights, *change, "--no-new-privs", "--inh-caps=-all"]


def give(folder: Path) -> Path:
    """Make the folder, as the image makes its own: its user's."""
    folder.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, NOBODY if _nobody() else 0)
    return folder


def works() -> bool:
    """True where boxes can be made here."""
    if shutil.which("bwrap") is None:
        return False
    tried = subprocess.run(
        ["bwrap", "--ro-bind", "/", "/", "true"], check=False, capture_output=True
    )
    return tried.returncode == 0


pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dev")]

COMPOSE = YAML(typ="safe").load((ROOT / "docker-compose.yml").read_text())
DEPLOY = ROOT / "deploy"
METRIC = re.compile(r"\b(?:router|gen_ai|http_server|temporal)_\w+")
DERIVED = re.compile(r"_(?:bucket|count|sum)$")
"""What Prometheus asks for of a histogram, which is called less."""


@dataclass
class Stay:
    """What was to be seen of the two while they ran, and after they were told to stop."""

    turn: dict[str, Any]
    well: list[int]
    metrics: set[str]
    ends: list[tuple[int, str]]
    data: Path


def composed(port_of: dict[str, int], given: dict[str, str]) -> dict[str, str]:
    """The environment of compose's `api` and `worker`, its defaults filled in, on these ports."""
    said = {n: str(v) for n, v in COMPOSE["x-router"]["environment"].items()}
    plain = {n: re.sub(r"\$\{\w+:?-([^}]*)\}", r"\1", v) for n, v in said.items()}
    moved = {n: v.replace("/run/secrets", SECRETS) for n, v in plain.items()}
    for name in ("ROUTER_DATA", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        del moved[name]
    return {
        **moved,
        "ROUTER_TEMPORAL_ADDRESS": given["ROUTER_TEMPORAL_ADDRESS"],
        "ROUTER_METRICS_HOST": "127.0.0.1",
        "ROUTER_METRICS_PORT": str(port_of["9464"]),
        "ROUTER_TEMPORAL_METRICS_PORT": str(port_of["9465"]),
        "PYTHONPATH": str(MODULES),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def secrets_in(folder: Path, given: dict[str, str]) -> Path:
    """Files as deploy/make-secrets.sh makes them, for this database."""
    subprocess.run([DEPLOY / "make-secrets.sh", folder], check=True, capture_output=True)
    (folder / "database_url").write_text(given["ROUTER_DATABASE_URL"])
    (folder / "jwt_secret").write_text(SECRET)
    folder.chmod(0o755)
    return folder


def asked_whether_well(service: str, port_of: dict[str, int]) -> int:
    """The exit status of compose's own healthcheck."""
    command = COMPOSE["services"][service]["healthcheck"]["test"][1:]
    for port, ours in port_of.items():
        command = [word.replace(port, str(ours)) for word in command]
    return subprocess.run([PYTHON, *command[1:]], check=False).returncode


async def exposed(ports: dict[str, int]) -> set[str]:
    """The metrics that there are, as they are called where they are explained."""
    async with httpx.AsyncClient() as client:
        pages = [
            (await client.get(f"http://127.0.0.1:{ports[name]}/metrics")).text
            for name in ("9464", "9465")
        ]
    return {name for page in pages for name in re.findall(r"^# TYPE (\S+)", page, re.MULTILINE)}


@asynccontextmanager
async def stayed(tmp_path: Path) -> AsyncIterator[Stay]:
    ports = Ports(*free_ports(3))
    of_api, of_worker = (
        dict(zip(("8000", "9464", "9465"), [ports.api, *free_ports(2)], strict=True))
        for _ in range(2)
    )
    data = give(tmp_path / "written")
    async with deployment(tmp_path, ports) as given:
        program = box(data, secrets_in(tmp_path / "secrets", given))
        serve = ("serve", "--port", str(ports.api))
        async with (
            running(composed(of_api, given), *serve, program=program) as api,
            running(composed(of_worker, given), "worker", program=program) as worker,
        ):
            await ready(f"{ports.api_url}/readyz", api, worker)
            async with browser(ports.api_url, await token(given)) as client:
                turn = await said(client, await conversation(client), "我要请年假")
            well = [asked_whether_well("api", of_api), asked_whether_well("worker", of_worker)]
            metrics = await exposed(of_api) | await exposed(of_worker)
            ends = [await last_words(each, innermost(each).terminate) for each in (worker, api)]
            yield Stay(turn, well, metrics, ends, data)


@pytest.fixture(scope="module")
async def stay(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stay]:
    if not works():
        pytest.skip("bubblewrap doesn't work here")
    async with stayed(tmp_path_factory.mktemp("boxed")) as stay:
        yield stay


def test_take_a_turn_on_a_root_that_nobody_can_write(stay: Stay) -> None:
    assert stay.turn["route"]["target"] == "leave_request"
    assert [status for status, _ in stay.ends] == [0, 0]


def test_write_what_they_know_to_their_data_folder_alone(stay: Stay) -> None:
    written = {file.name for file in stay.data.rglob("*")}
    vectors = {"vectors.db", "vectors.db-wal", "vectors.db-shm"}
    assert {"vectors.db"} <= written <= vectors | {"under-way", "tally.json"}


def test_have_nothing_to_complain_of(stay: Stay) -> None:
    lines = [json.loads(line) for _, log in stay.ends for line in log.splitlines()]
    assert lines
    assert [line for line in lines if line["level"] in {"WARNING", "ERROR"}] == []


def test_are_well_by_the_healthchecks_of_compose(stay: Stay) -> None:
    assert stay.well == [0, 0]


def test_expose_every_metric_that_dashboard_and_alerts_ask_for(stay: Stay) -> None:
    dashboard = (DEPLOY / "grafana" / "dashboards" / "intent-router.json").read_text()
    panels = json.loads(dashboard)["panels"]
    rules = YAML(typ="safe").load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
    asks = [target["expr"] for panel in panels for target in panel["targets"]]
    asks += [rule["expr"] for rule in rules]
    labels = {"gen_ai_tool_name", "gen_ai_request_model", "gen_ai_token_type"}
    labels |= {"gen_ai_operation_name", "http_route", "http_response_status_code"}
    names = {name for ask in asks for name in METRIC.findall(ask)} - labels
    missing = {
        n for n in names if not {n, DERIVED.sub("", n), n.removesuffix("_total")} & stay.metrics
    }
    assert missing == set()


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
    (approval,) = (one for one in waiting if one["flow_run"] == run)
    body = {"decision": "approve", "digest": approval["digest"]}
    answer = await client.post(f"/approvals/{approval['id']}/decision", json=body)
    answer.raise_for_status()


async def ended(client: httpx.AsyncClient, run: str) -> dict[str, Any]:
    """The run when it has ended; its end is an event, so nobody asks twice."""
    async with client.stream("GET", "/events", headers={"Last-Event-ID": "0"}) as events:
        async for line in events.aiter_lines():
            if line.startswith("data:") and run in line and "completed" in line:
                break
    found: dict[str, Any] = (await client.get(f"/flow-runs/{run}")).raise_for_status().json()
    return found


async def test_a_request_waiting_for_approval_survives_the_loss_of_all(tmp_path: Path) -> None:
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


async def test_two_apis_and_two_workers_start_at_once_on_an_empty_database(tmp_path: Path) -> None:
    ports = Ports(*free_ports(3))
    apis = [f"http://127.0.0.1:{port}" for port in free_ports(2)]
    async with deployment(tmp_path, ports) as environment, AsyncExitStack() as stack:
        await ready(ports.ui_url)
        commands = [("serve", "--port", url.rpartition(":")[2]) for url in apis]
        few = environment | {"ROUTER_DATABASE_CONNECTIONS": "2"}
        processes = await asyncio.gather(
            *(
                stack.enter_async_context(running(few, *words))
                for words in [*commands, ("worker",), ("worker",)]
            )
        )
        await asyncio.gather(*(ready(f"{url}/readyz", *processes) for url in apis))
        bearer = await token(environment)
        kinds = await asyncio.gather(
            *(said_to(url, bearer, "我要请年假") for url in apis for _ in range(4))
        )
        ends = await asyncio.gather(*(last_words(process) for process in processes))
    assert kinds == ["flow"] * 8
    assert [status for status, _ in ends] == [0, 0, 0, 0]
    assert [line for _, log in ends for line in log.splitlines() if "ERROR" in line] == []


QUESTION = "Why do people write poems about autumn?"
ANSWER = "Because leaves fall in it."
PATIENT = {"ROUTER_SHUTDOWN_SECONDS": "120"}
HASTY = {"ROUTER_BACKLOG_SECONDS": "1"}


def model_at(url: str) -> Mapping[str, str]:
    return {
        "ROUTER_LLM_BASE_URL": url,
        "ROUTER_LLM_API_KEY": "none",
        "ROUTER_LLM_MODEL": "scripted",
    }


async def test_a_turn_under_way_ends_though_all_are_told_to_stop(tmp_path: Path) -> None:
    ports, asked, answering = Ports(*free_ports(3)), asyncio.Event(), asyncio.Event()
    script = [reaches(asked, waits(answering, 0, says(ANSWER)))]
    async with deployment(tmp_path, ports) as variables, ModelServer(script) as model:
        environment = {**variables, **PATIENT, **model_at(model.url)}
        await ready(ports.ui_url)
        async with (
            running(environment, "serve", "--port", str(ports.api)) as api,
            running(environment, "worker") as worker,
            browser(ports.api_url, await token(environment)) as alice,
        ):
            await ready(f"{ports.api_url}/readyz", api, worker)
            where = f"/conversations/{await conversation(alice)}/messages?wait=60"
            turn = asyncio.create_task(alice.post(where, json={"text": QUESTION}, timeout=90))
            await asyncio.wait_for(asked.wait(), HANGS_AFTER_S)
            stopping = [asyncio.create_task(last_words(each)) for each in (api, worker)]
            answering.set()
            async with running(environment, "worker") as another:
                answer = await turn
                ends = [*await asyncio.gather(*stopping), await last_words(another)]
        assert answer.status_code == 200
        assert [reply["text"] for reply in answer.json()["replies"]] == [ANSWER]
        assert len(model.chats) == 1
    assert [status for status, _ in ends] == [0, 0, 0]


async def test_nobody_is_let_in_while_nothing_works_and_nothing_is_lost(tmp_path: Path) -> None:
    ports = Ports(*free_ports(3))
    async with deployment(tmp_path, ports) as variables:
        environment = {**variables, **HASTY}
        await ready(ports.ui_url)
        async with (
            running(environment, "serve", "--port", str(ports.api)) as api,
            browser(ports.api_url, await token(environment)) as alice,
        ):
            async with running(environment, "worker") as worker:
                await ready(f"{ports.api_url}/readyz", api, worker)
                talks = [await conversation(alice) for _ in range(3)]
                taken = [await told(alice, talk, "m1") for talk in talks]
                await last_words(worker)
            refused = await until_refused(alice)
            async with running(environment, "worker") as worker:
                await ready(f"{ports.api_url}/readyz", api, worker)
                after = [await until_taken(alice, talk, "m2") for talk in talks]
                again = [await told(alice, talk, "m1") for talk in talks]
                await last_words(worker)
    assert [answer.status_code for answer in (*taken, *after)] == [200] * 6
    assert refused.headers["Retry-After"].isdigit()
    assert [answer.json() for answer in again] == [answer.json() for answer in taken]


async def told(client: httpx.AsyncClient, talk: str, message: str) -> httpx.Response:
    body = {"text": "我要请假", "message_id": message}
    return await client.post(f"/conversations/{talk}/messages", json=body)


async def until_refused(client: httpx.AsyncClient) -> httpx.Response:
    """The first answer that is given at once, rather than after waiting for a worker.

    To new conversations: in one that lives, Temporal tries a message on whoever is there, and
    keeps it nowhere, so that nothing piles up.
    """
    async with asyncio.timeout(HANGS_AFTER_S):
        while True:
            talk = await conversation(client)
            began = asyncio.get_running_loop().time()
            answer = await told(client, talk, "m1")
            assert answer.status_code == 503
            if asyncio.get_running_loop().time() - began < 1:
                return answer


async def until_taken(client: httpx.AsyncClient, talk: str, message: str) -> httpx.Response:
    """The first answer that isn't a refusal: what was measured before is forgotten in seconds."""
    async with asyncio.timeout(HANGS_AFTER_S):
        while True:
            answer = await told(client, talk, message)
            if answer.status_code != 503:
                return answer
