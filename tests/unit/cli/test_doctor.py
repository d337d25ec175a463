"""`doctor`, and how commands are used."""

import os
import socket
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from router.cli import installed_commands
from router.cli.checks import configuration, services
from router.cli.doctor import CHECKS, Diagnosis, examine
from router.domain.errors import Conflict, MisconfiguredError, RouterError, Unavailable
from router.domain.records import ConversationRecord
from router.runtime.data_folder import ServedPorts, announced, claimed
from router.runtime.server import LOOPBACK
from router.settings import PREFIX, Settings
from router.store.database import Database
from router.store.store import Store
from tests.databases import migrate
from tests.fakes.model_server import ModelServer, calls, refuses, says
from tests.fakes.oidc_provider import Served, jwk, serving
from tests.fakes.providers import ANTHROPIC, GEMINI, RESPONSES, Dialect, ProviderServer, Said
from tests.fakes.web_server import WebServer, json_reply
from tests.unit.cli.conftest import Run
from tests.unit.skill.test_loader import HEAD, write


async def test_a_check_that_breaks_is_a_finding_and_the_others_go_on() -> None:
    async def answers(settings: Settings, error: Exception | None = None) -> str:
        if error is not None:
            raise error
        return "all well"

    wrong = MisconfiguredError("x is wrong: mend it")
    breaks = partial(answers, error=ZeroDivisionError("nobody foresaw"))
    assert await examine({"a": breaks, "b": partial(answers, error=wrong), "c": answers}) == [
        Diagnosis("a", fine=False, says="ZeroDivisionError: nobody foresaw"),
        Diagnosis("b", fine=False, says="x is wrong: mend it"),
        Diagnosis("c", fine=True, says="all well"),
    ]


async def test_what_an_earlier_check_failed_with_is_told_once() -> None:
    async def fails(settings: Settings, words: str = "t is away: start it") -> str:
        raise Unavailable(words)

    found = await examine({"t": fails, "queues": fails, "keys": partial(fails, words="other")})
    assert found == [
        Diagnosis("t", fine=False, says="t is away: start it"),
        Diagnosis("queues", fine=True, says="not looked at: mend t first", looked_at=False),
        Diagnosis("keys", fine=False, says="other"),
    ]


