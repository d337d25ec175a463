"""Careful clients of the API, with a note of all that they sent and were told, and their visits."""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Self
from uuid import uuid4

import httpx

from tests.document_files import EINVOICE, NUMBER
from tests.e2e.chaos.model import ADJUSTED
from tests.e2e.storm.requests import Desk, until

ANY = "http://127.0.0.1"
"""The address of whichever it is; what comes next may go to another."""


class Either(httpx.AsyncBaseTransport):
    """Sends each request to one of the servers at these URLs, chosen at random.

    >>> httpx.AsyncClient(base_url=ANY, transport=Either([first, second], draws))  # doctest: +SKIP
    """

    def __init__(self, urls: Sequence[str], draws: random.Random) -> None:
        self._urls = [httpx.URL(url) for url in urls]
        self._draws = draws
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._transport = httpx.AsyncHTTPTransport(trust_env=False, limits=limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        chosen = self._draws.choice(self._urls)
        request.url = request.url.copy_with(host=chosen.host, port=chosen.port)
        return await self._transport.handle_async_request(request)

    async def aclose(self) -> None:
        await self._transport.aclose()


MESSAGE = re.compile(r"/v1/conversations/([^/?]+)/messages(?:\?.*)?$")
OPENING = "/v1/conversations"
COMPLETIONS, AG_UI = "/v1/chat/completions", "/ag-ui"
USUAL = {200, 201, 202, 409, 429, 503}
SENT_AGAIN, FOLLOWED = 0.15, 0.2
"""Shares of what is sent once more although it was answered, and of conversations listened to."""
LISTENS = httpx.Timeout(5, read=20)

Event = tuple[str, str, str]
"""Id, name and data."""


@dataclass
class Said:
    """One message, and what its sender was told of it, however often they asked."""

    user: str
    conversation: str
    id: str
    statuses: list[int] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)

    @property
    def acknowledged(self) -> bool:
        """True where its sender was told that it was taken in."""
        return 200 in self.statuses or 202 in self.statuses


@dataclass(frozen=True)
class Paper:
    """A file that somebody handed in."""

    user: str
    name: str
    content: bytes


@dataclass
class Follower:
    """Somebody who follows a conversation's events, and comes again whenever they break off."""

    user: str
    conversation: str
    heard: list[Event] = field(default_factory=list)

    @property
    def at(self) -> str:
        return self.heard[-1][0] if self.heard else "0"

    @property
    def row(self) -> int:
        """The row of the log that was heard of last."""
        return int(self.at.partition(".")[0])

    async def follow(self, http: httpx.AsyncClient) -> None:
        """Until cancelled."""
        path = f"/v1/conversations/{self.conversation}/events"
        while True:
            headers = {"Authorization": f"Bearer {self.user}", "Last-Event-ID": self.at}
            with suppress(httpx.TransportError):
                async with http.stream("GET", path, headers=headers, timeout=LISTENS) as answer:
                    if answer.status_code == 200:
                        async for event in _events(answer):
                            self.heard.append(event)
            await asyncio.sleep(0.5)


async def _events(answer: httpx.Response) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
            continue
        if "id" in fields:
            yield fields["id"], fields["event"], fields["data"]
        fields = {}


