"""Every alert, as Prometheus itself decides: it is raised when it should be, and not else."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES = {
    rule["alert"]: rule
    for rule in YAML(typ="safe").load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
}
PROMTOOL = os.environ.get("ROUTER_TESTS_PROMTOOL") or shutil.which("promtool")

pytestmark = pytest.mark.skipif(
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
        """Two tests of promtool's."""
        return [
            _test(self, self.raised_by, [self.expected()]),
            _test(self, self.quiet_by, []),
        ]


def _test(case: Case, series: Series, alerts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": f"{case.minutes}m", "alertname": case.alert, "exp_alerts": alerts}
        ],
    }


def slow(decided_by: str) -> Series:
    """Of 100 turns a minute, ten take more than two seconds."""
    within = {"2": "0+90x30", "4": "0+100x30", "+Inf": "0+100x30"}
    return {f'{TURNS}{{by="{decided_by}",le="{le}"}}': each for le, each in within.items()}


def shares(metric: str, label: str, failed: str, *, of: int, fail: int, every: str = "") -> Series:
    """Of so many a minute, so many fail."""
    return {
        f'{metric}{{{every}{label}="{failed}"}}': f"0+{fail}x60",
        f'{metric}{{{every}{label}="{"200" if failed == "500" else ""}"}}': f"0+{of - fail}x60",
    }


STATUS = "http_response_status_code"
TOOL = 'gen_ai_tool_name="record_leave",'
STEPS = 'router_flow_steps_total{flow="leave_request",state="record",status="failed"}'

CASES = [
    Case(
        "RouterProcessDown",
        3,
        {'up{job="api",instance="api:9464"}': "1 0x9"},
        {'up{job="api",instance="api:9464"}': "1x10"},
        {"job": "api", "instance": "api:9464"},
    ),
    Case("RouterNoWorker", 3, {'up{job="worker"}': "0x10"}, {'up{job="worker"}': "1x10"}),
    Case(
        "RouterTemporalDown",
        3,
        {'up{job="temporal"}': "1 0x9"},
        {'up{job="temporal"}': "1x10"},
        {"job": "temporal"},
    ),
    Case(
        "RouterRequestsFail",
        15,
        shares(REQUESTS, STATUS, "500", of=100, fail=3),
        shares(REQUESTS, STATUS, "500", of=100, fail=1),
    ),
    Case("RouterTurnsSlow", 25, slow("pattern"), slow("llm")),
    Case(
        "RouterBacklog",
        5,
        {"router_backlog_age_seconds": "6x10"},
        {"router_backlog_age_seconds": "4x10"},
        value="6",
    ),
    Case(
        "RouterRefusesRequests",
        12,
        {'router_refused_requests_total{limit="user"}': "0+120x20"},
        {'router_refused_requests_total{limit="user"}': "0+30x20"},
        {"limit": "user"},
    ),
    Case(
        "RouterModelLeftAlone",
        10,
        {'router_model_circuit_open{model="m"}': "1x20"},
        {'router_model_circuit_open{model="m"}': "0.5x20"},
        {"model": "m"},
    ),
    Case(
        "RouterModelsFail",
        30,
        shares(ASKED, "error_type", "ModelUnavailable", of=100, fail=30),
        shares(ASKED, "error_type", "ModelUnavailable", of=100, fail=10),
    ),
    Case(
        "RouterToolFails",
        45,
        shares(CALLED, "error_type", "ToolFailed", of=10, fail=6, every=TOOL),
        shares(CALLED, "error_type", "ToolFailed", of=10, fail=4, every=TOOL),
        {"gen_ai_tool_name": "record_leave"},
    ),
    Case(
        "RouterActivitiesRetried",
        30,
        {'router_activity_retries_total{activity="call_tool"}': "0+60x40"},
        {'router_activity_retries_total{activity="call_tool"}': "0+20x40"},
        {"activity": "call_tool"},
    ),
    Case(
        "RouterApprovalForgotten",
        90,
        {"router_oldest_approval_age_seconds": "2592060+60x120"},
        {"router_oldest_approval_age_seconds": "0+60x120"},
    ),
    Case(
        "RouterFlowsFail",
        30,
        {STEPS: "0+1x10 10x60"},
        {STEPS: "0x60"},
        {"flow": "leave_request"},
    ),
]


def promtool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROMTOOL), *map(str, words)], check=False, capture_output=True, text=True
    )


def test_every_alert_is_tried() -> None:
    assert [case.alert for case in CASES] == list(RULES)


def test_prometheus_takes_the_configuration() -> None:
    outcome = promtool("check", "config", DEPLOY / "prometheus.yml")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_an_alert_is_raised_when_it_should_be_and_not_else(case: Case, tmp_path: Path) -> None:
    tests = {
        "rule_files": [str(DEPLOY / "alerts.yml")],
        "evaluation_interval": "1m",
        "tests": case.tests(),
    }
    YAML().dump(tests, file := tmp_path / "tests.yml")
    outcome = promtool("test", "rules", file)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
