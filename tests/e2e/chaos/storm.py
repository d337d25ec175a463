"""The whole of it: people come, everything breaks, and in the end the books are read.

outcome = await chaos(Plan(conversations=20, faults=4), folder)
print(outcome.table())
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx

from tests.e2e.chaos import checker, posts
from tests.e2e.chaos.blows import Blow, Presence, Rage, drawn, possible, table
from tests.e2e.chaos.callers import Caller, Street, looked_through
from tests.e2e.chaos.checker import Finding, Records, of_temporal
from tests.e2e.chaos.consumer import WaywardConsumer, of_webhooks
from tests.e2e.chaos.entrances import Town, town
from tests.e2e.chaos.house import Dialect, House, Site, house, ready
from tests.e2e.chaos.model import Wayward
from tests.e2e.chaos.people import ANY, Either, Follower, Visit, Witness, Write
from tests.e2e.storm.requests import EVERYBODY, Request, full_week, until
from tests.fakes.model_server import ModelServer

CALLERS, REQUESTS = 0.3, 0.4
"""The share of conversations on chat platforms, and of the others those about leave or a claim."""
DISTURBED_EVERY = 8.0
"""Seconds at most between two calls that a platform refuses for now."""
PLATFORM_PATIENCE = 5.0
"""Seconds for which a platform waits for an answer."""

FEWEST = 4
"""People who are there when a fault comes, as long as there are any."""


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    conversations: int = 500
    faults: int = 50
    seed: int = 20261122
    only: tuple[str, ...] = ()
    """Names of faults; none are all that can happen."""
    database: Dialect = "postgresql"
    seconds: float = 60.0
    """How long a pause lasts, and other faults at most."""
    open_at_once: int = 24
    words_at_once: int = 8

    @property
    def ahead(self) -> float:
        """How many more may have come than have to be over at the next fault."""
        return max(FEWEST, 2 * self.conversations / max(self.faults, 1))

    @property
    def callers(self) -> int:
        """How many come by a chat platform."""
        return round(CALLERS * self.conversations)


@dataclass
class Crowd:
    """Those who have come, and how it went."""

    plan: Plan
    desk: Witness
    street: Street
    http: httpx.AsyncClient
    over: int = 0
    requests: list[Request | Caller] = field(default_factory=list)
    """Those that were carried through."""
    callers: list[Caller] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    broken: list[Finding] = field(default_factory=list)
    """Those that came to something that people can't make sense of."""
    presences: list[Presence] = field(default_factory=list)

    async def come(self, due: Callable[[], float]) -> None:
        """Everybody, until the last has gone; none so early that nobody is there at the next blow.

        That is due when so many of their conversations are over.
        """
        room = asyncio.Semaphore(self.plan.open_at_once)
        async with asyncio.TaskGroup() as group:
            for number, someone in enumerate(self._everybody()):
                while number > due() + self.plan.ahead:  # noqa: ASYNC110 - as in `Rage`
                    await asyncio.sleep(0.1)
                group.create_task(self._through(someone, room))

    def _everybody(self) -> list[Request | Visit | Caller]:
        draws = random.Random(self.plan.seed)
        monday = full_week(datetime.now(UTC).date())
        people: list[Request | Visit | Caller] = []
        names = [*self.street.town.people, *[""] * self.plan.conversations]
        names = names[: self.plan.conversations]
        random.Random(f"{self.plan.seed}/callers").shuffle(names)
        for number, name in enumerate(names):
            own = random.Random(f"{self.plan.seed}/{number}")
            if name:
                people.append(Caller(number, name, self.desk, self.street, own, monday))
            elif draws.random() < REQUESTS:
                locale = draws.choice(("zh", "en"))
                people.append(Request(number, self.desk, own, monday, locale))
            else:
                people.append(Visit(number, self.desk, own, self.writes))
        self.callers = [each for each in people if isinstance(each, Caller)]
        return people

    async def _through(self, someone: Request | Visit | Caller, room: asyncio.Semaphore) -> None:
        async with room:
            began = time.monotonic()
            try:
                await someone.carry_through()
            except Exception as error:  # noqa: BLE001 - whatever it was, the others go on
                about = f"{type(someone).__name__} {someone.number} in {someone.conversation}"
                self.broken.append(Finding("wrong", f"{about} broke off: {error!r}"))
            else:
                if not isinstance(someone, Visit):
                    self.requests.append(someone)
            self.presences.append(Presence(_names(someone), began, time.monotonic()))
            self.over += 1


