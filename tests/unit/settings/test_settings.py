"""Settings, from the environment, a file, and files that hold secrets."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from router.domain.errors import MisconfiguredError
from router.settings import OPENAI, ModelAccess, ModelOptions, Settings
from router.settings.environment import MOST, is_secret
from router.settings.settings import unknown_variables

SECRET = "s" * 32


Environment = Callable[..., None]


@pytest.fixture(autouse=True)
def env(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Environment:
    """Sets variables, by their names behind ROUTER_, of which none is set; in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"ROUTER_{name.upper()}", raising=False)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def given(**values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(f"ROUTER_{name}", value)

    return given


def refusal(match: str | None = None) -> str:
    """Why the settings can't be used."""
    with pytest.raises(MisconfiguredError, match=match) as refused:
        Settings.load()
    return str(refused.value)


def test_defaults_are_the_contract() -> None:
    settings = Settings.load()
    assert settings.database_url == "sqlite:///.data/router.db"
    assert settings.temporal_address == "127.0.0.1:7233"
    assert settings.temporal_namespace == "default"
    assert settings.task_queue == "router"
    assert settings.temporal_ui == "http://127.0.0.1:8233"
    assert settings.auth == "dev"
    assert settings.directory is settings.flows is None


def test_the_database_is_in_the_data_folder(env: Environment) -> None:
    env(DATA="/var/lib/router")
    assert Settings.load().database_url == "sqlite:////var/lib/router/router.db"
    assert Settings.load(data=Path("/tmp/x")).database_url.endswith("/tmp/x/router.db")


def test_environment_wins_over_dotenv_and_empty_is_unset(env: Environment) -> None:
    Path(".env").write_text("ROUTER_TASK_QUEUE=file\nROUTER_TEMPORAL_NAMESPACE=file\nOTHER=1\n")
    env(TASK_QUEUE="environment", DIRECTORY="")
    settings = Settings.load()
    found = (settings.task_queue, settings.temporal_namespace, settings.directory)
    assert found == ("environment", "file", None)


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("TEMPORAL_ADDRESS", "host:0", "write host:port"),
        ("TEMPORAL_ADDRESS", "host:70000", "write host:port"),
        ("TEMPORAL_ADDRESS", ":7233", "write host:port"),
        ("TEMPORAL_UI", "127.0.0.1:8233", "begins with http://"),
        ("DATABASE_URL", "router.db", "write a SQLAlchemy URL"),
        ("JWT_JWKS_URL", "file:///etc/passwd", "begins with http://"),
        ("RETENTION_DAYS", "0", "greater than or equal to 1"),
    ],
)
def test_a_bad_value_is_one_line_with_name_value_and_remedy(
    env: Environment, name: str, value: str, remedy: str
) -> None:
    env(**{name: value})
    (line,) = refusal().splitlines()
    assert line.startswith(f"ROUTER_{name}={value} can't be used: ")
    assert remedy in line


def test_every_bad_value_is_named_at_once(env: Environment) -> None:
    env(AUTH="x", TEMPORAL_ADDRESS="x")
    assert len(refusal().splitlines()) == 2


def test_secrets_are_never_shown(env: Environment) -> None:
    env(JWT_SECRET="short-secret")
    assert "short-secret" not in refusal()
    env(JWT_SECRET=SECRET, DATABASE_URL="postgresql+asyncpg://u:hunter2@db/router")
    assert SECRET not in repr(Settings.load())
    assert "hunter2" not in repr(Settings.load())


def test_jwt_needs_exactly_one_way_to_check(env: Environment) -> None:
    env(AUTH="jwt", JWT_SECRET=SECRET, JWT_JWKS_URL="https://issuer/keys")
    refusal("either ROUTER_JWT_SECRET or ROUTER_JWT_JWKS_URL")


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (
            {"TEMPORAL_TLS_CERT": "a.crt"},
            "set ROUTER_TEMPORAL_TLS_CERT and ROUTER_TEMPORAL_TLS_KEY",
        ),
        ({"TEMPORAL_TLS_KEY": "pem"}, "set ROUTER_TEMPORAL_TLS_CERT and ROUTER_TEMPORAL_TLS_KEY"),
        ({"TEMPORAL_TLS": "false", "TEMPORAL_API_KEY": "k"}, "ROUTER_TEMPORAL_API_KEY needs TLS"),
        ({"TEMPORAL_TLS": "false", "TEMPORAL_TLS_CA": "a"}, "ROUTER_TEMPORAL_TLS_CA needs TLS"),
        ({"TEMPORAL_API_KEY": "two\nlines"}, "write the key alone, on one line"),
        ({"TEMPORAL_API_KEY": "ключ"}, "write the key alone, on one line"),
    ],
)
def test_tls_to_temporal_is_whole_or_not_there(
    env: Environment, given: dict[str, str], remedy: str
) -> None:
    env(**given)
    assert "lines" not in refusal(remedy).splitlines()[0]


