"""What a conversation cost, checked by hand for each provider, and budgets in money."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from temporalio.client import Client

from router.domain.budgets import Budget, Budgets
from router.domain.messages import Usage
from router.domain.periods import Period
from router.llm.client import ChatModel
from router.llm.fallback import FallbackChains
from router.llm.prices import Prices
from router.runtime.composition import Parts
from tests.fakes.provider_rules import strictly
from tests.fakes.providers import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    RESPONSES,
    ProviderServer,
    Said,
    Tokens,
)
from tests.table import each_row
from tests.workflow.desk import texts
from tests.workflow.tooled import working

FIRST = Tokens(prompt=2_000, completion=80, cached=0, written=1_500, reasoning=50)
SECOND = Tokens(prompt=2_200, completion=40, cached=1_500, written=600, reasoning=0)
CALLS = (("get_leave_balance", {"leave_type": "annual"}),)
MILLION = Decimal(1_000_000)
BY_HAND = {
    # Nothing is said of what is written: 2000 fresh, then 700 fresh and 1500 cached; 120 written.
    "gpt-4.1-mini": (
        CHAT,
        replace(FIRST, written=0),
        replace(SECOND, written=0),
        (2_700 * Decimal("0.40") + 1_500 * Decimal("0.10") + 120 * Decimal("1.60")) / MILLION,
    ),
    # 500 fresh and 1500 written; then 100 fresh, 1500 cached and 600 written; 120 answered.
    "gpt-6-sol": (
        RESPONSES,
        FIRST,
        SECOND,
        (600 * 2 + 1_500 * Decimal("0.20") + 2_100 * Decimal("2.50") + 120 * 10) / MILLION,
    ),
    "claude-haiku-4-5": (
        ANTHROPIC,
        FIRST,
        SECOND,
        (600 * 1 + 1_500 * Decimal("0.10") + 2_100 * Decimal("1.25") + 120 * 5) / MILLION,
    ),
    "gemini-2.5-flash": (
        GEMINI,
        replace(FIRST, written=0),
        replace(SECOND, written=0),
        (2_700 * Decimal("0.30") + 1_500 * Decimal("0.03") + 120 * Decimal("2.50")) / MILLION,
    ),
}


@each_row("name", BY_HAND)
async def test_a_conversation_costs_what_one_works_out_by_hand(
    real_client: Client, parts: Parts, name: str
) -> None:
    dialect, first, second, by_hand = BY_HAND[name]
    script = [
        Said(calls=CALLS, thoughts=("查一下余额",), tokens=first),
        Said("还有 365 天。", tokens=second),
    ]
    told = [strictly(dialect, dialect.says(said)) for said in script]
    async with ProviderServer(dialect, told) as server:
        chat = ChatModel(server.url, name, "k", spoken=dialect.name)
        chat.price = Prices.load().of(name)
        house = replace(parts, chains=FallbackChains([chat]))
        async with working(real_client, house, [server]) as talk:
            turn = await talk.say("我的年假还有多少来着呗")
            caller = talk.person
        await chat.aclose()
    assert texts(turn) == ["还有 365 天。"]
    assert turn.usage.cost is not None
    assert (turn.usage.cost.amount, turn.usage.cost.currency) == (by_hand, "USD")
    assert turn.usage.model_dump(exclude={"cost"}) == {
        "llm_calls": 2,
        "prompt_tokens": 4_200,
        "completion_tokens": 120,
        "cached_tokens": 1_500,
        "cache_write_tokens": first.written + second.written,
        "reasoning_tokens": 50,
        "priced_calls": 2,
        "model": name,
    }
    today = datetime.now(ZoneInfo(caller.timezone)).date()
    period = Period(today, today, ZoneInfo(caller.timezone))
    lines = await parts.store.spending.lines(
        caller.tenant, period, ["person", "model", "role"], "USD"
    )
    spent = [line for line in lines if line.model == name]
    assert {line.role for line in spent} == {"router"}
    assert sum(Decimal(line.cost or 0) for line in spent) == by_hand
    assert sum(line.calls for line in spent) == 2


NOTICES = {
    ("turn", "zh"): "这句话能用的模型额度用完了",
    ("turn", "en"): "This message has used up what one may spend",
    ("user", "zh"): "你今天的模型额度用完了",
    ("user", "en"): "Your model budget for today is spent",
    ("day", "zh"): "今天大家的模型额度用完了",
    ("day", "en"): "Everybody's model budget for today is spent",
}
ASKS = {"zh": "我的年假还有多少来着呗", "en": "erm how much of my annual leave might be left"}


@each_row(("scope", "locale"), NOTICES, ids="-".join)
async def test_a_budget_in_money_that_is_spent_is_said_and_rules_go_on(
    real_client: Client, parts: Parts, scope: str, locale: str
) -> None:
    budgets = Budgets.model_validate({scope: Budget(cost=Decimal("0.0000001"))})
    async with ProviderServer(CHAT, []) as server:
        chat = ChatModel(server.url, "gpt-4.1-mini", "k")
        chat.price = Prices.load().of("gpt-4.1-mini")
        settings = parts.settings.model_copy(update={"llm_budgets": budgets})
        house = replace(parts, chains=FallbackChains([chat]), settings=settings)
        async with working(real_client, house, [server]) as talk:
            turn = await talk.say(ASKS[locale])
        await chat.aclose()
        assert server.chats == []
    assert texts(turn)[0].startswith(NOTICES[scope, locale])
    assert turn.usage == Usage()
