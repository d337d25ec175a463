"""One question answered twice by the same person, as from two browsers, over HTTP.

The first answer counts. What says the same is answered as it was, and what says the opposite hears
which one counts.
"""

import asyncio
from typing import Any

import pytest
from httpx import AsyncClient

from router.domain.locale import Locale
from router.runtime.composition import Parts
from tests.table import each_row
from tests.workflow.desk import becomes
from workflows.answered_questions import SAID_YES_BEFORE

OPENING = {
    "zh": "我要请年假，{day}到{day}，家里有事",
    "en": "I want annual leave from {day} to {day}, family matters",
}


async def asked(api: AsyncClient, locale: Locale, day: str) -> tuple[str, str]:
    """The path of a conversation's messages, and the question that waits for a yes there."""
    opened = await api.post("/v1/conversations", json={"locale": locale})
    path = f"/v1/conversations/{opened.json()['id']}/messages"
    turn = (await api.post(path, json={"text": OPENING[locale].format(day=day)})).json()
    return path, turn["replies"][-1]["question"]


async def answer(api: AsyncClient, path: str, question: str, value: bool) -> dict[str, Any]:
    action = {"type": "confirm", "value": value, "question": question}
    answered = await api.post(path, json={"action": action})
    assert answered.status_code == 200, answered.text
    turn: dict[str, Any] = answered.json()
    return turn


def words(turn: dict[str, Any]) -> list[str]:
    return [reply["text"] for reply in turn["replies"]]


@each_row(
    ("locale", "day", "at_once"),
    [
        ("zh", "2027-10-11", True),
        ("zh", "2027-10-12", False),
        ("en", "2027-10-13", True),
        ("en", "2027-10-14", False),
    ],
)
async def test_a_second_yes_is_answered_as_the_first_and_submits_nothing_more(
    api: AsyncClient, parts: Parts, locale: Locale, day: str, at_once: bool
) -> None:
    path, question = await asked(api, locale, day)
    if at_once:
        first, second = await asyncio.gather(
            answer(api, path, question, True), answer(api, path, question, True)
        )
    else:
        first = await answer(api, path, question, True)
        second = await answer(api, path, question, True)
    assert (words(first), first["flow"]) == (words(second), second["flow"])
    assert first["message_id"] != second["message_id"]
    run = await becomes(parts, first["flow"]["id"], lambda run: run.status == "waiting_approval")
    assert [line.event for line in run.history].count("confirmed") == 1


@each_row(("locale", "day"), [("zh", "2027-10-18"), ("en", "2027-10-19")])
@pytest.mark.slow
async def test_a_no_after_the_yes_is_told_that_the_yes_counts(
    api: AsyncClient, locale: Locale, day: str
) -> None:
    path, question = await asked(api, locale, day)
    first = await answer(api, path, question, True)
    second = await answer(api, path, question, False)
    assert words(second) == [SAID_YES_BEFORE.within(locale), *words(first)]
    assert second["flow"]["status"] == "waiting_approval"


@pytest.mark.slow
async def test_what_has_gone_on_since_is_not_said_again(api: AsyncClient, parts: Parts) -> None:
    path, question = await asked(api, "zh", "2027-10-20")
    first = await answer(api, path, question, True)
    withdrawn = await api.post(f"/v1/flow-runs/{first['flow']['id']}/withdraw")
    assert withdrawn.status_code == 200, withdrawn.text
    await becomes(parts, first["flow"]["id"], lambda run: run.status == "cancelled")
    for _ in range(3000):
        if len((await api.get(path)).json()["items"]) > 4:
            break
        await asyncio.sleep(0.02)
    second = await answer(api, path, question, True)
    assert "已经答过" in words(second)[0]
