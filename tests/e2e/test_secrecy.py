"""What Temporal's database holds of conversations: the old key or the new, and nothing once erased.

That there is nothing to read with a key is proven in `tests/e2e/test_dump.py`.
"""

import base64
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.house import Chat, House, Person
from tests.e2e.traces import bytes_of, found_in, rows_of

OLD = f"2026-11:{base64.b64encode(b'o' * 32).decode()}"
NEW = f"2027-01:{base64.b64encode(b'n' * 32).decode()}"

REASON = "外婆九十大寿"
COMMENT = "玩得开心啊小爱"
SMALL_TALK = "zanzibar marmalade"
ARGUMENT = "quetzalcoatl"
WORDS = (REASON, COMMENT, SMALL_TALK, ARGUMENT)

FAILING = {
    "name": "get_ticket",
    "description": "A ticket of the service desk.",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    "endpoint": {"url": "http://127.0.0.1:9/tickets/{id}"},
    "retries": 0,
}


def handed_in(chat: Chat, days: str) -> str:
    """Leave that is asked for and confirmed; the run."""
    turn = chat.say(f"我要请年假，{days}，{REASON}")
    while turn["flow"]["status"] == "collecting":
        turn = chat.say(REASON)
    run: str = chat.say("确认")["flow"]["id"]
    return run


def a_whole_conversation(house: House) -> str:
    """Some talk, leave that is approved, and a tool that fails; the run of the leave."""
    alice, bob = Person(house, "alice"), Person(house, "bob")
    chat = alice.chat()
    chat.say(SMALL_TALK)
    run = handed_in(chat, "12月7日到8日")
    (approval,) = (a["id"] for a in bob.approvals() if a["flow_run"] == run)
    assert bob.decide(approval, "approve", comment=COMMENT).status_code == 200
    chat.heard("批准")
    turn = chat.act_start("get_ticket", {"id": ARGUMENT})
    assert turn["tool_calls"][-1]["status"] == "failed", turn
    return run


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "get_ticket.json").write_text(json.dumps(FAILING))
    monkeypatch.setenv("ROUTER_HTTP_TOOLS", str(tmp_path / "tools"))
    monkeypatch.setenv("ROUTER_HTTP_ALLOW", '["http://127.0.0.1:9"]')


@pytest.fixture
def house(tools: None, tmp_path: Path) -> Iterator[House]:
    """One that isn't started yet."""
    house = House(tmp_path / "data")
    yield house
    if house.process is not None and house.process.poll() is None:
        house.stop()


@pytest.mark.slow
def test_a_run_goes_on_over_a_rotation_and_its_history_is_read(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_PAYLOAD_KEYS", OLD)
    alice, bob = Person(house, "alice"), Person(house, "bob")
    house.start()
    chat = alice.chat()
    run = handed_in(chat, "12月7日到8日")
    assert b"2027-01" not in bytes_of(house.data)
    house.stop()
    monkeypatch.setenv("ROUTER_PAYLOAD_KEYS", f"{NEW},{OLD}")
    house.start()
    (approval,) = (a["id"] for a in bob.approvals() if a["flow_run"] == run)
    assert bob.decide(approval, "approve", comment=COMMENT).status_code == 200
    chat.heard("批准")
    assert alice.run(run)["status"] == "completed"
    assert b"2027-01" in bytes_of(house.data)
    assert found_in(bytes_of(house.data), WORDS) == set()
    history = shown(house, alice.run(run)["temporal"]["workflow_id"], "olga")
    assert found_in(history, (REASON, COMMENT)) == {REASON, COMMENT}
    assert found_in(shown(house, alice.run(run)["temporal"]["workflow_id"], None), WORDS) == set()


@pytest.mark.slow
def test_a_run_whose_key_was_left_out_goes_on_once_it_is_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_PAYLOAD_KEYS", OLD)
    alice, bob = Person(house, "alice"), Person(house, "bob")
    house.start()
    chat = alice.chat()
    run = handed_in(chat, "12月7日到8日")
    (approval,) = (a["id"] for a in bob.approvals() if a["flow_run"] == run)
    house.stop()
    monkeypatch.setenv("ROUTER_PAYLOAD_KEYS", NEW)
    house.start()
    assert bob.decide(approval, "approve").status_code == 503
    assert "the key '2026-11', which ROUTER_PAYLOAD_KEYS doesn't have" in house.log()
    house.stop()
    monkeypatch.setenv("ROUTER_PAYLOAD_KEYS", f"{NEW},{OLD}")
    house.start()
    # The server tries again a while after a task failed, the longer the oftener it did.
    deadline = time.monotonic() + 120
    while (answer := bob.decide(approval, "approve")).status_code == 503:
        assert time.monotonic() < deadline
    assert answer.status_code in {200, 409}
    chat.heard("批准")
    assert alice.run(run)["status"] == "completed"


def shown(house: House, workflow: str, operator: str | None) -> bytes:
    """A history as Temporal's own command line shows it, with or without the codec."""
    codec = ["--codec-endpoint", f"{house.url}/codec", "--codec-auth", f"Bearer {operator}"]
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("temporal")),
            *("workflow", "show", "--output", "json", "--workflow-id", workflow),
            *("--address", house.temporal),
            *(codec if operator else []),
        ],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.dumps(json.loads(done.stdout), ensure_ascii=False).encode() + done.stdout


