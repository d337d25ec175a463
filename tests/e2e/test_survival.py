"""`kill -9` of everything, at ten different moments of a leave request."""

from pathlib import Path

import pytest

from tests.e2e.house import House, Person
from tests.e2e.test_leave import balance

pytestmark = pytest.mark.xdist_group("dev")

STEPS = ("我要请假", "年假", "2026-12-07", "2026-12-08", "家里有事", "确认")


def test_the_story_survives_a_kill_after_every_step(own_house: House) -> None:
    """One request from end to end, with a `kill -9` after each of its ten steps."""
    house = own_house
    alice, bob = Person(house, "alice"), Person(house, "bob")
    before = balance(house, "alice")
    chat = alice.chat()
    reborn(house)
    turns = []
    for number, text in enumerate(STEPS):
        turns.append(chat.say(text, message_id=f"m{number}"))
        reborn(house)
        assert chat.say(text, message_id=f"m{number}") == turns[-1]
    run = turns[-1]["flow"]["id"]
    assert turns[-1]["flow"]["status"] == "waiting_approval"
    (approval,) = bob.approvals()
    reborn(house)
    assert bob.decide(approval["id"], "approve").status_code == 200
    reborn(house)
    chat.heard("批准")
    assert bob.decide(approval["id"], "approve").status_code == 409
    assert alice.run(run)["status"] == "completed"
    assert balance(house, "alice") == before - 2
    reborn(house)
    assert len([line for line in chat.transcript() if line["role"] == "user"]) == len(STEPS)


def reborn(house: House) -> None:
    house.kill()
    house.start()
    assert house.started_in < 10


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
    reborn(house)
    assert chat.say("我要请假", message_id="m1")["turn"] == 1
    users = [line for line in chat.transcript() if line["role"] == "user"]
    assert len(users) == 1
