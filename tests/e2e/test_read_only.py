"""`serve` and `worker` as docker-compose.yml runs them, as far as that goes without an engine."""

import json
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from ruamel.yaml import YAML

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
    token,
)
from tests.e2e import boxed
from tests.e2e.house import free_ports

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("dev"),
    pytest.mark.skipif(not boxed.works(), reason="bubblewrap doesn't work here"),
]

COMPOSE = YAML(typ="safe").load((boxed.ROOT / "docker-compose.yml").read_text())
DEPLOY = boxed.ROOT / "deploy"
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
    moved = {n: v.replace("/run/secrets", boxed.SECRETS) for n, v in plain.items()}
    for name in ("ROUTER_DATA", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        del moved[name]
    return {
        **moved,
        "ROUTER_TEMPORAL_ADDRESS": given["ROUTER_TEMPORAL_ADDRESS"],
        "ROUTER_METRICS_HOST": "127.0.0.1",
        "ROUTER_METRICS_PORT": str(port_of["9464"]),
        "ROUTER_TEMPORAL_METRICS_PORT": str(port_of["9465"]),
        "PYTHONPATH": str(boxed.MODULES),
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
    return subprocess.run([boxed.PYTHON, *command[1:]], check=False).returncode


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
    data = boxed.give(tmp_path / "written")
    async with deployment(tmp_path, ports) as given:
        program = boxed.box(data, secrets_in(tmp_path / "secrets", given))
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
            ends = [
                await last_words(each, boxed.innermost(each).terminate) for each in (worker, api)
            ]
            yield Stay(turn, well, metrics, ends, data)


@pytest.fixture(scope="module")
async def stay(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stay]:
    async with stayed(tmp_path_factory.mktemp("boxed")) as stay:
        yield stay


def test_take_a_turn_on_a_root_that_nobody_can_write(stay: Stay) -> None:
    assert stay.turn["route"]["target"] == "leave_request"
    assert [status for status, _ in stay.ends] == [0, 0]


def test_write_what_they_know_to_their_data_folder_alone(stay: Stay) -> None:
    written = {file.name for file in stay.data.rglob("*")}
    assert {"vectors.db"} <= written <= {"vectors.db", "vectors.db-wal", "vectors.db-shm"}


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
