"""AG-UI with everything real: a leave request from the first word to the decision."""

from datetime import datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest
from ag_ui.core import EventType
from httpx import AsyncClient

from router.extensions.ag_ui import routes
from tests.unit.extensions.ag_ui.client import FrontEnd, Told

WHOLE = "我要请年假，12月7日到8日，家里有事"


@pytest.fixture
def alice(api: AsyncClient) -> FrontEnd:
    return FrontEnd(api)


@pytest.fixture
def bob(api: AsyncClient) -> FrontEnd:
    return FrontEnd(api, "bob")


def only(told: Told) -> Any:
    (interrupt,) = told.interrupts
    return interrupt


def status_of(told: Told) -> str:
    return str(told.end.result["flow"]["status"])


async def handed_in(front_end: FrontEnd) -> str:
    """A leave request that waits for bob; its run."""
    told = await front_end.resume(only(await front_end.say(WHOLE)), {"approved": True})
    assert status_of(told) == "waiting_approval"
    return str(told.end.result["flow"]["id"])


async def refused(front_end: FrontEnd, interrupt: str) -> httpx.Response:
    """The answer to an approval of this interrupt."""
    entry = {"interruptId": interrupt, "status": "resolved", "payload": {"decision": "approve"}}
    return await front_end.refused(front_end.input(resume=[entry]))


async def awaited(approver: FrontEnd, run: str) -> Any:
    looked = await approver.run(approver.input())
    return next(i for i in looked.interrupts if i.metadata["intent-router"]["flow_run"] == run)


@pytest.mark.parametrize(
    ("user", "opening", "reason"),
    [
        ("alice", "我要请假", "家里有事"),
        pytest.param("frank", "I need to take leave", "family matters", marks=pytest.mark.slow),
    ],
)
async def test_a_leave_request_is_asked_confirmed_and_approved_by_interrupts(
    api: AsyncClient, bob: FrontEnd, user: str, opening: str, reason: str
) -> None:
    front_end = FrontEnd(api, user)
    choices = only(await front_end.say(opening))
    options = choices.response_schema["properties"]["value"]["oneOf"]
    assert (choices.reason, options[0]["const"]) == ("input_required", "annual")
    told = await front_end.resume(choices, {"value": "annual"})
    for day in ("2026-12-07", "2026-12-08"):
        form = only(told)
        (name,) = form.response_schema["required"]
        assert form.response_schema["properties"][name]["format"] == "date"
        told = await front_end.resume(form, {name: day})
    assert told.interrupts == []
    confirm = only(await front_end.say(reason))
    assert confirm.reason == "confirmation"
    told = await front_end.resume(confirm, {"approved": True})
    assert (status_of(told), told.end.outcome.type) == ("waiting_approval", "success")
    run = told.end.result["flow"]["id"]
    asked = await awaited(bob, run)
    decided = await bob.resume(asked, {"decision": "approve", "comment": "好"})
    assert asked.metadata["intent-router"]["requester"] == user
    assert [value["decision"] for value in decided.custom("approval")] == ["approve"]
    assert asked.id not in [interrupt.id for interrupt in decided.interrupts]


@pytest.mark.slow
async def test_who_looks_again_finds_state_and_question(alice: FrontEnd) -> None:
    told = await alice.say(WHOLE)
    (call,) = told.end.result["tool_calls"]
    assert told.one(EventType.TOOL_CALL_START).tool_call_name == call["name"]
    assert told.one(EventType.STATE_SNAPSHOT).snapshot["flow"] is None
    (change,) = told.one(EventType.STATE_DELTA).delta
    assert (change.path, change.value["status"]) == ("/flow", "confirming")
    again = await alice.run(alice.input())
    assert again.one(EventType.STATE_SNAPSHOT).snapshot["flow"] == change.value
    assert (only(again), again.end.result) == (only(told), None)


@pytest.mark.slow
async def test_an_answer_to_a_question_that_is_gone_changes_nothing(alice: FrontEnd) -> None:
    confirm = only(await alice.say(WHOLE))
    moved = only(await alice.say("不对，是到9日"))
    assert moved.id != confirm.id
    told = await alice.resume(confirm, {"approved": True})
    assert status_of(told) == "confirming"
    assert only(told).id == moved.id
    assert only(await alice.resume(confirm)).id == moved.id


@pytest.mark.slow
async def test_to_abandon_a_question_is_to_say_a_word_or_to_cancel(alice: FrontEnd) -> None:
    entry = {"interruptId": only(await alice.say(WHOLE)).id, "status": "cancelled"}
    told = await alice.say("不对，是到9日", resume=[entry])
    assert status_of(told) == "confirming"
    told = await alice.resume(only(told))
    assert (status_of(told), told.end.outcome.type) == ("cancelled", "success")


