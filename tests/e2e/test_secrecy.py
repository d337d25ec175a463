"""What Temporal's database holds of a day at the desk: nothing to read with a key, or once erased.

Every place in which people, tools, models and operators write has a word of its own, which occurs
nowhere else. Without a key each of them has to be found, or the search would prove nothing.
"""

import asyncio
import base64
import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import Client
from temporalio.common import RawValue

from router.directory.file import SAMPLE
from router.secrecy.codec import EncryptingCodec, tenant_of
from router.settings.values import PayloadKeys
from tests.e2e.house import Chat, House, Person
from tests.fakes.model_server import MODEL, Behaviour, ModelServer, calls, says, waits
from tests.fakes.web_server import Got, Received, Reply, WebServer, json_reply
from tests.table import each_row
from tests.waiting import HANGS_AFTER_S

LONG_ENOUGH = 8
"""Characters of base64 that aren't found by chance."""


def forms(word: str) -> Iterator[bytes]:
    """A word as it is, escaped once and twice, in UTF-16, and each in base64 at any offset."""
    escaped = json.dumps(word).strip('"')
    twice = json.dumps(escaped).strip('"')
    wide = (word.encode("utf-16-le"), word.encode("utf-16-be"))
    for raw in {word.encode(), escaped.encode(), twice.encode(), *wide}:
        yield raw
        for offset in range(3):
            # A character stands for six bits: at the ends they are of neighbouring bytes too.
            first, last = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6
            encoded = base64.b64encode(b"\0" * offset + raw)[first:last]
            if len(encoded) >= LONG_ENOUGH:
                yield encoded
                yield encoded.translate(bytes.maketrans(b"+/", b"-_"))


def found_in(content: bytes, words: Iterable[str]) -> set[str]:
    """Which of the words show, in any form."""
    return {word for word in words if any(form in content for form in forms(word))}


def bytes_of(data: Path, name: str = "temporal.db") -> bytes:
    """The database with its write-ahead log or journal, which comes and goes with transactions."""
    content = []
    for file in sorted(data.glob(f"{name}*")):
        with suppress(FileNotFoundError):
            content.append(file.read_bytes())
    return b"".join(content)