@pytest.mark.parametrize(
    ("given", "is_tls"),
    [
        ({}, False),
        ({"TEMPORAL_TLS": "false"}, False),
        ({"TEMPORAL_TLS": "true"}, True),
        ({"TEMPORAL_API_KEY": "key"}, True),
        ({"TEMPORAL_TLS_CA": "ca.crt"}, True),
        ({"TEMPORAL_TLS_CERT": "tls.crt", "TEMPORAL_TLS_KEY": "pem"}, True),
    ],
)
def test_what_needs_tls_has_it_without_being_said(
    env: Environment, given: dict[str, str], *, is_tls: bool
) -> None:
    env(**given)
    assert Settings.load().is_temporal_over_tls is is_tls


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"OIDC_ISSUER": "https://id.example"}, "set ROUTER_OIDC_ISSUER and ROUTER_OIDC_CLIENT_ID"),
        ({"OIDC_CLIENT_ID": "desk"}, "set ROUTER_OIDC_ISSUER and ROUTER_OIDC_CLIENT_ID"),
        ({"OIDC_ISSUER": "id.example", "OIDC_CLIENT_ID": "desk"}, "https://"),
        ({"OIDC_SCOPE": "profile email"}, "ROUTER_OIDC_SCOPE has to name openid"),
        (
            {"OIDC_ISSUER": "https://id.example", "OIDC_CLIENT_ID": "desk", "AUTH": "dev"},
            "set ROUTER_AUTH=jwt",
        ),
    ],
)
def test_signing_in_by_openid_connect_is_set_up_whole(
    env: Environment, given: dict[str, str], remedy: str
) -> None:
    env(**{"AUTH": "jwt", "JWT_SECRET": SECRET, **given})
    refusal(remedy)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_dev_authentication_is_fine_on_loopback(host: str) -> None:
    Settings.load().check_binding(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "router.example", ""])
def test_dev_authentication_is_refused_off_loopback(host: str) -> None:
    with pytest.raises(MisconfiguredError, match="ROUTER_AUTH=jwt"):
        Settings.load().check_binding(host)
    Settings.load(auth="jwt", jwt_secret=SECRET).check_binding(host)


def test_sqlite_is_refused_where_several_processes_share() -> None:
    with pytest.raises(MisconfiguredError, match="ROUTER_DATABASE_URL is SQLite"):
        Settings.load().check_shareable()
    Settings.load(database_url="postgresql+asyncpg://u@db/router").check_shareable()


def test_unknown_variables_are_named_and_a_client_s_token_is_none(env: Environment) -> None:
    env(TASKQUEUE="x", TASK_QUEUE="x", TESTS_REQUIRE_BROWSER="1", TOKEN="t")
    Path(".env").write_text("ROUTER_AUHT=jwt\nOTHER=1\n")
    assert unknown_variables() == ["ROUTER_AUHT", "ROUTER_TASKQUEUE"]