class Witness(Desk):
    """A desk whose clients repeat themselves now and then, and remember everything."""

    def __init__(self, http: httpx.AsyncClient, at_once: int, draws: random.Random) -> None:
        super().__init__(http)
        self.places = asyncio.Semaphore(at_once)
        self._draws = draws
        self.said: dict[str, Said] = {}
        self.strange: list[str] = []
        """Answers that no client should ever get."""
        self.opened: dict[str, str] = {}
        """Whose each conversation is."""
        self.chats: dict[str, str] = {}
        """The conversation of each chat with a client of OpenAI's, and of each AG-UI thread."""
        self.papers: dict[str, Paper] = {}
        """What was handed in, by the ids that were told of it."""
        self.followers: list[Follower] = []
        self._following: list[asyncio.Task[None]] = []

    def by(self, http: httpx.AsyncClient) -> Self:
        """The same, what it remembers included, by another way."""
        other = copy(self)
        other._http = http
        return other

    async def post(
        self, user: str, path: str, body: dict[str, Any] | None = None
    ) -> httpx.Response:
        """The answer that settles it; sometimes asked for twice."""
        key = uuid4().hex
        answer = await self._answered("POST", user, path, body or {}, key)
        if self._draws.random() < SENT_AGAIN:
            again = await self._answered("POST", user, path, body or {}, key)
            if again.status_code != answer.status_code:
                self._wonder(f"POST {path} {body} again", answer, again)
        if path == OPENING and answer.status_code == 201:
            self._opened(user, answer.json()["id"])
        return answer

    async def chat(self, user: str, chat: str, text: str) -> dict[str, Any]:
        """The turn behind what a client of OpenAI's is answered in a chat that it calls so.

        The first text of a chat has to be one that nobody else says: only by that can the
        conversation be found among the user's.
        """
        key, told = uuid4().hex, []
        said = [{"role": "user", "content": text}]
        body = {"model": "intent-router", "messages": said, "metadata": {"conversation_id": chat}}
        for _ in range(1 + (self._draws.random() < SENT_AGAIN)):
            answer = await self._answered("POST", user, COMPLETIONS, body, key)
            assert answer.status_code == 200, answer.text
            told.append(str(answer.json()["choices"][0]["message"]["content"]))
        conversation = await self._begun(user, chat, text)
        turn: dict[str, Any] = await self.get(user, f"{OPENING}/{conversation}/messages/{key}")
        self.said[key] = Said(user, conversation, key, [200] * len(told), [turn])
        spoken = [reply["text"] for reply in turn["replies"]]
        if len({*told}) > 1 or not all(words.strip() in told[0] for words in spoken):
            self.strange.append(f"{user} was told {told} of {spoken}: {text} ({key})")
        return turn

    async def run(self, user: str, thread: str, text: str) -> dict[str, Any]:
        """The turn that a run of AG-UI ends with; the first text of a thread is nobody else's."""
        key = uuid4().hex
        said = [{"id": key, "role": "user", "content": text}]
        body = {"threadId": thread, "runId": key, "messages": said}

        async def ran() -> dict[str, Any] | None:
            answer = await self._answered("POST", user, AG_UI, body, key)
            assert answer.status_code == 200, answer.text
            lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
            last = json.loads(lines[-1].removeprefix("data: "))
            if last["type"] == "RUN_ERROR" and last.get("code") == "turn-failed":
                begun = await self._begun(user, thread, text)
                failed: dict[str, Any] = await self.get(user, f"{OPENING}/{begun}/messages/{key}")
                return failed
            turn: dict[str, Any] | None = last.get("result")
            return turn if last["type"] == "RUN_FINISHED" else None

        times = 1 + (self._draws.random() < SENT_AGAIN)
        told = [await until(f"run {key} of {user}'s to end", ran) for _ in range(times)]
        conversation = await self._begun(user, thread, text)
        self.said[key] = Said(user, conversation, key, [200] * len(told), told)
        return told[0]

    async def _begun(self, user: str, chat: str, text: str) -> str:
        """The conversation that a chat is, found by its first text."""
        if chat not in self.chats:
            listed = (await self.get(user, f"{OPENING}?limit=200"))["items"]
            title = " ".join(text.split())[:80]
            (self.chats[chat],) = (one["id"] for one in listed if one["title"] == title)
            self._opened(user, self.chats[chat])
        return self.chats[chat]

    async def hand_in(self, user: str, name: str, content: bytes) -> str:
        """The id of a file; handed in by the same key until it is taken, and sometimes after."""
        headers = {"Authorization": f"Bearer {user}", "Idempotency-Key": uuid4().hex}
        told = set[str]()

        async def taken() -> bool | None:
            try:
                form = {"file": (name, content)}
                answer = await self._http.post("/v1/files", headers=headers, files=form)
            except httpx.TransportError:
                return None
            if answer.status_code not in USUAL:
                self._wonder(f"{user} hands in {name}", answer)
            told.update([answer.json()["id"]] if answer.status_code == 201 else [])
            return answer.status_code == 201 or None

        for _ in range(1 + (self._draws.random() < SENT_AGAIN)):
            await until(f"{user}'s {name} to be taken", taken)
        self.papers |= {id_: Paper(user, name, content) for id_ in told}
        return min(told)

    async def look_at_papers(self) -> None:
        """Have all look at their papers: one that couldn't be read when it was taken is then."""

        async def is_read(id_: str, user: str) -> bool | None:
            headers = {"Authorization": f"Bearer {user}"}
            answer = await self._http.get(f"/v1/files/{id_}/document?wait=10", headers=headers)
            return (answer.status_code == 200 and answer.json()["status"] != "reading") or None

        for id_, paper in self.papers.items():
            await until(f"{paper.name} to be read", partial(is_read, id_, paper.user))

    async def close(self) -> None:
        """Nobody listens any more."""
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)

    def _opened(self, user: str, conversation: str) -> None:
        self.opened[conversation] = user
        if self._draws.random() < FOLLOWED:
            follower = Follower(user, conversation)
            self.followers.append(follower)
            self._following.append(asyncio.create_task(follower.follow(self._http)))

    async def _exchanged(
        self, method: str, path: str, headers: dict[str, str], body: dict[str, Any] | None
    ) -> httpx.Response | None:
        about = MESSAGE.search(path) if method == "POST" else None
        user, key = headers["Authorization"].split()[1], headers.get("Idempotency-Key", "")
        said = self.said.setdefault(key, Said(user, about[1], key)) if about else None
        answer = await super()._exchanged(method, path, headers, body)
        if answer is None:
            return None
        if answer.status_code not in USUAL:
            self._wonder(f"{user}: {method} {path} {json.dumps(body)[:200]}", answer)
        if said is not None:
            said.statuses.append(answer.status_code)
            said.turns += [answer.json()] if answer.status_code == 200 else []
        return answer

    def _wonder(self, what: str, *answers: httpx.Response) -> None:
        told = "; ".join(f"{one.status_code} {one.text[:300]}" for one in answers)
        self.strange.append(f"{what}: {told}")


