"""Condensing over HTTP, with the usual model."""

import asyncio

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.models import Models
from activities.think import Condenser
from router.contracts.activities import Account, Condense, Condensed
from router.domain.budgets import Budget, Budgets
from router.domain.locale import Locale
from router.domain.principals import Principal
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChain
from router.llm.types import UserMessage
from router.routing.prompts import Prompts
from tests.fakes.model_server import Behaviour, ModelServer, fails, says
from tests.table import each_row
from tests.unit.activities.test_asking import NOW
from tests.waiting import HANGS_AFTER_S

ALICE = Principal(id="alice", name="Alice")


def given(locale: Locale = "en") -> Condense:
    account = Account(caller=ALICE, now=NOW, conversation="c1", message_id="m1")
    gone = [UserMessage(text="The employee says meanwhile: by train")]
    return Condense(earlier="Wants to go.", gone=gone, locale=locale, account=account)


async def condensed(
    server: ModelServer, what: Condense, budgets: Budgets | None = None
) -> Condensed:
    model = ChatModel(server.url, "small")
    condenser = Condenser(FallbackChain([model]), Prompts.load(), Models(budgets or Budgets()))
    try:
        return await ActivityEnvironment().run(condenser.condense, what)
    finally:
        await model.aclose()


@each_row(("locale", "rules"), [("en", "You keep the notes"), ("zh", "你替他做笔记")])
async def test_a_model_makes_one_note_in_the_employees_language(locale: Locale, rules: str) -> None:
    async with ModelServer([says(" By train. ")]) as server:
        told = await condensed(server, given(locale))
        (chat,) = server.chats
    system, asked = chat["messages"]
    assert (told.text, told.usage.llm_calls) == ("By train.", 1)
    assert rules in system["content"]
    assert "by train" in asked["content"]
    assert "tools" not in chat
    assert not chat.get("stream")


@each_row(
    ("behaviour", "type_"),
    [(says(" \x00 "), "Silence"), (fails(400), "NoModelAnswered"), (fails(401), "NoModelAnswered")],
)
async def test_where_no_model_writes_nobody_tries_again(behaviour: Behaviour, type_: str) -> None:
    async with ModelServer([behaviour]) as server:
        with pytest.raises(ApplicationError) as failure:
            await condensed(server, given())
    assert (failure.value.type, failure.value.non_retryable) == (type_, True)


async def test_a_spent_budget_asks_no_model() -> None:
    async with ModelServer([]) as server:
        with pytest.raises(ApplicationError, match="budget of the turn") as failure:
            await condensed(server, given(), Budgets(turn=Budget(calls=0)))
    assert (failure.value.non_retryable, server.chats) == (True, [])


async def test_without_any_model_it_fails_at_once() -> None:
    condenser = Condenser(None, Prompts.load(), Models())
    async with asyncio.timeout(HANGS_AFTER_S):
        with pytest.raises(ApplicationError, match="none is configured") as failure:
            await ActivityEnvironment().run(condenser.condense, given())
    assert failure.value.non_retryable
