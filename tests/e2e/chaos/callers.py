"""People who come by a chat platform, and those who decide there, or by a mail's link."""

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import httpx
import jwt

from router.domain.messages import ENDED
from tests.e2e.chaos.entrances import LOCALES, Delivery, Entrance, Shown, Town, address, bare
from tests.e2e.chaos.people import SURE, WORDS, Witness
from tests.e2e.chaos.posts import FAILED, UNRECORDED, Card, Word
from tests.e2e.storm.requests import until
from tests.e2e.storm.rules import MANAGERS, Expected

PATIENCE = 300.0
"""Seconds: what a process that was killed was posting is another's after sixty, and that one may
be killed as well."""
NOTICED, PAUSE = 3.0, 0.5
"""Seconds for which somebody waits for what a press comes to, and before they try again."""
UNHEARD = 60.0
"""Seconds after which somebody whom their platform told of a failure writes it once more."""
AGAIN, BY_MAIL, REJECTED = 0.15, 0.3, 0.25
"""Shares of what is delivered once more although it was answered, and of decisions."""
SIZES = (1, 2, 4)
YES = {"zh": "确认", "en": "Confirm"}
CANCEL = {"zh": "取消", "en": "cancel"}
WISH = {
    "zh": "我要请年假，{start} 到 {end}，家里有事",
    "en": "I want annual leave {start} to {end}, family",
}
LATER_MANAGERS = {**MANAGERS, "dave": "carol"}


@dataclass
class Street:
    """The way from the platforms to the house, and what was seen to go by."""

    town: Town
    http: httpx.AsyncClient
    """To either API, as patient as platforms are."""
    delivered: int = 0
    again: int = 0
    """Deliveries of what had been answered before."""
    refused: int = 0
    """Deliveries that weren't answered 200, or not in time."""
    pressed: int = 0
    by_mail: int = 0
    cards: list[tuple[Entrance, str, Shown, str]] = field(default_factory=list)
    """Approvers' cards that were looked for: where, whose, which, and about what."""

    async def deliver(self, delivery: Delivery) -> bool:
        """True where it was answered 200."""
        self.delivered += 1
        try:
            taken = (await delivery(self.http)).status_code == httpx.codes.OK
        except httpx.TransportError:
            taken = False
        self.refused += not taken
        return taken

    async def card(self, approver: str, approval: str) -> Shown:
        """The approver's card of this approval, as soon as it is there."""
        entrance = self.town.at(approver)

        async def look() -> Shown | None:
            return next((one for one in entrance.posts() if one.approval == approval), None)

        found = await until(f"{approver}'s card of {approval}", look, PATIENCE)
        self.cards.append((entrance, approver, found, approval))
        return found

    async def link(self, approver: str, approval: str) -> str:
        """The path of the page that a mail about this approval leads to, once there is one."""

        async def look() -> str | None:
            links = (link for to, link in links_in(self.town) if to == address(approver))
            return next((one for one in links if approval_of(one) == approval), None)

        return path_of(await until(f"{approver}'s mail about {approval}", look, PATIENCE))

    async def decide(
        self, approver: str, card: Shown, verdict: str, within: float = PATIENCE
    ) -> None:
        """Press until the card says what came of it, as anybody does who sees it still ask."""
        entrance = self.town.at(approver)

        async def press() -> bool | None:
            if entrance.outcome(card):
                return True
            label = next(lab for lab, packed in card.buttons.items() if f'"{verdict}"' in packed)
            self.pressed += 1
            if await self.deliver(entrance.press(approver, card, label)):
                for _ in range(int(NOTICED / 0.1)):
                    if entrance.outcome(card):
                        return True
                    await asyncio.sleep(0.1)
            return None

        await until(f"{approver}'s card to say what came of it", press, within)

    async def decide_by_mail(self, path: str, verdict: str) -> None:
        """Send the page's form until the page says what came of it."""
        self.by_mail += 1

        async def send() -> bool | None:
            if await self.page(path):
                return True
            await self.deliver(lambda http: http.post(path, data={"decision": verdict}))
            return None

        await until(f"the page {path} to say what came of it", send, PATIENCE)

    async def page(self, path: str) -> str:
        """What the page says came of it; empty where it asks, or can't be reached."""
        try:
            answer = await self.http.get(path)
        except httpx.TransportError:
            return ""
        return answer.text if answer.status_code == httpx.codes.GONE else ""


def links_in(town: Town) -> Iterator[tuple[str, str]]:
    """To whom each link went, in the order of the mails."""
    return ((letter.to, link) for letter in town.mail.letters for link in letter.links)


