"""The deployment on one machine: what can be known of it without running it."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from router.contracts.search_attributes import SEARCH_ATTRIBUTES

ROOT = Path(__file__).parents[3]
SECRETS = {"POSTGRES_PASSWORD": "p" * 32, "ROUTER_JWT_SECRET": "s" * 32}

needs_compose = pytest.mark.skipif(
    shutil.which("docker-compose") is None,
    reason="docker-compose is not installed: docker-compose.yml was NOT checked "
    "(apt-get install docker-compose)",
)


def compose_config(secrets: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in SECRETS} | secrets
    return subprocess.run(
        ["docker-compose", "config"],
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    outcome = compose_config(SECRETS)
    assert outcome.returncode == 0, outcome.stderr
    found: dict[str, Any] = YAML(typ="safe").load(outcome.stdout)["services"]
    return found


@needs_compose
class TestCompose:
    @pytest.mark.parametrize("missing", sorted(SECRETS))
    def test_asks_for_every_secret(self, missing: str) -> None:
        outcome = compose_config({k: v for k, v in SECRETS.items() if k != missing})
        assert outcome.returncode != 0
        assert missing in outcome.stderr
        assert "openssl rand" in outcome.stderr

    def test_publishes_on_loopback_alone(self, services: dict[str, Any]) -> None:
        ports = [port for service in services.values() for port in service.get("ports", [])]
        assert ports
        assert all(str(port).startswith("127.0.0.1:") for port in ports)

    def test_trusts_no_bare_user_ids(self, services: dict[str, Any]) -> None:
        assert {services[name]["environment"]["ROUTER_AUTH"] for name in ("api", "worker")} == {
            "jwt"
        }

    def test_publishes_no_metrics_of_the_house(self, services: dict[str, Any]) -> None:
        published = [str(p) for name in ("api", "worker") for p in services[name].get("ports", [])]
        assert published == ["127.0.0.1:8000:8000/tcp"]

    def test_lets_nobody_change_anything_in_grafana(self, services: dict[str, Any]) -> None:
        environment = services["grafana"]["environment"]
        assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
        assert environment["GF_AUTH_BASIC_ENABLED"] == "false"
        assert environment["GF_AUTH_DISABLE_LOGIN_FORM"] == "true"

    def test_keeps_the_databases_in_a_named_volume(self, services: dict[str, Any]) -> None:
        assert services["postgres"]["volumes"] == ["postgres:/var/lib/postgresql/data:rw"]

    def test_starts_each_service_after_what_it_needs(self, services: dict[str, Any]) -> None:
        after = {
            name: {needed: how["condition"] for needed, how in service["depends_on"].items()}
            for name, service in services.items()
            if "depends_on" in service
        }
        assert after == {
            "temporal-schema": {"postgres": "service_healthy"},
            "temporal": {"temporal-schema": "service_completed_successfully"},
            "temporal-namespace": {"temporal": "service_healthy"},
            "temporal-ui": {"temporal": "service_healthy"},
            "api": {"temporal-namespace": "service_completed_successfully"},
            "worker": {"api": "service_healthy"},
            "grafana": {"prometheus": "service_started"},
        }


class TestScripts:
    def test_register_the_search_attributes_that_workflows_set(self) -> None:
        script = (ROOT / "deploy" / "temporal-namespace.sh").read_text()
        registered = {
            name: kind
            for variable, kind in (("KEYWORDS", "Keyword"), ("KEYWORD_LISTS", "KeywordList"))
            for names in re.findall(rf'^{variable}="(.*)"$', script, re.MULTILINE)
            for name in names.split()
        }
        assert registered == SEARCH_ATTRIBUTES

    @pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
    def test_are_sound(self) -> None:
        scripts = [str(ROOT / ".ci" / "run"), *map(str, sorted((ROOT / "deploy").glob("*.sh")))]
        outcome = subprocess.run(
            ["shellcheck", *scripts], check=False, capture_output=True, text=True
        )
        assert outcome.returncode == 0, outcome.stdout
