"""The port that metrics are on, and what tracing is switched on by."""

import socket

import httpx
import pytest

from router.domain.errors import MisconfiguredError
from router.runtime.process import observed
from router.settings import Settings
from router.telemetry.tracing import is_wanted
from tests.e2e.house import free_ports


def settings(**more: object) -> Settings:
    return Settings(_env_file=None, **more)  # type: ignore[arg-type]


def test_metrics_are_served_on_a_port_of_their_own_while_they_are_wanted() -> None:
    with observed(settings(metrics_port=0), "test") as seen:
        assert seen.metrics is not None
        assert seen.metrics.startswith("http://127.0.0.1:")
        assert "router_turn_duration_seconds" in httpx.get(seen.metrics, trust_env=False).text
    with pytest.raises(httpx.ConnectError):
        httpx.get(seen.metrics, trust_env=False)


def test_no_port_is_opened_unasked() -> None:
    with observed(settings(), "test") as seen:
        assert (seen.metrics, seen.runtime, seen.plugins) == (None, None, [])


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(MisconfiguredError, match=f"ROUTER_METRICS_PORT={port}"),
            observed(settings(metrics_port=port), "test"),
        ):
            pass


def test_temporals_own_metrics_are_on_another_port() -> None:
    (port,) = free_ports(1)
    with observed(settings(temporal_metrics_port=port), "test") as seen:
        assert seen.runtime is not None
        assert httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).status_code == 200


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({"OTEL_TRACES_SAMPLER": "always_on"}, False),
    ],
)
def test_traces_go_nowhere_unless_a_collector_is_named(
    environment: dict[str, str], wanted: bool
) -> None:
    assert is_wanted(environment) is wanted