def test_a_model_is_named_by_our_variables_or_the_usual_ones(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Settings.load().models == []
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert Settings.load().models == []
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    env(LLM_MODEL="small")
    assert Settings.load().models == [ModelAccess("http://127.0.0.1:1/v1", "small", None)]
    env(LLM_BASE_URL="http://127.0.0.1:2/v1")
    assert Settings.load().models[0].base_url == "http://127.0.0.1:2/v1"


def test_fallbacks_take_their_keys_from_the_variables_they_name(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = '{"base_url": "http://127.0.0.1:3/v1", "model": "big", "api_key_env": "BIG_KEY"}'
    env(LLM_FALLBACKS=f"[{big}]")
    monkeypatch.setenv("BIG_KEY", "secret")
    (found,) = Settings.load().models
    assert (found.model, found.api_key, "secret" in repr(found)) == ("big", "secret", False)


def test_each_role_has_what_is_said_of_it_and_the_usual_for_the_rest(env: Environment) -> None:
    env(LLM_BASE_URL="http://127.0.0.1:1/v1", LLM_API_KEY="k", LLM_MODEL="small")
    env(LLM_OPTIONS='{"temperature": 0.2, "effort": "low"}', LLM_ESCALATE="big")
    env(LLM_SKILL_MODEL="skilled", LLM_ROLES='{"plan": {"effort": "high", "max_tokens": 9000}}')
    settings = Settings.load()
    usual = ModelOptions(temperature=0.2, effort="low")
    place = ("http://127.0.0.1:1/v1",)
    assert settings.models == [ModelAccess(*place, "small", "k", options=usual)]
    assert settings.escalation == ModelAccess(*place, "big", "k", options=usual)
    assert settings.model_of("skill") == ModelAccess(*place, "skilled", "k", options=usual)
    thorough = ModelOptions(temperature=0.2, effort="high", max_tokens=9000)
    assert settings.model_of("plan") == ModelAccess(*place, "small", "k", options=thorough)
    assert settings.model_of("router") is settings.model_of("phrase") is None


def test_a_key_goes_to_nobody_but_whom_it_was_given_for(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = '{"protocol": "anthropic", "model": "claude", "api_key_env": "CLAUDE_KEY"}'
    away = '{"base_url": "http://127.0.0.1:2/v1", "model": "x"}'
    env(LLM_API_KEY="k", LLM_MODEL="small", LLM_ESCALATE=claude)
    env(LLM_ROLES=f'{{"skill": {away}, "phrase": {{"protocol": "responses"}}}}')
    monkeypatch.setenv("CLAUDE_KEY", "c")
    settings = Settings.load()
    anthropic = ModelAccess("https://api.anthropic.com", "claude", "c", "anthropic")
    assert settings.escalation == anthropic
    assert settings.model_of("skill") == ModelAccess("http://127.0.0.1:2/v1", "x", None)
    assert settings.model_of("phrase") == ModelAccess(OPENAI, "small", "k", "responses")


def test_what_is_set_for_openai_goes_to_no_other_provider(
    env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "o")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    env(LLM_PROTOCOL="gemini", LLM_MODEL="g")
    assert Settings.load().models == []
    env(LLM_API_KEY="g")
    google = "https://generativelanguage.googleapis.com"
    assert Settings.load().models == [ModelAccess(google, "g", "g", "gemini")]
    assert Settings.load().embeddings_at == ("http://127.0.0.1:1/v1", "o")
    env(LLM_PROTOCOL="responses")
    assert Settings.load().embeddings_at == ("http://127.0.0.1:1/v1", "g")


def test_a_fallback_may_speak_its_own_protocol(env: Environment) -> None:
    one = '{"base_url": "http://127.0.0.1:3", "model": "c", "protocol": "anthropic"}'
    other = '{"base_url": "http://127.0.0.1:4", "model": "g", "extra_body": {"a": 1}}'
    env(LLM_FALLBACKS=f"[{one}, {other}]", LLM_PROTOCOL="responses")
    first, second = Settings.load().models
    assert (first.protocol, second.protocol) == ("anthropic", "responses")
    assert second.options.extra_body == {"a": 1}


def test_variables_of_declared_tools_are_known_and_nothing_else_is_theirs(env: Environment) -> None:
    env(TOOL_KEY="k", JWT_SECRET=SECRET)
    Path(".env").write_text("ROUTER_TOOL_URL=https://a.example\nROUTER_TOOL_KEY=old\n")
    assert unknown_variables() == []
    theirs = {"ROUTER_TOOL_KEY": "k", "ROUTER_TOOL_URL": "https://a.example"}
    assert Settings.load().tool_variables == theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLM_FALLBACKS", "["),
        ("LLM_FALLBACKS", "{}"),
        ("LLM_FALLBACKS", "[" * 5000),
        ("LLM_FALLBACKS", "1" * 5000),
        ("LLM_FALLBACKS", "NaN"),
        ("LLM_FALLBACKS", '[{"model": "x"}]'),
        ("LLM_FALLBACKS", '[{"base_url": "x", "model": "y"}]'),
        ("LLM_PROTOCOL", "Gopher 7"),
        ("LLM_ROLES", '{"poet": {"model": "x"}}'),
        ("LLM_ROLES", '{"plan": {"modell": "x"}}'),
        ("LLM_ESCALATE", "{"),
        ("LLM_ESCALATE", '{"protocol": "gopher"}'),
        ("LLM_OPTIONS", '{"temperature": 9}'),
        ("WORKER_VERSION", "v 1"),
        ("WORKER_VERSION", "a:b"),
        ("WORKER_VERSION", "-1"),
        ("WORKER_VERSION", "x" * 101),
        ("WORKER_DEPLOYMENT", "intent.router"),
        ("WORKER_DEPLOYMENT", "桌"),
    ],
)
def test_what_can_be_no_such_value_is_refused(env: Environment, name: str, value: str) -> None:
    env(**{name: value})
    refusal(rf"^ROUTER_{name}\b")


@pytest.mark.parametrize("build", ["1.2.0", "a1b2c3d", "2026-11-22_1"])
def test_a_build_may_be_called_as_releases_are(build: str, env: Environment) -> None:
    env(WORKER_VERSION=build)
    assert Settings.load().worker_version == build


@pytest.mark.parametrize("value", ["k1:c2hvcnQ=", "c2hvcnQ=", "k1:!secret!", "k1"])
def test_payload_keys_that_cannot_be_used_are_not_shown(env: Environment, value: str) -> None:
    env(PAYLOAD_KEYS=value)
    told = refusal("^ROUTER_PAYLOAD_KEYS can't be used: ")
    assert not any(part in told for part in ("c2hvcnQ", "!secret!"))


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"model_queue": "router"}, "have to differ"),
        ({"model_queue": "own", "tool_queue": "own"}, "have to differ"),
        ({"tool_calls_per_second": 3}, "set ROUTER_TOOL_QUEUE too"),
        ({"model_calls_per_second": 3}, "set ROUTER_MODEL_QUEUE too"),
        ({"model_queue": "own", "model_calls_per_second": 0}, "greater than 0"),
        ({"tool_queue": " "}, "ROUTER_TOOL_QUEUE"),
        ({"tenant_weights": '{"acme": 0}'}, "0.001"),
        ({"tenant_weights": "acme"}, "JSON"),
        ({"fair_to": "nobody"}, "tenant"),
    ],
)
def test_impossible_queues_and_shares_are_refused(wrong: dict[str, object], remedy: str) -> None:
    with pytest.raises(MisconfiguredError, match=remedy):
        Settings.load(**wrong)


