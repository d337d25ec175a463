"""Commands of operators: runs, tokens, erasure."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jwt
import pytest
import typer

from router.cli.options import settings_in
from router.cli.token import lifetime
from router.runtime.data_folder import ServedPorts, announced, claimed
from router.store.tables import ROUTER
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.unit.cli.conftest import Run, serving

AT = "2026-11-23T09:00:00Z"
RUN: dict[str, Any] = {"id": "r1", "created_at": AT, "flow": "leave_request", "requester": "alice"}
RUN |= {"status": "waiting_approval", "state": "manager", "waiting_for": ["bob"], "held": False}
LINE = {"at": AT, "who": "olga", "act": "run.retry", "subject": "r1", "whose": "alice"}
LINE |= {"detail": "", "reason": "it is back"}


class Api(WebServer):
    """Answers each path with what is given for it."""

    def __init__(self) -> None:
        super().__init__(self.told)
        self.answers: dict[str, Any] = {}

    def told(self, got: Got) -> Reply:
        answer = self.answers.get(got.target.partition("?")[0])
        return json_reply(
            answer or {"detail": "There is nothing of the kind here."}, 200 if answer else 404
        )


@pytest.fixture
def api() -> Iterator[Api]:
    server = Api()
    with serving(server):
        yield server


def test_everyones_runs_are_listed_as_narrowed(run: Run, api: Api) -> None:
    api.answers["/v1/flow-runs"] = {"items": [RUN], "next": None}
    listed = run.printed("runs", "list", "--held", "--waiting-for", "bob", "--url", api.origin)
    assert listed.split() == [
        *("r1", "2026-11-23T09:00", "leave_request", "waiting_approval", "manager", "alice", "bob")
    ]
    (asked,) = api.requests
    assert asked.target == "/v1/flow-runs?waiting_for=bob&held=true&all=true&limit=50"
    assert asked.headers["authorization"] == "Bearer olga"


def test_the_api_of_the_dev_on_the_data_folder_is_asked_where_none_is_named(
    run: Run, api: Api, elsewhere: Path
) -> None:
    api.answers["/v1/flow-runs"] = {"items": [RUN], "next": None}
    with claimed(elsewhere / ".data") as held, announced(held, ServedPorts(api.port, 1, 1)):
        assert "r1" in run.printed("runs", "list")
    assert len(api.requests) == 1


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
    outcome = run("runs", *words, "--url", api.origin, "--token", "t0ken")
    assert (outcome.status, outcome.out) == (0, "r1  running  record\n")
    (asked,) = api.requests
    assert (asked.target, json.loads(asked.body)) == (f"/v1/flow-runs/r1/{path}", body)
    assert asked.headers["authorization"] == "Bearer t0ken"


def test_runs_whose_approval_is_about_to_expire_are_listed(run: Run, api: Api) -> None:
    api.answers["/v1/flow-runs"] = {"items": [RUN], "next": None}
    assert run.printed("runs", "list", "--expiring", "--url", api.origin).startswith("r1 ")
    ((_, query),) = [target.split("?") for target in api.targets]
    expires = datetime.fromisoformat(parse_qs(query)["expires_before"][0])
    assert timedelta(hours=23) < expires - datetime.now(UTC) <= timedelta(days=1)


WAITING = ["r1", "r2"]
ALL_OF_BOBS = ("runs", "reassign", "--from", "bob", "--to", "carol")


@pytest.fixture
def bobs(api: Api) -> Api:
    """Two runs wait for bob; the second is the operator's own."""
    rows = [RUN | {"id": id_} for id_ in WAITING]
    api.answers["/v1/flow-runs"] = {"items": rows, "next": None}
    api.answers["/v1/flow-runs/r1/reassign"] = {"id": "r1", "status": "waiting_approval"}
    return api


def test_what_is_handed_over_is_said_and_nothing_done_without_a_word(run: Run, bobs: Api) -> None:
    outcome = run(*ALL_OF_BOBS, "--url", bobs.origin)
    rows = [f"{id_}  leave_request  alice  waits for bob" for id_ in WAITING]
    assert (outcome.status, outcome.out.splitlines()) == (0, rows)
    assert outcome.err == "nothing is changed yet: add --yes\n"
    assert bobs.targets == ["/v1/flow-runs?all=true&waiting_for=bob&limit=200"]