def _names(someone: Request | Visit | Caller) -> tuple[str, ...]:
    """By which findings name them."""
    if isinstance(someone, Visit):
        return (someone.conversation, f"-{someone.number}-")
    own = someone.me if isinstance(someone, Caller) else someone.withdrawal
    return someone.conversation, someone.run, own


SHOWN = 700
"""Letters of a finding."""


@dataclass
class Outcome:
    """How often what happened, and what should never have."""

    blows: list[Blow]
    storm_seconds: float
    impossible: list[str]
    """Faults that can't happen to this house."""
    presences: list[Presence]
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    records: Records | None = None
    rows: dict[str, object] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """True where nothing was lost, doubled, wrong or left behind."""
        return not self.findings

    def count(self, crowd: Crowd, unheard: int, model: Wayward, false_starts: list[int]) -> None:
        """Take down the figures."""
        desk, records = crowd.desk, self.records
        assert records is not None
        said = desk.said.values()
        acknowledged = [one for one in said if one.acknowledged]
        least = sum(sum((+one.expected.calls).values()) for one in crowd.requests)
        least += sum(write.told_done for write in crowd.writes)
        # How many more at most, where a race left it open.
        perhaps = sum(one.expected.perhaps.total() for one in crowd.requests)
        perhaps += sum(not write.told_done for write in crowd.writes)
        turns = {(r["conversation"], r["message_id"]) for r in records.log if r["kind"] == "turn"}
        self.rows = {
            "conversations": len(desk.opened),
            "  with OpenAI's clients": sum(chat.startswith("openai") for chat in desk.chats),
            "  over AG-UI": sum(chat.startswith("ag-ui") for chat in desk.chats),
            "files handed in": len(desk.papers),
            "messages sent": len(said),
            "  sent again": sum(len(one.statuses) > 1 for one in said),
            "  acknowledged": len(acknowledged),
            "  answered": sum((one.conversation, one.id) in turns for one in acknowledged),
            "decisions": desk.decisions,
            "requests without an answer": desk.retries,
            "turns that failed": desk.failed_turns,
            "  runs begun in them": unheard,
            "effects expected": f"{least} to {least + perhaps}" if perhaps else str(least),
            "effects found": len(records.effects),
            "runs by end": Counter(row["status"] for row in records.runs),
            "listeners": len(desk.followers),
            "  events heard": sum(len(one.heard) for one in desk.followers),
            "model: right answers": model.right,
            "model: faults": f"{model.faults.total()} of {len(model.faults)} kinds",
            "starts before what they need": sum(false_starts),
        }

    def table(self) -> str:
        """Two columns, then the faults, then what was found, one a line."""
        kinds = Counter(finding.kind for finding in self.findings)
        rows: dict[str, object] = {
            "faults": len(self.blows),
            "  that can't happen here": ", ".join(self.impossible) or "none",
            **self.rows,
            "lost": kinds["lost"],
            "doubled": kinds["doubled"],
            "wrong": kinds["wrong"],
            "orphans": kinds["orphan"],
            "seconds": f"{self.seconds:.0f}, {self.storm_seconds:.0f} of them the storm",
        }
        lines = []
        for name, value in rows.items():
            if isinstance(value, Counter):
                listed = ", ".join(f"{kind} {count}" for kind, count in sorted(value.items()))
                value = f"{value.total()}: {listed}" if value else "0"  # noqa: PLW2901
            lines.append(f"{name:30}{value}")
        by_fault = table(self.blows, self.findings, self.presences)
        found = [f"{finding}"[:SHOWN] for finding in self.findings]
        return "\n".join([*lines, "", *by_fault, *found])


HEARD_WITHIN = 30.0
TOLD_WITHIN = 300.0
"""Seconds: what a process was sending that was killed is another's after sixty, and what isn't
taken is sent again after five, fifteen and forty-five."""


