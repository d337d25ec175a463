"""One approval decided twice on Feishu, DingTalk, Teams or WeCom: by card, page and two people.

One decision counts. Whoever decided second is told by the card or the page which one it was. The
page answers the same decision of the same person as it answered the first one.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count, product
from typing import Any
from uuid import uuid4

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from router.directory.file import FileDirectory
from router.extensions.channels import dispatcher
from router.extensions.dingtalk import entrance
from router.flow.engine.run_parts.approvals import Verdict
from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.fakes.dingtalk import DingTalk
from tests.fakes.feishu import Feishu
from tests.fakes.teams import Teams
from tests.fakes.teams import account as teams_account
from tests.fakes.web_server import WebServer
from tests.fakes.wecom import Wecom, card_of
from tests.table import each_row
from tests.workflow.desk import defined
from tests.workflow.extensions.mail.test_decided_twice import Told
from tests.workflow.test_streaming import served
from tests.workflow.tooled import furnished

pytestmark = pytest.mark.slow

PETITION = defined("""
    flow: petition
    title: {zh: 采购申请, en: Petition}
    description: {zh: 买一样东西, en: Buys a thing}
    triggers: {patterns: [petition]}
    slots:
      purpose: {type: text, label: {zh: 用途, en: Purpose}, ask: {zh: 做什么？, en: What for?}}
    start: details
    states:
      details: {collect: [purpose], next: manager}
      manager:
        approve:
          by: "['bob', 'carol']"
          title: {zh: "采购 {{ shown.purpose }}", en: "Buy {{ shown.purpose }}"}
        approved: tell
        rejected: tell_no
      tell: {say: {zh: 买了。, en: It is bought.}, end: completed}
      tell_no: {say: {zh: 没有批准。, en: It isn't approved.}, end: rejected}
""")
LABELS: dict[str, dict[str, str]] = {
    "bob": {"approve": "同意", "reject": "拒绝"},
    "carol": {"approve": "Approve", "reject": "Reject"},
}
TOO_LATE = ("已经", "already")
ANSWERED_WITHIN_S = 60
NUMBERS = count(1)


@dataclass
class House:
    """A desk with all four entrances, and the platforms behind them."""

    api: AsyncClient
    feishu: Feishu
    dingtalk: DingTalk
    teams: Teams
    wecom: Wecom


@pytest.fixture
async def house(
    parts: Parts, real_client: Client, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    # A slow machine would have cards say that what came of a press follows.
    monkeypatch.setattr(dispatcher, "PATIENCE", ANSWERED_WITHIN_S)
    monkeypatch.setattr(entrance, "CARD_PATIENCE", ANSWERED_WITHIN_S)
    queue = uuid4().hex
    async with AsyncExitStack() as stack:
        feishu = await stack.enter_async_context(Feishu())
        dingtalk = await stack.enter_async_context(DingTalk())
        teams = await stack.enter_async_context(Teams())
        wecom = await stack.enter_async_context(Wecom())
        everyone = parts.directory.everyone()
        names: dict[str, Callable[[str], str]] = {
            "feishu": "ou_{}".format,
            "dingtalk": "staff_{}".format,
            "teams": teams_account,
            "wecom": wecom.account,
        }
        accounts = {
            (platform, named(person.id)): person
            for platform, named in names.items()
            for person in everyone
        }
        platforms = (feishu, dingtalk, teams, wecom)
        settings = parts.settings.having(*(platform.settings for platform in platforms))
        there = replace(parts, settings=settings, directory=FileDirectory(everyone, accounts))
        furnishing = furnished(there, [], flows=[PETITION])
        built = await stack.enter_async_context(furnishing)
        await stack.enter_async_context(build_worker(real_client, built, queue))
        api = await stack.enter_async_context(served(built, real_client, queue))
        yield House(api, *platforms)


@dataclass
class Request:
    """A request of alice's that waits for bob or carol."""

    house: House
    run: str
    purpose: str


@asynccontextmanager
async def asked(house: House) -> AsyncIterator[Request]:
    purpose = f"thing-{next(NUMBERS)}-"
    opened = await house.api.post("/v1/conversations", json={}, headers=bearer("alice"))
    path = f"/v1/conversations/{opened.json()['id']}/messages?wait=120"
    action = {"type": "start", "flow": "petition", "slots": {"purpose": purpose}}
    turn = await house.api.post(path, json={"action": action}, headers=bearer("alice"))
    assert turn.status_code == 200, turn.text
    yield Request(house, turn.json()["flow"]["id"], purpose)


async def until(look: Callable[[], Iterable[dict[str, Any]]]) -> dict[str, Any]:
    """Return the first thing that is found, as soon as there is one."""
    async with asyncio.timeout(ANSWERED_WITHIN_S):
        while (found := next(iter(look()), None)) is None:  # noqa: ASYNC110 - the fakes tell nobody
            await asyncio.sleep(0.02)
    return found


def bearer(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {user}"}


@dataclass
class Entrance(ABC):
    """A way by which somebody decides; what it shows them is there before anybody decides."""

    request: Request
    who: str

    @property
    def house(self) -> House:
        return self.request.house

    @abstractmethod
    async def show(self) -> None:
        """Wait until it is shown what is to be decided."""

    @abstractmethod
    async def decide(self, verdict: Verdict) -> Told:
        """Decide, as somebody does who sees what was shown."""


@dataclass
class Page(Entrance):
    shown: dict[str, Any] = field(default_factory=dict)

    async def show(self) -> None:
        path = "/v1/approvals?limit=200"
        items = (await self.house.api.get(path, headers=bearer(self.who))).json()["items"]
        (self.shown,) = [one for one in items if one["flow_run"] == self.request.run]

    async def decide(self, verdict: Verdict) -> Told:
        path = f"/v1/approvals/{self.shown['id']}/decision"
        body = {"decision": verdict, "digest": self.shown["digest"]}
        answer = await self.house.api.post(path, json=body, headers=bearer(self.who))
        assert answer.status_code in {200, 409}, answer.text
        said = answer.json()
        return Told(said.get("decision") or said["detail"], answer.status_code == 200)


@dataclass
class Card(Entrance):
    """A card on a platform: its presses are made of what it showed before anybody decided."""

    presses: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    @abstractmethod
    def platform(self) -> Any:
        """Where it was posted."""

    @abstractmethod
    def is_mine(self, post: dict[str, Any]) -> bool:
        """Return whether this post went to this person."""

    @abstractmethod
    def press(self, post: dict[str, Any], label: str) -> dict[str, Any]:
        """What the platform sends of a press of the button of this label."""

    async def show(self) -> None:
        post = await until(lambda: filter(self._shows, self.platform.posts))
        labels = LABELS[self.who]
        self.presses = {verdict: self.press(post, label) for verdict, label in labels.items()}

    def _shows(self, post: dict[str, Any]) -> bool:
        return self.request.purpose in str(post) and self.is_mine(post)

    async def decide(self, verdict: Verdict) -> Told:
        words = await self.pressed(self.presses[verdict])
        return Told(words, not any(late in words for late in TOO_LATE))

    @abstractmethod
    async def pressed(self, press: dict[str, Any]) -> str:
        """Deliver the press, and return what is shown then."""


class FeishuCard(Card):
    @property
    def platform(self) -> WebServer:
        return self.house.feishu

    def is_mine(self, post: dict[str, Any]) -> bool:
        return bool(post["receive_id"] == f"ou_{self.who}")

    def press(self, post: dict[str, Any], label: str) -> dict[str, Any]:
        return self.house.feishu.press(f"ou_{self.who}", post, label)

    async def pressed(self, press: dict[str, Any]) -> str:
        answer = await self.house.feishu.deliver(self.house.api, press)
        return str(answer.json()["toast"]["content"])


class DingTalkCard(Card):
    @property
    def platform(self) -> WebServer:
        return self.house.dingtalk

    def is_mine(self, post: dict[str, Any]) -> bool:
        return bool(post["kind"] == "card" and post["to"] == f"staff_{self.who}")

    def press(self, post: dict[str, Any], label: str) -> dict[str, Any]:
        return self.house.dingtalk.press(f"staff_{self.who}", post, label)

    async def pressed(self, press: dict[str, Any]) -> str:
        headers = self.house.dingtalk.signed_press()
        path = "/adapters/dingtalk/cards"
        answer = await self.house.api.post(path, json=press, headers=headers)
        assert answer.status_code == 200, answer.text
        return str(answer.json())


class TeamsCard(Card):
    @property
    def platform(self) -> WebServer:
        return self.house.teams

    def is_mine(self, post: dict[str, Any]) -> bool:
        return bool(post["chat"] == self.house.teams.chat(self.who))

    def press(self, post: dict[str, Any], label: str) -> dict[str, Any]:
        return self.house.teams.press(self.who, post, label)

    async def pressed(self, press: dict[str, Any]) -> str:
        answer = await self.house.teams.deliver(self.house.api, press)
        return str(answer.json()["value"])


class WecomCard(Card):
    @property
    def platform(self) -> WebServer:
        return self.house.wecom

    def is_mine(self, post: dict[str, Any]) -> bool:
        mine = post["touser"] == self.house.wecom.account(self.who)
        return mine and "button_list" in card_of(post)

    def press(self, post: dict[str, Any], label: str) -> dict[str, Any]:
        return self.house.wecom.press(self.who, post, label)

    async def pressed(self, press: dict[str, Any]) -> str:
        """The card is replaced later, by the code that came with the press."""
        answer = await self.house.wecom.deliver(self.house.api, press)
        assert answer.status_code == 200, answer.text
        code, updates = press["ResponseCode"], self.house.wecom.updates
        return str(await until(lambda: (one for one in updates if one["response_code"] == code)))


CARDS: dict[str, type[Entrance]] = {
    "feishu": FeishuCard,
    "dingtalk": DingTalkCard,
    "teams": TeamsCard,
    "wecom": WecomCard,
}
ENTRANCES: dict[str, type[Entrance]] = {**CARDS, "page": Page}
Way = tuple[str, str]
"""An entrance, and who decides there."""


def pairs_of(card: str) -> list[tuple[Way, Way]]:
    """What is tried with each platform's card."""
    bob, page = (card, "bob"), ("page", "bob")
    carol = [(card, "carol"), ("page", "carol")]
    return [
        (bob, page),
        (page, bob),
        (bob, bob),
        *((bob, other) for other in carol),
        (page, (card, "carol")),
    ]


ROWS = [
    (first, second, verdict)
    for card, verdict in product(CARDS, ("approve", "reject"))
    for first, second in pairs_of(card)
]


async def shown(request: Request, first: Way, second: Way) -> tuple[Entrance, Entrance]:
    """Both entrances, each of which shows what is to be decided."""
    one, other = (ENTRANCES[name](request, who) for name, who in (first, second))
    await one.show()
    await other.show()
    return one, other


async def counted(request: Request) -> list[str]:
    """The verdicts that are on record of the run, and whose they are."""
    path = f"/v1/flow-runs/{request.run}"
    run = (await request.house.api.get(path, headers=bearer("alice"))).json()
    return [
        f"{line['event']} of {line['by']}"
        for line in run["history"]
        if line["event"] in {"approve", "reject"}
    ]


@each_row(("first", "second", "verdict"), ROWS)
async def test_the_second_of_two_in_turn_is_told_what_the_first_decided(
    house: House, first: Way, second: Way, verdict: Verdict
) -> None:
    async with asked(house) as request:
        one, other = await shown(request, first, second)
        told = await one.decide("approve")
        again = await other.decide(verdict)
        assert (told.taken, told.names("approve")) == (True, True), told
        assert again.names("approve"), again
        same_on_page = verdict == "approve" and second == ("page", "bob")
        assert again.taken == same_on_page, again
        assert await counted(request) == ["approve of bob"]


@each_row(("first", "second", "verdict"), ROWS)
async def test_of_two_at_once_one_counts_and_both_are_told_which(
    house: House, first: Way, second: Way, verdict: Verdict
) -> None:
    async with asked(house) as request:
        one, other = await shown(request, first, second)
        both = await asyncio.gather(one.decide("approve"), other.decide(verdict))
        (counts,) = await counted(request)
        assert all(told.names(counts.split()[0]) for told in both), (counts, both)
        # The very same decision of one person is answered as the first one was.
        same = verdict == "approve" and first[1] == second[1]
        took = [told.taken for told in both].count(True)
        assert took in ({1, 2} if same else {1}), both