def test_everything_that_waits_for_somebody_is_handed_over_but_what_is_refused(
    run: Run, bobs: Api
) -> None:
    outcome = run(*ALL_OF_BOBS, "--yes", "--reason", "bob left", "--url", bobs.origin)
    assert outcome.out.splitlines() == [
        "r1  leave_request  alice  waits for carol",
        "r2  leave_request  alice  refused: There is nothing of the kind here.",
    ]
    assert (outcome.status, outcome.first_line) == (1, "error: 1 of 2 still wait for bob")
    body = {"instead_of": "bob", "to": "carol", "comment": "bob left"}
    assert [json.loads(each.body) for each in bobs.requests[1:]] == [body, body]


def test_all_that_somebody_who_left_has_under_way_is_ended_but_parts_and_what_has_ended(
    run: Run, api: Api
) -> None:
    rows = [RUN | {"id": id_, "parent": None} for id_ in WAITING]
    rows += [RUN | {"id": "r3", "parent": "r1"}, RUN | {"id": "r4", "status": "completed"}]
    api.answers["/v1/flow-runs"] = {"items": rows, "next": None}
    api.answers["/v1/flow-runs/r1/terminate"] = {"id": "r1", "status": "running"}
    words = ("runs", "terminate", "--requester", "alice", "--url", api.origin)
    said = run(*words)
    assert (said.status, said.err) == (0, "nothing is changed yet: add --yes\n")
    assert len(api.requests) == 1
    ended = run(*words, "--yes", "--reason", "left")
    assert ended.out.splitlines() == [
        "r1  leave_request  alice  ended",
        "r2  leave_request  alice  refused: There is nothing of the kind here.",
    ]
    assert (ended.status, ended.first_line) == (1, "error: 1 of 2 go on")
    assert run("runs", "terminate", "--url", api.origin).status == 2


def test_why_a_turn_went_where_it_did_is_json(run: Run, api: Api) -> None:
    api.answers["/v1/turns/c1/m1"] = {"routes": [{"by": "llm"}]}
    assert run.json("runs", "why", "c1/m1", "--url", api.origin) == {"routes": [{"by": "llm"}]}


def test_the_audit_trail_is_read(run: Run, api: Api) -> None:
    api.answers["/v1/audit"] = {"items": [LINE], "next": None}
    outcome = run("audit", "--whose", "alice", "--url", api.origin)
    assert outcome.out == "2026-11-23T09:00:00  olga  run.retry  r1 · alice · it is back\n"
    assert api.targets == ["/v1/audit?whose=alice&limit=50"]
    assert run.json("audit", "--json", "--url", api.origin) == [LINE]


SHOWN: dict[str, Any] = RUN | {"title": "Leave request", "version": 3, "held": True}
SHOWN |= {"updated_at": AT, "parent": None, "withdraws": None, "withdrawn_by": None}
SHOWN |= {"held_because": "“Record” failed with “closed”; retry it.", "slots": {"days": 2.5}}
SHOWN |= {"summary": {"Reason": "two\nlines"}, "temporal": {"url": "https://temporal/r1"}}
SHOWN["history"] = [
    {"at": AT, "state": "details", "event": "began", "by": "alice", "comment": None},
    {"at": AT, "state": "record", "event": "held", "by": None, "comment": "3  2027 forged"},
]


def test_a_run_is_shown_with_what_it_knows_and_what_happened(run: Run, api: Api) -> None:
    api.answers["/v1/flow-runs/r1"] = SHOWN
    assert run.printed("runs", "show", "r1", "--url", api.origin).splitlines() == [
        "run        Leave request (r1, leave_request version 3)",
        "status     waiting_approval at manager",
        "requester  alice",
        "since      2026-11-23T09:00",
        "changed    2026-11-23T09:00",
        "waits for  bob",
        "held       “Record” failed with “closed”; retry it.",
        "Temporal   https://temporal/r1",
        "",
        "slots",
        "  Reason  two ↵ lines",
        "",
        "history",
        "  2026-11-23T09:00:00  details  began  alice",
        "  2026-11-23T09:00:00  record   held          3 2027 forged",
    ]
    assert run.json("runs", "show", "r1", "--json", "--url", api.origin) == SHOWN


def test_of_a_flow_that_has_moved_on_slots_have_their_names(run: Run, api: Api) -> None:
    api.answers["/v1/flow-runs/r1"] = SHOWN | {"summary": {}, "slots": {"days": 2.5, "half": None}}
    said = run.printed("runs", "show", "r1", "--url", api.origin)
    assert "slots\n  days  2.5\n" in said


def test_no_id_leads_to_another_path(run: Run, api: Api) -> None:
    run.refused("runs", "show", "../audit?who=bob", "--url", api.origin)
    assert api.targets == ["/v1/flow-runs/..%2Faudit%3Fwho%3Dbob"]


