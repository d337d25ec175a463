"""`dev` killed at different moments of a request, and `dev` from a wheel in an empty folder."""

import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import psutil
import pytest

from tests.e2e.house import House, Person
from tests.e2e.test_dev import balance

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
    before = balance(house, "alice")
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
    assert bob.decide(approval["id"], "approve").status_code == 409
    assert alice.run(run)["status"] == "completed"
    assert balance(house, "alice") == before - 2
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


ROOT = Path(__file__).parents[2]
READY_WITHIN = 10.0
"""Seconds of CPU, of all processes together: a busy machine has no less of those."""


@pytest.mark.slow
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
