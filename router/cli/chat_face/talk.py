"""One person's conversation: what is sent, what comes back, and what is asked right now."""

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from pydantic import TypeAdapter

from router.cli.chat_face import rendering, words
from router.cli.chat_face.answering import Body, question_in
from router.cli.chat_face.screen import Screen
from router.cli.rest import Event, Refused, Rest
from router.domain.errors import Unavailable
from router.domain.messages import Reply, Route, Turn
from router.domain.texts import Locale, Localised

TRIES = 3
"""Of a message whose answer was lost on its way; it does nothing twice."""
PAUSES = (1.0, 2.0, 5.0, 10.0)
"""Seconds before the news is listened for again, where the connection was lost."""

_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)
_REPLIES: TypeAdapter[list[Reply]] = TypeAdapter(list[Reply])


class Talk:
    """A conversation on a screen. Raises what `Rest` raises."""

    def __init__(self, rest: Rest, screen: Screen, opened: Body) -> None:
        self.rest = rest
        self.screen = screen
        self.id: str = opened["id"]
        self.locale: Locale = opened["locale"]
        self.asked: Reply | None = None
        """What the desk wants to know now."""
        self.route: Route | None = None
        """Where the last message went."""
        self._own: set[str] = set()
        self._seen = "0"
        """The last item of the transcript that was shown."""

    @property
    def path(self) -> str:
        """Of the conversation, in the API."""
        return f"/v1/conversations/{quote(self.id, safe='')}"

    def say(self, text: Localised, **values: Any) -> str:
        """A text of the terminal's own, in the person's language."""
        return text.within(self.locale).format(**values)

    async def send(self, message: Body) -> None:
        """Send a message and show its turn as it comes."""
        message_id = uuid4().hex
        self._own.add(message_id)
        body = {**message, "message_id": message_id}
        for left in range(TRIES - 1, -1, -1):
            try:
                return await self._turn(body)
            except Unavailable:
                if not left or not self.screen.interactive:
                    raise
                await asyncio.sleep(PAUSES[0])
        return None

    async def _turn(self, body: Body) -> None:
        showing = _Showing(self)
        async with aclosing(self.rest.events("POST", f"{self.path}/messages", body)) as events:
            async for event in events:
                if event.name == "turn":
                    return showing.end(Turn.model_validate(event.data))
                if event.name == "error":
                    raise Refused(str(event.data.get("detail")), int(event.data.get("status", 0)))
                showing.take(event)
        raise Unavailable(self.say(words.LOST))

    def hear(self, replies: list[Reply]) -> None:
        """Show what was said, and remember what it asks."""
        self.asked = question_in(replies)
        shown = rendering.said(replies, self.locale, interactive=self.screen.interactive)
        if shown:
            self.screen.line(shown)

    async def resume(self) -> None:
        """Take up a conversation where it was left: its last exchange, and what that asks."""
        for item in await self._last_page():
            self._seen = item["id"]
            self._own.add(item.get("message_id", ""))
            if item["role"] == "user":
                self.screen.aside(f"> {item['text']}")
            else:
                self.hear(_REPLIES.validate_python(item.get("replies", [])))
                route = item.get("route")
                self.route = Route.model_validate(route) if route else self.route

    async def last_question(self) -> Reply | None:
        """What the conversation asked last, if it still does; nothing is shown."""
        last = [item.get("replies", []) for item in (await self._last_page())[1:]]
        return question_in(_REPLIES.validate_python(last[-1])) if last else None

    async def _last_page(self) -> list[Body]:
        """From the last thing that the person said on."""
        page: Body = {"next": "0"}
        items: list[Body] = []
        while page["next"] is not None:
            page = await self.rest.get(f"{self.path}/messages", after=page["next"], limit=200)
            items = [*items, *page["items"]][-200:]
        asked = [at for at, item in enumerate(items) if item["role"] == "user"]
        return items[asked[-1] :] if asked else items

    async def follow(self) -> None:
        """Show what happens in the conversation without being asked for here; never ends."""
        news, pauses = (
            _News(self, self._seen),
            itertools.chain(PAUSES, itertools.repeat(PAUSES[-1])),
        )
        while True:
            try:
                async with aclosing(self._happening(news.last)) as events:
                    async for event in events:
                        news.take(event)
            except (Unavailable, Refused):
                await asyncio.sleep(next(pauses))

    def _happening(self, after: str) -> AsyncGenerator[Event]:
        return self.rest.events("GET", f"{self.path}/events", after=after)

    def mine(self, message_id: object) -> bool:
        """True for a message that was sent from here."""
        return message_id in self._own


class _Showing:
    """A turn on the screen while it runs: tools, words of progress, text as it is written."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._attempt = 0
        self._written = ""

    def take(self, event: Event) -> None:
        if not self._talk.screen.interactive:
            return
        if event.name == "text_delta":
            self._write(event.data["attempt"], event.data["text"])
        elif event.name == "tool_started":
            self._note(f"… {event.data['name']} {event.data.get('progress', '')}")
        elif event.name == "tool_finished":
            self._note(f"  {event.data['name']}: {event.data['status']}")

    def end(self, turn: Turn) -> None:
        """What was written already isn't said again."""
        talk, written = self._talk, self._written.strip()
        self._break()
        talk.route = turn.route
        shown = bool(written) and bool(turn.replies) and turn.replies[0].text.strip() == written
        talk.hear(turn.replies[1:] if shown else turn.replies)

    def _write(self, attempt: int, text: str) -> None:
        if attempt != self._attempt and self._written:
            self._note(self._talk.say(words.ANEW))
            self._written = ""
        self._attempt = attempt
        self._written += text
        self._talk.screen.flow(text)

    def _note(self, text: str) -> None:
        self._break()
        self._talk.screen.aside(text.rstrip())

    def _break(self) -> None:
        """End the line that is being written, if one is."""
        if self._written and not self._written.endswith("\n"):
            self._talk.screen.line()


class _News:
    """What comes by itself: words of runs, and what is said in another window."""

    def __init__(self, talk: Talk, seen: str) -> None:
        self._talk = talk
        self._of_turn = ""
        """The row of the turn whose parts come right now."""
        self.last = seen

    def take(self, event: Event) -> None:
        self.last = event.id or self.last
        if event.name == "route":
            self._of_turn = event.row
        elif event.name == "reply" and event.row != self._of_turn:
            self._talk.hear([_REPLY.validate_python(event.data)])
        elif event.name == "message" and not self._talk.mine(event.data.get("message_id")):
            where = self._talk.say(words.ELSEWHERE)
            self._talk.screen.aside(f"({where}) > {event.data['text']}")
        elif event.name == "turn" and not self._talk.mine(event.data["message_id"]):
            turn = Turn.model_validate(event.data)
            self._talk.route = turn.route
            self._talk.hear(turn.replies)
