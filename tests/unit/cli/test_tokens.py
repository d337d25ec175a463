"""`intent-router token`."""

from datetime import timedelta
from pathlib import Path

import jwt
import pytest
import typer

from router.cli.token import lifetime
from tests.unit.cli.conftest import Run

SECRET = "a secret of at least thirty-two bytes"


@pytest.fixture(autouse=True)
def signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_AUTH", "jwt")
    monkeypatch.setenv("ROUTER_JWT_SECRET", SECRET)


def test_is_for_the_user_and_for_so_long(run: Run) -> None:
    outcome = run("token", "--user", "alice", "--ttl", "30m")
    assert outcome.status == 0
    claims = jwt.decode(outcome.out.strip(), SECRET, algorithms=["HS256"])
    assert claims["sub"] == "alice"
    assert claims["exp"] - claims["iat"] == 1800


def test_is_refused_for_strangers_with_the_nearest_name(run: Run) -> None:
    outcome = run("token", "--user", "alicia")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "error: --user 'alicia' isn't in the directory: did you mean alice?\n"


def test_is_refused_where_none_is_needed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_AUTH", "dev")
    outcome = run("token", "--user", "alice")
    assert outcome.status == 1
    assert "Authorization: Bearer alice" in outcome.first_line


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("90s", timedelta(seconds=90)),
        ("30m", timedelta(minutes=30)),
        ("1h", timedelta(hours=1)),
        ("7d", timedelta(days=7)),
    ],
)
def test_lifetimes(written: str, meant: timedelta) -> None:
    assert lifetime(written) == meant


@pytest.mark.parametrize("written", ["", "1", "h", "0h", "-1h", "1.5h", "1h30m", "1 h", "１h"])
def test_lifetimes_that_are_none(written: str) -> None:
    with pytest.raises(typer.BadParameter, match="write 90s, 30m, 1h or 7d"):
        lifetime(written)


@pytest.fixture
def houses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A directory of two tenants, each with an alice."""
    file = tmp_path / "people.yaml"
    file.write_text("users:\n- {id: alice, name: A}\n- {id: alice, name: B, tenant: acme}\n")
    monkeypatch.setenv("ROUTER_DIRECTORY", str(file))


@pytest.mark.usefixtures("houses")
def test_names_the_tenant_and_the_user_where_they_are_looked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_JWT_TENANT_CLAIM", "org.id")
    monkeypatch.setenv("ROUTER_JWT_USER_CLAIM", "name")
    outcome = run("token", "--user", "alice", "--tenant", "acme")
    claims = jwt.decode(outcome.out.strip(), SECRET, algorithms=["HS256"])
    assert (claims["org"], claims["name"], claims["sub"]) == ({"id": "acme"}, "alice", "alice")


@pytest.mark.usefixtures("houses")
def test_is_refused_where_tokens_name_no_tenant(run: Run) -> None:
    outcome = run("token", "--user", "alice", "--tenant", "acme")
    assert (outcome.status, outcome.out) == (1, "")
    assert "set ROUTER_JWT_TENANT_CLAIM" in outcome.err


@pytest.mark.usefixtures("houses")
def test_is_refused_for_strangers_of_the_tenant(run: Run) -> None:
    outcome = run("token", "--user", "bob", "--tenant", "acme")
    assert outcome.err.startswith("error: --user 'bob' isn't in the directory of tenant 'acme'")
