"""A run is never cut off in the middle of a thought: its last step is announced before each bound.

The model here never comes to an end by itself: it calls, retries and plans anew as often as it may,
and answers only when it is told that this is its last step.
"""

import asyncio
import json
from datetime import datetime
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from router.domain.budgets import Budget, Budgets
from router.domain.messages import Turn
from router.routing.skill_step import LAST_STEP
from router.runtime.composition import Parts
from router.skill.skill import Skill
from router.tool.tool import tool
from tests.fakes.model_server import Behaviour, ModelServer, calls, counts, drawn, hangs, says
from tests.fakes.web_server import Received, Reply
from tests.workflow.desk import person, texts
from tests.workflow.skill_histories import replays
from tests.workflow.tooled import Tooled, skill
from tests.workflow.trip import clear, wait_long

ANSWER = "G1 正好。"
DAILY = ("user", "tenant", "day")


@tool(permission="read", per_minute=None, title={"zh": "车次", "en": "Trains"})
async def find(city: str) -> str:
    """A train to a city."""
    return f"G1 to {city}"


class Restless:
    """A server's model that counts `dear` times as many tokens as there may well be."""

    def __init__(self, dear: float = 1.0, tool: str = "find") -> None:
        self.dear, self.tool = dear, tool
        self.told: list[str] = []
        self.numbers = count()

    def __call__(self, received: Received) -> Reply:
        """Goes on, unless this is the last step."""
        written = json.dumps(received.body, ensure_ascii=False)
        self.told.append(written)
        return counts(self._next(received.body), self.dear * len(written) / 4)(received)

    def _next(self, body: dict[str, Any]) -> Behaviour:
        offered = {tool["function"]["name"] for tool in body.get("tools", [])}
        if "dispatch_to_skill" in offered:
            chosen = {"skill_name": "trip-helper", "request": "计划去上海"}
            return calls(("dispatch_to_skill", chosen))
        if LAST_STEP in str(body["messages"][-1]["content"]):
            return says(ANSWER)
        if "plan" in offered:
            return drawn(*((f"s{next(self.numbers)}", f"Look {n}") for n in range(3)))
        if "retry" in offered:
            (retry,) = [t["function"] for t in body["tools"] if t["function"]["name"] == "retry"]
            step = retry["parameters"]["properties"]["step"]["enum"][0]
            return calls(("retry", {"step": step, "why": "better"}))
        if "replan" in offered:
            return calls(("replan", {"why": "better"}))
        argument = {"city": str(next(self.numbers))} if self.tool == "find" else {"number": 1}
        return calls((self.tool, argument))


def helper(**more: Any) -> Skill:
    allowed = frozenset({"find", "wait_long"})
    bounds = {"max_turns": 40, "token_budget": 500_000, **more}
    return skill("trip-helper", "行程助手", "Trip helper", allowed_tools=allowed, **bounds)


@pytest.fixture(autouse=True)
def nothing_made_yet() -> None:
    clear()


async def asked(
    tooled: Tooled, model: Behaviour, one: Skill, seconds: float = 60.0, **settings: Any
) -> Turn:
    async with (
        ModelServer(model) as server,
        tooled([find, wait_long], server, [one], **settings) as talk,
    ):
        turn = await talk.say("帮我安排去上海", seconds=seconds)
        await replays(talk)
        return turn


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["react", "plan"])
@pytest.mark.parametrize("turns", [1, 2, 7])
async def test_turns(tooled: Tooled, mode: str, turns: int) -> None:
    turn = await asked(tooled, Restless(), helper(max_turns=turns, mode=mode))
    assert texts(turn) == [ANSWER]
    assert turn.usage.llm_calls <= turns + 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["react", "plan"])
@pytest.mark.parametrize("tokens", [1000, 4000])
@pytest.mark.parametrize("dear", [0.7, 2.0])
async def test_tokens(tooled: Tooled, mode: str, tokens: int, dear: float) -> None:
    turn = await asked(tooled, Restless(dear), helper(token_budget=tokens, mode=mode))
    assert texts(turn) == [ANSWER]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["react", "plan"])
@pytest.mark.parametrize("questions", [2, 3, 5, 9])
async def test_the_calls_of_a_turns_budget(tooled: Tooled, mode: str, questions: int) -> None:
    budgets = Budgets(turn=Budget(calls=questions))
    turn = await asked(tooled, Restless(), helper(mode=mode), llm_budgets=budgets)
    assert texts(turn) == [ANSWER]
    assert turn.usage.llm_calls <= questions


async def more(parts: Parts, scope: str, **limits: int) -> Budgets:
    """Budgets of which so much is left today."""
    alice = await person(parts, "alice")
    today = datetime.now(ZoneInfo(alice.timezone)).date()
    spent = await parts.store.spending.of_day(alice.tenant, alice.id, today)
    gone = {"calls": getattr(spent, scope).llm_calls, "tokens": getattr(spent, scope).tokens}
    limit = Budget(**{what: gone[what] + most for what, most in limits.items()})
    return Budgets.model_validate({scope: limit})


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["react", "plan"])
@pytest.mark.parametrize("tokens", [5000, 11_000])
async def test_the_tokens_of_a_turns_budget(tooled: Tooled, mode: str, tokens: int) -> None:
    budgets = Budgets(turn=Budget(tokens=tokens))
    turn = await asked(tooled, Restless(), helper(mode=mode), llm_budgets=budgets)
    assert texts(turn) == [ANSWER]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["react", "plan"])
@pytest.mark.parametrize("scope", DAILY)
async def test_the_tokens_of_a_days_budget(
    tooled: Tooled, parts: Parts, mode: str, scope: str
) -> None:
    budgets = await more(parts, scope, tokens=11_000)
    turn = await asked(tooled, Restless(), helper(mode=mode), llm_budgets=budgets)
    assert texts(turn) == [ANSWER]


@pytest.mark.slow
@pytest.mark.parametrize("scope", DAILY)
async def test_the_calls_of_a_days_budget(tooled: Tooled, parts: Parts, scope: str) -> None:
    budgets = await more(parts, scope, calls=5)
    assert texts(await asked(tooled, Restless(), helper(), llm_budgets=budgets)) == [ANSWER]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["react", "plan"])
async def test_seconds(tooled: Tooled, mode: str) -> None:
    turn = await asked(tooled, Restless(), helper(max_turns=60, mode=mode), seconds=9.5)
    assert texts(turn) == [ANSWER]


async def test_a_tool_that_takes_too_long_leaves_time_for_an_answer(tooled: Tooled) -> None:
    restless = Restless(tool="wait_long")
    turn = await asked(tooled, restless, helper(), seconds=10.0)
    assert texts(turn) == [ANSWER]
    (call,) = turn.tool_calls
    assert (call.name, call.status) == ("wait_long", "failed")
    assert "there was no time left" in restless.told[-1] or "剩下的时间不够" in restless.told[-1]


async def test_a_model_that_says_nothing_is_asked_once_more_for_an_answer(tooled: Tooled) -> None:
    restless, silent = Restless(), asyncio.Event()

    def silent_at_first(received: Received) -> Reply:
        reply = restless(received)
        return hangs(silent)(received) if len(restless.told) == 2 else reply

    turn = await asked(tooled, silent_at_first, helper(), seconds=10.0)
    silent.set()
    assert texts(turn) == [ANSWER]