WORDS = {
    "ask": {"zh": "食堂几点开门，今天人多吗", "en": "When does the canteen open, is it busy"},
    "look": {"zh": "我的年假还有多少来着呗", "en": "remind me what is left of my days off"},
    "advise": {
        "zh": "试用期的人能不能休年假，能休几天",
        "en": "what do the rules say on carrying over",
    },
    "adjust": {"zh": f"给 {ADJUSTED} 加半天调休", "en": f"half a day more in lieu for {ADJUSTED}"},
}
SURE = {"zh": "年假还剩几天", "en": "how much annual leave do I have"}
"""Words that a pattern takes, so that no model is asked."""
HR, OTHERS = "dave", ("alice", "bob", "erin", "frank", "gina", "olga")
Face = Literal["rest", "openai", "ag-ui"]
FACES: dict[Face, float] = {"rest": 0.5, "openai": 0.25, "ag-ui": 0.25}
"""The shares of conversations without writes, by how they are held."""
LONGEST = 4
ADJUST = "adjust_leave_balance"
PAPERS = "chaos-"
"""What the names of files begin with that people hand in."""
ATTEMPTS = 4
"""How often somebody asks for a write until they do without."""


@dataclass
class Write:
    """A write that somebody asked for and confirmed, and what they were told of it."""

    mark: str
    told_done: bool = False
    run: str = ""
    """The run that does it, where a form was filled in."""


