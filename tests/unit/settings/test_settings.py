"""Settings, from the environment, a file, and files that hold secrets."""

from pathlib import Path

import pytest

from router.domain.errors import MisconfiguredError
from router.settings import ModelAccess, Settings, unknown_variables
from router.settings.environment import MOST, is_secret

SECRET = "s" * 32


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder and an environment without this project's variables."""
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"ROUTER_{name.upper()}", raising=False)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_defaults_are_the_contract() -> None:
    settings = Settings.load()
    assert settings.database_url == "sqlite:///.data/router.db"
    assert settings.temporal_address == "127.0.0.1:7233"
    assert settings.temporal_namespace == "default"
    assert settings.task_queue == "router"
    assert settings.temporal_ui == "http://127.0.0.1:8233"
    assert settings.auth == "dev"
    assert settings.directory is settings.flows is None


def test_the_database_is_in_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_DATA", "/var/lib/router")
    assert Settings.load().database_url == "sqlite:////var/lib/router/router.db"
    assert Settings.load(data=Path("/tmp/x")).database_url.endswith("/tmp/x/router.db")


def test_environment_wins_over_dotenv_and_empty_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("ROUTER_TASK_QUEUE=file\nROUTER_TEMPORAL_NAMESPACE=file\nOTHER=1\n")
    monkeypatch.setenv("ROUTER_TASK_QUEUE", "environment")
    monkeypatch.setenv("ROUTER_DIRECTORY", "")
    settings = Settings.load()
    assert settings.task_queue == "environment"
    assert settings.temporal_namespace == "file"
    assert settings.directory is None


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("AUTH", "jw", "Input should be 'dev' or 'jwt'"),
        ("TEMPORAL_ADDRESS", "temporal", "write host:port"),
        ("TEMPORAL_ADDRESS", "host:0", "write host:port"),
        ("TEMPORAL_ADDRESS", "host:70000", "write host:port"),
        ("TEMPORAL_ADDRESS", ":7233", "write host:port"),
        ("TEMPORAL_UI", "127.0.0.1:8233", "begins with http://"),
        ("DATABASE_URL", "router.db", "write a SQLAlchemy URL"),
        ("JWT_JWKS_URL", "file:///etc/passwd", "begins with http://"),
        ("RETENTION_DAYS", "0", "greater than or equal to 1"),
        ("RETENTION_DAYS", "ever", "valid integer"),
    ],
)
def test_a_bad_value_is_one_line_with_name_value_and_remedy(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, remedy: str
) -> None:
    monkeypatch.setenv(f"ROUTER_{name}", value)
    with pytest.raises(MisconfiguredError) as refused:
        Settings.load()
    assert str(refused.value).startswith(f"ROUTER_{name}={value} can't be used: ")
    assert remedy in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_bad_value_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_AUTH", "x")
    monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", "x")
    with pytest.raises(MisconfiguredError) as refused:
        Settings.load()
    assert len(str(refused.value).splitlines()) == 2


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_JWT_SECRET", "short-secret")
    with pytest.raises(MisconfiguredError) as refused:
        Settings.load()
    assert "short-secret" not in str(refused.value)
    monkeypatch.setenv("ROUTER_JWT_SECRET", SECRET)
    monkeypatch.setenv("ROUTER_DATABASE_URL", "postgresql+asyncpg://u:hunter2@db/router")
    assert SECRET not in repr(Settings.load())
    assert "hunter2" not in repr(Settings.load())


@pytest.mark.parametrize(
    "given", [{}, {"JWT_SECRET": SECRET, "JWT_JWKS_URL": "https://issuer/keys"}]
)
def test_jwt_needs_exactly_one_way_to_check(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    monkeypatch.setenv("ROUTER_AUTH", "jwt")
    for name, value in given.items():
        monkeypatch.setenv(f"ROUTER_{name}", value)
    with pytest.raises(MisconfiguredError, match="either ROUTER_JWT_SECRET or ROUTER_JWT_JWKS_URL"):
        Settings.load()


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
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], remedy: str
) -> None:
    for name, value in {"AUTH": "jwt", "JWT_SECRET": SECRET, **given}.items():
        monkeypatch.setenv(f"ROUTER_{name}", value)
    with pytest.raises(MisconfiguredError, match=remedy):
        Settings.load()


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