def rows_of(file: Path, but: str = "\0") -> bytes:
    """All rows of a database, values whole, those of tables that begin with `but` left out."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30) as database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith(but)
        ]
        rows = [row for name in tables for row in database.execute(f'SELECT * FROM "{name}"')]
    return b"\n".join(
        value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row
    )


KEY = base64.b64encode(b"k" * 32).decode()

WORDS = {
    "the name of a person": "欧阳翡翠珊瑚",
    "small talk": "zanzibar marmalade",
    "small talk in Chinese": "龙涎香与琥珀",
    "what a model answers": "obsidian pomegranate",
    "the reason of a request": "外婆九十大寿",
    "the reason of an English request": "quokka symposium",
    "an amount": "73841.59",
    "an invoice number": "KX-9083317-QZ",
    "a note on an item": "左撇子专用款",
    "a comment on a decision": "玩得开心啊小爱",
    "a comment on passing it on": "我下周在雪山上",
    "a comment of an operator on a reassignment": "periwinkle absence",
    "a comment of an operator on an end": "thistledown duplicate",
    "why somebody takes it back": "航班取消改到春天",
    "what an outside event brings": "放在银杏树旁边",
    "an argument of a tool": "quetzalcoatl",
    "a result of a tool": "wisteria overflow",
    "an argument of a call that fails": "basilisk",
    "what a failing system says": "gargoyle misaligned",
    "what a skill is asked": "cinnabar escalation",
    "an argument that a skill chooses": "chrysoprase",
    "what a skill asks back": "榴莲还是山竹呢",
    "what it is answered": "当然要山竹那箱",
    "what it comes to": "tourmaline resolved",
    "a word while a turn runs": "插一句改成孔雀蓝",
}
REASON = WORDS["the reason of a request"]
SKILL = """\
---
name: ticket-helper
description: Looks into tickets of the service desk that people ask about.
allowed-tools: get_ticket
---
Look into the ticket.
"""


class Scripted:
    """A model that does what was written down for it, in order; after that it says one thing."""

    def __init__(self) -> None:
        self.script: list[Behaviour] = []

    def __call__(self, received: Received) -> Reply:
        otherwise = says(WORDS["what a model answers"])
        return (self.script.pop(0) if self.script else otherwise)(received)


class Outside:
    """The model and the system behind the tools, on a thread with a loop of their own."""

    def __init__(self) -> None:
        self.model = Scripted()
        self.models = ModelServer(self.model)
        self.desk = WebServer(_ticket)
        self.goes_on = asyncio.Event()
        self._loop = asyncio.new_event_loop()

    def let_go_on(self) -> None:
        """Have the model answer what it was told to wait with."""
        self._loop.call_soon_threadsafe(self.goes_on.set)

    @contextmanager
    def serving(self) -> Iterator["Outside"]:
        ready, over = threading.Event(), asyncio.Event()

        async def serve() -> None:
            async with self.models, self.desk:
                ready.set()
                await over.wait()

        thread = threading.Thread(target=self._loop.run_until_complete, args=[serve()])
        thread.start()
        assert ready.wait(10)
        yield self
        self._loop.call_soon_threadsafe(over.set)
        thread.join(10)
        self._loop.close()


def _ticket(got: Got) -> Reply:
    if got.target.endswith(WORDS["an argument of a call that fails"]):
        return json_reply({"detail": WORDS["what a failing system says"]}, 404)
    return json_reply({"title": WORDS["a result of a tool"]})


@pytest.fixture
def outside() -> Iterator[Outside]:
    with Outside().serving() as outside:
        yield outside


def with_tickets(folder: Path, origin: str) -> dict[str, str]:
    """The variables of a house that has a tool over HTTP, at this origin."""
    (folder / "tools").mkdir()
    tool = {
        "name": "get_ticket",
        "description": "A ticket of the service desk.",
        "parameters": {
            "type": "object",
            "properties": {"id": {"type": "string"}},
            "required": ["id"],
        },
        "endpoint": {"url": f"{origin}/tickets/{{id}}"},
        "retries": 0,
    }
    (folder / "tools" / "get_ticket.json").write_text(json.dumps(tool))
    allowed = {"ROUTER_HTTP_ALLOW": json.dumps([origin])}
    return {"ROUTER_HTTP_TOOLS": str(folder / "tools"), **allowed}


def unstarted(house: House) -> Iterator[House]:
    yield house
    if house.process is not None and house.process.poll() is None:
        house.stop()


@pytest.fixture
def planted(tmp_path: Path, outside: Outside) -> Iterator[House]:
    """One that isn't started yet, where alice has a rare name."""
    (tmp_path / "skills" / "ticket-helper").mkdir(parents=True)
    (tmp_path / "skills" / "ticket-helper" / "SKILL.md").write_text(SKILL)
    people = SAMPLE.read_text().replace("王丽 Alice", WORDS["the name of a person"])
    (tmp_path / "people.yaml").write_text(people)
    # The scripted vectors are near to anything: nothing is to be taken for a request by them.
    (tmp_path / "thresholds.json").write_text('{"known": 1, "choice": 0, "places": 8}')
    variables = {
        "ROUTER_THRESHOLDS": str(tmp_path / "thresholds.json"),
        **with_tickets(tmp_path, outside.desk.origin),
        "ROUTER_SKILLS": str(tmp_path / "skills"),
        "ROUTER_DIRECTORY": str(tmp_path / "people.yaml"),
        "ROUTER_LLM_BASE_URL": outside.models.url,
        "ROUTER_LLM_MODEL": MODEL,
        "ROUTER_EMBEDDER": "openai:scripted",
    }
    yield from unstarted(House(tmp_path / "data", variables=variables))


def asked_of(person: Person, run: str) -> str:
    """The approval of this run that waits for the person."""
    (approval,) = (a["id"] for a in person.approvals() if a["flow_run"] == run)
    return str(approval)


def done(answer: Any) -> Any:
    assert answer.status_code in {200, 202}, answer.text
    return answer.json()


