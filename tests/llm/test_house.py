"""The whole house with a real model behind it. Asserted is the plumbing, never wisdom."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from router.routing.decider import DecisionPolicy
from tests.e2e.house import Chat, House, Person
from tests.llm.answers import Journal, Recorded
from tests.llm.labels import Labelled
from tests.llm.local_model import LocalModel
from tests.llm.measure import desk

WAIT = 120
"""Seconds that a turn may take: a server reads a prompt for the first time very slowly."""

QUESTIONS = (
    "How many sick days do I have left?",
    "What is 12 * 12?",
    "Who is Gina's manager?",
    "Show me my expense claims",
)


@pytest.fixture(scope="module")
def house(small: LocalModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """`intent-router dev`, whose model is the small one."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ROUTER_LLM_BASE_URL", small.url)
        environment.setenv("ROUTER_LLM_MODEL", small.name)
        environment.delenv("ROUTER_LLM_FALLBACKS", raising=False)
        house = House(tmp_path_factory.mktemp("house") / "data").start()
        yield house
        assert house.stop() == 0


@pytest.fixture(scope="module")
def frank(house: House, small: LocalModel, tmp_path_factory: pytest.TempPathFactory) -> Person:
    """Somebody who writes English, once the server has read the prompt for the first time."""
    asyncio.run(warmed(small, tmp_path_factory.mktemp("warm")))
    frank = Person(house, "frank")
    frank.http.timeout = httpx.Timeout(WAIT + 30)
    return frank


async def warmed(small: LocalModel, data: Path) -> None:
    """Have the server read what it will be asked with: that takes longer than a turn may."""
    hello = Labelled(group="talk", lang="en", user="frank", text="Hello!", labels=[["reply"]])
    model = Recorded(small, "functions", Journal(data / f"{uuid4().hex}.jsonl"))
    async with desk(data) as asking:
        assert (await asking.ask(hello, model, DecisionPolicy())).answers


def said(chat: Chat, text: str) -> dict[str, Any]:
    response = chat.person.post(f"/v1/conversations/{chat.id}/messages?wait={WAIT}", {"text": text})
    assert response.status_code == 200, response.text
    turn: dict[str, Any] = response.json()
    return turn


def test_a_house_with_a_model_is_ready_and_says_which(house: House, small: LocalModel) -> None:
    ready = httpx.get(f"{house.url}/readyz").json()
    assert ready["status"] == "ready"
    assert small.url in ready["checks"]["llm"]["detail"]


def test_the_model_calls_a_tool_and_says_what_it_found(frank: Person) -> None:
    turns = (said(frank.chat(), question) for question in QUESTIONS)
    turn = next(turn for turn in turns if any(c["status"] == "done" for c in turn["tool_calls"]))
    assert (turn["route"]["kind"], turn["route"]["by"]) == ("tool", "llm")
    assert turn["usage"]["llm_calls"] >= 2
    assert turn["replies"][0]["text"].strip()


def test_what_the_turns_cost_is_counted_and_summed_up(frank: Person) -> None:
    chat = frank.chat()
    turns = [said(chat, text) for text in ("Good morning!", "Thank you!")]
    usage = frank.get(f"/v1/conversations/{chat.id}")["usage"]
    assert all(turn["usage"]["prompt_tokens"] > 0 for turn in turns)
    assert all(turn["usage"]["completion_tokens"] > 0 for turn in turns)
    assert usage == {
        key: sum(turn["usage"][key] for turn in turns) for key in usage if key != "model"
    }


def test_a_pattern_still_asks_no_model(frank: Person) -> None:
    turn = said(frank.chat(), "I want to apply for annual leave")
    assert (turn["route"]["by"], turn["usage"]["llm_calls"]) == ("pattern", 0)


@pytest.fixture
def mortal(small: LocalModel, tmp_path: Path) -> Iterator[LocalModel]:
    """The model's server, which a test may kill; it is back afterwards."""
    yield small
    if not small.is_running:
        small.start()
        asyncio.run(warmed(small, tmp_path))


def test_a_model_that_dies_leaves_the_turn_to_rules(frank: Person, mortal: LocalModel) -> None:
    chat = frank.chat()
    with ThreadPoolExecutor() as pool:
        before = begun(mortal)
        turn = pool.submit(said, chat, "How do I keep my plants alive?")
        await_begun(mortal, before)
        mortal.kill()
        without = turn.result()
    assert without["route"]["by"] != "llm"
    assert without["replies"]


def test_a_model_that_is_back_is_asked(frank: Person, mortal: LocalModel, tmp_path: Path) -> None:
    mortal.kill()
    chat = frank.chat()
    assert said(chat, "Hello?")["route"]["by"] != "llm"
    mortal.start()
    asyncio.run(warmed(mortal, tmp_path))
    assert any(said(chat, "Hello again!")["route"]["by"] == "llm" for _ in range(6))


def begun(model: LocalModel) -> int:
    """How many answers the server has begun, by its own log."""
    return model.log.read_text(errors="replace").count("processing task")


def await_begun(model: LocalModel, before: int) -> None:
    deadline = time.monotonic() + WAIT
    while begun(model) == before:
        assert time.monotonic() < deadline, "the model was never asked"
        time.sleep(0.01)
