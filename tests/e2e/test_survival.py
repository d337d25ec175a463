"""`dev` killed at different moments of a request, and `dev` from a wheel in an empty folder."""

import json
import subprocess
import sys
import time
import zipfile
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from standardwebhooks import Webhook

from tests.e2e.house import House, Person
from tests.fakes.web_server import threaded
from tests.fakes.webhook_consumer import SECRET, VARIABLE

pytestmark = pytest.mark.slow

STEPS = ("我要请假", "年假", "2026-12-07", "2026-12-08", "家里有事", "确认")


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param({4, 7}, id="two"),
        pytest.param(set(range(10)), id="ten", marks=pytest.mark.slow),
    ],
)
def test_the_story_survives_a_kill_between_its_steps(own_house: House, moments: set[int]) -> None:
    """One request from end to end: asked for, handed in, approved, and read again."""
    house = own_house
    alice, bob = Person(house, "alice"), Person(house, "bob")
    before = alice.days_left()
    chat = alice.chat()
    killed(house, 0, moments)
    turns = []
    for number, text in enumerate(STEPS):
        turns.append(chat.say(text, message_id=f"m{number}"))
        killed(house, number + 1, moments)
        assert chat.say(text, message_id=f"m{number}") == turns[-1]
    run = turns[-1]["flow"]["id"]
    assert turns[-1]["flow"]["status"] == "waiting_approval"
    (approval,) = bob.approvals()
    killed(house, 7, moments)
    assert bob.decide(approval["id"], "approve").status_code == 200
    killed(house, 8, moments)
    chat.heard("批准")
    assert bob.decide(approval["id"], "approve").status_code == 200
    assert bob.decide(approval["id"], "reject").status_code == 409
    assert alice.run(run)["status"] == "completed"
    assert alice.days_left() == before - 2
    killed(house, 9, moments)
    assert len([line for line in chat.transcript() if line["role"] == "user"]) == len(STEPS)


def killed(house: House, moment: int, moments: set[int]) -> None:
    if moment in moments:
        house.kill()
        house.start()


def test_a_message_under_way_when_everything_dies_is_answered_once(
    own_house: House, tmp_path: Path
) -> None:
    house = own_house
    alice = Person(house, "alice")
    chat = alice.chat()
    response = alice.http.post(
        f"/v1/conversations/{chat.id}/messages?wait=0",
        json={"text": "我要请假", "message_id": "m1"},
    )
    assert response.status_code in (200, 202)
    house.kill()
    house.start()
    assert chat.say("我要请假", message_id="m1")["turn"] == 1
    users = [line for line in chat.transcript() if line["role"] == "user"]
    assert len(users) == 1


def test_another_system_hears_all_of_a_request_whenever_everything_dies(tmp_path: Path) -> None:
    """In order, though it refuses the first two tries, and everything is killed around it."""
    told, refused = list[dict[str, Any]](), list[str]()

    class Consumer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            event = Webhook(SECRET).verify(body, dict(self.headers))
            if len(refused) < 2:
                refused.append(event["type"])
            else:
                told.append({"id": self.headers["webhook-id"], **event})
            self.send_response(503 if len(told) == 0 else 204)
            self.end_headers()

    with threaded(Consumer) as origin:
        file = tmp_path / "webhooks.json"
        entry = {"url": f"{origin}/hooks", "secret_env": VARIABLE, "events": ["*"]}
        file.write_text(json.dumps([entry]), encoding="utf-8")
        variables = {"ROUTER_WEBHOOKS": str(file), VARIABLE: SECRET}
        variables["ROUTER_WEBHOOK_ALLOW"] = json.dumps([origin])
        house = House(tmp_path / "data", variables=variables).start()
        try:
            alice, bob = Person(house, "alice"), Person(house, "bob")
            chat = alice.chat()
            turns = [chat.say(text, message_id=f"m{n}") for n, text in enumerate(STEPS)]
            killed(house, 0, {0})
            (approval,) = bob.approvals()
            assert bob.decide(approval["id"], "approve").status_code == 200
            killed(house, 0, {0})
            chat.heard("批准")
            assert told_within(90, told, "flow.completed"), told
        finally:
            assert house.stop() == 0
    names = [*{event["id"]: event["type"] for event in told}.values()]
    run = turns[-1]["flow"]["id"]
    assert {event["data"]["flow_run"] for event in told} == {run}
    assert names == [
        *("flow.started", "flow.waiting_approval", "approval.requested"),
        *("approval.decided", "flow.completed"),
    ]
    assert set(refused) == {"flow.started"}


def told_within(seconds: float, told: list[dict[str, Any]], name: str) -> bool:
    deadline = time.monotonic() + seconds
    while not any(event["type"] == name for event in told):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


ROOT = Path(__file__).parents[2]
READY_WITHIN = 10.0
"""Seconds of CPU, of all processes together: a busy machine has no less of those."""


def test_dev_is_ready_soon_in_an_empty_folder_and_takes_a_turn(tmp_path: Path) -> None:
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", str(tmp_path)], check=True, cwd=ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    house = House(tmp_path / "data", variables={"PYTHONPATH": str(site)}, folder=empty).start()
    try:
        assert cpu_seconds(house) < READY_WITHIN
        turn = Person(house, "alice").chat().say("我要请年假，下周一到周三，家里有事")
        assert turn["flow"]["status"] == "confirming"
        assert "<title>" in httpx.get(f"{house.url}/").text
        assert list(empty.iterdir()) == []
    finally:
        assert house.stop() == 0


def cpu_seconds(house: House) -> float:
    """What `dev` and everything it started have taken so far."""
    assert house.process is not None
    whole = psutil.Process(house.process.pid)
    times = [one.cpu_times() for one in (whole, *whole.children(recursive=True))]
    return sum(one.user + one.system for one in times)
