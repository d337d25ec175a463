"""What is shipped: the wheel, and the containers."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from router.contracts.start_options import SEARCH_ATTRIBUTES
from router.settings import Settings
from router.settings.project import RESERVED_PACKAGES
from supply.policy import kept
from tests.table import each_row

ROOT = Path(__file__).parents[3]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
WHEEL = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
ROOMS = WHEEL["packages"]
SAMPLE = WHEEL["force-include"]
"""The folders of the sample company, with where each is in the wheel."""
BY_DATE = {"types-psutil", "types-jsonschema"}
"""Versions of these follow what they describe: a next major says nothing."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the tree as it is."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*command, "--directory", str(folder)], check=True, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def tracked() -> set[str]:
    """What git keeps of the rooms that are packaged, by its path in the wheel."""
    words = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--", *ROOMS, *SAMPLE]
    listed = subprocess.check_output(words, cwd=ROOT, text=True)
    paths = [path for path in listed.split("\0") if path and (ROOT / path).is_file()]
    parts = (path.partition("/") for path in paths)
    return {f"{SAMPLE.get(top, top)}/{rest}" for top, _, rest in parts}


@pytest.mark.slow
def test_the_wheel_holds_every_tracked_file_of_its_rooms(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert tracked() - held == set()
    stray = {name for name in held if "__pycache__" in name or name.partition("/")[0] not in ROOMS}
    assert stray == set()


@pytest.mark.slow
def test_no_name_but_the_routers_own_can_be_imported(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.partition("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == RESERVED_PACKAGES


@pytest.mark.slow
def test_what_isnt_code_travels_with_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    assert "router/py.typed" in sizes
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in sizes)
    for path in (
        "router/_sample/flows/leave_request.yaml",
        "router/_sample/skills/trip-planner/SKILL.md",
        "router/web/index.html",
        "router/store/migrations/env.py",
        "router/_sample/company/people/migrations/env.py",
        "router/routing/prompts/router-1.zh.md",
        "router/directory/sample.yaml",
        "router/_sample/company/tools/http/weather.json",
        "router/_sample/company/policies/limits.yaml",
    ):
        assert sizes[path] > 0


@pytest.mark.slow
def test_it_routes_from_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    unpacked, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    zipfile.ZipFile(wheel).extractall(unpacked)
    words = [sys.executable, "-m", "router", "route", "我要请年假", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    routed = subprocess.check_output(words, cwd=empty, text=True, env=environment)
    assert json.loads(routed)["decision"]["target"] == "leave_request"


@each_row("room", ROOMS)
def test_a_folder_of_the_same_name_where_it_is_called_does_not_stand_in_for_a_room(
    room: str, tmp_path: Path
) -> None:
    (tmp_path / room).mkdir()
    found = PathFinder.find_spec(room, [str(tmp_path), str(ROOT)])
    assert found is not None
    assert found.origin == str(ROOT / room / "__init__.py")


@each_row("requirement", PROJECT["dependencies"])
def test_every_dependency_has_a_lowest_version_and_a_next_one_too_new(requirement: str) -> None:
    name = re.split(r"[\[<>=]", requirement)[0]
    assert ">=" in requirement
    assert "," in requirement or name in BY_DATE


def test_the_oldest_and_the_newest_python_are_said_everywhere_alike() -> None:
    lowest, highest = re.findall(r"3\.(\d+)", PROJECT["requires-python"])
    said = f"Python 3.{lowest} to 3.{int(highest) - 1}"
    assert said in (ROOT / "README.md").read_text(encoding="utf-8")
    assert said in (ROOT / "Makefile").read_text(encoding="utf-8")
    versions = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c}
    assert versions == {f"3.{minor}" for minor in range(int(lowest), int(highest))}


OURS = ("api", "worker")
ROLES = "postgres-roles"
ONCE = {ROLES, "temporal-schema", "temporal-namespace"}
"""Services that end when they have done their work."""
SHELL_LESS = {"otel-collector", "temporal-ui"}
"""Services whose images have nothing in them that could ask whether they are well."""

needs_compose = pytest.mark.skipif(
    shutil.which("docker-compose") is None,
    reason="docker-compose is not installed: docker-compose.yml was NOT checked "
    "(apt-get install docker-compose)",
)


def compose_config(**variables: str) -> dict[str, Any]:
    outcome = subprocess.run(
        ["docker-compose", "config"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **variables},
        check=False,
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stderr
    found: dict[str, Any] = YAML(typ="safe").load(outcome.stdout)
    return found


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return compose_config()


@pytest.fixture(scope="module")
def services(config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = config["services"]
    return found


@needs_compose
class TestCompose:
    @pytest.mark.slow
    def test_shows_no_secret_in_an_environment(self, services: dict[str, Any]) -> None:
        secret = re.compile("PASSWORD|PWD|SECRET|_KEY|DATABASE_URL")
        shown = {
            name
            for service in services.values()
            for name in service.get("environment", {})
            if secret.search(name) and not name.endswith("_FILE")
        }
        assert shown == set()

    @pytest.mark.slow
    def test_mounts_every_secret_that_a_service_reads(self, services: dict[str, Any]) -> None:
        for service in services.values():
            read = {
                Path(value).name
                for name, value in service.get("environment", {}).items()
                if name.endswith("_FILE")
            }
            assert read <= {secret["source"] for secret in service.get("secrets", [])}

    @pytest.mark.slow
    def test_takes_the_keys_of_an_identity_provider_in_place_of_its_secret(self) -> None:
        given = {"ROUTER_JWT_SECRET_FILE": "", "ROUTER_JWT_JWKS_URL": "https://idp/keys"}
        environment = compose_config(**given)["services"]["api"]["environment"]
        assert {name: environment[name] for name in given} == given

    def test_gives_our_processes_nothing_to_write_but_their_data_and_trusts_no_bare_user_ids(
        self, services: dict[str, Any]
    ) -> None:
        for service in (services[name] for name in OURS):
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert service["volumes"] == ["router:/data:rw"]
            assert service["environment"]["ROUTER_DATA"] == "/data"
            assert service["environment"]["ROUTER_AUTH"] == "jwt"
            assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp"]
        assert services["postgres"]["volumes"] == ["postgres:/var/lib/postgresql/data:rw"]

    def test_bounds_what_each_service_takes(self, services: dict[str, Any]) -> None:
        for service in services.values():
            assert service["mem_limit"]
            assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}
            assert service["security_opt"] == ["no-new-privileges:true"]

    def test_pins_every_image_to_a_version(self, services: dict[str, Any]) -> None:
        images = {
            name: service["image"].partition("@")[0].rpartition(":")[2]
            for name, service in services.items()
            if "build" not in service
        }
        assert {n: v for n, v in images.items() if not re.fullmatch(r"v?\d+(\.\d+){1,2}", v)} == {}
        server = {images[name] for name in ("temporal", "temporal-schema", "temporal-namespace")}
        assert len(server) == 1

    def test_asks_every_service_that_stays_whether_it_is_well(
        self, services: dict[str, Any]
    ) -> None:
        asked = {name for name, service in services.items() if "healthcheck" in service}
        assert asked == set(services) - ONCE - SHELL_LESS

    def test_can_run_any_number_of_workers(self, services: dict[str, Any]) -> None:
        assert not any("container_name" in service for service in services.values())

    def test_publishes_on_loopback_alone_and_no_metrics(self, services: dict[str, Any]) -> None:
        ports = {n: [str(port) for port in s.get("ports", [])] for n, s in services.items()}
        assert all(port.startswith("127.0.0.1:") for each in ports.values() for port in each)
        assert [ports[name] for name in OURS] == [["127.0.0.1:8000:8000/tcp"], []]

    def test_lets_each_service_reach_only_those_it_talks_to(self, services: dict[str, Any]) -> None:
        reached = {
            name: {
                other
                for other, its in services.items()
                if other != name and its["networks"].keys() & service["networks"].keys()
            }
            for name, service in services.items()
        }
        assert reached["grafana"] == {"prometheus"}
        assert reached["otel-collector"] == {"api", "worker"}
        assert reached["prometheus"] == {"grafana", "api", "worker", "temporal"}
        assert reached["temporal-ui"] == {"temporal", "temporal-namespace", "api", "worker"}
        assert reached["temporal-schema"] == {"postgres", "temporal"}
        assert reached["postgres"] == {"api", "worker", "temporal", "temporal-schema", ROLES}

    def test_gives_the_superuser_of_the_database_to_nobody_who_stays(
        self, services: dict[str, Any]
    ) -> None:
        who = {
            (service.get("environment") or {}).get("POSTGRES_USER"): name
            for name, service in services.items()
            if name not in {"postgres", ROLES}
        }
        assert who.keys() <= {None, "temporal"}
        has = {
            name
            for name, service in services.items()
            if "postgres_password" in {each["source"] for each in service.get("secrets", [])}
        }
        assert has == {"postgres", ROLES}

    @pytest.mark.slow
    def test_asks_for_a_certificate_at_temporal_where_the_overlay_is_used(self) -> None:
        files = "docker-compose.yml:deploy/temporal-mtls.yml"
        services = compose_config(COMPOSE_FILE=files)["services"]
        server = services["temporal"]["environment"]
        assert server["TEMPORAL_TLS_REQUIRE_CLIENT_AUTH"] == "true"
        for name in ("temporal", "temporal-namespace", "temporal-ui", "api", "worker"):
            given = {f"/run/secrets/{each['source']}" for each in services[name]["secrets"]}
            named = {v for n, v in services[name]["environment"].items() if "_TLS_" in n}
            assert {each for each in named if each.startswith("/run")} <= given
        everything = {
            each["source"] for service in services.values() for each in service.get("secrets", [])
        }
        assert "temporal_authority_key" not in everything

    def test_lets_nobody_change_anything_in_grafana(self, services: dict[str, Any]) -> None:
        assert (
            services["grafana"]["environment"].items()
            >= {
                "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer",
                "GF_AUTH_BASIC_ENABLED": "false",
                "GF_AUTH_DISABLE_LOGIN_FORM": "true",
            }.items()
        )

    def test_starts_each_service_after_what_it_needs(self, services: dict[str, Any]) -> None:
        after = {
            name: {needed: how["condition"] for needed, how in service["depends_on"].items()}
            for name, service in services.items()
            if "depends_on" in service
        }
        assert after == {
            "postgres-roles": {"postgres": "service_healthy"},
            "temporal-schema": {"postgres-roles": "service_completed_successfully"},
            "temporal": {"temporal-schema": "service_completed_successfully"},
            "temporal-namespace": {"temporal": "service_healthy"},
            "temporal-ui": {"temporal": "service_healthy"},
            "api": {"temporal-namespace": "service_completed_successfully"},
            "worker": {"api": "service_healthy"},
            "grafana": {"prometheus": "service_started"},
        }


class TestSecrets:
    def made(self, folder: Path, **variables: str) -> dict[str, str]:
        subprocess.run(
            [ROOT / "deploy" / "make-secrets.sh", folder],
            env={"PATH": os.environ["PATH"], **variables},
            check=True,
            capture_output=True,
        )
        return {file.name: file.read_text() for file in folder.iterdir()}

    @needs_compose
    def test_are_the_ones_that_compose_mounts(self, tmp_path: Path, config: dict[str, Any]) -> None:
        made = self.made(tmp_path / "secrets")
        mounted = {name: Path(secret["file"]) for name, secret in config["secrets"].items()}
        assert set(made) == set(mounted)
        assert set(mounted.values()) == {ROOT / "deploy" / "secrets" / name for name in made}

    def test_are_usable_settings(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made(tmp_path)
        for name in ("database_url", "jwt_secret", "payload_keys", "llm_api_key"):
            monkeypatch.setenv(f"ROUTER_{name.upper()}_FILE", str(tmp_path / name))
        settings = Settings.load(auth="jwt")
        password = (tmp_path / "router_password").read_text().strip()
        assert f":{password}@postgres:" in settings.database_url
        assert settings.payload_keys
        assert settings.models == []

    def test_stay_as_they_are_and_are_nobodys_business_on_this_host(self, tmp_path: Path) -> None:
        folder = tmp_path / "secrets"
        assert self.made(folder) == self.made(folder)
        assert folder.stat().st_mode & 0o077 == 0

    def test_take_over_a_secret_that_is_set(self, tmp_path: Path) -> None:
        made = self.made(tmp_path, ROUTER_JWT_SECRET="s" * 32)
        assert made["jwt_secret"] == "s" * 32 + "\n"


LEFT_OUT = {"chart", "docs", "fuzz", "test", "sentence-transformers"}
"""Extras that the image is without: what nobody runs there, and gigabytes."""
INSTALLS = re.compile(r"\bpip (?:--python \S+ )?install [^&\n]+")


class TestImage:
    DOCKERFILE = (ROOT / "Dockerfile").read_text()

    def test_installs_what_the_project_depends_on_before_any_source_is_there(self) -> None:
        steps = [
            self.DOCKERFILE.index(step)
            for step in ("--requirement locks/image.txt", "COPY . .", "--no-deps")
        ]
        assert steps == sorted(steps)

    def test_installs_nothing_but_its_wheel_without_a_hash(self) -> None:
        installs = [line.strip() for line in INSTALLS.findall(self.DOCKERFILE)]
        assert len(installs) == 4
        assert "locks/pip.txt" in installs[0]
        assert [line for line in installs if "--require-hashes" not in line] == [
            "pip --python /opt/router/bin/python install --no-deps /tmp/wheel/*.whl"
        ]

    def test_reads_what_people_hand_in_and_asks_every_provider(self) -> None:
        assert set(kept().locks["image"]) == PROJECT["optional-dependencies"].keys() - LEFT_OUT

    def test_runs_as_nobody_that_the_host_knows_and_lets_signals_reach_the_program(self) -> None:
        assert re.findall("^USER (.*)$", self.DOCKERFILE, re.MULTILINE) == ["10001:10001"]
        assert 'ENTRYPOINT ["intent-router"]' in self.DOCKERFILE

    def test_leaves_secrets_out_of_the_build(self) -> None:
        lines = (ROOT / ".dockerignore").read_text().splitlines()
        assert lines.index("*") == 1
        assert [line for line in lines if line.startswith("!deploy")] == []


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
        scripts = [ROOT / ".ci" / "run", *sorted((ROOT / "deploy").glob("*.sh"))]
        words = ["shellcheck", *map(str, scripts)]
        outcome = subprocess.run(words, check=False, capture_output=True, text=True)
        assert outcome.returncode == 0, outcome.stdout