@pytest.mark.slow
async def test_an_interrupt_may_be_answered_in_words_by_resume_or_without(alice: FrontEnd) -> None:
    told = await alice.resume(only(await alice.say("我要请假")), "年假")
    assert told.end.result["flow"]["slots"]["leave_type"] == "annual"
    assert (await alice.say("12月7日到8日")).end.result["flow"]["slots"]["end"].endswith("-12-08")


@pytest.mark.slow
async def test_its_approver_alone_decides(api: AsyncClient, alice: FrontEnd, bob: FrontEnd) -> None:
    asked = await awaited(bob, await handed_in(alice))
    for other in (FrontEnd(api, user) for user in ("erin", "alice", "carol")):
        looked = await other.run(other.input())
        assert asked.id not in [i.id for i in looked.interrupts]
        assert (await refused(other, asked.id)).status_code == 404


@pytest.mark.slow
async def test_a_decision_is_repeated_by_its_own_run_alone(alice: FrontEnd, bob: FrontEnd) -> None:
    asked = await awaited(bob, await handed_in(alice))
    same = str(uuid4())
    reject: dict[str, Any] = {"decision": "reject", "comment": "太晚了"}
    first = await bob.resume(asked, reject, runId=same)
    again = await bob.resume(asked, reject, runId=same)
    assert first.custom("approval") == again.custom("approval")
    assert (await refused(bob, asked.id)).status_code == 409


@pytest.mark.slow
async def test_an_approval_is_bound_to_what_was_shown(alice: FrontEnd, bob: FrontEnd) -> None:
    asked = await awaited(bob, await handed_in(alice))
    forged = f"{asked.id.rpartition('/')[0]}/0123456789abcdef"
    assert (await refused(bob, forged)).status_code == 409
    assert (await awaited(bob, asked.metadata["intent-router"]["flow_run"])).id == asked.id


@pytest.mark.slow
async def test_an_approval_of_what_was_changed_says_what_is_different(
    alice: FrontEnd, bob: FrontEnd
) -> None:
    run = await handed_in(alice)
    assert "changes" not in (await awaited(bob, run)).metadata["intent-router"]
    await alice.resume(only(await alice.say("不对，是到9日")), {"approved": True})
    asked = await awaited(bob, run)
    until, days = asked.metadata["intent-router"]["changes"]
    assert (until["label"], days) == ("结束", {"label": "工作日天数", "before": "2", "now": "3"})
    assert "8日" in until["before"]
    assert "和上次相比改了：\n- 结束" in asked.message


@pytest.mark.slow
async def test_a_full_inbox_says_how_many_more_wait(
    alice: FrontEnd, bob: FrontEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MOST_APPROVALS", 1)
    await handed_in(alice)
    await handed_in(FrontEnd(alice.http))
    looked = await bob.run(bob.input())
    (warning,) = looked.custom("warning")
    assert len(looked.interrupts) == 1
    assert "more approvals wait" in warning


@pytest.mark.slow
async def test_an_approval_left_alone_waits_on(alice: FrontEnd, bob: FrontEnd) -> None:
    asked = await awaited(bob, await handed_in(alice))
    left = await bob.resume(asked)
    elsewhere = await bob.run(bob.input(forwardedProps={"approvals": False}))
    looked = await bob.run(bob.input())
    assert asked.id not in [i.id for i in left.interrupts]
    assert elsewhere.interrupts == []
    assert asked.id in [i.id for i in looked.interrupts]


@pytest.mark.slow
async def test_an_approval_that_is_past_its_day_is_refused(
    alice: FrontEnd, bob: FrontEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await awaited(bob, await handed_in(alice))
    assert asked.expires_at is not None

    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return datetime.fromisoformat(str(asked.expires_at)).astimezone(tz)

    monkeypatch.setattr("router.extensions.ag_ui.input.datetime", Later)
    assert (await refused(bob, asked.id)).status_code == 409


@pytest.mark.slow
async def test_what_the_router_offers_may_be_taken_or_left(alice: FrontEnd) -> None:
    offer = only(await alice.say("我要请假还是报销？"))
    values = [o["const"] for o in offer.response_schema["properties"]["value"]["oneOf"]]
    assert {"leave_request", "reimbursement"} <= set(values)
    assert only(await alice.run(alice.input())) == offer
    assert (await alice.resume(offer)).interrupts == []
    offer = only(await alice.say("我要请假还是报销？"))
    taken = await alice.resume(offer, {"value": "reimbursement"})
    assert taken.end.result["flow"]["name"] == "reimbursement"