async def test_a_flow_file_that_is_wrong_is_one_failure(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("flow: bad\nstrat: x\n")
    settings = {"flows": CHECKS["flows"], "skills": CHECKS["skills"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROUTER_FLOWS", str(tmp_path))
        found = await examine(settings)
    assert [(each.fine, each.looked_at) for each in found] == [(False, True), (True, False)]


async def test_the_ports_of_the_dev_that_runs_on_the_folder_are_looked_at(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def addresses(settings: Settings) -> str:
        return f"{settings.temporal_address} {settings.temporal_ui}"

    async with WebServer(lambda _: json_reply({})) as api:
        ports = ServedPorts(api.port, 17001, 18002)
        with claimed(elsewhere / "d") as held, announced(held, ports):
            checks = {"api": configuration.api_port, "addresses": addresses}
            found = await examine(checks, data=elsewhere / "d")
            assert [each.says for each in found] == [
                f"answers at {api.origin}/healthz",
                "127.0.0.1:17001 http://127.0.0.1:18002",
            ]
            monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", "127.0.0.1:5")
            (one,) = await examine({"addresses": addresses}, data=elsewhere / "d")
            assert one.says == "127.0.0.1:5 http://127.0.0.1:18002"


async def test_unusable_settings_are_the_only_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_AUTH", "none")
    (finding,) = await examine()
    assert (finding.fine, "ROUTER_AUTH=none" in finding.says) == (False, True)


async def test_tools_that_lack_a_setting_are_named_with_it() -> None:
    said = await configuration.tools(Settings())
    assert "not translate" not in said.splitlines()[0]
    assert "not summarise, translate: ROUTER_LLM_MODEL isn't set" in said
    assert "not convert_currency: ROUTER_RATES_URL isn't set" in said
    rates = Settings(rates_url="https://rates.example/daily.json")
    assert "convert_currency" not in await configuration.tools(rates)


@pytest.mark.slow
def test_a_failure_is_named_last_and_ends_with_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", "127.0.0.1:1")
    outcome = run("doctor")
    assert outcome.status == 1
    assert "FAILED  temporal " in outcome.out
    assert "ok      python " in outcome.out
    assert "checks failed: " in outcome.first_line


async def test_variables_that_are_set_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    assert await configuration.variables(Settings()) == "none set"
    monkeypatch.setenv("ROUTER_TASK_QUEUE", "other")
    assert await configuration.variables(Settings()) == "set: ROUTER_TASK_QUEUE"


async def test_keys_that_are_not_published_or_have_no_issuer_or_audience_are_noticed() -> None:
    unpublished = Settings(auth="jwt", jwt_jwks_url="http://127.0.0.1:1/keys")
    with pytest.raises(MisconfiguredError, match="ROUTER_JWT_JWKS_URL="):
        await configuration.authentication(unpublished)
    key = generate_private_key(SECP256R1()).public_key()
    with serving(Served()) as issuer:
        issuer.publish(jwk(key, "k"))
        settings = Settings(auth="jwt", jwt_jwks_url=issuer.url, jwt_issuer="https://id.example")
        with pytest.raises(MisconfiguredError, match="set ROUTER_JWT_ISSUER and ROUTER_JWT_AUD"):
            await configuration.authentication(settings)
        whole = settings.model_copy(update={"jwt_audience": "router"})
        assert "with 1 keys" in await configuration.authentication(whole)


async def test_tenants_that_no_token_can_name_are_noticed(tmp_path: Path) -> None:
    file = tmp_path / "people.yaml"
    file.write_text("users:\n- {id: a, name: A}\n- {id: b, name: B, tenant: acme}\n")
    house = {"directory": file, "auth": "jwt", "jwt_secret": "x" * 32}
    settings = Settings.model_validate(house)
    with pytest.raises(MisconfiguredError, match="set ROUTER_JWT_TENANT_CLAIM"):
        await configuration.directory(settings)
    for fine in ({"jwt_tenant_claim": "tenant"}, {"auth": "dev"}):
        said = await configuration.directory(settings.model_copy(update=fine))
        assert said == f"1 people of acme, 1 people of default in {file}"


async def test_flows_are_loaded_as_they_would_be(tmp_path: Path) -> None:
    assert "leave_request" in await configuration.flows(Settings())
    with pytest.raises(RouterError, match="has no flow"):
        await configuration.flows(Settings(flows=tmp_path))


async def test_a_data_folder_below_a_file_is_noticed(tmp_path: Path) -> None:
    assert await configuration.data_folder(Settings(data=tmp_path / "new"))
    (tmp_path / "file").touch()
    with pytest.raises(MisconfiguredError, match="ROUTER_DATA="):
        await configuration.data_folder(Settings(data=tmp_path / "file" / "deeper"))


async def test_a_port_that_somebody_else_has_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setattr(configuration, "SECONDS", 0.2)
        with pytest.raises(MisconfiguredError, match=f"port {port} is in use by another program"):
            await configuration._free_or_ours(port, f"http://{LOOPBACK}:{port}/", "--port")
    assert "is free" in await configuration._free_or_ours(port, "http://unused/", "--port")


async def test_a_database_yet_to_be_made_is_fine_an_old_one_or_one_that_is_down_isn_t(
    tmp_path: Path,
) -> None:
    settings = Settings(data=tmp_path)
    assert "will be made" in await services.database(settings)
    (tmp_path / "router.db").touch()
    with pytest.raises(MisconfiguredError, match="brings older ones up to date"):
        await services.database(settings)
    settings = Settings(database_url="postgresql+asyncpg://nobody@127.0.0.1:1/none")
    with pytest.raises(Unavailable, match="ROUTER_DATABASE_URL"):
        await services.database(settings)


@pytest.mark.slow
async def test_a_clock_and_a_retention_that_the_database_says_are_wrong_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=tmp_path, retention_days=30)
    assert await services.clock(settings) == "nothing to compare it with"
    database = Database(settings.database_url)
    store = Store(database)
    await migrate(database)
    assert await services.clock(settings) == "as the database's"
    assert await services.retention(settings) == "after 30 days"
    for number in range(25):
        about = {"id": f"c{number}", "tenant": "default", "owner": "alice", "locale": "zh"}
        record = {**about, "created_at": datetime(2020, 1, 1, tzinfo=UTC)}
        await store.conversations.create(ConversationRecord.model_validate(record))
    told = "more than 20 of 25 rows of conversations are older than 30 days"
    with pytest.raises(Conflict, match=told):
        await services.retention(settings)
    monkeypatch.setattr(services, "CLOCKS_APART", -1.0)
    with pytest.raises(MisconfiguredError, match="set it by a time server"):
        await services.clock(settings)
    await database.dispose()


LENT = {
    "the environment's key": ("ROUTER_LLM_BASE_URL={url}", {"OPENAI_API_KEY": "k"}, "model"),
    "by its usual name": ("OPENAI_BASE_URL={url}/", {"ROUTER_LLM_API_KEY": "k"}, "model"),
    "what a file holds": (
        "ROUTER_LLM_BASE_URL={url}\nROUTER_LLM_API_KEY_FILE={secret}",
        {},
        "model",
    ),
    "a variable by its name": (
        "ROUTER_LLM_BASE_URL={url}\nROUTER_LLM_API_KEY=${{HOME}}",
        {},
        "model",
    ),
    "a variable in the address": ("ROUTER_LLM_BASE_URL={url}/${{HOME}}", {}, "model"),
    "a key for a fallback": (
        'ROUTER_LLM_FALLBACKS=[{{"base_url":"{url}","model":"m","api_key_env":"HOME"}}]',
        {},
        "model",
    ),
    "for vectors": (
        "ROUTER_EMBEDDER=openai:m\nROUTER_LLM_BASE_URL={url}",
        {"OPENAI_API_KEY": "k"},
        "embedder",
    ),
    "a model's own code": ("ROUTER_EMBEDDER=sentence-transformers:./m", {}, "embedder"),
    "a variable where keys are published": (
        "ROUTER_AUTH=jwt\nROUTER_JWT_JWKS_URL={url}/${{HOME}}",
        {},
        "authentication",
    ),
    "a variable to a database": (
        "ROUTER_DATABASE_URL=postgresql+asyncpg://${{HOME}}@127.0.0.1:1/x",
        {},
        "database",
    ),
    "a variable to Temporal": (
        "ROUTER_TEMPORAL_ADDRESS=${{OWN}}.localhost:1",
        {"OWN": "hush"},
        "task queues",
    ),
    "a role's key": (
        'ROUTER_LLM_ROLES={{"skill": {{"base_url": "{url}", "api_key_env": "OWN"}}}}',
        {"OWN": "hush"},
        "model",
    ),
    "a stronger model's key": (
        'ROUTER_LLM_ESCALATE={{"base_url": "{url}", "api_key_env": "OWN"}}',
        {"OWN": "hush"},
        "model",
    ),
    "whose server a key is for": (
        "ROUTER_LLM_PROTOCOL=responses",
        {"ROUTER_LLM_API_KEY": "hush", "ROUTER_LLM_BASE_URL": "http://127.0.0.1:9/v1"},
        "model",
    ),
    "the directory's token": (
        "ROUTER_DIRECTORY={url}\nROUTER_DIRECTORY_TOKEN_FILE={secret}",
        {},
        "directory",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("written", "environment", "check"), LENT.values(), ids=LENT)
async def test_the_env_file_of_a_folder_lends_nothing_of_this_machine(
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    written: str,
    environment: dict[str, str],
    check: str,
) -> None:
    (elsewhere / "secret").write_text("hush")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    async with ModelServer() as server:
        said = f"{written}\nROUTER_LLM_MODEL=m\n"
        said = said.format(url=server.url, secret=elsewhere / "secret")
        (elsewhere / ".env").write_text(said)
        (finding,) = await examine({check: CHECKS[check]})
        assert (finding.looked_at, "--trust-dotenv" in finding.says) == (False, True)
        assert server.chats == []
        (finding,) = await examine({check: CHECKS[check]}, trust_dotenv=True)
        assert finding.looked_at


@pytest.mark.slow
async def test_what_the_env_file_says_whole_or_the_environment_says_is_looked_at(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer(calls(("say", {"word": "yes"}))) as server:
        whole = f"ROUTER_LLM_BASE_URL={server.url}\nROUTER_LLM_MODEL=m\nROUTER_LLM_API_KEY=own\n"
        (elsewhere / ".env").write_text(f"{whole}ROUTER_MCP_SERVERS=servers.json\n")
        (elsewhere / "servers.json").write_text("{}")
        monkeypatch.setenv("ROUTER_MCP_SERVERS", "servers.json")
        checks = {check: CHECKS[check] for check in ("model", "mcp servers", "embedder")}
        found = await examine(checks)
    assert [(finding.fine, finding.looked_at) for finding in found] == [(True, True)] * 3, found


class TestModels:
    async def test_a_model_is_asked_and_what_it_refuses_is_kept(self, tmp_path: Path) -> None:
        assert (await services.model(Settings())).startswith("none configured")
        said = calls(("say", {"word": "yes"}))
        async with ModelServer(refuses("strict", otherwise=said)) as server:
            settings = Settings(data=tmp_path, llm_base_url=server.url, llm_model="qwen")
            found = await services.model(settings)
            once = len(server.chats)
            assert await services.model(settings) == found
            assert len(server.chats) == once + 1
            assert found.endswith("asked by functions; it refuses strict")
        async with ModelServer(says("yes")) as server:
            chatty = settings.model_copy(update={"llm_base_url": server.url, "llm_model": "chatty"})
            assert "it called nothing" in await services.model(chatty)
        with pytest.raises(Unavailable, match=r"chatty at http://127\.0\.0\.1:"):
            await services.model(chatty)

    async def test_the_model_of_skills_is_asked_too(self, tmp_path: Path) -> None:
        async with ModelServer(calls(("say", {"word": "yes"}))) as server:
            settings = Settings(
                data=tmp_path, llm_base_url=server.url, llm_model="small", llm_skill_model="big"
            )
            assert len((await services.model(settings)).splitlines()) == 2
            assert [chat["model"] for chat in server.chats] == ["small", "big"]

    @pytest.mark.slow
    @pytest.mark.parametrize("dialect", [RESPONSES, ANTHROPIC, GEMINI], ids=lambda one: one.name)
    async def test_every_protocol_is_tried_out(self, tmp_path: Path, dialect: Dialect) -> None:
        said = dialect.says(Said(calls=(("say", {"word": "yes"}),)))
        async with ProviderServer(dialect, [said, dialect.fails(404), dialect.fails(401)]) as here:
            settings = Settings.model_validate(
                {
                    "data": tmp_path,
                    "llm_base_url": here.url,
                    "llm_model": "m",
                    "llm_protocol": dialect.name,
                }
            )
            said_of_it = await services.model(settings)
            assert said_of_it.endswith(f"asked by functions ({dialect.name})")
            with pytest.raises(MisconfiguredError, match="ROUTER_LLM_BASE_URL"):
                await services.model(settings)
            with pytest.raises(MisconfiguredError, match="correct ROUTER_LLM_API_KEY"):
                await services.model(settings)


@pytest.mark.parametrize("embedder", ["foo", "sentence-transformers:/nowhere", "openai:gone"])
async def test_an_encoder_that_cannot_encode_is_found(embedder: str) -> None:
    settings = Settings(embedder=embedder, llm_base_url="http://127.0.0.1:9/v1")
    with pytest.raises(RouterError):
        await configuration.embedder(settings)


async def test_skills_are_listed_with_what_might_be_better_about_them(tmp_path: Path) -> None:
    write(tmp_path, f"{HEAD}\nallowed-tools: calculat", "See [a](a.md).")
    found = await configuration.skills(Settings(skills=tmp_path))
    first, link, tool = found.splitlines()
    assert (first, "a.md" in link, "calculat" in tool) == ("trip-planner", True, True)
    with pytest.raises(MisconfiguredError, match=r"ROUTER_SKILLS=.*nowhere is no folder"):
        await configuration.skills(Settings(skills=tmp_path / "nowhere"))


async def test_a_sandbox_is_tried_out_where_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "never run" in await configuration.skill_sandbox(Settings())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MisconfiguredError, match="ROUTER_SKILL_SANDBOX=bwrap can't be used"):
        await configuration.skill_sandbox(Settings(skill_sandbox="bwrap"))


MULTIPLIED = """
import os
from router.cli import main
try:
    main(["--help"])
except SystemExit:
    import numpy
    many = numpy.ones((900, 900))
    many @ many
    print("threads:", len(os.listdir("/proc/self/task")))
"""


@pytest.mark.slow
def test_no_thread_is_waited_for_that_multiplies() -> None:
    unset = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    line = [sys.executable, "-c", MULTIPLIED]
    done = subprocess.run(line, capture_output=True, check=True, env=unset)
    assert done.stdout.endswith(b"threads: 1\n")


def cpu_of(*words: str) -> float:
    before = os.times()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


@pytest.mark.slow
def test_help_costs_less_than_the_library_that_serves() -> None:
    shown = min(cpu_of("-m", "router", "--help") for _ in range(3))
    assert shown < min(cpu_of("-c", "import fastapi") for _ in range(3))


def test_what_a_command_needs_is_imported_when_it_runs() -> None:
    heavy = {"pydantic", "temporalio", "fastapi", "sqlalchemy", "httpx", "rich"}
    script = f"""
import sys, router.cli
sys.argv[1:] = ["--help"]
try:
    router.cli.main()
finally:
    print(*sorted(sys.modules.keys() & {heavy!r}), file=sys.stderr)
"""
    words = [sys.executable, "-c", script]
    outcome = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "Commands:" in outcome.stdout
    assert outcome.stderr == "\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", installed_commands())
def test_the_list_of_commands_says_what_each_says_of_itself(name: str, run: Run) -> None:
    shown = run(name, "--help")
    usage, _, about = " ".join(shown.out.split()).removeprefix("Usage: ").partition("] ")
    assert usage.startswith(f"intent-router {name} ")
    assert installed_commands()[name].summary.rstrip(".") in about


def test_without_words_it_shows_help_and_that_something_was_missing(run: Run) -> None:
    outcome = run()
    assert outcome.status == 2
    assert "Commands:" in outcome.out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["dev", "--ui-port", "x"], "'x' is no port: choose one from 1 to 65535"),
        (["flows"], "error: Missing command."),
        (["token"], "error: Missing option '--user'."),
        (["tools", "call", "x", "[1]", "--user", "alice"], "JSON '[1]' is no object"),
    ],
)
def test_mistakes_end_with_2_and_name_the_value_first(
    run: Run, words: list[str], line: str
) -> None:
    outcome = run(*words)
    assert (outcome.status, outcome.out) == (2, "")
    assert line in outcome.first_line
    assert outcome.first_line.startswith("error: ")