@pytest.mark.parametrize(
    "words",
    [
        "runs list",
        "runs show r1",
        "audit",
        "runs why c1/m1",
    ],
)
def test_who_may_not_is_told_so_and_gets_nothing(run: Run, api: Api, words: str) -> None:
    told = run.refused(*words.split(), "--user", "alice", "--url", api.origin)
    assert told == "error: There is nothing of the kind here."


def test_nothing_found_is_said_aside(run: Run, api: Api) -> None:
    api.answers["/v1/audit"] = {"items": [], "next": None}
    outcome = run("audit", "--url", api.origin)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "nothing of the kind\n")


@pytest.mark.parametrize(
    "words",
    [
        *("runs", "runs retry", "runs reassign r1 --to bob", "runs list --limit 0"),
        *("audit --limit 201", "audit olga", "runs show"),
        *("erase", "erase alice bob", "erase alice --tenant", "erase --yes"),
    ],
)
def test_what_cannot_be_meant_is_usage(run: Run, words: str) -> None:
    assert run(*words.split()).status == 2


def test_without_temporal_nothing_is_done(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", "127.0.0.1:1")
    outcome = run("erase", "alice", "--yes", "--data", "some/where")
    assert (outcome.status, outcome.out) == (1, "")
    assert "No Temporal server answers at ROUTER_TEMPORAL_ADDRESS=127.0.0.1:1" in outcome.err
    assert (elsewhere / "some" / "where" / "router.db").exists()


def test_the_database_is_brought_up_to_date_and_nothing_else_is_started(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", "127.0.0.1:1")
    for _ in range(2):
        outcome = run("migrate", "--data", "house")
        assert outcome.out.endswith(f"router.db is at revision {ROUTER.head}\n")
        assert (outcome.status, outcome.err) == (0, "")
    with closing(sqlite3.connect(elsewhere / "house" / "router.db")) as database:
        database.execute("DROP TABLE conversations")
    refused = run("migrate", "--data", "house")
    assert (refused.status, refused.out) == (1, "")
    assert "half of a house" in refused.first_line


def test_of_a_dev_that_runs_here_nobody_wants_tls(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_TEMPORAL_API_KEY", "k3y")
    with claimed(elsewhere / "here") as folder, announced(folder, ServedPorts(1, 2, 3)):
        found = settings_in(elsewhere / "here")
        assert found.temporal_address == "127.0.0.1:2"
        assert (found.is_temporal_over_tls, found.temporal_api_key) == (False, None)
        monkeypatch.setenv("ROUTER_TEMPORAL_ADDRESS", "desk.a1b2c.tmprl.example:7233")
        assert settings_in(elsewhere / "here").is_temporal_over_tls


SECRET = "a secret of at least thirty-two bytes"


@pytest.fixture
def signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_AUTH", "jwt")
    monkeypatch.setenv("ROUTER_JWT_SECRET", SECRET)


@pytest.mark.usefixtures("signed")
def test_is_for_the_user_and_for_so_long(run: Run) -> None:
    token = run.printed("token", "--user", "alice", "--ttl", "30m").strip()
    claims = jwt.decode(token, SECRET, algorithms=["HS256"])
    assert (claims["sub"], claims["exp"] - claims["iat"]) == ("alice", 1800)


@pytest.mark.parametrize(
    ("written", "meant"), [("90s", 90), ("30m", 1800), ("1h", 3600), ("7d", 604_800)]
)
def test_lifetimes(written: str, meant: int) -> None:
    assert lifetime(written) == timedelta(seconds=meant)


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


@pytest.mark.usefixtures("signed", "houses")
def test_names_the_tenant_and_the_user_where_they_are_looked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_JWT_TENANT_CLAIM", "org.id")
    monkeypatch.setenv("ROUTER_JWT_USER_CLAIM", "name")
    outcome = run("token", "--user", "alice", "--tenant", "acme")
    claims = jwt.decode(outcome.out.strip(), SECRET, algorithms=["HS256"])
    assert (claims["org"], claims["name"], claims["sub"]) == ({"id": "acme"}, "alice", "alice")


@pytest.mark.usefixtures("signed", "houses")
@pytest.mark.parametrize(
    ("user", "told"),
    [
        ("alice", "set ROUTER_JWT_TENANT_CLAIM"),
        ("bob", "error: --user 'bob' isn't in the directory of tenant 'acme'"),
    ],
)
def test_is_refused_for_strangers_of_a_tenant_and_where_tokens_name_none(
    run: Run, user: str, told: str
) -> None:
    assert told in run.refused("token", "--user", user, "--tenant", "acme")
