"""People who use the API while workers die, and one request on its way through their hands.

They ask again until they have been answered. Whatever is accepted is told to `Expected`, which says
who has to be asked next and how it ends.
"""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar
from uuid import uuid4

import httpx

from company.calendar.work_calendar import WorkCalendar
from router.domain.messages import ASKING, ENDED
from tests.e2e.storm.rules import MANAGERS, Expected, Flow

EVERYBODY = ("alice", "bob", "carol", "dave", "erin", "frank", "gina", "olga")
AT_ONCE = 8
"""Words under way, of all people together: the other requests wait, as most do at any time."""
PATIENCE = 300.0
"""Seconds until somebody takes it that they won't be answered any more."""
PAUSE = 0.25
FRESH = 0.4
"""Seconds for which a list of approvals needn't be fetched anew."""

Out = TypeVar("Out")


async def until(
    what: str, ask: Callable[[], Awaitable[Out | None]], patience: float = PATIENCE
) -> Out:
    """Ask until there is an answer; fails, saying `what` never came, after so many seconds."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        answer = await ask()
        if answer is not None:
            return answer
        await asyncio.sleep(PAUSE)
    raise AssertionError(f"after {patience:.0f} s still waiting for {what}")


@dataclass
class Inbox:
    """What waits for one person, fetched once for all who ask at the same time."""

    waiting: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    at: float = -FRESH
    fetching: asyncio.Lock = field(default_factory=asyncio.Lock)


class Desk:
    """The API, as everybody reaches it."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.places = asyncio.Semaphore(AT_ONCE)
        self._inboxes: dict[str, Inbox] = defaultdict(Inbox)
        self.retries = 0
        self.decisions = 0
        self.failed_turns = 0

    async def get(self, user: str, path: str) -> Any:
        answer = await self._answered("GET", user, path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(
        self, user: str, path: str, body: dict[str, Any] | None = None
    ) -> httpx.Response:
        """The answer that settles it. Repeats carry the same key, so that they do nothing twice."""
        return await self._answered("POST", user, path, body or {}, uuid4().hex)

    async def say(self, user: str, conversation: str, body: dict[str, Any]) -> dict[str, Any]:
        """The turn that answers a message."""
        path = f"/v1/conversations/{conversation}/messages?wait=10"
        answer = await self.post(user, path, body)
        assert answer.status_code == 200, answer.text
        turn: dict[str, Any] = answer.json()
        return turn

    async def asked(self, user: str, conversation: str) -> str:
        """The question that waits for a yes or no in the conversation; empty where none does."""
        path = f"/v1/conversations/{conversation}"
        asked = (await self.get(user, path))["pending_confirmation"]
        return str(asked["question"]) if asked else ""

    async def approval(self, person: str, run: str, but: set[str]) -> dict[str, Any]:
        """What the person is asked to decide in this run, besides what they have decided."""

        async def ask() -> dict[str, Any] | None:
            found = (await self._waiting(person)).get(run, [])
            return next((each for each in found if each["id"] not in but), None)

        return await until(f"{person} to be asked about {run}", ask)

    async def _waiting(self, person: str) -> dict[str, list[dict[str, Any]]]:
        inbox = self._inboxes[person]
        async with inbox.fetching:
            if time.monotonic() - inbox.at > FRESH:
                inbox.waiting = await self.awaited(person)
                inbox.at = time.monotonic()
        return inbox.waiting

    async def awaited(self, person: str) -> dict[str, list[dict[str, Any]]]:
        """Everything that waits for the person, by run."""
        found, after = defaultdict(list), ""
        while True:
            page = await self.get(person, f"/v1/approvals?limit=200{after}")
            for each in page["items"]:
                found[each["flow_run"]].append(each)
            if page["next"] is None:
                return found
            after = f"&after={page['next']}"

    async def give_up_unheard(self, people: Iterable[str] = EVERYBODY) -> list[str]:
        """Take back people's runs that ask something, which began in turns that were heard to fail.

        As those would who find one among their own: it asks whether to go on, and nothing else.
        """
        found = []
        for person in people:
            for status in sorted(ASKING):
                listed = await self.get(person, f"/v1/flow-runs?limit=200&status={status}")
                for run in listed["items"]:
                    found.append(run["id"])
                    await self.post(person, f"/v1/flow-runs/{run['id']}/withdraw")
        return found

    async def _answered(
        self, method: str, user: str, path: str, body: dict[str, Any] | None = None, key: str = ""
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {user}"} | ({"Idempotency-Key": key} if key else {})

        async def ask() -> httpx.Response | None:
            answer = await self._sent(method, path, headers, body)
            self.retries += answer is None
            return answer

        return await until(f"an answer to {user}'s {method} {path}", ask)

    async def _sent(
        self, method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None
    ) -> httpx.Response | None:
        answer = await self._exchanged(method, path, headers, body)
        unsettled = answer is None or answer.status_code in (202, 429, 503)
        return None if unsettled else answer

    async def _exchanged(
        self, method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None
    ) -> httpx.Response | None:
        try:
            return await self._http.request(method, path, headers=headers, json=body)
        except httpx.TransportError:
            return None


def full_week(after: date) -> date:
    """The first Monday after this day whose five days are all worked."""
    calendar, monday = WorkCalendar.load(), after + timedelta(days=7 - after.weekday())
    while not all(calendar.is_workday(monday + timedelta(days=n)) for n in range(5)):
        monday += timedelta(days=7)
    return monday


MOST_DETOURS = 4
"""Words that decide nothing before somebody has to."""
COLLEAGUES = ("bob", "carol", "dave", "erin", "gina", "olga")
SIZES: dict[Flow, tuple[int, ...]] = {
    "leave_request": (1, 2, 3, 4, 5),
    "reimbursement": (58, 1200, 12000),
}
DETOURS = {"return": 10, "delegate": 10, "add": 10, "amend": 10}
DECISIVE = {"approve": 52, "reject": 8, "withdraw": 5, "give_up": 5, "clash": 6, "race": 6}
"""Words by their methods, and how likely each is."""
GIVEN_UP_UNSENT, TAKEN_BACK_LATER = 0.04, 0.2


@dataclass
class Request:
    """A leave request or claim, from its first word to its last."""

    number: int
    desk: Desk
    draws: random.Random
    monday: date
    """The first of five working days in a row, in the future."""
    locale: str = "zh"
    expected: Expected = field(init=False)
    run: str = ""
    withdrawal: str = ""
    """The run that takes it back once it was completed."""
    conversation: str = ""
    accepted: list[str] = field(default_factory=list)
    """Comments of the words that were accepted; each is said once."""
    refused: list[str] = field(default_factory=list)
    _decided: set[str] = field(default_factory=set)
    _digests: dict[str, str] = field(default_factory=dict)
    _words: int = 0

    def __post_init__(self) -> None:
        flow: Flow = self.draws.choice(("leave_request", "reimbursement"))
        requester = self.draws.choice([*MANAGERS][: 5 if flow == "leave_request" else 4])
        self.expected = Expected(flow, requester, self.draws.choice(SIZES[flow]))

    @property
    def me(self) -> str:
        return self.expected.requester

    async def carry_through(self) -> None:
        """All of it, word by word, until it has ended and nobody wants it taken back."""
        await self._in_turn(self._open)
        given_up = self.draws.random() < GIVEN_UP_UNSENT
        await self._in_turn(self._cancel if given_up else self._send)
        detours = 0
        while not self.expected.ended:
            words = DECISIVE if detours >= MOST_DETOURS else {**DECISIVE, **DETOURS}
            (word,) = self.draws.choices([*words], [*words.values()])
            detours += word in DETOURS
            await self._in_turn(getattr(self, f"_{word}"))
        wanted_back = self.draws.random() < TAKEN_BACK_LATER
        if self.expected.holds and wanted_back and not self.withdrawal:
            await self._in_turn(self._take_back)
        if self.withdrawal:
            await self._in_turn(self._decide_withdrawal)
        await self._in_turn(lambda: self.stands(self.expected.status))
        await self._in_turn(self._leave_questions)

    async def _in_turn(self, word: Callable[[], Awaitable[object]]) -> None:
        async with self.desk.places:
            await word()

    async def shown(self, run: str = "") -> dict[str, Any]:
        found: dict[str, Any] = await self.desk.get(self.me, f"/v1/flow-runs/{run or self.run}")
        return found

    async def stands(self, *statuses: str, run: str = "") -> dict[str, Any]:
        """The run, once it has one of these statuses."""

        async def ask() -> dict[str, Any] | None:
            shown = await self.shown(run)
            ended = shown["status"] in ENDED
            assert not ended or shown["status"] in statuses, (self.expected, shown)
            return shown if shown["status"] in statuses else None

        return await until(f"run {run or self.run} of {self.me} to be {statuses}", ask)

    async def _open(self) -> None:
        opened = await self.desk.post(self.me, "/v1/conversations", {"locale": self.locale})
        self.conversation = opened.json()["id"]
        action = {"type": "start", "flow": self.expected.flow, "slots": self._slots()}

        async def start() -> str | None:
            turn = await self.desk.say(self.me, self.conversation, {"action": action})
            return turn["flow"]["id"] if self._done(turn) else None

        self.run = await until(f"{self.me}'s {self.expected.flow} to begin", start)
        await self.stands("confirming")

    def _done(self, turn: dict[str, Any]) -> bool:
        done = "flow" in turn
        self.desk.failed_turns += not done
        return done

    def _slots(self) -> dict[str, Any]:
        size, reason = self.expected.size, f"第 {self.number} 件"
        if self.expected.is_leave:
            end = self.monday + timedelta(days=size - 1)
            days = {"start": self.monday.isoformat(), "end": end.isoformat()}
            return {"leave_type": "annual", **days, "reason": reason}
        amount = {"amount": f"{size}.00", "currency": "CNY"}
        paid = (datetime.now(UTC).date() - timedelta(days=3)).isoformat()
        item = {"category": "meal", "amount": amount, "date": paid, "invoice": f"S-{self.number}"}
        return {"items": [item], "reason": reason}

    async def _send(self) -> None:

        async def confirm() -> bool | None:
            asked = await self.desk.asked(self.me, self.conversation)
            yes = {"action": {"type": "confirm", "value": True, "question": asked}}
            self._done(await self.desk.say(self.me, self.conversation, yes))
            return (await self.shown())["status"] != "confirming" or None

        await until(f"run {self.run} to be sent", confirm)
        self.expected.sent()

    async def _approve(self) -> None:
        by = self.expected.asked[0]
        await self._accepted("approve")
        self.expected.approved(by)

    async def _reject(self) -> None:
        by = self.expected.asked[0]
        await self._accepted("reject")
        self.expected.rejected(by)

    async def _give_up(self) -> None:
        await self._sent_back()
        await self._cancel()

    async def _sent_back(self) -> None:
        by = self.expected.asked[0]
        await self._accepted("return")
        self.expected.returned(by)
        await self._asked_what_to_change()

    async def _return(self) -> None:
        await self._sent_back()
        change = {"text": f"事由改成改过 {self._words} 次"}

        async def tell() -> bool | None:
            return self._done(await self.desk.say(self.me, self.conversation, change)) or None

        await until(f"{self.me} to have changed {self.run}", tell)
        await self.stands("confirming")
        await self._send()

    async def _amend(self) -> None:
        await self._awaited(self.expected.asked[0])  # the change closes it
        self._words += 1
        slots = {"reason": f"另改过 {self._words} 次"}
        path = f"/v1/flow-runs/{self.run}/amendments"
        answer = await self.desk.post(self.me, path, {"slots": slots})
        assert answer.status_code == 200, answer.text
        self.expected.amended()

    async def _asked_what_to_change(self) -> None:
        async def ask() -> bool | None:
            talk = await self.desk.get(self.me, f"/v1/conversations/{self.conversation}")
            flow = talk["active_flow"]
            return (flow is not None and flow["status"] == "collecting") or None

        await until(f"{self.me} to be asked what to change in {self.run}", ask)

    def _passing_on(self) -> tuple[str, str]:
        others = [one for one in COLLEAGUES if self.expected.may_be_asked(one)]
        return self.expected.asked[0], self.draws.choice(others)

    async def _delegate(self) -> None:
        by, to = self._passing_on()
        await self._accepted("delegate", to=to)
        self.expected.delegated(by, to)

    async def _add(self) -> None:
        by, to = self._passing_on()
        position = self.draws.choice(("before", "after"))
        approval = await self._accepted("add", to=to, position=position)
        self.expected.added(by, to, position)
        if position == "before":
            self._decided.discard(approval)  # whoever adds somebody before them is asked again

    async def _withdraw(self) -> None:
        comment = self._comment()
        answer = await self._withdrawing(comment)
        assert answer.status_code == 200, answer.text
        self.accepted.append(comment)
        self.expected.withdrawn(self.me)

    async def _withdrawing(self, comment: str) -> httpx.Response:
        return await self.desk.post(
            self.me, f"/v1/flow-runs/{self.run}/withdraw", {"comment": comment}
        )

    async def _cancel(self) -> None:

        async def tell() -> bool | None:
            self._done(await self.desk.say(self.me, self.conversation, {"text": "取消"}))
            return (await self.shown())["status"] not in ASKING or None

        await until(f"{self.run} to be given up", tell)
        self.expected.withdrawn(self.me)

    async def _leave_questions(self) -> None:
        """Cancel what the conversation still asks.

        Where the turn of a "cancel" fails after the request was cancelled, the repeated "cancel"
        asks which of the person's other requests to withdraw.
        """

        async def leave() -> bool | None:
            talk = await self.desk.get(self.me, f"/v1/conversations/{self.conversation}")
            flow = talk["active_flow"]
            if flow is None or flow["status"] not in ASKING:
                return True
            await self.desk.say(self.me, self.conversation, {"text": "取消"})
            return None

        await until(f"{self.me} to be asked nothing more about {self.run}", leave)

    async def _clash(self) -> None:
        by = self.expected.asked[0]
        approval = await self._awaited(by)
        comments = (self._comment(), self._comment())
        yes, no = await asyncio.gather(
            self._decision(by, approval, "approve", comments[0]),
            self._decision(by, approval, "reject", comments[1]),
        )
        assert sorted((yes.status_code, no.status_code)) == [200, 409], (yes.text, no.text)
        said_yes = yes.status_code == 200
        taken, late = comments if said_yes else comments[::-1]
        self.accepted.append(taken)
        self.refused.append(late)
        (self.expected.approved if said_yes else self.expected.rejected)(by)

    async def _race(self) -> None:
        by = self.expected.asked[0]
        approval = await self._awaited(by)
        agreeing, taking = self._comment(), self._comment()
        agreed, taken = await asyncio.gather(
            self._decision(by, approval, "approve", agreeing), self._withdrawing(taking)
        )
        assert 200 in (agreed.status_code, taken.status_code), (agreed.text, taken.text)
        was_agreed, was_taken = agreed.status_code == 200, taken.status_code == 200
        (self.accepted if was_agreed else self.refused).append(agreeing)
        if was_agreed:
            self.expected.approved(by)
        if was_taken and taken.json()["id"] != self.run:
            self._withdrawal_begun(taken)
        else:
            (self.accepted if was_taken else self.refused).append(taking)
            if was_taken:
                self.expected.withdrawn(self.me, at_once=was_agreed)

    async def _take_back(self) -> None:
        await self.stands("completed")
        answer = await self._withdrawing(self._comment())
        assert answer.status_code == 200, answer.text
        self._withdrawal_begun(answer)

    def _withdrawal_begun(self, answer: httpx.Response) -> None:
        self.withdrawal = answer.json()["id"]
        self.expected.withdrawal_asked()

    async def _decide_withdrawal(self) -> None:
        by = self.expected.taken_back_by
        assert by is not None
        approval = self._read(await self.desk.approval(by, self.withdrawal, set()))
        verdict = self.draws.choice(("approve", "reject"))
        answer = await self._decision(by, approval, verdict, self._comment())
        assert answer.status_code == 200, answer.text
        await self.stands("completed", "rejected", run=self.withdrawal)
        self.expected.withdrawal_decided(verdict)

    async def _accepted(self, verdict: str, **more: str) -> str:
        by, comment = self.expected.asked[0], self._comment()
        approval = await self._awaited(by)
        answer = await self._decision(by, approval, verdict, comment, **more)
        refused = f"{by} can't {verdict} {self.run} by {approval}: {answer.text}"
        assert answer.status_code == 200, (refused, self.expected, await self.shown())
        self.accepted.append(comment)
        return approval

    async def _awaited(self, by: str) -> str:
        approval = self._read(await self.desk.approval(by, self.run, self._decided))
        self._decided.add(approval)
        return approval

    def _read(self, found: dict[str, Any]) -> str:
        """The approval's id; from now on it is decided on as it was shown here."""
        self._digests[found["id"]] = found["digest"]
        return str(found["id"])

    async def _decision(
        self, by: str, approval: str, verdict: str, comment: str, **more: str
    ) -> httpx.Response:
        digest = self._digests.get(approval, "unseen")
        body = {"decision": verdict, "comment": comment, "digest": digest, **more}
        self.desk.decisions += 1
        return await self.desk.post(by, f"/v1/approvals/{approval}/decision", body)

    def _comment(self) -> str:
        self._words += 1
        return f"{self.number}/{self._words}"
