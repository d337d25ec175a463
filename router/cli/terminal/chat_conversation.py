"""One person's conversation: what is sent, what comes back, and what is asked right now."""

import asyncio
import json
import re
import unicodedata
from contextlib import aclosing
from http import HTTPStatus
from itertools import chain, repeat
from math import ceil
from time import monotonic
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from pydantic import TypeAdapter

from router.cli.rest import Rest
from router.cli.terminal import screen
from router.cli.terminal.screen import Screen
from router.client import Refused
from router.client.exchange import StreamCut
from router.client.responses import ApiEvent
from router.domain.errors import Unavailable
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    ChoicesReply,
    ChooseAction,
    ConfirmAction,
    ConfirmReply,
    FormReply,
    Option,
    Reply,
    Route,
    TextReply,
    Turn,
    is_offered_beside,
    replies_of,
)
from router.domain.visible_text import inline, quote_person

Body = dict[str, Any]
"""What is sent as a message: `{"text": …}` or `{"action": …}`."""

_YES = {"y", "yes", "是", "确认"}
_NO = {"n", "no", "否"}


def body_of(line: str, asked: Reply | None) -> Body:
    """The message that the line is: a number or a yes that answers `asked`, else its text.

    An answer names its question, so that it is never taken for the answer to a later one.

    >>> ask = ChoicesReply(text="Which?", options=[Option(label="Annual", value="annual")])
    >>> body_of("1", ask), body_of("annual", ask)
    ({'action': {'type': 'choose', 'value': 'annual'}}, {'text': 'annual'})
    """
    word = unicodedata.normalize("NFKC", line).strip().rstrip(".").casefold()
    action: ChooseAction | ConfirmAction | None = None
    if isinstance(asked, ChoicesReply) and (chosen := numbered(word, asked.options)):
        action = ChooseAction(type="choose", value=chosen.value, question=asked.question)
    elif isinstance(asked, ConfirmReply) and asked.question and word in _YES | _NO:
        action = ConfirmAction(type="confirm", value=word in _YES, question=asked.question)
    return {"text": line} if action is None else {"action": action.model_dump(exclude_none=True)}


def form_body(form: FormReply, values: Body) -> Body:
    """The message that fills in a form, or a part of it."""
    action: Body = {"type": "form", "values": values}
    return {"action": action | ({"question": form.question} if form.question else {})}


def numbered(word: str, options: list[Option]) -> Option | None:
    """The option of this number, as they are shown; None where the word is no such number."""
    if not re.fullmatch("[0-9]{1,3}", word) or not 1 <= int(word) <= len(options):
        return None
    return options[int(word) - 1]


def question_in(replies: list[Reply]) -> Reply | None:
    """The question that these replies leave open: the last one, where there is any.

    What is offered before a question that is asked in words isn't: a number answers those words.
    """
    asking = [r for r in replies if isinstance(r, ChoicesReply | ConfirmReply | FormReply)]
    last = asking[-1] if asking else None
    return None if last and is_offered_beside(last, replies) else last


PAUSES = (1.0, 2.0, 5.0, 10.0)
"""Seconds before the news is listened for again, where the connection was lost."""

_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)
_REPLIES: TypeAdapter[list[Reply]] = TypeAdapter(list[Reply])


MAX_BUSY_RETRIES = 3
"""How often a message is sent again to an API that is too busy, before the person hears so."""
LONGEST_WAIT_S = 30
"""A person doesn't wait longer than that for the next try."""


def _seconds_to_wait(refused: Refused) -> int | None:
    """Return after how many seconds to send a refused message again; `None` if it is no use."""
    seconds = ceil(refused.retry_after or 0)
    is_busy = refused.status == HTTPStatus.TOO_MANY_REQUESTS
    return seconds if is_busy and 0 < seconds <= LONGEST_WAIT_S else None


class ChatConversation:
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
        """Send a message and show its turn as it comes; while the API is busy, send it again."""
        message_id = uuid4().hex
        self._own.add(message_id)
        body = {**message, "message_id": message_id}
        for _ in range(MAX_BUSY_RETRIES):
            try:
                await self._send(body)
            except Refused as refused:
                if (seconds := _seconds_to_wait(refused)) is None:
                    raise
                self.screen.line(self.say(screen.BUSY, seconds=seconds))
                await asyncio.sleep(seconds)
            else:
                return
        await self._send(body)

    async def _send(self, body: Body) -> None:
        asked = self.rest.events("POST", f"{self.path}/messages", body)
        try:
            async with aclosing(asked) as events, aclosing(TurnDisplay(self)) as showing:
                async for event in events:
                    if event.name == "turn":
                        showing.end(Turn.model_validate(event.data))
                    else:
                        showing.take(event)
        except StreamCut:
            raise Unavailable(self.say(screen.LOST)) from None

    def hear(self, replies: list[Reply]) -> None:
        """Show what was said, and remember what it asks."""
        self.asked = question_in(replies)
        shown = screen.said(replies, self.locale, interactive=self.screen.interactive)
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
                self.hear(replies_of(item))
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
        news, pauses = ConversationNews(self, self._seen), chain(PAUSES, repeat(PAUSES[-1]))
        while True:
            try:
                path = f"{self.path}/events"
                async with aclosing(self.rest.events("GET", path, after=news.last)) as events:
                    async for event in events:
                        news.take(event)
            except (Unavailable, Refused):
                await asyncio.sleep(next(pauses))

    def mine(self, message_id: object) -> bool:
        """True for a message that was sent from here."""
        return message_id in self._own


