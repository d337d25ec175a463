"""One approval decided twice: by any two entrances, in turn and at once, the same and the contrary.

One decision counts, and both are told which: the same one a second time is the first one's answer,
the contrary is refused. REST stands for the page and for a batch, which
decide by it one by one; Slack's card for those of the other platforms, whose presses take the same
way behind their entrances.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import combinations_with_replacement, product
from typing import Any
from uuid import uuid4

import mcp_types as types
import pytest
from ag_ui.core import EventType
from httpx import AsyncClient
from mcp import Client as Program

from router.flow.engine.run_parts.approvals import Verdict
from tests.fakes.smtp import Letter
from tests.table import each_row
from tests.unit.extensions.ag_ui.client import FrontEnd
from tests.workflow.extensions.mail.mail_house import (
    ALICE,
    BOB,
    BOBS,
    House,
    asks_for_leave,
    press,
    status_of,
)
from tests.workflow.extensions.mcp_server.test_mcp import accepted
from tests.workflow.extensions.mcp_server.test_mcp import program as mcp_program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]

SAID: dict[str, tuple[str, ...]] = {"approve": ("approve", "同意"), "reject": ("reject", "拒绝")}
"""The words by which an answer names a verdict."""
TOO_LATE = "已经"
"""What a card and a mail's page say of a decision that was made before, also of the same one."""
SAME_ANSWER = frozenset({"rest", "ag-ui", "mcp"})
"""Entrances at which the same decision again is answered as the first one was."""


@dataclass
class Told:
    """What somebody is told who has decided."""

    words: str
    taken: bool
    """True where it is said that their decision was taken."""

    def names(self, verdict: str) -> bool:
        return any(word in self.words for word in SAID[verdict])


@dataclass
class Request:
    """A request of alice's that waits for bob."""

    house: House
    api: AsyncClient
    run: str
    approval: dict[str, Any]
    day: date
    letter: Letter
    stack: AsyncExitStack
    presses: int = 0
    """Those on its card."""


@dataclass
class Entrance(ABC):
    """A way by which bob decides; what it shows him is there before anybody decides."""

    request: Request

    async def show(self) -> None:
        """Have the entrance show what is to be decided, unless the request brought that along."""
        assert self.request.letter.links

    @abstractmethod
    async def decide(self, verdict: Verdict) -> Told:
        """Decide, as somebody does who sees what was shown."""


class Rest(Entrance):
    async def decide(self, verdict: Verdict) -> Told:
        shown = self.request.approval
        body = {"decision": verdict, "digest": shown["digest"]}
        headers = {**BOB, "Idempotency-Key": uuid4().hex}
        path = f"/v1/approvals/{shown['id']}/decision"
        answer = await self.request.api.post(path, json=body, headers=headers)
        assert answer.status_code in {200, 409}, answer.text
        said = answer.json()
        return Told(said.get("decision") or said["detail"], answer.status_code == 200)


@dataclass
class AgUi(Entrance):
    asked: Any = None
    front_end: FrontEnd | None = None

    async def show(self) -> None:
        self.front_end = FrontEnd(self.request.api, "bob")
        looked = await self.front_end.run(self.front_end.input())
        run = self.request.run
        (self.asked,) = [
            each for each in looked.interrupts if each.metadata["intent-router"]["flow_run"] == run
        ]

    async def decide(self, verdict: Verdict) -> Told:
        assert self.front_end is not None
        entry = {"interruptId": self.asked.id, "status": "resolved"}
        body = self.front_end.input(resume=[{**entry, "payload": {"decision": verdict}}])
        headers = {**self.front_end.headers, "Accept": "text/event-stream"}
        answer = await self.request.api.post("/ag-ui", json=body, headers=headers)
        assert answer.status_code in {200, 409}, answer.text
        failed = answer.status_code == 409 or EventType.RUN_ERROR.value in answer.text
        return Told(
            answer.json()["detail"] if answer.status_code == 409 else answer.text, not failed
        )


@dataclass
class Mcp(Entrance):
    client: Program | None = None
    state: Any = None

    async def show(self) -> None:
        url = f"{self.request.api.base_url}/mcp".replace("//mcp", "/mcp")
        person: Any = _nobody
        self.client = await self.request.stack.enter_async_context(mcp_program(url, "bob", person))
        self.state = (await self._called()).request_state

    async def decide(self, verdict: Verdict) -> Told:
        given: types.InputResponses = {"question": accepted(decision=verdict)}
        result = await self._called(input_responses=given, request_state=self.state)
        return Told(str(result.structured_content or result.content), not result.is_error)

    async def _called(self, **more: Any) -> Any:
        assert self.client is not None
        arguments = {"approval": self.request.approval["id"]}
        return await self.client.session.call_tool(
            "decide", arguments, allow_input_required=True, **more
        )


async def _nobody(*_: object) -> types.ElicitResult:
    raise AssertionError("the form is answered by the test itself")


