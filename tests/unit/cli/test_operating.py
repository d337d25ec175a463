"""Commands of operators: runs, tokens, erasure."""

import json
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest
import typer

from router.cli.token import lifetime
from tests.unit.cli.conftest import Run

RUN = {
    "id": "r1",
    "created_at": "2026-11-23T09:00:00Z",
    "flow": "leave_request",
    "status": "waiting_approval",
    "state": "manager",
    "requester": "alice",
    "waiting_for": ["bob"],
    "held": False,
}
LINE = {
    "at": "2026-11-23T09:00:00Z",
    "who": "olga",
    "act": "run.retry",
    "subject": "r1",
    "whose": "alice",
    "detail": "",
    "reason": "it is back",
}


class Api(ThreadingHTTPServer):
    """Answers each path with what is given for it, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answering(BaseHTTPRequestHandler):
    server: Api

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Any) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        answer = self.server.answers.get(self.path.partition("?")[0])
        sent = json.dumps(answer or {"detail": "There is nothing of the kind here."}).encode()
        self.send_response(200 if answer else 404)
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *args: Any) -> None:
        """It keeps quiet: standard error is the command's."""


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_everyones_runs_are_listed_as_narrowed(run: Run, api: Api) -> None:
    api.answers["/v1/flow-runs"] = {"items": [RUN], "next": None}
    outcome = run("runs", "list", "--held", "--waiting-for", "bob", "--url", api.url)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.split() == [
        *("r1", "2026-11-23T09:00", "leave_request", "waiting_approval", "manager", "alice", "bob")
    ]
    ((path, authorization, _),) = api.asked
    assert path == "/v1/flow-runs?waiting_for=bob&held=true&all=true&limit=50"
    assert authorization == "Bearer olga"


@pytest.mark.parametrize(
    ("words", "path", "body"),
    [
        (("retry", "r1"), "retry", {"comment": None}),
        (("terminate", "r1", "--reason", "wrong"), "terminate", {"comment": "wrong"}),
        (
            ("reassign", "r1", "--instead-of", "bob", "--to", "carol"),
            "reassign",
            {"instead_of": "bob", "to": "carol", "comment": None},
        ),
    ],
)
def test_a_run_is_put_right(
    run: Run, api: Api, words: tuple[str, ...], path: str, body: dict[str, Any]
) -> None:
    api.answers[f"/v1/flow-runs/r1/{path}"] = {"id": "r1", "status": "running", "state": "record"}
    outcome = run("runs", *words, "--url", api.url, "--token", "t0ken")
    assert (outcome.status, outcome.out) == (0, "r1  running  record\n")
    assert api.asked == [(f"/v1/flow-runs/r1/{path}", "Bearer t0ken", body)]


def test_why_a_turn_went_where_it_did_is_json(run: Run, api: Api) -> None:
    api.answers["/v1/turns/c1/m1"] = {"routes": [{"by": "llm"}]}
    outcome = run("runs", "why", "c1/m1", "--url", api.url)
    assert json.loads(outcome.out) == {"routes": [{"by": "llm"}]}


def test_the_audit_trail_is_read(run: Run, api: Api) -> None:
    api.answers["/v1/audit"] = {"items": [LINE], "next": None}
    outcome = run("audit", "--whose", "alice", "--url", api.url)
    assert outcome.out == "2026-11-23T09:00:00  olga  run.retry  r1 · alice · it is back\n"
    assert api.asked[0][0] == "/v1/audit?whose=alice&limit=50"
    as_json = run("audit", "--json", "--url", api.url)
    assert json.loads(as_json.out) == [LINE]


@pytest.mark.parametrize("words", [("runs", "list"), ("audit",), ("runs", "why", "c1/m1")])
def test_who_may_not_is_told_so_and_gets_nothing(
    run: Run, api: Api, words: tuple[str, ...]
) -> None:
    outcome = run(*words, "--user", "alice", "--url", api.url)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.first_line == "error: There is nothing of the kind here."


