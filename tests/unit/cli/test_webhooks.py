"""`intent-router webhooks` and what `doctor` says of the files of webhooks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.fakes.webhook_consumer import SECRET, VARIABLE
from tests.unit.cli.conftest import Run, serving

PATH = "/v1/webhooks/deliveries"
AT = "2026-11-23T09:00:00Z"


def undelivered(id_: str) -> dict[str, Any]:
    about = {"url": "https://erp.example.com/in", "event": "flow.completed", "subject": "r1"}
    about |= {"state": "dead", "created_at": AT, "error": "it answered 500"}
    return {"id": id_, "attempts": 17, "due": None, **about}


class Api(WebServer):
    """Two pages of what was given up, and whatever is sent again."""

    def __init__(self) -> None:
        super().__init__(self.told)
        self.dead = ["m3", "m2", "m1"]

    def told(self, got: Got) -> Reply:
        if got.method == "POST":
            id_ = got.target.removeprefix(f"{PATH}/").removesuffix("/retry")
            there = id_ in self.dead
            return json_reply(
                undelivered(id_) if there else {"detail": "none"}, 200 if there else 404
            )
        ids = self.dead[2:] if "after=next" in got.target else self.dead[:2]
        following = "next" if len(self.dead) > 2 and "after" not in got.target else None
        return json_reply({"items": [undelivered(id_) for id_ in ids], "next": following})


@pytest.fixture
def api() -> Iterator[Api]:
    server = Api()
    with serving(server):
        yield server


def test_what_was_given_up_is_listed(run: Run, api: Api) -> None:
    listed = run.printed("webhooks", "list", "--url", api.origin).splitlines()
    assert listed[0].split() == [
        *("2026-11-23T09:00", "m3", "flow.completed", "r1", "https://erp.example.com/in"),
        *("it", "answered", "500"),
    ]
    (asked,) = api.requests
    assert asked.target == f"{PATH}?state=dead&limit=50"
    assert asked.headers["authorization"] == "Bearer olga"


def test_it_is_listed_as_json(run: Run, api: Api) -> None:
    listed = json.loads(run.printed("webhooks", "list", "--json", "--url", api.origin))
    assert [one["id"] for one in listed] == ["m3", "m2"]


def test_that_there_is_nothing_is_said(run: Run, api: Api) -> None:
    api.dead = []
    outcome = run("webhooks", "list", "--state", "waiting", "--url", api.origin)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "nothing is waiting\n")


def test_all_are_sent_again_the_oldest_first(run: Run, api: Api) -> None:
    said = run.printed("webhooks", "retry", "--all", "--url", api.origin)
    assert said == "3 are sent again\n"
    sent = [got.target for got in api.requests if got.method == "POST"]
    assert sent == [f"{PATH}/{id_}/retry" for id_ in ("m1", "m2", "m3")]


def test_one_that_is_not_there_is_said(run: Run, api: Api) -> None:
    assert run("webhooks", "retry", "m9", "--url", api.origin).status == 1


@pytest.mark.parametrize("words", [(), ("m1", "--all")])
def test_it_is_said_which_are_sent_again(run: Run, api: Api, words: tuple[str, ...]) -> None:
    assert run("webhooks", "retry", *words, "--url", api.origin).status == 2
    assert api.requests == []


@pytest.mark.slow
def test_doctor_says_who_is_told_and_what_is_wrong(
    run: Run, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = f"- {{url: https://erp.example.com/in?k=1, secret_env: {VARIABLE}, events: ['*']}}\n"
    (elsewhere / "webhooks.yaml").write_text(entry, "utf-8")
    monkeypatch.setenv("ROUTER_WEBHOOKS", "webhooks.yaml")
    told = run("doctor").out
    assert f"webhooks.yaml:1: the variable {VARIABLE} isn't set" in told
    monkeypatch.setenv(VARIABLE, SECRET)
    assert "told: https://erp.example.com/in; telling: none" in run("doctor").out
