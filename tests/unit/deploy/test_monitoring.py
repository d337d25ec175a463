"""Alerts, dashboards and what they ask for."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY
from ruamel.yaml import YAML

from router.telemetry.metrics import Circuits
from tests.table import each_row

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
RULES = {
    rule["alert"]: rule
    for rule in YAML(typ="safe").load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
}
PROMTOOL = os.environ.get("ROUTER_TESTS_PROMTOOL") or shutil.which("promtool")

needs_promtool = pytest.mark.skipif(
    PROMTOOL is None,
    reason="promtool is not installed: rules were NOT tried (apt-get install prometheus)",
)

Series = dict[str, str]
"""What is measured each minute, in promtool's notation: `6x10` stays, `0+6x10` grows."""

REQUESTS = "http_server_request_duration_seconds_count"
TURNS = "router_turn_duration_seconds_bucket"
ASKED = "gen_ai_client_operation_duration_seconds_count"
CALLED = "gen_ai_execute_tool_duration_seconds_count"


@dataclass(frozen=True)
class Case:
    """One alert: what raises it after so many minutes, with which labels, and what doesn't."""

    alert: str
    minutes: int
    raised_by: Series
    quiet_by: Series
    labels: dict[str, str] = field(default_factory=dict)
    value: str = ""

    def expected(self) -> dict[str, Any]:
        """The alert as it is sent, its summary filled in."""
        rule = RULES[self.alert]
        known = {f"$labels.{name}": value for name, value in self.labels.items()}
        known["$value"] = self.value
        summary = re.sub(r"\{\{ (\S+) \}\}", lambda m: known[m[1]], rule["annotations"]["summary"])
        return {
            "exp_labels": {**rule["labels"], **self.labels},
            "exp_annotations": {"summary": summary},
        }

    def tests(self) -> list[dict[str, Any]]:
        return [self._test(self.raised_by, self.expected()), self._test(self.quiet_by)]

    def _test(self, series: Series, *alerts: dict[str, Any]) -> dict[str, Any]:
        at = {"eval_time": f"{self.minutes}m", "alertname": self.alert, "exp_alerts": [*alerts]}
        return {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "alert_rule_test": [at],
        }


def slow(decided_by: str) -> Series:
    """Of 100 turns a minute, ten take more than two seconds."""
    within = {"2": "0+90x30", "4": "0+100x30", "+Inf": "0+100x30"}
    return {f'{TURNS}{{by="{decided_by}",le="{le}"}}': each for le, each in within.items()}


API = {"job": "api", "instance": "api:9464"}
UP = 'up{job="api",instance="api:9464"}'
REFUSED = 'router_refused_requests_total{limit="user"}'
ASIDE = 'router_set_aside_total{activity="understand"}'
OPEN = 'router_model_circuit_open{model="m"}'
RETRIED = 'router_activity_retries_total{activity="call_tool"}'
PINNED = 'router_stranded_tasks{build="1.0"}'
LOST = 'router_lost_runs{kind="lost"}'
FAILING = 'router_failing_workflows{workflow_type="Flow"}'
AGE, FAULTS = "router_directory_age_seconds", "router_directory_problems"
APART = "router_halves_apart"
EXPIRY = "router_expiry_refused"
SILENT = 'router_unposted_age_seconds{platform="slack"}'
UNTAKEN = 'router_webhook_age_seconds{url="https://erp.example.com/in"}'
DEAD = 'router_webhooks_dead{url="https://erp.example.com/in"}'
ERP = {"url": "https://erp.example.com/in"}
HELPED = 'router_oldest_hand_off_age_seconds{state="open"}'
EXPIRING, ORPHANED = "router_approvals_expiring", "router_approvals_orphaned"
LEFT, CUT_OFF = "router_requests_orphaned", "router_conversations_cut_off_total"
SEALED = "router_unreadable_payloads_total"
OLDEST, BACKLOG = "router_oldest_approval_age_seconds", "router_backlog_age_seconds"


def fail(of: int, failed: int, metric: str, label: str, value: str, every: str = "") -> Series:
    """Of so many a minute, so many fail."""
    return {
        f'{metric}{{{every}{label}="{value}"}}': f"0+{failed}x60",
        f'{metric}{{{every}{label}="{"200" if value == "500" else ""}"}}': f"0+{of - failed}x60",
    }


HTTP = (REQUESTS, "http_response_status_code", "500")
MODEL = (ASKED, "error_type", "ModelUnavailable")
TOOL = (CALLED, "error_type", "ToolFailed", 'gen_ai_tool_name="record_leave",')
STEPS = 'router_flow_steps_total{flow="leave_request",state="record",status="failed"}'