def test_nothing_found_is_said_aside(run: Run, api: Api) -> None:
    api.answers["/v1/audit"] = {"items": [], "next": None}
    outcome = run("audit", "--url", api.url)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "nothing of the kind\n")


@pytest.mark.parametrize(
    "words",
    [
        ("runs",),
        ("runs", "retry"),
        ("runs", "reassign", "r1", "--to", "bob"),
        ("runs", "list", "--limit", "0"),
        ("audit", "--limit", "201"),
        ("audit", "olga"),
    ],
)
def test_what_cannot_be_meant_is_usage(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).status == 2


@pytest.fixture
def no_temporal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", "127.0.0.1:1")


@pytest.mark.usefixtures("no_temporal")
def test_without_temporal_nothing_is_done(run: Run) -> None:
    outcome = run("erase", "alice", "--yes")
    assert (outcome.status, outcome.out) == (1, "")
    assert "No Temporal server answers at ROUTER_TEMPORAL_ADDRESS=127.0.0.1:1" in outcome.err


@pytest.mark.usefixtures("no_temporal")
def test_the_data_folder_can_be_named(run: Run, elsewhere: Path) -> None:
    run("erase", "alice", "--data", "some/where")
    assert (elsewhere / "some" / "where" / "router.db").exists()


@pytest.mark.usefixtures("no_temporal")
@pytest.mark.parametrize("words", [(), ("alice", "bob"), ("alice", "--tenant"), ("--yes",)])
def test_somebody_has_to_be_named(run: Run, words: tuple[str, ...]) -> None:
    assert run("erase", *words).status == 2


SECRET = "a secret of at least thirty-two bytes"


@pytest.fixture
def signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_AUTH", "jwt")
    monkeypatch.setenv("ROUTER_JWT_SECRET", SECRET)


@pytest.mark.usefixtures("signed")
def test_is_for_the_user_and_for_so_long(run: Run) -> None:
    outcome = run("token", "--user", "alice", "--ttl", "30m")
    assert outcome.status == 0
    claims = jwt.decode(outcome.out.strip(), SECRET, algorithms=["HS256"])
    assert claims["sub"] == "alice"
    assert claims["exp"] - claims["iat"] == 1800


@pytest.mark.usefixtures("signed")
def test_is_refused_for_strangers_with_the_nearest_name(run: Run) -> None:
    outcome = run("token", "--user", "alicia")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "error: --user 'alicia' isn't in the directory: did you mean alice?\n"


@pytest.mark.usefixtures("signed")
def test_is_refused_where_none_is_needed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_AUTH", "dev")
    outcome = run("token", "--user", "alice")
    assert outcome.status == 1
    assert "Authorization: Bearer alice" in outcome.first_line


@pytest.mark.usefixtures("signed")
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


@pytest.mark.usefixtures("signed")
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


@pytest.mark.usefixtures("signed")
@pytest.mark.usefixtures("houses")
def test_names_the_tenant_and_the_user_where_they_are_looked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_JWT_TENANT_CLAIM", "org.id")
    monkeypatch.setenv("ROUTER_JWT_USER_CLAIM", "name")
    outcome = run("token", "--user", "alice", "--tenant", "acme")
    claims = jwt.decode(outcome.out.strip(), SECRET, algorithms=["HS256"])
    assert (claims["org"], claims["name"], claims["sub"]) == ({"id": "acme"}, "alice", "alice")


@pytest.mark.usefixtures("signed")
@pytest.mark.usefixtures("houses")
def test_is_refused_where_tokens_name_no_tenant(run: Run) -> None:
    outcome = run("token", "--user", "alice", "--tenant", "acme")
    assert (outcome.status, outcome.out) == (1, "")
    assert "set ROUTER_JWT_TENANT_CLAIM" in outcome.err


@pytest.mark.usefixtures("signed")
@pytest.mark.usefixtures("houses")
def test_is_refused_for_strangers_of_the_tenant(run: Run) -> None:
    outcome = run("token", "--user", "bob", "--tenant", "acme")
    assert outcome.err.startswith("error: --user 'bob' isn't in the directory of tenant 'acme'")