def handed_in(chat: Chat, days: str, reason: str) -> str:
    """A leave request that waits for its approver; its run."""
    turn = chat.say(f"我要请年假，{days}，{reason}")
    while turn["flow"]["status"] == "collecting":
        turn = chat.say(reason)
    run: str = chat.say("确认")["flow"]["id"]
    return run


def confirmed(chat: Chat, flow: str, slots: dict[str, Any]) -> str:
    """A request by form, confirmed; its run."""
    turn = chat.act_start(flow, slots)
    assert turn["flow"]["status"] == "confirming", turn
    turn = chat.act("confirm", value=True)
    assert turn["flow"]["status"] == "waiting_approval", turn
    run: str = turn["flow"]["id"]
    return run


def talk(house: House) -> None:
    for user, word in (("frank", "small talk"), ("alice", "small talk in Chinese")):
        turn = Person(house, user).chat().say(f"{WORDS[word]}?")
        assert turn["replies"][0]["text"] == WORDS["what a model answers"], turn


def decisions(house: House) -> None:
    alice, bob, carol = (Person(house, name) for name in ("alice", "bob", "carol"))
    chat = alice.chat()
    run = handed_in(chat, "12月7日到8日", REASON)
    passed = {"to": "carol", "comment": WORDS["a comment on passing it on"]}
    done(bob.decide(asked_of(bob, run), "delegate", **passed))
    done(alice.post(f"/v1/flow-runs/{run}/nudge"))
    comment = WORDS["a comment on a decision"]
    done(carol.decide(asked_of(carol, run), "approve", comment=comment))
    chat.heard("批准")


def interventions(house: House) -> None:
    alice, frank, olga = (Person(house, name) for name in ("alice", "frank", "olga"))
    run = handed_in(alice.chat(), "12月14日到15日", REASON)
    body = {"instead_of": "bob", "to": "gina"}
    body["comment"] = WORDS["a comment of an operator on a reassignment"]
    done(olga.post(f"/v1/flow-runs/{run}/reassign", body))
    why = {"comment": WORDS["why somebody takes it back"]}
    done(alice.post(f"/v1/flow-runs/{run}/withdraw", why))
    item = {
        "category": "hotel",
        "amount": {"amount": WORDS["an amount"], "currency": "CNY"},
        "date": "2026-11-02",
        "invoice": WORDS["an invoice number"],
    }
    reason = WORDS["the reason of an English request"]
    claim = confirmed(frank.chat(), "reimbursement", {"items": [item], "reason": reason})
    why = {"comment": WORDS["a comment of an operator on an end"]}
    done(olga.post(f"/v1/flow-runs/{claim}/terminate", why))


def an_event(house: House) -> None:
    alice, bob, olga = (Person(house, name) for name in ("alice", "bob", "olga"))
    item = {"kind": "headset", "quantity": 1, "note": WORDS["a note on an item"]}
    wanted = {"items": [item], "reason": REASON, "deliver_by": "2027-01-15"}
    chat = alice.chat()
    run = confirmed(chat, "equipment_request", wanted)
    done(bob.decide(asked_of(bob, run), "approve"))
    chat.heard("库房已经留好")
    note = {"note": WORDS["what an outside event brings"]}
    done(olga.post(f"/v1/flow-runs/{run}/events/delivered", note))
    chat.heard("送到了")


def tools(house: House) -> None:
    chat = Person(house, "alice").chat()
    for word, status in (
        ("an argument of a tool", "done"),
        ("an argument of a call that fails", "failed"),
    ):
        turn = chat.act_start("get_ticket", {"id": WORDS[word]})
        assert turn["tool_calls"][-1]["status"] == status, turn


def a_skill(house: House, outside: Outside) -> None:
    request = WORDS["what a skill is asked"]
    outside.model.script += [
        calls(("dispatch_to_skill", {"skill_name": "ticket-helper", "request": request})),
        calls(("get_ticket", {"id": WORDS["an argument that a skill chooses"]})),
        calls(("ask_user", {"text": WORDS["what a skill asks back"]})),
        calls(("done", {"result": WORDS["what it comes to"]})),
    ]
    chat = Person(house, "alice").chat()
    turn = chat.say("please look into the ticket for me")
    assert turn["replies"][0]["text"] == WORDS["what a skill asks back"], turn
    turn = chat.say(WORDS["what it is answered"])
    assert turn["replies"][0]["text"] == WORDS["what it comes to"], turn