SOON, AGAIN = 2.0, 10.0
"""Seconds of thinking until that is shown, and shown again."""


class TurnDisplay:
    """A turn on the screen while it runs: models that think, tools, text as it is written."""

    def __init__(self, talk: ChatConversation) -> None:
        self._talk = talk
        self._attempt = 0
        self._written = ""
        self._telling: asyncio.Task[None] | None = None

    async def aclose(self) -> None:
        """Tell nothing more."""
        self._stop_telling()

    def take(self, event: ApiEvent) -> None:
        """Show an event of the turn, where somebody sits there."""
        if not self._talk.screen.interactive:
            return
        self._stop_telling()
        if event.name == "thinking" and event.data["status"] == "started":
            self._telling = asyncio.create_task(self._tell(self._thinking(event.data)))
        elif event.name == "text_delta":
            if event.data["attempt"] != self._attempt and self._written:
                self._note(self._talk.say(screen.ANEW))
                self._written = ""
            self._attempt = event.data["attempt"]
            self._written += event.data["text"]
            self._talk.screen.flow(event.data["text"])
        elif event.name == "plan":
            step = f"{event.data['number']}/{event.data['steps']} {event.data['title']}"
            fate = event.data.get("fate")
            self._note(f"  {step}: {fate}" if fate else f"… {step}")
        elif event.name == "tool_started":
            self._note(f"… {event.data['name']} {_about_call(event.data)}")
        elif event.name == "tool_finished":
            result = inline(event.data.get("result", ""))[:RESULT_SHOWN]
            self._note(f"  {event.data['name']}: {event.data['status']} {result}")

    def _thinking(self, about: Body) -> str:
        if about["skill"] is None:
            return self._talk.say(screen.THINKING)
        return self._talk.say(screen.THINKING_STEP, skill=about["skill"], step=about["step"])

    async def _tell(self, about: str) -> None:
        began = monotonic()
        for pause in chain((SOON,), repeat(AGAIN)):
            await asyncio.sleep(pause)
            lasts = self._talk.say(screen.SO_LONG, seconds=monotonic() - began)
            self._note(f"… {about} · {lasts}")

    def _stop_telling(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None

    def end(self, turn: Turn) -> None:
        """What was written already isn't said again."""
        talk, written = self._talk, self._written.strip()
        self._break()
        talk.route = turn.route
        replies = list(turn.replies)
        if written and replies and replies[0].text.strip().startswith(written):
            rest = replies[0].text.strip().removeprefix(written).strip()
            replies[:1] = [replies[0].replace(text=rest)] if rest else []
        talk.hear(replies)

    def _note(self, text: str) -> None:
        self._break()
        self._talk.screen.aside(text.rstrip())

    def _break(self) -> None:
        """End the line that is being written, if one is."""
        if self._written and not self._written.endswith("\n"):
            self._talk.screen.line()


RESULT_SHOWN = 200
"""Characters of a call's result that a terminal shows: a line or two."""


def _about_call(data: dict[str, Any]) -> str:
    """How far the call says it is; as long as it says nothing, what it is made with."""
    given = data.get("arguments") or {}
    called = " ".join(f"{name}={json.dumps(v, ensure_ascii=False)}" for name, v in given.items())
    return str(data.get("progress") or inline(called))


def _said(data: dict[str, Any]) -> Reply:
    """What is said; a person who helps is named before it."""
    author = data.get("author")
    if author is None:
        return _REPLY.validate_python(data)
    return TextReply(text=quote_person(str(author["name"]), str(data["text"])))


class ConversationNews:
    """What comes by itself: words of runs, and what is said in another window."""

    def __init__(self, talk: ChatConversation, seen: str) -> None:
        self._talk = talk
        self._of_turn = ""
        """The row of the turn whose parts come right now."""
        self.last = seen

    def take(self, event: ApiEvent) -> None:
        """Show what the event tells, unless a turn of this window's has."""
        self.last = event.id or self.last
        if event.name == "route":
            self._of_turn = event.row
        elif event.name == "reply" and event.row != self._of_turn:
            self._talk.hear([_said(event.data)])
        elif event.name == "message" and not self._talk.mine(event.data.get("message_id")):
            where = self._talk.say(screen.ELSEWHERE)
            self._talk.screen.aside(f"({where}) > {event.data['text']}")
        elif event.name == "turn" and not self._talk.mine(event.data["message_id"]):
            turn = Turn.model_validate(event.data)
            self._talk.route = turn.route
            self._talk.hear(turn.replies)
