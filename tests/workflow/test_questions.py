"""Buttons of earlier questions: the real flow, on a real server."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from temporalio.client import Client

from router.domain.messages import ChoicesReply, ConfirmAction, ConfirmReply, Message
from router.runtime.composition import Parts
from router.tool.tool import tool
from tests.workflow.desk import Talk, flow_of
from tests.workflow.tooled import chosen, talking

paid: list[float] = []


@tool(permission="write", title={"zh": "付款", "en": "Pay"})
async def pay(amount: float) -> float:
    """Pay an amount."""
    paid.append(amount)
    return amount


@pytest.fixture
async def talk(real_client: Client, parts: Parts) -> AsyncIterator[Talk]:
    paid.clear()
    async with talking(real_client, parts, [pay]) as talk:
        yield talk


def card_of(turn: Any) -> ConfirmReply:
    card = turn.replies[-1]
    assert isinstance(card, ConfirmReply)
    return card


def yes(card: ConfirmReply) -> Message:
    return Message(action=ConfirmAction(type="confirm", value=True, question=card.question))


@pytest.mark.slow
async def test_an_old_card_confirms_nothing_and_shows_the_present_one(talk: Talk) -> None:
    old = card_of(await chosen(talk, "pay", "58"))
    new = card_of(await talk.say("amount改成5800"))
    assert old.question not in (None, new.question)
    refused = await talk.send(yes(old))
    assert (paid, refused.replies[0].text[:9]) == ([], "刚才的问题已经变了")
    assert card_of(refused) == new
    assert (await talk.status()).pending_confirmation == new.model_dump(mode="json")
    await talk.send(yes(new))
    assert paid == [5800]


@pytest.mark.slow
async def test_a_card_of_a_run_that_is_over_does_nothing_more(talk: Talk) -> None:
    card = card_of(await chosen(talk, "pay", "58"))
    first = await talk.send(yes(card))
    again = await talk.send(yes(card))
    assert paid == [58]
    assert (again.replies, again.flow) == (first.replies, first.flow)


@pytest.mark.slow
async def test_a_card_of_one_run_is_none_of_another_that_looks_the_same(talk: Talk) -> None:
    first = card_of(await chosen(talk, "pay", "58"))
    await talk.say("取消")
    second = card_of(await chosen(talk, "pay", "58"))
    refused = await talk.send(yes(first))
    assert first.summary == second.summary
    assert (paid, card_of(refused)) == ([], second)


async def test_an_offer_that_is_still_open_is_chosen_by_its_question(talk: Talk) -> None:
    offer = (await talk.say("帮我办一下")).replies[-1]
    assert isinstance(offer, ChoicesReply)
    assert flow_of(await talk.press("choose", value="pay", question=offer.question)).name == "pay"


async def test_a_tool_is_started_by_name_and_still_asks_first(talk: Talk) -> None:
    turn = await talk.press("start", flow="pay", slots={"amount": "58"})
    assert (turn.route.by, paid) == ("action", [])
    assert flow_of(turn).slots == {"amount": 58}
    await talk.send(yes(card_of(turn)))
    assert paid == [58]


async def test_what_a_slot_can_not_hold_is_said_and_asked_for(talk: Talk) -> None:
    turn = await talk.press("start", flow="pay", slots={"amount": {"deep": []}})
    assert turn.replies[0].text == "请给一个数字。"
    assert (flow_of(turn).awaiting, flow_of(turn).slots) == (["amount"], {})