def path_of(link: str) -> str:
    return link[link.index("/adapters/") :]


def approval_of(link: str) -> str:
    """What a link decides on: it can be read by anybody, and made by nobody."""
    token = link.rpartition("/")[2]
    return str(jwt.decode(token, options={"verify_signature": False})["approval"])


@dataclass
class Caller:
    """Somebody who asks for leave by their platform, talks, and hears what came of it."""

    number: int
    me: str
    desk: Witness
    street: Street
    draws: random.Random
    monday: date
    expected: Expected = field(init=False)
    run: str = ""
    conversation: str = ""
    words: list[Word] = field(default_factory=list)
    _decided: set[str] = field(default_factory=set)
    _moment: int = 0
    _marks: int = 0

    def __post_init__(self) -> None:
        managers = {**LATER_MANAGERS, self.me: self.street.town.manager(self.me)}
        self.expected = Expected("leave_request", self.me, self.draws.choice(SIZES), managers)
        there = [*self.street.town.people]
        self.locale = LOCALES[there.index(self.me) // len(self.street.town.entrances) % 2]

    @property
    def entrance(self) -> Entrance:
        return self.street.town.people[self.me]

    async def carry_through(self) -> None:
        """All of it, until they have been told what became of their request."""
        await self._ask()
        await self._talk()
        while not self.expected.ended:
            await self._decide()
        await self._hear()
        await self._talk()
        await self._tidy()

    def mine(self) -> list[Shown]:
        """What they were posted, in order."""
        theirs = self.entrance.addresses(self.me)
        return [each for each in self.entrance.posts() if each.to in theirs]

    def _told(self, words: Sequence[str]) -> int:
        """How often they were posted one of these."""
        return sum(any(each in post.words for each in words) for post in self.mine())

    async def _ask(self) -> None:
        end = self.monday + timedelta(days=self.expected.size - 1)
        days = {"start": self.monday.isoformat(), "end": end.isoformat()}
        wish, label, failed = WISH[self.locale].format(**days), YES[self.locale], 0
        await self._say(lambda: wish)

        async def asked() -> Shown | None:
            nonlocal failed
            card = next((one for one in self.mine() if label in one.buttons), None)
            if card is None and self._told(FAILED) > failed:
                failed += 1
                await self._say(lambda: wish)
            return card

        card = await until(f"{self.me} to be asked for a yes", asked, PATIENCE)
        shown = await self.desk.get(self.me, f"/v1/conversations/{await self._where()}")
        self.run = shown["active_flow"]["id"]
        failed, unrecorded = self._told(FAILED), self._told(UNRECORDED)
        await self._press(card, label)

        async def sent() -> bool | None:
            nonlocal failed, unrecorded
            if (await self._status()) != "confirming":
                return True
            if self._told(UNRECORDED) > unrecorded:  # said after the platform had its answer
                unrecorded, self.words[-1].taken = self._told(UNRECORDED), False
                await self._press(card, label)
            if self._told(FAILED) > failed:
                failed = self._told(FAILED)
                await self._press(card, label)
            return None

        await until(f"run {self.run} of {self.me} to be sent", sent, PATIENCE)
        self.expected.sent()

    async def _decide(self) -> None:
        """Whoever is asked decides once they have both the card and the mail."""
        by, street = self.expected.asked[0], self.street
        approval = str((await self.desk.approval(by, self.run, self._decided))["id"])
        self._decided.add(approval)
        card = await street.card(by, approval)
        link = await street.link(by, approval)
        verdict = "reject" if self.draws.random() < REJECTED else "approve"
        if self.draws.random() < BY_MAIL:
            await street.decide_by_mail(link, verdict)
        else:
            await street.decide(by, card, verdict)
        (self.expected.rejected if verdict == "reject" else self.expected.approved)(by)

    async def _hear(self) -> None:
        async def ended() -> bool | None:
            return (await self._status()) in ENDED or None

        await until(f"run {self.run} of {self.me} to end", ended, PATIENCE)

    async def _status(self) -> str:
        return str((await self.desk.get(self.me, f"/v1/flow-runs/{self.run}"))["status"])

    async def _talk(self) -> None:
        kinds: tuple[str, ...] = ("ask", "look", "advise")
        for _ in range(self.draws.randint(1, 3)):
            chosen = self.draws.choice((*kinds, "sure", "both"))
            if chosen == "sure":
                await self._say(lambda: SURE[self.locale])
            elif chosen == "both":
                said = [self._texts(kind) for kind in self.draws.sample(kinds, 2)]
                await asyncio.gather(*(self._say(text, at_once=True) for text in said))
                self._moment += 1
            else:
                await self._say(self._texts(chosen))
        await self._tidy()

    def _texts(self, kind: str) -> Callable[[], str]:
        return lambda: f"{WORDS[kind][self.locale]} #{kind}-{1000 + self.number}-{self._mark()}"

    def _mark(self) -> int:
        self._marks += 1
        return self._marks

    async def _tidy(self) -> None:
        """Give up what a model that erred has begun, until nothing is asked any more."""

        async def nothing_open() -> bool | None:
            shown = await self.desk.get(self.me, f"/v1/conversations/{await self._where()}")
            if shown["status"] == "running":
                return None  # or what was said last would be said twice, to something else
            flow = shown["active_flow"]
            if flow is None and not shown["paused_flows"] and not shown["pending_confirmation"]:
                return True
            if flow is None or flow["status"] in ("collecting", "confirming"):
                await self._say(lambda: CANCEL[self.locale])
            return None

        await until(f"nothing to be open for {self.me}", nothing_open, PATIENCE)

    async def _where(self) -> str:
        if not self.conversation:
            (one,) = (await self.desk.get(self.me, "/v1/conversations?limit=10"))["items"]
            self.conversation = one["id"]
        return self.conversation

    async def _say(self, text: Callable[[], str], *, at_once: bool = False) -> None:
        """Until it is taken in: by the same event, or written once more where none comes again."""
        while True:
            word = Word(text(), self._moment)
            self.words.append(word)
            await self._deliver(word, self.entrance.message(self.me, word.text))
            if word.taken or await self._is_on_record(word.text):
                break
        self._moment += not at_once

    async def _press(self, shown: Shown, label: str) -> None:
        while True:
            word = Word("", self._moment)
            self.words.append(word)
            await self._deliver(word, self.entrance.press(self.me, shown, label))
            if word.taken:
                break
        self._moment += 1

    async def _deliver(self, word: Word, delivery: Delivery) -> None:
        entrance = self.entrance
        comes_again = entrance.redelivers if word.text else entrance.redelivers_presses
        while not word.taken:
            word.taken = await self.street.deliver(delivery)
            await asyncio.sleep(0 if word.taken else PAUSE)
            if not comes_again:
                return
        if self.draws.random() < AGAIN:
            self.street.again += 1
            await self.street.deliver(delivery)

    async def _is_on_record(self, text: str) -> bool:
        """Look on the page whether it arrived after all, for as long as one waits for that."""

        async def look() -> bool | None:
            talks = (await self.desk.get(self.me, "/v1/conversations?limit=10"))["items"]
            for talk in talks:
                path = f"/v1/conversations/{talk['id']}/messages?limit=200"
                said: list[dict[str, Any]] = (await self.desk.get(self.me, path))["items"]
                if any(each["role"] == "user" and each["text"] == text for each in said):
                    return True
            return None

        try:
            return await until(f"{text!r} to be on record", look, UNHEARD)
        except AssertionError:
            return False


LAST_LOOK = 30.0
"""Seconds until somebody who presses on a card that is over takes it that it never says so."""


async def looked_through(street: Street) -> list[Card]:
    """What all approvers' cards and mails say at last: what still asks is pressed."""
    found = [await _looked_at(street, *each) for each in [*street.cards, *_left(street)]]
    mails = {approval_of(link): (to, link) for to, link in links_in(street.town)}
    for approval, (to, link) in mails.items():
        found.append(Card(approval, f"the mail to {to}", bare(await street.page(path_of(link)))))
    return found


def _left(street: Street) -> Iterator[tuple[Entrance, str, Shown, str]]:
    """Cards that nobody has looked at yet, for it was decided elsewhere."""
    known = {approval for _, _, _, approval in street.cards}
    for approver in street.town.approvers:
        entrance = street.town.at(approver)
        theirs = entrance.addresses(approver)
        for card in [*entrance.posts()]:
            if card.approval and card.to in theirs and card.approval not in known:
                yield entrance, approver, card, card.approval


async def _looked_at(
    street: Street, entrance: Entrance, approver: str, card: Shown, approval: str
) -> Card:
    with suppress(AssertionError):  # then it says nothing, which is what is found
        await street.decide(approver, card, "approve", LAST_LOOK)
    return Card(approval, f"{approver}'s {entrance.name}", entrance.outcome(card))
