"""A dump of Temporal's database: with a key no word of a day at the desk is in it.

Every place in which people, tools, models and operators write has a word of its own, which occurs
nowhere else. Without a key each of them has to be found, or the search would prove nothing.
"""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from router.directory.file import SAMPLE
from tests.e2e.house import Chat, House, Person
from tests.e2e.traces import bytes_of, forms, found_in, rows_of
from tests.fakes.model_server import MODEL, Behaviour, ModelServer, calls, says, waits
from tests.fakes.web_server import Got, Received, Reply, WebServer, json_reply

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


@pytest.fixture
def house(tmp_path: Path, outside: Outside) -> Iterator[House]:
    """One that isn't started yet, where alice has a rare name."""
    (tmp_path / "tools").mkdir()
    tool = {
        "name": "get_ticket",
        "description": "A ticket of the service desk.",
        "parameters": {
            "type": "object",
            "properties": {"id": {"type": "string"}},
            "required": ["id"],
        },
        "endpoint": {"url": f"{outside.desk.origin}/tickets/{{id}}"},
        "retries": 0,
    }
    (tmp_path / "tools" / "get_ticket.json").write_text(json.dumps(tool))
    (tmp_path / "skills" / "ticket-helper").mkdir(parents=True)
    (tmp_path / "skills" / "ticket-helper" / "SKILL.md").write_text(SKILL)
    people = SAMPLE.read_text().replace("王丽 Alice", WORDS["the name of a person"])
    (tmp_path / "people.yaml").write_text(people)
    variables = {
        "ROUTER_HTTP_TOOLS": str(tmp_path / "tools"),
        "ROUTER_HTTP_ALLOW": json.dumps([outside.desk.origin]),
        "ROUTER_SKILLS": str(tmp_path / "skills"),
        "ROUTER_DIRECTORY": str(tmp_path / "people.yaml"),
        "ROUTER_LLM_BASE_URL": outside.models.url,
        "ROUTER_LLM_MODEL": MODEL,
        "ROUTER_EMBEDDER": "openai:scripted",
    }
    house = House(tmp_path / "data", variables=variables)
    yield house
    if house.process is not None and house.process.poll() is None:
        house.stop()


def asked_of(person: Person, run: str) -> str:
    """The approval of this run that waits for the person."""
    (approval,) = (a["id"] for a in person.approvals() if a["flow_run"] == run)
    return str(approval)


def done(answer: Any) -> Any:
    assert answer.status_code in {200, 202}, answer.text
    return answer.json()


def leave(chat: Chat, days: str) -> str:
    """A leave request that waits for its approver; its run."""
    turn = chat.say(f"我要请年假，{days}，{WORDS['the reason of a request']}")
    while turn["flow"]["status"] == "collecting":
        turn = chat.say(WORDS["the reason of a request"])
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
    run = leave(chat, "12月7日到8日")
    passed = {"to": "carol", "comment": WORDS["a comment on passing it on"]}
    done(bob.decide(asked_of(bob, run), "delegate", **passed))
    done(alice.post(f"/v1/flow-runs/{run}/nudge"))
    comment = WORDS["a comment on a decision"]
    done(carol.decide(asked_of(carol, run), "approve", comment=comment))
    chat.heard("批准")


def interventions(house: House) -> None:
    alice, frank, olga = (Person(house, name) for name in ("alice", "frank", "olga"))
    run = leave(alice.chat(), "12月14日到15日")
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
    reason = WORDS["the reason of a request"]
    wanted = {"items": [item], "reason": reason, "deliver_by": "2027-01-15"}
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


@pytest.mark.parametrize("key", [f"k1:{KEY}", pytest.param("", marks=pytest.mark.slow)])
def test_no_word_is_in_a_dump_where_a_key_is_set_and_every_one_where_none_is(
    house: House, outside: Outside, key: str
) -> None:
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


@pytest.mark.parametrize("word", [*WORDS.values()])
@pytest.mark.parametrize("before", ["", "x", "xy"])
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