async def chaos(
    plan: Plan, folder: Path, say: Callable[[str], None] = lambda line: None
) -> Outcome:
    """Carry the plan out, what is kept and logged in `folder`; `say` hears how far it is."""
    model, began = Wayward(random.Random(plan.seed)), time.monotonic()
    async with (
        ModelServer(model) as server,
        WaywardConsumer(random.Random(f"{plan.seed}/consumer")) as consumer,
        town(plan.callers) as around,
        house(Site(folder, server.url, consumer.url, around, plan.database)) as at,
        _met(plan, at, around) as crowd,
        _disturbed(around, random.Random(f"{plan.seed}/busy")),
    ):
        outcome = await _stormed(crowd, at, say)
        await ready(at)
        unheard = len(await crowd.desk.give_up_unheard([*EVERYBODY, *around.people]))
        await _check(outcome, at, crowd)
        outcome.findings += await _told(consumer, outcome.records or Records())
        posted = await _posted(outcome, crowd)
    outcome.count(crowd, unheard, model, [one.false_starts for one in at.kept])
    outcome.rows |= posted | {
        "events for another system": len({event["id"] for event in consumer.told}),
        "  that it took more than once": len(consumer.told) - len(set(consumer.ids)),
        "  tries that it didn't take": consumer.faults,
    }
    outcome.seconds = time.monotonic() - began
    return outcome


async def _stormed(crowd: Crowd, at: House, say: Callable[[str], None]) -> Outcome:
    """What came over the house while everybody was there."""
    plan, began, targets = crowd.plan, time.monotonic(), possible(at, crowd.plan.only)
    draws = random.Random(plan.seed)
    blows = drawn(targets, plan.faults, plan.conversations, plan.seconds, draws)
    async with _probes(at, crowd.desk) as probes, asyncio.TaskGroup() as group:
        rage = Rage(at, blows, probes, say)
        group.create_task(crowd.come(lambda: rage.due))
        group.create_task(rage.run(lambda: crowd.over, draws))
    impossible = [name for name, each in targets.items() if not each]
    took = time.monotonic() - began
    return Outcome(blows, took, impossible, crowd.presences, findings=[*rage.findings])


@asynccontextmanager
async def _met(plan: Plan, at: House, around: Town) -> AsyncIterator[Crowd]:
    """Everybody: whoever was answered by one API may be by the other the next time."""
    draws = (random.Random(f"{plan.seed}/{way}") for way in ("api", "platforms"))
    to_api, to_platforms = (Either(at.urls, each) for each in draws)
    async with (
        httpx.AsyncClient(base_url=ANY, timeout=20, transport=to_api) as http,
        httpx.AsyncClient(base_url=ANY, timeout=PLATFORM_PATIENCE, transport=to_platforms) as way,
        _witness(plan, http) as desk,
    ):
        yield Crowd(plan, desk, Street(around, way), http)


PROBED_WITHIN = 5.0
"""Seconds until somebody who only looks whether all is well asks again."""


@asynccontextmanager
async def _probes(at: House, desk: Witness) -> AsyncIterator[list[Witness]]:
    """Somebody at each API, who remembers what `desk` does."""
    async with AsyncExitStack() as stack:
        yield [
            desk.by(
                await stack.enter_async_context(
                    httpx.AsyncClient(base_url=url, timeout=PROBED_WITHIN, trust_env=False)
                )
            )
            for url in at.urls
        ]


@asynccontextmanager
async def _disturbed(around: Town, draws: random.Random) -> AsyncIterator[None]:
    """Every now and then one platform is busy, for one call."""

    async def disturb() -> None:
        while True:
            await asyncio.sleep(draws.uniform(0, DISTURBED_EVERY))
            one = draws.choice(around.entrances)
            if not getattr(one.server, "troubles", ()):  # nobody has come by since the last one
                one.disturb()

    disturbing = asyncio.create_task(disturb())
    try:
        yield
    finally:
        disturbing.cancel()
        await asyncio.gather(disturbing, return_exceptions=True)


@asynccontextmanager
async def _witness(plan: Plan, http: httpx.AsyncClient) -> AsyncIterator[Witness]:
    desk = Witness(http, plan.words_at_once, random.Random(f"{plan.seed}/desk"))
    try:
        yield desk
    finally:
        await desk.close()


