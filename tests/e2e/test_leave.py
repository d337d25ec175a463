"""The main job, as the people in it see it."""

import json

import pytest

from tests.e2e.house import Chat, House, Person

pytestmark = pytest.mark.xdist_group("dev")


def balance(house: House, user: str, kind: str = "annual") -> float:
    done = house.command(
        "tools", "call", "get_leave_balance", json.dumps({"leave_type": kind}), "--user", user
    )
    assert done.returncode == 0, done.stderr
    return float(json.loads(done.stdout)["days"])


def answer_all(chat: Chat, opening: str, answers: dict[str, str]) -> dict:  # type: ignore[type-arg]
    """Say the opening and answer what is asked until it is to be confirmed."""
    turn = chat.say(opening)
    while turn["flow"]["status"] == "collecting":
        (asked,) = turn["flow"]["awaiting"]
        turn = chat.say(answers[asked.split(".")[-1]])
    return turn


def waiting_for(person: Person, run: str) -> dict:  # type: ignore[type-arg]
    return next(a for a in person.approvals() if a["flow_run"] == run)


def test_alice_asks_in_chinese_bob_approves_and_her_balance_is_less(
    house: House, alice: Person, bob: Person
) -> None:
    before = balance(house, "alice")
    chat = alice.chat()
    turn = chat.say("我要请假")
    assert turn["route"]["kind"] == "flow"
    assert turn["route"]["by"] == "pattern"
    assert turn["route"]["target"] == "leave_request"
    assert turn["usage"]["llm_calls"] == 0
    assert turn["flow"]["awaiting"] == ["leave_type"]
    (choices,) = turn["replies"]
    assert {"label": "年假", "value": "annual"} in choices["options"]
    turn = chat.act("choose", "annual")
    assert turn["route"]["by"] == "action"
    turn = chat.say("2026-12-07")
    turn = chat.say("12月9日")
    turn = chat.say("家里有事")
    assert turn["flow"]["status"] == "confirming"
    assert turn["replies"][-1]["type"] == "confirm"
    assert turn["replies"][-1]["summary"]
    turn = chat.say("好的")
    assert turn["flow"]["status"] == "waiting_approval"
    run = turn["flow"]["id"]
    approval = waiting_for(bob, run)
    assert approval["requester"] == "alice"
    assert bob.decide(approval["id"], "approve").status_code == 200
    assert bob.decide(approval["id"], "approve").status_code == 409
    chat.heard("批准")
    assert balance(house, "alice") == before - 3
    shown = alice.run(run)
    assert shown["status"] == "completed"
    assert shown["history"][0]["event"] == "began"
    assert "approve" in [line["event"] for line in shown["history"]]
    assert shown["temporal"]["workflow_id"].startswith("leave_request/default/")


def test_the_same_in_english_as_frank(house: House, frank: Person, bob: Person) -> None:
    before = balance(house, "frank")
    chat = frank.chat()
    turn = answer_all(
        chat,
        "I'd like to apply for annual leave",
        {"start": "December 14", "end": "December 15", "reason": "moving house"},
    )
    turn = chat.say("yes")
    run = turn["flow"]["id"]
    assert bob.decide(waiting_for(bob, run)["id"], "approve").status_code == 200
    chat.heard("approved")
    assert balance(house, "frank") == before - 2


def test_more_than_three_working_days_need_the_director_too(
    alice: Person, bob: Person, house: House
) -> None:
    carol = Person(house, "carol")
    chat = alice.chat()
    answers = {"leave_type": "事假", "start": "12月21日", "end": "12月25日", "reason": "装修"}
    answer_all(chat, "帮我请假", answers)
    run = chat.act("confirm", True)["flow"]["id"]
    assert bob.decide(waiting_for(bob, run)["id"], "approve").status_code == 200
    assert alice.run(run)["status"] == "waiting_approval"
    assert carol.decide(waiting_for(carol, run)["id"], "approve").status_code == 200
    chat.heard("批准")
    assert alice.run(run)["status"] == "completed"


def test_a_rejection_reaches_the_requester_with_its_comment(alice: Person, bob: Person) -> None:
    chat = alice.chat()
    answer_all(chat, "我要请病假，12月28日到29日，去复查", {})
    run = chat.say("确认")["flow"]["id"]
    bob.decide(waiting_for(bob, run)["id"], "reject", comment="请先交接")
    chat.heard("请先交接")
    assert alice.run(run)["status"] == "rejected"


def test_a_claim_of_twelve_thousand_goes_through_manager_finance_and_director(
    house: House, alice: Person, bob: Person
) -> None:
    chat = alice.chat()
    turn = answer_all(
        chat,
        "我要报销",
        {
            "category": "酒店",
            "amount": "12000元",
            "date": "2026-11-16",
            "invoice": "INV-12000",
            "items": "没有了",
            "reason": "上海出差",
        },
    )
    assert turn["flow"]["status"] == "confirming"
    run = chat.say("确认")["flow"]["id"]
    for name in ("bob", "erin", "carol"):
        approver = Person(house, name)
        assert approver.decide(waiting_for(approver, run)["id"], "approve").status_code == 200
    chat.heard("批准")
    assert alice.run(run)["status"] == "completed"
    again = alice.chat()
    turn = again.say("我要报销")
    for text in ("酒店", "300元", "2026-11-16", "INV-12000"):
        turn = again.say(text)
    assert turn["flow"]["awaiting"] == ["items.0.invoice"]


def test_someone_elses_things_are_not_there(alice: Person, house: House) -> None:
    chat = alice.chat()
    gina = Person(house, "gina")
    assert gina.http.get(f"/v1/conversations/{chat.id}").status_code == 404
    turn = chat.say("我要请假")
    assert gina.http.get(f"/v1/flow-runs/{turn['flow']['id']}").status_code == 404


def test_the_same_message_id_is_answered_once(alice: Person) -> None:
    chat = alice.chat()
    first = chat.say("我要请假", message_id="m1")
    assert chat.say("我要请假", message_id="m1") == first
    other = chat.send({"text": "我要报销", "message_id": "m1"})
    assert other.status_code == 422
    assert chat.say("年假")["turn"] == 2


def test_what_nothing_matches_gets_an_honest_list_of_choices(alice: Person) -> None:
    chat = alice.chat()
    turn = chat.say("今天天气如何")
    assert turn["route"]["kind"] == "clarify"
    assert turn["route"]["by"] in ("fallback", "retrieval")
    values = [o["value"] for o in turn["replies"][0]["options"]]
    assert "leave_request" in values
    assert chat.act("choose", "leave_request")["flow"]["name"] == "leave_request"