def test_unknown_variables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_TASKQUEUE", "x")
    monkeypatch.setenv("ROUTER_TASK_QUEUE", "x")
    monkeypatch.setenv("ROUTER_TESTS_REQUIRE_BROWSER", "1")
    Path(".env").write_text("ROUTER_AUHT=jwt\nOTHER=1\n")
    assert unknown_variables() == ["ROUTER_AUHT", "ROUTER_TASKQUEUE"]


def test_without_address_key_or_model_name_there_is_no_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Settings.load().models == []
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert Settings.load().models == []


def test_a_model_is_named_by_our_variables_or_the_usual_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("ROUTER_LLM_MODEL", "small")
    assert Settings.load().models == [ModelAccess("http://127.0.0.1:1/v1", "small", None)]
    monkeypatch.setenv("ROUTER_LLM_BASE_URL", "http://127.0.0.1:2/v1")
    assert Settings.load().models[0].base_url == "http://127.0.0.1:2/v1"


def test_fallbacks_take_their_keys_from_the_variables_they_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(
        "ROUTER_LLM_FALLBACKS",
        '[{"base_url": "http://127.0.0.1:3/v1", "model": "big", "api_key_env": "BIG_KEY"}]',
    )
    monkeypatch.setenv("BIG_KEY", "secret")
    (big,) = Settings.load().models
    assert (big.model, big.api_key) == ("big", "secret")
    assert "secret" not in repr(big)


@pytest.mark.parametrize(
    "value",
    [
        "[",
        "{}",
        "[" * 5000,
        "1" * 5000,
        "NaN",
        '[{"model": "x"}]',
        '[{"base_url": "x", "model": "y"}]',
    ],
)
def test_fallbacks_that_are_none_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("ROUTER_LLM_FALLBACKS", value)
    with pytest.raises(MisconfiguredError, match="ROUTER_LLM_FALLBACKS"):
        Settings.load()


def test_the_variables_of_declared_tools_are_known_and_nothing_else_is_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROUTER_TOOL_KEY", "k")
    monkeypatch.setenv("ROUTER_JWT_SECRET", SECRET)
    Path(".env").write_text("ROUTER_TOOL_URL=https://a.example\nROUTER_TOOL_KEY=old\n")
    assert unknown_variables() == []
    assert Settings.load().tool_variables == {
        "ROUTER_TOOL_KEY": "k",
        "ROUTER_TOOL_URL": "https://a.example",
    }


@pytest.mark.parametrize(
    "written", ["api.example.com", '["api.example.com"]', '["http://u@a"]', '["http://a/b"]']
)
def test_what_is_allowed_by_name_is_a_list_of_origins(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("ROUTER_HTTP_ALLOW", written)
    with pytest.raises(MisconfiguredError, match="ROUTER_HTTP_ALLOW"):
        Settings.load()


@pytest.mark.parametrize("build", ["1.2.0", "a1b2c3d", "2026-11-22_1"])
def test_a_build_may_be_called_as_releases_are(build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_WORKER_VERSION", build)
    assert Settings.load().worker_version == build


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WORKER_VERSION", "v 1"),
        ("WORKER_VERSION", "a:b"),
        ("WORKER_VERSION", "-1"),
        ("WORKER_VERSION", "x" * 101),
        ("WORKER_DEPLOYMENT", "intent.router"),
        ("WORKER_DEPLOYMENT", "桌"),
    ],
)
def test_a_build_that_temporal_would_not_take_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"ROUTER_{name}", value)
    with pytest.raises(MisconfiguredError, match=f"ROUTER_{name}="):
        Settings.load()


def test_a_client_s_token_is_no_typing_slip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_TOKEN", "t")
    assert unknown_variables() == []


