"""A request that waits for approval is changed: over REST and in words, against who decides."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx
import pytest
from temporalio.client import Client

from company.people.people import human_resources
from company.people.records import Owner
from router.domain.messages import ConfirmReply, Message, StartAction
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts
from tests.workflow.desk import QUEUE, Talk, flow_of, person, run_of, words

REQUEST = "我要请年假，12月7日到8日，家里有事"


@dataclass
class Desk:
    """Alice's request that waits for bob, and everybody's way to the API."""

    talk: Talk
    http: httpx.AsyncClient
    run: str

    async def call(self, who: str, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {who}", **more.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **more)

    async def amend(self, who: str = "alice", key: str = "", **slots: Any) -> httpx.Response:
        path, headers = f"/v1/flow-runs/{self.run}/amendments", {}
        if key:
            headers = {"Idempotency-Key": key}
        return await self.call(who, "POST", path, json={"slots": slots}, headers=headers)

    async def cards(self, who: str = "bob") -> list[dict[str, Any]]:
        page = (await self.call(who, "GET", "/v1/approvals?limit=200")).json()
        return [item for item in page["items"] if item["flow_run"] == self.run]

    async def decide(self, card: dict[str, Any], decision: str = "approve") -> httpx.Response:
        body = {"decision": decision, "digest": card["digest"]}
        return await self.call("bob", "POST", f"/v1/approvals/{card['id']}/decision", json=body)

    async def shown(self) -> dict[str, Any]:
        return dict((await self.call("alice", "GET", f"/v1/flow-runs/{self.run}")).json())


@pytest.fixture
async def desk(real_client: Client, parts: Parts, api: httpx.AsyncClient) -> AsyncIterator[Desk]:
    people = await parts.dependencies.resolve(human_resources)
    alice = Owner(tenant=DEFAULT_TENANT, person="alice")
    await people.leave.entitle(alice, "annual", 2026, Decimal(365))
    talk = Talk(real_client, parts, await person(parts, "alice"), queue=QUEUE)
    await talk.open()
    run = await talk.waiting_leave(REQUEST)
    yield Desk(talk, api, run)
    await Desk(talk, api, run).call("alice", "POST", f"/v1/flow-runs/{run}/withdraw", json={})


@pytest.mark.slow
async def test_a_front_end_changes_what_waits_and_the_approver_sees_the_difference(
    desk: Desk,
) -> None:
    (old,) = await desk.cards()
    assert (await desk.shown())["can_be_changed"] is True
    answer = await desk.amend(end="2026-12-09")
    assert (answer.status_code, answer.json()["status"]) == (200, "waiting_approval"), answer.text
    (new,) = await desk.cards()
    assert new["digest"] != old["digest"]
    different = {change["label"]: (change["before"], change["now"]) for change in new["changes"]}
    assert different["工作日天数"] == ("2", "3")
    assert "9日" in different["结束"][1]
    late = await desk.decide(old)
    assert late.status_code == 409
    assert "申请人改了这份申请" in late.json()["detail"]
    assert "工作日天数: 2 → 3" in late.json()["detail"]
    assert (await desk.decide(new)).json()["flow_run"]["status"] in ("running", "completed")
    shown = await desk.shown()
    assert shown["slots"]["end"] == "2026-12-09"
    assert [line["event"] for line in shown["history"]].count("changed") == 1
    assert shown["can_be_changed"] is False


@pytest.mark.slow
async def test_the_same_key_changes_once_and_another_person_changes_nothing(desk: Desk) -> None:
    key = uuid4().hex
    first = await desk.amend(key=key, end="2026-12-09")
    assert (await desk.amend(key=key, end="2026-12-09")).json() == first.json()
    assert (await desk.amend(key=key, end="2026-12-10")).status_code == 422
    for who, status in (("bob", 403), ("gina", 404), ("olga", 403)):
        assert (await desk.amend(who, end="2026-12-10")).status_code == status
    history = (await desk.shown())["history"]
    assert [line["event"] for line in history].count("changed") == 1


HOSTILE: dict[str, tuple[dict[str, Any], int, str]] = {
    "a day before its start": ({"end": "2026-12-01"}, 422, "slots.end"),
    "no day": ({"end": "soon"}, 422, "slots.end"),
    "nothing for what is needed": ({"end": None}, 422, "slots.end"),
    "what is looked up": ({"days": 9}, 422, "slots.days"),
    "a slot that there isn't": ({"boss": "me"}, 422, "slots.boss"),
    "a path that there isn't": ({"items.0.amount": 1}, 422, "slots.items.0.amount"),
    "another's file": ({"sick_note": "0" * 24}, 422, "slots.sick_note"),
    "a control character": ({"reason": "a\x00"}, 422, "slots.reason"),
    "what it is": ({"end": "2026-12-08"}, 409, ""),
    "nothing": ({}, 409, ""),
}


@pytest.mark.slow
@pytest.mark.parametrize(("slots", "status", "field"), HOSTILE.values(), ids=HOSTILE)
async def test_a_change_that_cannot_be_is_told_and_changes_nothing(
    desk: Desk, slots: dict[str, Any], status: int, field: str
) -> None:
    (card,), before = await desk.cards(), await desk.shown()
    answer = await desk.amend(**slots)
    assert answer.status_code == status, answer.text
    assert field in str(answer.json().get("errors", "")), answer.text
    assert await desk.cards() == [card]
    assert await desk.shown() == before


@pytest.mark.slow
async def test_said_in_words_it_is_asked_about_and_a_decision_before_the_yes_wins(
    desk: Desk,
) -> None:
    turn = await desk.talk.say("不对，是到9日")
    asked = turn.replies[-1]
    assert isinstance(asked, ConfirmReply)
    assert "需要重新审批" in asked.text
    assert (turn.route.kind, turn.route.target) == ("flow", "leave_request")
    (card,) = await desk.cards()
    assert (await desk.decide(card)).status_code == 200
    late = await desk.talk.press("confirm", value=True, question=asked.question)
    assert "没有再改动什么" in words(late)
    said = "\n".join(await desk.talk.texts())
    assert "没有生效" in said
    assert (await run_of(desk.talk.parts, desk.run)).slots["end"] == "2026-12-08"


@pytest.mark.slow
async def test_a_yes_in_words_makes_it_and_a_second_change_is_another(desk: Desk) -> None:
    for day in ("9", "10"):
        await desk.talk.say(f"结束日期改成12月{day}日")
        turn = await desk.talk.say("确认")
        assert flow_of(turn).status == "waiting_approval", turn
        assert "已提交给" in words(turn)
    (card,) = await desk.cards()
    assert (await desk.decide(card)).status_code == 200
    assert (await run_of(desk.talk.parts, desk.run)).slots["end"] == "2026-12-10"


@pytest.mark.slow
async def test_what_is_over_is_not_changed(desk: Desk) -> None:
    (card,) = await desk.cards()
    await desk.decide(card, "reject")
    answer = await desk.amend(end="2026-12-09")
    assert answer.status_code == 409
    assert "amend" not in answer.json()["detail"]


async def test_a_claim_is_no_hindrance_to_its_own_change(
    real_client: Client, parts: Parts, api: httpx.AsyncClient
) -> None:
    """Its invoice is claimed, by itself: another amount is no second claim of it."""
    talk = Talk(real_client, parts, await person(parts, "alice"), queue=QUEUE)
    invoice = uuid4().hex[:8]
    spent = {"category": "meal", "date": "2026-11-17", "invoice": f"INV-{int(invoice, 16)}"}
    items = [{**spent, "amount": {"amount": "88.00", "currency": "CNY"}}]
    slots = {"items": items, "reason": "招待客户"}
    await (await talk.open()).send(
        Message(action=StartAction(type="start", flow="reimbursement", slots=slots))
    )
    turn = await talk.say("确认")
    assert flow_of(turn).status == "waiting_approval", words(turn)
    desk = Desk(talk, api, flow_of(turn).id)

    changed = await desk.amend(**{"items.0.amount": "98.00"})

    assert (changed.status_code, changed.json()["status"]) == (200, "waiting_approval"), (
        changed.text
    )
    (card,) = await desk.cards()
    assert "98.00" in str(card["changes"])
    assert (await desk.decide(card)).status_code == 200
    people = await parts.dependencies.resolve(human_resources)
    mine = await people.claims.of(Owner(tenant=DEFAULT_TENANT, person="alice"))
    standing = {claim.status for claim in mine if claim.items[0].invoice == items[0]["invoice"]}
    assert standing == {"settled", "withdrawn"}