def a_steered_turn(house: House, outside: Outside) -> None:
    """A word that comes by signal, while a model thinks about the one before it."""
    outside.model.script.append(waits(outside.goes_on, 0, says(WORDS["what a model answers"])))
    chat, name = Person(house, "alice").chat(), uuid4().hex
    path = f"/v1/conversations/{chat.id}/messages"
    done(chat.person.post(f"{path}?wait=0", {"text": "deep thought?", "message_id": name}))
    steering = {"text": WORDS["a word while a turn runs"], "on_busy": "steer"}
    done(chat.person.post(f"{path}?wait=0", steering))
    outside.let_go_on()
    chat.heard(WORDS["what a model answers"])
    assert chat.person.get(f"/v1/conversations/{chat.id}")["id"] == chat.id


def a_whole_day(house: House, outside: Outside) -> None:
    talk(house)
    decisions(house)
    interventions(house)
    an_event(house)
    tools(house)
    a_skill(house, outside)
    a_steered_turn(house, outside)


@pytest.mark.slow
@pytest.mark.parametrize("key", [f"k1:{KEY}", pytest.param("", marks=pytest.mark.slow)])
def test_no_word_is_in_a_dump_where_a_key_is_set_and_every_one_where_none_is(
    planted: House, outside: Outside, key: str
) -> None:
    house = planted
    house.variables["ROUTER_PAYLOAD_KEYS"] = key
    house.start()
    a_whole_day(house, outside)
    at_work = bytes_of(house.data)
    assert house.stop() == 0
    dump = at_work + bytes_of(house.data) + rows_of(house.data / "temporal.db")
    found = found_in(dump, WORDS.values())
    missed = [what for what, word in WORDS.items() if (word in found) == bool(key)]
    assert missed == [], "these are there with a key, or aren't without one"
    assert found_in(house.log().encode(), WORDS.values()) == set()
    assert base64.b64decode(KEY) not in dump


@each_row("word", [*WORDS.values()])
@each_row("before", ["", "x", "xy"])
def test_a_word_is_recognised_in_whatever_it_is_wrapped_in(word: str, before: str) -> None:
    text = f"{before}{word} and more"
    wrapped = [
        text.encode(),
        json.dumps(text).encode(),
        json.dumps(json.dumps(text)).encode(),
        text.encode("utf-16-le"),
        text.encode("utf-16-be"),
        base64.b64encode(text.encode()),
        base64.urlsafe_b64encode(json.dumps(text).encode()),
        base64.b64encode(text.encode("utf-16-le")),
    ]
    assert [found_in(each, [word]) for each in wrapped] == [{word}] * len(wrapped)
    assert not any(form in b"nothing of the kind" for form in forms(word))


OLD = f"2026-11:{base64.b64encode(b'o' * 32).decode()}"
NEW = f"2027-01:{base64.b64encode(b'n' * 32).decode()}"

COMMENT = WORDS["a comment on a decision"]
SMALL_TALK = WORDS["small talk"]
ARGUMENT = WORDS["an argument of a tool"]
SAID = (REASON, COMMENT, SMALL_TALK, ARGUMENT)

NOWHERE = "http://127.0.0.1:9"


def a_whole_conversation(house: House) -> str:
    """Some talk, leave that is approved, and a tool that fails; the run of the leave."""
    alice, bob = Person(house, "alice"), Person(house, "bob")
    chat = alice.chat()
    chat.say(SMALL_TALK)
    run = handed_in(chat, "12月7日到8日", REASON)
    approval = asked_of(bob, run)
    assert bob.decide(approval, "approve", comment=COMMENT).status_code == 200
    chat.heard("批准")
    turn = chat.act_start("get_ticket", {"id": ARGUMENT})
    assert turn["tool_calls"][-1]["status"] == "failed", turn
    return run


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """One that isn't started yet, with a tool that fails."""
    yield from unstarted(House(tmp_path / "data", variables=with_tickets(tmp_path, NOWHERE)))