def erased(house: House, *words: str) -> "subprocess.CompletedProcess[str]":
    return house.command("erase", *words)


@pytest.mark.slow
def test_nothing_is_left_of_somebody_who_was_erased(house: House) -> None:
    house.start()
    run = a_whole_conversation(house)
    alice, bob, frank = (Person(house, name) for name in ("alice", "bob", "frank"))
    upload = {"file": ("note.png", b"\x89PNG\r\n\x1a\n" + SMALL_TALK.encode(), "image/png")}
    assert alice.http.post("/v1/files", files=upload).status_code == 201
    waiting = alice.chat()
    open_run = handed_in(waiting, "12月14日到15日")
    others = frank.chat()
    others.say("what is my leave balance?")
    router, temporal = house.data / "router.db", house.data / "temporal.db"
    assert found_in(rows_of(router), WORDS) == found_in(rows_of(temporal), WORDS) == set(WORDS)
    unsure = erased(house, "alice")
    assert unsure.returncode == 1
    assert "conversations: 2, runs: 3, files: 1" in unsure.stderr
    assert "add --yes" in unsure.stderr
    assert found_in(rows_of(router), WORDS) == set(WORDS)
    unknown = erased(house, "alicia", "--yes")
    assert (unknown.returncode, unknown.stderr.partition(":")[0]) == (1, "error")
    blocked = erased(house, "bob", "--yes")
    assert "have an operator reassign them first" in blocked.stderr
    done = erased(house, "alice", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    pseudonym = done.stdout.split()[-1].rstrip(".")
    assert pseudonym.startswith("erased-")
    # The people system keeps its own records of leave, as one outside would.
    assert found_in(rows_of(router, but="people_"), WORDS) == set()
    assert b"alice" not in rows_of(router, but="people_")
    # Its queues name the workflows' ids, which are nobody's any more, until timers have gone off.
    until_gone(temporal, (*WORDS, "alice"))
    assert all(a["flow_run"] != open_run for a in bob.approvals())
    record = Person(house, "olga").run(run)
    assert record["requester"] == pseudonym
    assert record["status"] == "completed"
    assert {"approve", "bob"} <= {v for line in record["history"] for v in line.values()}
    assert Person(house, "olga").run(open_run)["status"] == "cancelled"
    assert others.transcript(), "what others said stays"
    (noted,) = Person(house, "olga").get("/v1/audit?act=person.erase")["items"]
    assert noted["who"].startswith("shell:")
    assert noted["subject"] == pseudonym
    assert erased(house, "alice", "--yes").returncode == 1


def until_gone(file: Path, words: tuple[str, ...], within: float = 90.0) -> None:
    """Temporal deletes histories in its own time: it looks after its queues every half minute."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not (left := found_in(rows_of(file), words)):
            return
        time.sleep(0.2)
    raise AssertionError(f"still in {file}: {left}")