@dataclass
class SlackCard(Entrance):
    LABELS = {"approve": "同意", "reject": "拒绝"}
    card: dict[str, Any] = field(default_factory=dict)

    async def show(self) -> None:
        day = self.request.day
        self.card = await self.request.house.slack.posted(f"，{day.month}月{day.day}日")

    async def decide(self, verdict: Verdict) -> Told:
        # Each press is told of once; which of two at once is the first doesn't matter.
        mine, self.request.presses = self.request.presses, self.request.presses + 1
        slack = self.request.house.slack
        await slack.presses(self.request.api, "UBOB", self.card, self.LABELS[verdict])
        for _ in range(3000):
            if len(self._told) >= self.request.presses:
                return Told(self._told[mine], TOO_LATE not in self._told[mine])
            await asyncio.sleep(0.02)
        raise AssertionError(f"the card stays as it was: {self.card}")

    @property
    def _told(self) -> Sequence[str]:
        """What the card has become, and what was said beside it."""
        slack = self.request.house.slack
        became = [each["text"] for each in slack.updates if each["ts"] == self.card["ts"]]
        after = slack.posts[slack.posts.index(self.card) + 1 :]
        return [*became, *(each["text"] for each in after if TOO_LATE in each["text"])]


class MailLink(Entrance):
    async def decide(self, verdict: Verdict) -> Told:
        answer = await press(self.request.api, self.request.letter.links[0], verdict)
        text = answer.text.split("<form", 1)[0]
        return Told(text, TOO_LATE not in text)


ENTRANCES: dict[str, type[Entrance]] = {
    "rest": Rest,
    "ag-ui": AgUi,
    "mcp": Mcp,
    "slack": SlackCard,
    "mail": MailLink,
}


def workdays() -> list[date]:
    """Days on which somebody works, one for each request: one who asks for a day asks once."""
    months = [date(2027, 3, 1), date(2027, 7, 1), date(2027, 8, 2), date(2027, 11, 1)]
    days = (first + timedelta(days=n) for first in months for n in range(28))
    return [day for day in days if day.weekday() < 5]


@asynccontextmanager
async def asked(house: House, api: AsyncClient, day: date) -> AsyncIterator[Request]:
    run = await asks_for_leave(api, f"{day} 到 {day}")
    letter = await house.mail.received(BOBS, f"{day.month}月{day.day}日")
    items = (await api.get("/v1/approvals?limit=200", headers=BOB)).json()["items"]
    (approval,) = [each for each in items if each["flow_run"] == run]
    async with AsyncExitStack() as stack:
        yield Request(house, api, run, approval, day, letter, stack)


async def decided(request: Request) -> list[str]:
    """The verdicts of bob's that are on record of the run."""
    run = (await request.api.get(f"/v1/flow-runs/{request.run}", headers=ALICE)).json()
    made = [line for line in run["history"] if line["event"] in SAID]
    return [line["event"] for line in made if line["by"] == "bob"]


PAIRS = [*product(ENTRANCES, repeat=2)]
IN_TURN = [
    (first, second, verdict, day)
    for ((first, second), verdict), day in zip(
        product(PAIRS, ("approve", "reject")), workdays(), strict=False
    )
]


@each_row(("first", "second", "verdict", "day"), IN_TURN)
async def test_the_second_of_two_in_turn_is_told_what_the_first_decided(
    house: House, router: AsyncClient, first: str, second: str, verdict: Verdict, day: date
) -> None:
    async with asked(house, router, day) as request:
        one, other = ENTRANCES[first](request), ENTRANCES[second](request)
        await one.show()
        await other.show()
        told = await one.decide("approve")
        again = await other.decide(verdict)
        assert (told.taken, told.names("approve")) == (True, True), told
        assert again.names("approve"), again
        assert again.taken == (verdict == "approve" and second in SAME_ANSWER), again
        assert await decided(request) == ["approve"]


AT_ONCE = [
    (first, second, verdict, day)
    for ((first, second), verdict), day in zip(
        product(combinations_with_replacement(ENTRANCES, 2), ("approve", "reject")),
        workdays()[len(IN_TURN) :],
        strict=False,
    )
]


@each_row(("first", "second", "verdict", "day"), AT_ONCE)
async def test_of_two_at_once_one_counts_and_both_are_told_which(
    house: House, router: AsyncClient, first: str, second: str, verdict: Verdict, day: date
) -> None:
    async with asked(house, router, day) as request:
        one, other = ENTRANCES[first](request), ENTRANCES[second](request)
        await one.show()
        await other.show()
        both = await asyncio.gather(one.decide("approve"), other.decide(verdict))
        (counts,) = await decided(request)
        assert all(told.names(counts) for told in both), both
        took = [told.taken for told in both]
        if verdict != "approve":
            assert took.count(True) == 1, both
        elif {first, second} <= SAME_ANSWER:
            assert all(took), both
        assert await status_of(router, request.run) != "waiting_approval"


def test_there_is_a_day_for_each_row() -> None:
    assert (len(IN_TURN), len(AT_ONCE)) == (50, 30)