async def _check(outcome: Outcome, at: House, crowd: Crowd) -> None:
    desk = crowd.desk
    outcome.findings += await of_temporal(at.temporal)
    await desk.look_at_papers()
    records = await Records.read(at.database)
    await _all_heard(desk.followers, records)
    await desk.close()
    anew = [Follower(one.user, one.conversation) for one in desk.followers]
    await _read_again(anew, crowd.http, records)
    outcome.records = records
    called = {one.conversation: one.me for one in crowd.callers if one.conversation}
    outcome.findings += [
        *crowd.broken,
        *checker.of_messages([*desk.said.values()], posts.besides(records, {*called})),
        *checker.of_conversations({**desk.opened, **called}, records),
        *checker.of_events(desk.followers, [one.heard for one in anew], records),
        *checker.of_requests(crowd.requests, records),
        *checker.of_writes(crowd.writes, records),
        *checker.of_papers(desk.papers, records),
        *checker.of_rest(records),
        *(checker.Finding("wrong", what) for what in desk.strange),
        *(checker.Finding("wrong", end) for one in at.kept for end in one.ends_of_its_own),
    ]


async def _posted(outcome: Outcome, crowd: Crowd) -> dict[str, object]:
    """Find whether everybody on a platform, and who reads mail, was told all; the figures of it."""
    street, log = crowd.street, (outcome.records or Records()).log

    def read() -> dict[str, posts.Posted]:
        return {
            one.me: posts.of_posts(one.me, posts.lines_of(log, one.conversation), one.mine())
            for one in crowd.callers
        }

    async def ask() -> bool | None:
        return not any(one.findings for one in read().values()) or None

    with suppress(AssertionError):  # what isn't there by then is said to be lost
        await until("everybody to have been posted all", ask)
    cards = await looked_through(street)
    outcome.findings += posts.of_cards(cards, outcome.records or Records())
    for one in crowd.callers:
        own = [row for row in log if row["conversation"] == one.conversation]
        outcome.findings += posts.of_words(one.me, one.words, own)
    found = read()
    outcome.findings += [finding for one in found.values() for finding in one.findings]
    return _figures(crowd, found, len(cards))


def _figures(crowd: Crowd, found: dict[str, posts.Posted], cards: int) -> dict[str, object]:
    street, letters = (
        crowd.street,
        Counter(letter.message["Message-ID"] for letter in crowd.street.town.mail.letters),
    )
    again = Counter[str]()
    for one in crowd.callers:
        again[one.entrance.name] += found[one.me].again
    return {
        "people on chat platforms": len(crowd.callers),
        "  words and presses": sum(len(one.words) for one in crowd.callers),
        "  deliveries": street.delivered,
        "    not answered 200": street.refused,
        "    again though answered": street.again,
        "  posts to them": sum(len(one.mine()) for one in crowd.callers),
        "    seen twice": +again,
        "    that something failed": sum(one.asides for one in found.values()),
        "approvers' cards and mails": cards,
        "  presses on them": street.pressed,
        "  decided by mail": street.by_mail,
        "mails": len(letters),
        "  that came more than once": sum(count > 1 for count in letters.values()),
    }


async def _told(consumer: WaywardConsumer, records: Records) -> list[Finding]:
    """What another system wasn't told once it has had `TOLD_WITHIN` seconds, or nothing is."""

    async def ask() -> bool | None:
        return not [*of_webhooks(consumer.told, records)] or None

    with suppress(AssertionError):
        await until("another system to be told of everything", ask, TOLD_WITHIN)
    return [*of_webhooks(consumer.told, records)]


async def _all_heard(followers: list[Follower], records: Records) -> None:
    last: Counter[str] = Counter()
    for row in records.log:
        if row["kind"] == "turn" or (row["kind"] == "message" and not row["message_id"]):
            last[row["conversation"]] = row["sequence"]

    async def ask() -> bool | None:
        return all(one.row >= last[one.conversation] for one in followers) or None

    with suppress(TimeoutError):  # what they haven't heard by then is said to be lost
        async with asyncio.timeout(HEARD_WITHIN):
            await until("everybody to have heard all", ask)
    await asyncio.sleep(0.5)  # all events of a row come at once, but perhaps in two pieces


async def _read_again(followers: list[Follower], http: httpx.AsyncClient, records: Records) -> None:
    tasks = [asyncio.create_task(one.follow(http)) for one in followers]
    try:
        await _all_heard(followers, records)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
