"""The Helm chart: what it makes is what Kubernetes takes, and what the program understands.

Nothing here is a cluster: objects are rendered by Helm's own code, and held against the schemas of
Kubernetes' API and ours of what KEDA and the Prometheus operator add to it.
"""

import asyncio
import json
import ssl
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate
from ruamel.yaml import YAML

from activities.capabilities import MARGIN
from router.api.routes import health
from router.cli import COMMANDS
from router.cli.processes import CLOSING
from router.contracts import activities
from router.contracts.payload import ActivityStub
from router.domain.errors import MisconfiguredError
from router.outbound.guard import OutboundGuard
from router.runtime.definitions import load_tools
from router.runtime.temporal_server import binary
from router.settings import PREFIX, Settings
from router.webhook.webhook_files import load_event_sources, load_webhooks
from tests.chart import FOLDER, MISSING, RELEASE, RefusedValues, rendered, values_of
from tests.fakes.certificates import Authority
from tests.fakes.temporal_gate import gate
from tests.samples import one_in
from tests.table import each_row
from tests.temporal import dev_server
from tests.unit.deploy.test_distribution import PROJECT, ROOT

pytestmark = pytest.mark.skipif(
    bool(MISSING),
    reason=f"{', '.join(MISSING)} can't be imported: the Helm chart was NOT checked (make chart)",
)

Object = dict[str, Any]
VALUES = Path(__file__).with_name("values")
SETS: dict[str, dict[str, Any]] = {"default": {}} | {
    file.stem: values_of(file) for file in sorted(VALUES.glob("*.yaml"))
}
VERSIONS = ("1.32", "1.37")
"""Of Kubernetes: an old one that is looked after still, and the newest."""
CUSTOM = values_of(Path(__file__).with_name("custom_kinds.yaml"))
"""What the kinds that aren't Kubernetes' own may have in them."""
WORKLOADS = ("Deployment", "Job")


@cache
def _rendered(name: str) -> str:
    return json.dumps(rendered(SETS[name]))