@dataclass
class Visit:
    """A conversation of a few messages."""

    number: int
    desk: Witness
    draws: random.Random
    writes: list[Write] = field(default_factory=list)
    conversation: str = ""
    face: Face = "rest"
    user: str = field(init=False)
    locale: str = field(init=False)
    _words: int = 0

    def __post_init__(self) -> None:
        self.user = HR if self.draws.random() < 0.2 else self.draws.choice(OTHERS)
        self.locale = self.draws.choice(("zh", "en"))
        if self.user != HR:
            (self.face,) = self.draws.choices([*FACES], [*FACES.values()])

    async def carry_through(self) -> None:
        """All of it, until nothing is asked any more."""
        async with self.desk.places:
            await self._open()
        for _ in range(self.draws.randint(1, LONGEST)):
            async with self.desk.places:
                await self._wish()
                await self._tidy()

    async def _open(self) -> None:
        if self.face != "rest":
            await self._say(self._text("ask"))
            await self._tidy()
            return
        opened = await self.desk.post(self.user, "/v1/conversations", {"locale": self.locale})
        assert opened.status_code == 201, opened.text
        self.conversation = opened.json()["id"]

    async def _wish(self) -> None:
        writes = ("adjust",) * 4 * (self.user == HR)
        kinds = ("ask", "look", "advise", "sure", "both", "paper", *writes)
        match self.draws.choice(kinds):
            case "adjust":
                await self._adjust()
            case "paper":
                await self._hand_in()
            case "sure":
                await self._say(SURE[self.locale])
            case "both":
                await asyncio.gather(self._say(self._text("ask")), self._say(self._text("look")))
            case kind:
                await self._say(self._text(kind))

    async def _adjust(self) -> None:
        text = self._text("adjust")
        for _ in range(ATTEMPTS):
            turn = await self._say(text)
            question = next((r for r in turn["replies"] if r["type"] == "confirm"), None)
            if question is not None:
                action = {"type": "confirm", "value": True, "question": question["question"]}
                turn = await self.desk.say(self.user, self.conversation, {"action": action})
                calls = [c["status"] for c in turn["tool_calls"] if c["name"] == ADJUST]
                run = turn.get("flow", {}).get("id", "")
                self.writes.append(Write(text.split()[-1], "done" in calls, run))
                return
            await self._tidy()

    async def _hand_in(self) -> None:
        """An invoice, whose reading is looked at, and which goes along with the next words."""
        text = self._text("ask")
        content = EINVOICE.replace(NUMBER, f"{self.number:010}{self._words:010}").encode()
        name = f"{PAPERS}{self.number}-{self._words}.xml"
        id_ = await self.desk.hand_in(self.user, name, content)
        await self.desk.get(self.user, f"/v1/files/{id_}/document?wait=5")
        await self._say(text, id_)

    async def _tidy(self) -> None:

        async def nothing_open() -> bool | None:
            path = f"/v1/conversations/{self.conversation}"
            shown = await self.desk.get(self.user, path)
            flow = shown["active_flow"]
            if flow is None and not shown["paused_flows"] and not shown["pending_confirmation"]:
                return True
            if flow is None or flow["status"] in ("collecting", "confirming"):
                await self._say({"zh": "取消", "en": "cancel"}[self.locale])
            return None

        await until(f"nothing to be open in {self.conversation}", nothing_open)

    def _text(self, kind: str) -> str:
        self._words += 1
        return f"{WORDS[kind][self.locale]} #{kind}-{self.number}-{self._words}"

    async def _say(self, text: str, *files: str) -> dict[str, Any]:
        """By any face: what was said before is known to all, and files go along by themselves."""
        if self.face == "rest":
            body = {"text": text, **({"files": [*files]} if files else {})}
            return await self.desk.say(self.user, self.conversation, body)
        says = self.desk.chat if self.face == "openai" else self.desk.run
        turn = await says(self.user, chat := f"{self.face}-{self.number}", text)
        self.conversation = self.desk.chats[chat]
        return turn