@pytest.mark.slow
def test_a_run_goes_on_over_a_rotation_and_its_history_is_read(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_PAYLOAD_KEYS", OLD)
    alice, bob = Person(house, "alice"), Person(house, "bob")
    house.start()
    chat = alice.chat()
    run = handed_in(chat, "12月7日到8日", REASON)
    assert b"2027-01" not in bytes_of(house.data)
    house.stop()
    monkeypatch.setenv("ROUTER_PAYLOAD_KEYS", f"{NEW},{OLD}")
    monkeypatch.setenv("ROUTER_ENCRYPTED_PAYLOADS_ONLY", "true")
    house.start()
    approval = asked_of(bob, run)
    assert bob.decide(approval, "approve", comment=COMMENT).status_code == 200
    chat.heard("批准")
    assert alice.run(run)["status"] == "completed"
    assert b"2027-01" in bytes_of(house.data)
    assert found_in(bytes_of(house.data), SAID) == set()
    history = shown(house, alice.run(run)["temporal"]["workflow_id"], "olga")
    assert found_in(history, (REASON, COMMENT)) == {REASON, COMMENT}
    assert found_in(shown(house, alice.run(run)["temporal"]["workflow_id"], None), SAID) == set()
    asyncio.run(begun_in_plain(house, alice.run(run)["temporal"]["workflow_id"]))
    assert "a payload isn't encrypted, and ROUTER_ENCRYPTED_PAYLOADS_ONLY" in house.log()


async def begun_in_plain(house: House, workflow: str) -> None:
    """Begin a workflow as this one was, without encryption; its first task has to fail."""
    temporal = await Client.connect(house.temporal)
    first = [event async for event in temporal.get_workflow_handle(workflow).fetch_history_events()]
    began = first[0].workflow_execution_started_event_attributes
    codec = EncryptingCodec(PayloadKeys.read(OLD), tenant_of(workflow))
    given = [RawValue(plain) for plain in await codec.decode(began.input.payloads)]
    name, stolen = began.workflow_type.name, f"{workflow}-stolen"
    handle = await temporal.start_workflow(name, args=given, id=stolen, task_queue="router")
    async with asyncio.timeout(HANGS_AFTER_S):
        while True:
            async for event in handle.fetch_history_events():
                if event.HasField("workflow_task_failed_event_attributes"):
                    return
            await asyncio.sleep(0.2)


@pytest.mark.slow
def test_a_run_whose_key_was_left_out_goes_on_once_it_is_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_PAYLOAD_KEYS", OLD)
    alice, bob = Person(house, "alice"), Person(house, "bob")
    house.start()
    chat = alice.chat()
    run = handed_in(chat, "12月7日到8日", REASON)
    approval = asked_of(bob, run)
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
    open_run = handed_in(waiting, "12月14日到15日", REASON)
    others = frank.chat()
    others.say("what is my leave balance?")
    router, temporal = house.data / "router.db", house.data / "temporal.db"
    assert found_in(rows_of(router), SAID) == found_in(rows_of(temporal), SAID) == set(SAID)
    unsure = erased(house, "alice")
    assert unsure.returncode == 1
    assert "conversations: 2, runs: 3, files: 1" in unsure.stderr
    assert "add --yes" in unsure.stderr
    assert found_in(rows_of(router), SAID) == set(SAID)
    unknown = erased(house, "alicia", "--yes")
    assert (unknown.returncode, unknown.stderr.partition(":")[0]) == (1, "error")
    blocked = erased(house, "bob", "--yes")
    assert "`intent-router runs reassign --from bob --to …`" in blocked.stderr
    done = erased(house, "alice", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    pseudonym = done.stdout.split()[-1].rstrip(".")
    assert pseudonym.startswith("erased-")
    # The people system keeps its own records of leave, as one outside would.
    assert found_in(rows_of(router, but="people_"), SAID) == set()
    assert b"alice" not in rows_of(router, but="people_")
    # Its queues name the workflows' ids, which are nobody's any more, until timers have gone off.
    until_gone(temporal, (*SAID, "alice"))
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
