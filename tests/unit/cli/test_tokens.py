"""`intent-router token`."""

from datetime import timedelta

import jwt
import pytest
import typer

from router.cli.tokens import lifetime
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
