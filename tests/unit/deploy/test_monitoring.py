"""Dashboard and alerts: they ask for what there is, and say what to do."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY
from ruamel.yaml import YAML

from router.telemetry.metrics import Circuits

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
OURS = re.compile(r"\b(?:router|gen_ai|http_server)_\w+")


def loaded(name: str) -> Any:
    return YAML(typ="safe").load((DEPLOY / name).read_text())


RULES = loaded("alerts.yml")["groups"][0]["rules"]
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboards" / "intent-router.json").read_text())


def known() -> dict[str, set[str]]:
    """Metrics, as samples are called, with their labels."""
    found = {"router_model_circuit_open": {"model"}}
    for collector in list(REGISTRY._collector_to_names):
        labels = set(getattr(collector, "_labelnames", ()))
        for name in REGISTRY._collector_to_names[collector]:
            found[name] = labels | {"le"}
    return found


def asked() -> Iterator[str]:
    """Every query, but those for what Temporal's SDK measures."""
    yield from (rule["expr"] for rule in RULES)
    for panel in DASHBOARD["panels"]:
        asks = (target["expr"] for target in panel["targets"])
        yield from (expression for expression in asks if "temporal_" not in expression)


@pytest.mark.parametrize("expression", list(asked()))
def test_every_query_asks_for_metrics_and_labels_that_there_are(expression: str) -> None:
    metrics, labels = known(), set()
    names = {name for name in OURS.findall(expression) if name in metrics}
    for name in names:
        labels |= metrics[name]
    assert names or "up{" in expression
    grouped = re.findall(r"\bby \(([^)]*)\)", expression)
    selected = re.findall(r"[{,]\s*(\w+)\s*(?:=~|!=|!~|=)", expression)
    used = {one.strip() for group in grouped for one in group.split(",")} | set(selected)
    assert used - {"job"} <= labels
    strangers = set(OURS.findall(expression)) - set(metrics) - labels
    assert not strangers


def test_the_circuits_are_called_what_the_queries_call_them() -> None:
    (family,) = Circuits(lambda: {"m at u": "open"}).collect()
    assert [(s.name, s.labels, s.value) for s in family.samples] == [
        ("router_model_circuit_open", {"model": "m at u"}, 1.0)
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_is_explained(rule: dict[str, Any]) -> None:
    assert f"`{rule['alert']}`" in OPERATIONS
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"]


def test_prometheus_reads_the_alerts_and_finds_every_process() -> None:
    config = loaded("prometheus.yml")
    assert config["rule_files"] == ["alerts.yml"]
    jobs = {job["job_name"] for job in config["scrape_configs"]}
    assert {"api", "worker"} <= jobs