MARKER = "m4rker" * 6
SECRETS = sorted(name for name, field in Settings.model_fields.items() if is_secret(field))


def test_these_are_secret() -> None:
    assert [
        *("database_url", "directory_token", "jwt_secret", "llm_api_key"),
        *("openwebui_jwt_secret", "payload_keys", "rates_url"),
        *("temporal_api_key", "temporal_tls_key"),
    ] == SECRETS


@pytest.mark.parametrize("name", ["jwt_secret", "openwebui_jwt_secret", "directory_token"])
@pytest.mark.parametrize("written", [MARKER, f"{MARKER}\n", f"{MARKER}\r\n"])
def test_a_secret_is_read_from_the_named_file(env: Environment, name: str, written: str) -> None:
    Path("secret").write_text(written)
    env(**{f"{name.upper()}_FILE": "secret"})
    assert getattr(Settings.load(), name).get_secret_value() == MARKER


def test_a_file_wins_over_a_weaker_name(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("key").write_text("ours")
    env(LLM_API_KEY_FILE="key")
    monkeypatch.setenv("OPENAI_API_KEY", "anybody's")
    assert Settings.load().llm_api_key == SecretStr("ours")


def test_the_database_may_be_in_a_file_for_its_password(env: Environment) -> None:
    Path("url").write_text("postgresql+asyncpg://u:hunter2@db/router\n")
    env(DATABASE_URL_FILE="url")
    assert Settings.load().database_url == "postgresql+asyncpg://u:hunter2@db/router"
    assert "hunter2" not in repr(Settings.load())


def test_dotenv_may_name_the_file() -> None:
    Path("secret").write_text(MARKER)
    Path(".env").write_text("ROUTER_JWT_SECRET_FILE=secret\n")
    assert Settings.load().jwt_secret == SecretStr(MARKER)


@pytest.mark.parametrize("name", SECRETS)
def test_each_secret_may_be_in_a_file_and_only_they(env: Environment, name: str) -> None:
    variable = f"{name.upper()}_FILE"
    env(**{variable: "nowhere"})
    refusal(f"ROUTER_{variable}=nowhere can't be read")
    assert unknown_variables() == []
    env(**{variable: "", "TASK_QUEUE_FILE": "nowhere"})
    assert Settings.load().task_queue == "router"
    assert unknown_variables() == ["ROUTER_TASK_QUEUE_FILE"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"m4rker\xff", "no UTF-8"),
        (b"m4rker" * MOST, "is over"),
        (b"m4rker", "at least 32 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_not_shown(
    env: Environment, content: bytes, said: str
) -> None:
    Path("secret").write_bytes(content)
    env(JWT_SECRET_FILE="secret")
    with pytest.raises(MisconfiguredError, match=said) as refused:
        Settings.load()
    assert "ROUTER_JWT_SECRET" in str(refused.value)
    assert "m4rker" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_secret_in_two_places_is_refused(env: Environment) -> None:
    Path("secret").write_text(MARKER)
    env(JWT_SECRET_FILE="secret", JWT_SECRET=MARKER)
    assert MARKER not in refusal("both set: keep one")