CASES = [
    Case("RouterProcessDown", 3, {UP: "1 0x9"}, {UP: "1x10"}, API),
    Case("RouterNoWorker", 3, {'up{job="worker"}': "0x10"}, {'up{job="worker"}': "1x10"}),
    Case(
        "RouterTemporalDown",
        3,
        {'up{job="temporal"}': "1 0x9"},
        {'up{job="temporal"}': "1x10"},
        {"job": "temporal"},
    ),
    Case("RouterRequestsFail", 15, fail(100, 3, *HTTP), fail(100, 1, *HTTP)),
    Case("RouterTurnsSlow", 25, slow("pattern"), slow("llm")),
    Case("RouterBacklog", 5, {BACKLOG: "6x10"}, {BACKLOG: "4x10"}, value="6"),
    Case("RouterBuildStranded", 10, {PINNED: "2x20"}, {PINNED: "0x20"}, {"build": "1.0"}),
    Case("RouterRunsLost", 10, {LOST: "2x20"}, {LOST: "0x20"}, {"kind": "lost"}, value="2"),
    Case(
        "RouterWorkflowsFail",
        10,
        {FAILING: "2x20"},
        {FAILING: "2 0x19"},
        {"workflow_type": "Flow"},
        value="2",
    ),
    Case("RouterConversationsCutOff", 30, {CUT_OFF: "0x20 1x20"}, {CUT_OFF: "1x40"}),
    Case("RouterPayloadsUnreadable", 15, {SEALED: "0+6x20"}, {SEALED: "3x20"}),
    Case("RouterDirectoryOld", 90, {AGE: "0+60x100"}, {AGE: "60x100"}, value="5400"),
    Case("RouterDirectoryFaulty", 10, {FAULTS: "2x20"}, {FAULTS: "0x20"}, value="2"),
    Case("RouterHalvesApart", 10, {APART: "1x20"}, {APART: "0x20"}),
    Case("RouterExpiryRefused", 10, {EXPIRY: "1x20"}, {EXPIRY: "0x20"}),
    Case(
        "RouterChatSilent", 10, {SILENT: "300x20"}, {SILENT: "60x20"}, {"platform": "slack"}, "300"
    ),
    Case("RouterWebhookBehind", 10, {UNTAKEN: "7200x20"}, {UNTAKEN: "60x20"}, ERP, "7200"),
    Case("RouterWebhooksDead", 10, {DEAD: "3x20"}, {DEAD: "0x20"}, ERP, "3"),
    Case(
        "RouterRefusesRequests", 12, {REFUSED: "0+120x20"}, {REFUSED: "0+30x20"}, {"limit": "user"}
    ),
    Case("RouterModelLeftAlone", 10, {OPEN: "1x20"}, {OPEN: "0.5x20"}, {"model": "m"}),
    Case("RouterModelsFail", 30, fail(100, 30, *MODEL), fail(100, 10, *MODEL)),
    Case(
        "RouterToolFails",
        45,
        fail(10, 6, *TOOL),
        fail(10, 4, *TOOL),
        {"gen_ai_tool_name": "record_leave"},
    ),
    Case(
        "RouterActivitiesRetried",
        30,
        {RETRIED: "0+60x40"},
        {RETRIED: "0+20x40"},
        {"activity": "call_tool"},
    ),
    Case(
        "RouterWorkSetAside",
        2,
        {ASIDE: "0 1x9"},
        {ASIDE: "0x10"},
        {"activity": "understand"},
    ),
    Case("RouterApprovalForgotten", 90, {OLDEST: "604860+60x120"}, {OLDEST: "0+60x120"}),
    Case("RouterApprovalsExpire", 30, {EXPIRING: "2x40"}, {EXPIRING: "0x40"}, value="2"),
    Case("RouterApprovalsOrphaned", 60, {ORPHANED: "3x80"}, {ORPHANED: "0x80"}, value="3"),
    Case("RouterRequestsOrphaned", 60, {LEFT: "2x80"}, {LEFT: "0x80"}, value="2"),
    Case(
        "RouterHandOffWaits",
        10,
        {HELPED: "18000x20"},
        {HELPED: "900x20"},
        {"state": "open"},
        "18000",
    ),
    Case(
        "RouterFlowsFail", 30, {STEPS: "0+1x10 10x60"}, {STEPS: "0x60"}, {"flow": "leave_request"}
    ),
]


def promtool(*words: str | Path) -> None:
    command = [str(PROMTOOL), *map(str, words)]
    outcome = subprocess.run(command, check=False, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_every_alert_is_tried() -> None:
    assert [case.alert for case in CASES] == list(RULES)


@needs_promtool
def test_prometheus_takes_the_configuration() -> None:
    promtool("check", "config", DEPLOY / "prometheus.yml")


@pytest.mark.slow
@needs_promtool
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_an_alert_is_raised_when_it_should_be_and_not_else(case: Case, tmp_path: Path) -> None:
    rules = {"rule_files": [str(DEPLOY / "alerts.yml")], "evaluation_interval": "1m"}
    YAML().dump({**rules, "tests": case.tests()}, file := tmp_path / "tests.yml")
    promtool("test", "rules", file)


OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
OURS = re.compile(r"\b(?:router|gen_ai|http_server)_\w+")


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
    yield from (rule["expr"] for rule in RULES.values())
    for panel in DASHBOARD["panels"]:
        asks = (target["expr"] for target in panel["targets"])
        yield from (expression for expression in asks if "temporal_" not in expression)


@each_row("expression", list(asked()))
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
    (family,) = Circuits("model", lambda: {"m at u": "open"}).collect()
    (other,) = Circuits("system", lambda: {"mcp s": "half-open"}).collect()
    assert [(s.name, s.labels, s.value) for s in (*family.samples, *other.samples)] == [
        ("router_model_circuit_open", {"model": "m at u"}, 1.0),
        ("router_tool_circuit_open", {"system": "mcp s"}, 0.5),
    ]


@each_row("rule", RULES.values(), ids=lambda rule: rule["alert"])
def test_every_alert_is_explained(rule: dict[str, Any]) -> None:
    assert f"`{rule['alert']}`" in OPERATIONS
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"]


def test_prometheus_reads_the_alerts_and_finds_every_process() -> None:
    config = YAML(typ="safe").load((DEPLOY / "prometheus.yml").read_text())
    assert config["rule_files"] == ["alerts.yml"]
    assert {"api", "worker"} <= {job["job_name"] for job in config["scrape_configs"]}
