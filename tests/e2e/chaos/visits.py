"""Conversations that aren't about requests: questions, look-ups, advice, and a write by HR."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.chaos.model import ADJUSTED
from tests.e2e.chaos.witness import Witness
from tests.e2e.storm.people import until

WORDS = {
    "ask": {"zh": "食堂几点开门，今天人多吗", "en": "When does the canteen open, is it busy"},
    "look": {"zh": "我的年假还有多少来着", "en": "remind me what is left of my days off"},
    "advise": {
        "zh": "试用期的人能不能休年假，能休几天",
        "en": "what do the rules say on carrying over",
    },
    "adjust": {"zh": f"给 {ADJUSTED} 加半天调休", "en": f"half a day more in lieu for {ADJUSTED}"},
}
SURE = {"zh": "年假还剩几天", "en": "how much annual leave do I have"}
"""Words that a pattern takes, so that no model is asked."""
HR, OTHERS = "dave", ("alice", "bob", "erin", "frank", "gina", "olga")
CHATS = 0.4
"""The share of conversations without writes that clients of OpenAI's hold."""
LONGEST = 4
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
    chat: str = ""
    """What a client of OpenAI's calls the conversation; empty where it is held over REST."""
    user: str = field(init=False)
    locale: str = field(init=False)
    _words: int = 0

    def __post_init__(self) -> None:
        self.user = HR if self.draws.random() < 0.2 else self.draws.choice(OTHERS)
        self.locale = self.draws.choice(("zh", "en"))
        if self.user != HR and self.draws.random() < CHATS:
            self.chat = f"chat-{self.number}"

    async def carry_through(self) -> None:
        """All of it, until nothing is asked any more."""
        async with self.desk.places:
            await self._open()
        for _ in range(self.draws.randint(1, LONGEST)):
            async with self.desk.places:
                await self._wish()
                await self._tidy()

    async def _open(self) -> None:
        """Begun by itself over REST; a chat begins with its first words."""
        if self.chat:
            await self._say(self._text("ask"))
            await self._tidy()
            return
        opened = await self.desk.post(self.user, "/v1/conversations", {"locale": self.locale})
        assert opened.status_code == 201, opened.text
        self.conversation = opened.json()["id"]

    async def _wish(self) -> None:
        kinds = ("ask", "look", "advise", "sure", "both", *(("adjust",) * 4 * (self.user == HR)))
        match self.draws.choice(kinds):
            case "adjust":
                await self._adjust()
            case "sure":
                await self._say(SURE[self.locale])
            case "both":
                await asyncio.gather(self._say(self._text("ask")), self._say(self._text("look")))
            case kind:
                await self._say(self._text(kind))

    async def _adjust(self) -> None:
        """Ask for it until it is to be confirmed, and do that once."""
        text = self._text("adjust")
        for _ in range(ATTEMPTS):
            turn = await self._say(text)
            question = next((r for r in turn["replies"] if r["type"] == "confirm"), None)
            if question is not None:
                await self._confirm(text.split()[-1], question)
                return
            await self._tidy()

    async def _confirm(self, mark: str, question: dict[str, Any]) -> None:
        action = {"type": "confirm", "value": True, "question": question["question"]}
        turn = await self._act(action)
        called = [c["status"] for c in turn["tool_calls"] if c["name"] == "adjust_leave_balance"]
        run = turn.get("flow", {}).get("id", "")
        self.writes.append(Write(mark, "done" in called, run))

    async def _tidy(self) -> None:
        """Give up whatever is asked, and wait for what is at work."""

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

    async def _say(self, text: str) -> dict[str, Any]:
        """By either face: what was said before is known to both."""
        if self.chat:
            turn = await self.desk.chat(self.user, self.chat, text)
            self.conversation = self.desk.chats[self.chat]
            return turn
        return await self.desk.say(self.user, self.conversation, {"text": text})

    async def _act(self, action: dict[str, Any]) -> dict[str, Any]:
        return await self.desk.say(self.user, self.conversation, {"action": action})