@pytest.mark.parametrize("value", ["k1:c2hvcnQ=", "c2hvcnQ=", "k1:!secret!", "k1"])
def test_payload_keys_that_cannot_be_used_are_not_shown(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("ROUTER_PAYLOAD_KEYS", value)
    with pytest.raises(MisconfiguredError) as refused:
        Settings.load()
    assert str(refused.value).startswith("ROUTER_PAYLOAD_KEYS can't be used: ")
    assert not any(part in str(refused.value) for part in ("c2hvcnQ", "!secret!"))


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
def test_queues_and_shares_that_cannot_be_are_refused(
    wrong: dict[str, object], remedy: str
) -> None:
    with pytest.raises(MisconfiguredError, match=remedy):
        Settings.load(**wrong)


MARKER = "m4rker" * 6
SECRETS = sorted(name for name, field in Settings.model_fields.items() if is_secret(field))


def test_these_are_secret() -> None:
    assert SECRETS == [
        "database_url",
        "directory_token",
        "jwt_secret",
        "llm_api_key",
        "openwebui_jwt_secret",
        "payload_keys",
        "rates_url",
    ]


@pytest.mark.parametrize("name", ["jwt_secret", "openwebui_jwt_secret", "directory_token"])
@pytest.mark.parametrize("written", [MARKER, f"{MARKER}\n", f"{MARKER}\r\n"])
def test_a_secret_is_read_from_the_file_that_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, written: str
) -> None:
    Path("secret").write_text(written)
    monkeypatch.setenv(f"ROUTER_{name.upper()}_FILE", "secret")
    found = getattr(Settings.load(), name).get_secret_value()
    assert found == MARKER


def test_a_file_wins_over_a_weaker_name(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("key").write_text("ours")
    monkeypatch.setenv("ROUTER_LLM_API_KEY_FILE", "key")
    monkeypatch.setenv("OPENAI_API_KEY", "anybody's")
    key = Settings.load().llm_api_key
    assert key
    assert key.get_secret_value() == "ours"


def test_the_database_may_be_in_a_file_for_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("url").write_text("postgresql+asyncpg://u:hunter2@db/router\n")
    monkeypatch.setenv("ROUTER_DATABASE_URL_FILE", "url")
    assert Settings.load().database_url == "postgresql+asyncpg://u:hunter2@db/router"
    assert "hunter2" not in repr(Settings.load())


def test_dotenv_may_name_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    del monkeypatch
    Path("secret").write_text(MARKER)
    Path(".env").write_text("ROUTER_JWT_SECRET_FILE=secret\n")
    secret = Settings.load().jwt_secret
    assert secret
    assert secret.get_secret_value() == MARKER


@pytest.mark.parametrize("name", SECRETS)
def test_each_secret_may_be_in_a_file_and_only_they(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    variable = f"ROUTER_{name.upper()}_FILE"
    monkeypatch.setenv(variable, "nowhere")
    with pytest.raises(MisconfiguredError, match=f"{variable}=nowhere can't be read"):
        Settings.load()
    assert unknown_variables() == []
    monkeypatch.delenv(variable)
    monkeypatch.setenv("ROUTER_TASK_QUEUE_FILE", "nowhere")
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
    monkeypatch: pytest.MonkeyPatch, content: bytes, said: str
) -> None:
    Path("secret").write_bytes(content)
    monkeypatch.setenv("ROUTER_JWT_SECRET_FILE", "secret")
    with pytest.raises(MisconfiguredError, match=said) as refused:
        Settings.load()
    assert "ROUTER_JWT_SECRET" in str(refused.value)
    assert "m4rker" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_secret_in_two_places_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("secret").write_text(MARKER)
    monkeypatch.setenv("ROUTER_JWT_SECRET_FILE", "secret")
    monkeypatch.setenv("ROUTER_JWT_SECRET", MARKER)
    with pytest.raises(MisconfiguredError, match="both set: keep one") as refused:
        Settings.load()
    assert MARKER not in str(refused.value)
