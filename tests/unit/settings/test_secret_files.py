"""Secrets in files, as secret stores mount them."""

from pathlib import Path

import pytest

from router.domain.errors import MisconfiguredError
from router.settings import Settings, unknown_variables
from router.settings.environment import MOST, is_secret

SECRET = "m4rker" * 6
SECRETS = sorted(name for name, field in Settings.model_fields.items() if is_secret(field))


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder and an environment without this project's variables."""
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"ROUTER_{name.upper()}", raising=False)


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
@pytest.mark.parametrize("written", [SECRET, f"{SECRET}\n", f"{SECRET}\r\n"])
def test_a_secret_is_read_from_the_file_that_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, written: str
) -> None:
    Path("secret").write_text(written)
    monkeypatch.setenv(f"ROUTER_{name.upper()}_FILE", "secret")
    found = getattr(Settings.load(), name).get_secret_value()
    assert found == SECRET


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
    Path("secret").write_text(SECRET)
    Path(".env").write_text("ROUTER_JWT_SECRET_FILE=secret\n")
    secret = Settings.load().jwt_secret
    assert secret
    assert secret.get_secret_value() == SECRET


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
    Path("secret").write_text(SECRET)
    monkeypatch.setenv("ROUTER_JWT_SECRET_FILE", "secret")
    monkeypatch.setenv("ROUTER_JWT_SECRET", SECRET)
    with pytest.raises(MisconfiguredError, match="both set: keep one") as refused:
        Settings.load()
    assert SECRET not in str(refused.value)