@pytest.fixture(params=SETS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def objects(name: str) -> list[Object]:
    """What the chart makes with each set of values."""
    found: list[Object] = json.loads(_rendered(name))
    return found


def of_kind(objects: list[Object], *kinds: str) -> list[Object]:
    return [each for each in objects if each["kind"] in kinds]


def containers(objects: list[Object]) -> Iterator[tuple[Object, Object]]:
    """Each container of a workload, with its pod."""
    for each in of_kind(objects, *WORKLOADS):
        pod = each["spec"]["template"]["spec"]
        for container in pod["containers"]:
            yield pod, container


def check_schema(each: Object, version: str) -> None:
    """Raise where the object isn't one of its kind, to the last field."""
    import kubernetes_validate

    custom = CUSTOM.get(f"{each['apiVersion']} {each['kind']}")
    if custom is None:
        kubernetes_validate.validate(each, version, strict=True)
        return
    own = {"definitions": CUSTOM["definitions"]}
    validate(each["spec"], custom | own)
    validate(each["metadata"], CUSTOM["definitions"]["metadata"] | own)


@pytest.mark.parametrize("version", one_in(4, VERSIONS))
def test_every_object_is_one_of_its_kind(objects: list[Object], version: str) -> None:
    for each in objects:
        check_schema(each, version)


@each_row("kind", ["Deployment", "PodMonitor", "ScaledObject"])
def test_a_field_that_its_kind_does_not_have_is_noticed(kind: str) -> None:
    (each, *_) = of_kind(json.loads(_rendered("everything")), kind)
    each["spec"]["replicaCuont"] = 2
    with pytest.raises(Exception, match="replicaCuont"):
        check_schema(each, VERSIONS[-1])


def test_no_two_objects_have_one_name(objects: list[Object]) -> None:
    found = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(found) == len(set(found))


def test_all_values_and_kinds_are_used_by_some_set() -> None:
    kinds = {each["kind"] for name in SETS for each in json.loads(_rendered(name))}
    written = "".join(file.read_text() for file in (FOLDER / "templates").glob("*.yaml"))
    said = {line.split()[1] for line in written.splitlines() if line.startswith("kind: ")}
    assert kinds == said


def test_nobody_reaches_a_pod_who_was_not_named(name: str, objects: list[Object]) -> None:
    policies = of_kind(objects, "NetworkPolicy")
    named = SETS[name].get("networkPolicy", {})
    for policy in policies:
        which = "api" if policy["metadata"]["name"].endswith("-api") else "metrics"
        rules = policy["spec"]["ingress"]
        assert "Ingress" in policy["spec"]["policyTypes"]
        # A rule without peers lets everybody in; a policy without rules, nobody.
        assert all(rule.get("from") for rule in rules)
        assert bool(rules) is bool(named.get(which))


def selectors(objects: list[Object]) -> Iterator[tuple[str, dict[str, str]]]:
    for each in objects:
        spec = each.get("spec", {})
        found = spec.get("selector") or spec.get("podSelector")
        if found:
            yield f"{each['kind']} {each['metadata']['name']}", found.get("matchLabels", found)


def test_every_selector_finds_pods(objects: list[Object]) -> None:
    pods = [d["spec"]["template"]["metadata"]["labels"] for d in of_kind(objects, "Deployment")]
    for whose, labels in selectors(objects):
        assert any(labels.items() <= pod.items() for pod in pods), whose


def test_whatever_is_scaled_or_mounted_is_there(name: str, objects: list[Object]) -> None:
    deployments = {each["metadata"]["name"] for each in of_kind(objects, "Deployment")}
    for each in of_kind(objects, "HorizontalPodAutoscaler", "ScaledObject"):
        assert each["spec"]["scaleTargetRef"]["name"] in deployments
    made = {each["metadata"]["name"]: each["data"] for each in of_kind(objects, "ConfigMap")}
    for pod, container in containers(objects):
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
        for volume in volumes.values():
            config = volume.get("configMap", {})
            assert {item["key"] for item in config.get("items", [])} <= set(
                made.get(config.get("name"), {})
            )
    if name == "everything":
        assert made[f"{RELEASE}-intent-router-skills"].keys() == {"trip-planner__SKILL.md"}


def test_what_a_deployment_is_scaled_by_alone_says_how_many(objects: list[Object]) -> None:
    scalers = of_kind(objects, "HorizontalPodAutoscaler", "ScaledObject")
    scaled = [each["spec"]["scaleTargetRef"]["name"] for each in scalers]
    assert len(scaled) == len(set(scaled))
    for each in of_kind(objects, "Deployment"):
        assert ("replicas" in each["spec"]) == (each["metadata"]["name"] not in scaled)


@pytest.fixture
def secrets(tmp_path: Path) -> dict[str, Path]:
    """A file for each mounted secret, by the end of its path."""
    written = {
        "database_url": "postgresql+asyncpg://router@db/router",
        "payload_keys": f"k1:{'A' * 43}=",
    }
    signed = Authority("house", tmp_path).signed("desk")
    found = {"tls.crt": signed.certificate, "tls.key": signed.key, "ca.crt": signed.certificate}
    written |= {key: f"whsec_{key[4] * 40}" for key in ("erp_webhook", "erp_event")}
    for key in ("jwt_secret", "llm_api_key", "api_key", "directory", *written):
        found[key] = tmp_path / key
        found[key].write_text(written.get(key, "x" * 32))
    return found


def told(container: Object, secrets: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The settings that a process has with the environment of this container."""
    with monkeypatch.context() as patch:
        for each in container["env"]:
            if (secret := each.get("valueFrom", {}).get("secretKeyRef")) is not None:
                patch.setenv(each["name"], secrets[secret["key"]].read_text())
                continue
            value = each["value"]
            if value.startswith("/run/secrets/"):
                value = str(secrets[value.rpartition("/")[2]])
            patch.setenv(each["name"], value)
        return Settings.load(_env_file=None)


def test_a_container_is_told_settings_that_there_are_each_once(objects: list[Object]) -> None:
    for _, container in containers(objects):
        names = [each["name"] for each in container["env"]]
        assert len(names) == len(set(names))
        ours = {name for name in names if name.startswith(PREFIX)}
        assert ours - Settings.variables() == set()


def test_a_process_starts_with_what_it_is_told(
    name: str,
    objects: list[Object],
    secrets: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _, container in containers(objects):
        settings = told(container, secrets, monkeypatch)
        settings.check_shareable()
        if container["name"] == "migration":
            continue
        settings.check_binding("0.0.0.0")
        assert settings.is_temporal_over_tls == (name != "default")
        shown = (settings.temporal_api_key is not None, settings.temporal_tls_cert is not None)
        by_name = {"cloud-certificate": (False, True), "cloud-key": (True, False)}
        assert shown == by_name.get(name, (name == "everything",) * 2)


def test_files_of_other_systems_find_the_secrets_that_they_name(
    tmp_path: Path, secrets: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    objects: list[Object] = json.loads(_rendered("everything"))
    texts = {
        path: text for each in of_kind(objects, "ConfigMap") for path, text in each["data"].items()
    }
    _, worker = next(each for each in containers(objects) if each[1]["name"] == "worker")
    settings = told(worker, secrets, monkeypatch)
    names = {
        each["name"]: each["valueFrom"]["secretKeyRef"]
        for each in worker["env"]
        if "valueFrom" in each
    }
    known = {name: secrets[ref["key"]].read_text() for name, ref in names.items()}
    assert {ref["name"] for ref in names.values()} == {"desk"}
    files = [settings.webhooks, settings.event_sources]
    for file in files:
        assert file is not None
        (tmp_path / file.name).write_text(texts[file.name])
    webhooks, sources = (tmp_path / file.name for file in files if file)
    assert len(load_webhooks(webhooks, known, OutboundGuard())) == 1
    assert len(load_event_sources(sources, known)) == 1


def test_a_process_without_its_secret_is_refused(
    secrets: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets["payload_keys"].unlink()
    worker = next(
        c for _, c in containers(json.loads(_rendered("default"))) if c["name"] == "worker"
    )
    with pytest.raises(MisconfiguredError, match="ROUTER_PAYLOAD_KEYS_FILE"):
        told(worker, secrets, monkeypatch)


def test_every_command_is_one_of_the_programs(objects: list[Object]) -> None:
    found = {container["args"][0] for _, container in containers(objects)}
    assert found == {"serve", "worker", "migrate"}
    assert found <= COMMANDS.keys()


def test_probes_ask_for_what_answers(objects: list[Object]) -> None:
    routes = {route.path for route in health.router.routes}  # type: ignore[attr-defined]
    for _, container in containers(objects):
        ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        env = {each["name"]: each.get("value", "") for each in container["env"]}
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            if container["name"] == "migration":
                continue
            asked = container[kind]["httpGet"]
            if container["name"] == "api":
                assert asked["path"] in routes
                assert str(ports[asked["port"]]) == container["args"][-1]
            else:
                assert asked["path"] == "/metrics"
                assert str(ports[asked["port"]]) == env["ROUTER_METRICS_PORT"]


def longest() -> timedelta:
    """How long the longest activity of the engine, or tool that ships, may take."""
    settings = Settings(_env_file=None)
    fixed = [
        stub.timeout
        for stub in vars(activities).values()
        if isinstance(stub, ActivityStub) and isinstance(stub.timeout, timedelta)
    ]
    asking = timedelta(seconds=settings.llm_turn_seconds) + activities.BEYOND
    registry = load_tools(settings).registry
    calls = [registry[name].timeout + MARGIN for name in registry.names]
    return max(*fixed, asking, *calls)


def test_a_worker_is_given_longer_than_its_longest_activity(objects: list[Object]) -> None:
    for pod, container in containers(objects):
        env = {each["name"]: each.get("value", "") for each in container["env"]}
        if container["name"] == "worker":
            assert float(env["ROUTER_SHUTDOWN_SECONDS"]) >= longest().total_seconds()
        if container["name"] != "migration":
            before = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {})
            needed = float(env["ROUTER_SHUTDOWN_SECONDS"]) + CLOSING + before.get("seconds", 0)
            assert pod["terminationGracePeriodSeconds"] > needed


def test_nothing_runs_as_root_or_writes_beside_its_two_folders(objects: list[Object]) -> None:
    user = (ROOT / "Dockerfile").read_text().partition("USER ")[2].split()[0]
    for pod, container in containers(objects):
        security = pod["securityContext"]
        assert f"{security['runAsUser']}:{security['runAsGroup']}" == user
        assert security["runAsNonRoot"]
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        writable = {m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")}
        assert writable == {"/data", "/tmp"}
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]


def test_the_alerts_are_the_repositorys_and_know_who_is_asked() -> None:
    objects = json.loads(_rendered("everything"))
    (rule,) = of_kind(objects, "PrometheusRule")
    read = YAML(typ="safe")
    assert rule["spec"] == read.load(ROOT / "deploy/alerts.yml")
    jobs = {
        line["replacement"]
        for each in of_kind(objects, "PodMonitor")
        for endpoint in each["spec"]["podMetricsEndpoints"]
        for line in endpoint["relabelings"]
    }
    asked = read.load(ROOT / "deploy/prometheus.yml")["scrape_configs"]
    assert jobs == {each["job_name"] for each in asked} - {"temporal"}


def test_keda_asks_for_the_queues_and_the_build_of_the_worker_that_it_scales(
    name: str,
    objects: list[Object],
    secrets: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers = {d["metadata"]["name"]: d for d in of_kind(objects, "Deployment")}
    found = of_kind(objects, "ScaledObject")
    assert bool(found) == (name in {"cloud-certificate", "everything"})
    for each in found:
        worker = workers[each["spec"]["scaleTargetRef"]["name"]]
        (container,) = worker["spec"]["template"]["spec"]["containers"]
        settings = told(container, secrets, monkeypatch)
        asked = [trigger["metadata"] for trigger in each["spec"]["triggers"]]
        assert [one["taskQueue"] for one in asked] == settings.queues
        for one in asked:
            assert one["endpoint"] == settings.temporal_address
            assert one["namespace"] == settings.temporal_namespace
            assert one.get("workerDeploymentBuildId") == settings.worker_version
            known = settings.worker_deployment if settings.worker_version else None
            assert one.get("workerDeploymentName") == known


def workers_with(**worker: Any) -> dict[str, Object]:
    made = rendered({"worker": worker, "image": {"tag": worker.pop("tag", "")}})
    found = [each for each in of_kind(made, "Deployment") if "-worker" in each["metadata"]["name"]]
    return {each["metadata"]["name"]: each["spec"] for each in found}


def test_a_new_build_leaves_the_old_one_as_it_runs() -> None:
    old = workers_with(builds=[{"version": "1.0"}], tag="1.0")
    both = workers_with(builds=[{"version": "1.0"}, {"version": "1.1"}], tag="1.1")
    (one,) = old
    assert both[one] == old[one]
    assert len(both) == 2


def test_a_build_runs_its_own_image_under_its_own_name() -> None:
    for name, spec in workers_with(builds=[{"version": "1.0"}, {"version": "1.1_x"}]).items():
        (container,) = spec["template"]["spec"]["containers"]
        version = {e["name"]: e["value"] for e in container["env"]}["ROUTER_WORKER_VERSION"]
        assert container["image"].endswith(f":{version}")
        assert name.endswith(version.replace(".", "-").replace("_", "-"))


def test_workers_without_a_build_may_stay_beside_the_first_that_has_one() -> None:
    (before,) = workers_with(tag="1.0").items()
    both = workers_with(builds=[{"version": "", "tag": "1.0"}, {"version": "1.1"}], tag="1.1")
    assert both[before[0]] == before[1]
    assert len(both) == 2


async def test_temporals_own_command_finds_the_way_that_the_pod_has(
    secrets: dict[str, Path], tmp_path: Path
) -> None:
    house = Authority("cloud", tmp_path)
    secrets["ca.crt"] = house.file
    shown, context = house.signed("temporal.internal"), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown.certificate, shown.key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(tmp_path / "house-ca.pem")
    pods = containers(json.loads(_rendered("everything")))
    api = next(container for _, container in pods if container["name"] == "api")
    env = {e["name"]: e["value"] for e in api["env"] if e["name"].startswith("TEMPORAL_")}
    env = {
        name: str(secrets[value.rpartition("/")[2]]) if value.startswith("/run/") else value
        for name, value in env.items()
    }
    async with (
        await dev_server() as server,
        gate(server.client.service_client.config.target_host, context) as address,
    ):
        command = await asyncio.create_subprocess_exec(
            *(str(binary()), "worker", "deployment", "list"),
            env={"HOME": "/nonexistent", **env, "TEMPORAL_ADDRESS": address},
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await command.communicate()
    assert command.returncode == 0
    assert b"CurrentVersionBuildID" in out


def test_migration_comes_before_everything_and_needs_nothing_that_comes_after() -> None:
    objects = json.loads(_rendered("everything"))
    (job,) = of_kind(objects, "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    pod = job["spec"]["template"]["spec"]
    assert "serviceAccountName" not in pod
    assert not any("configMap" in volume for volume in pod["volumes"])


def test_the_chart_is_of_the_projects_version() -> None:
    chart = values_of(FOLDER / "Chart.yaml")
    assert chart["version"] == chart["appVersion"] == PROJECT["version"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"settings": {"ROUTER_LLM_API_KEY": "k"}}, "ROUTER_LLM_API_KEY"),
    ({"settings": {"ROUTER_DATABASE_URL": "u"}}, "ROUTER_DATABASE_URL"),
    ({"settings": {"ROUTER_JWT_SECRET_FILE": "/x"}}, "ROUTER_JWT_SECRET_FILE"),
    ({"settings": {"ROUTER_DATA": "/x"}}, "ROUTER_DATA"),
    ({"settings": {"ROUTER_CONNECTIONS": 1000000}}, "got number, want string"),
    ({"setings": {}}, "setings"),
    ({"secret": {"keys": {"ROUTER_DATABASE_URL": None}}}, "ROUTER_DATABASE_URL"),
    ({"secret": {"variables": {"ROUTER_JWT_SECRET": "jwt"}}}, "'ROUTER_JWT_SECRET'"),
    ({"secret": {"variables": {"A B": "jwt"}}}, "A B"),
    ({"temporal": {"address": "https://desk.tmprl.cloud"}}, "/temporal/address"),
    ({"temporal": {"apiKey": {"secret": "No Name"}}}, "/temporal/apiKey/secret"),
    ({"worker": {"builds": [{"tag": "1.0"}]}}, "missing property 'version'"),
    ({"worker": {"builds": [{"version": "a b"}]}}, "/worker/builds/0/version"),
    (
        {"worker": {"builds": [{"version": "1.0"}, {"version": "1-0"}]}},
        "1.0 and 1-0 would both",
    ),
    ({"worker": {"autoscaling": {"by": "hope"}}}, "/worker/autoscaling/by"),
    ({"worker": {"shutdownSeconds": 0}}, "/worker/shutdownSeconds"),
    ({"files": {"flows": {"setting": "ROUTER_FLOWS"}}}, "/files/flows"),
    ({"files": {"f": {"setting": "ROUTER_FLOWS", "content": {"../x": ""}}}}, "'../x'"),
    ({"files": {"f": {"setting": "ROUTER_FLOWS", "content": {}}}}, "/files/f"),
    ({"api": {"ingress": {"enabled": True}}}, "name the host that people call"),
]


@each_row(("values", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_values_that_cannot_be_meant_are_refused_by_name(values: dict[str, Any], said: str) -> None:
    with pytest.raises(RefusedValues) as refused:
        rendered(values)
    assert said in str(refused.value)
