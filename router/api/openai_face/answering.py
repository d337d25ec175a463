"""Answers on their way out: whole, or as they are written.

What a model writes is passed on as it comes. Nothing that was sent can be taken back, and a
model may be asked again, or rules may say more than it did. So the first attempt is streamed, and
what comes after it is held until the turn is over. Then either that goes on where the text
stands, and only the rest is sent; or it doesn't, and all of it is sent below a line that says
what counts. That is rare, and better than never to see an answer grow.
"""

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from fastapi import Request
from fastapi.responses import JSONResponse, Response

from router.api.openai_face import errors, shapes
from router.api.openai_face.asked import Completion
from router.api.openai_face.exchange import Exchange
from router.api.openai_face.shapes import Envelope
from router.api.streaming import EventStream
from router.api.turns import Turns
from router.api.under_way import Failed, Happening, UnderWay
from router.domain.errors import Unavailable
from router.domain.messages import Reply, Turn, Usage
from router.domain.plain_replies import as_plain_text
from router.domain.progress import Progress
from router.domain.texts import Locale, Localised

WAIT = 300.0
"""Seconds within which a whole answer comes, where one comes at all."""
STILL_AT_WORK = "This is still being worked on; send the same request again to get its answer."
ANEW = Localised(zh="以上作废，改为：", en="Not that; instead:")
_LINE = "\n\n---\n\n"


def envelope(asked: Completion, message_id: str) -> Envelope:
    """What all parts of the answer to this message have in common."""
    return Envelope(f"chatcmpl-{message_id}", int(time.time()), asked.model)


def at_once(asked: Completion, about: Envelope, text: str) -> Response:
    """An answer that is there already."""
    if asked.stream:
        return EventStream(_written(asked, about, text))
    return JSONResponse(about.completion(text, Usage()))


async def _written(asked: Completion, about: Envelope, text: str) -> AsyncGenerator[bytes]:
    yield about.delta(role="assistant", content="")
    yield about.delta(content=text)
    for last in _ended(asked, about, Usage()):
        yield last


async def whole(exchange: Exchange, turns: Turns, about: Envelope) -> Response:
    """The answer once the turn is over.

    Raises what `Turns.submit` raises, and `Unavailable` where it takes longer than `WAIT`.
    """
    turn = await turns.submit(exchange.record, exchange.submission, WAIT)
    if turn is None:
        raise Unavailable(STILL_AT_WORK)
    said = as_plain_text(turn.replies, exchange.record.locale)
    parts = [await exchange.news(), said, exchange.note]
    return JSONResponse(about.completion("\n\n".join(filter(None, parts)), turn.usage))


async def streamed(
    request: Request, exchange: Exchange, turns: Turns, asked: Completion, about: Envelope
) -> Response:
    """The answer as it is written. Raises what `Turns.submit` raises before it begins."""
    under_way = UnderWay(exchange.services.store.live, turns, exchange.record, exchange.submission)
    pieces = _Stream(request, exchange, under_way, asked, about).pieces()
    return EventStream(pieces, await anext(pieces))


@dataclass
class _Stream:
    """One answer while it is written."""

    request: Request
    exchange: Exchange
    under_way: UnderWay
    asked: Completion
    about: Envelope
    told: str = ""

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The role, the text piece by piece, the end, and `[DONE]`; or last an error."""
        text = Text(self.exchange.record.locale)
        async with aclosing(self.under_way.happenings()) as happenings:
            await anext(happenings)
            yield self.about.delta(role="assistant", content="")
            self.told = await self.exchange.news()
            if self.told:
                yield self.about.delta(content=f"{self.told}\n\n")
            async for happening in happenings:
                async for piece in self._pieces_of(happening, text):
                    yield piece

    async def _pieces_of(self, happening: Happening, text: "Text") -> AsyncGenerator[bytes]:
        match happening:
            case Turn():
                yield self.about.delta(content=text.rest(happening.replies) + await self._below())
                for last in _ended(self.asked, self.about, happening.usage):
                    yield last
            case Failed(error):
                said = await errors.failed(self.request, error)
                yield b"data: " + bytes(said.body) + b"\n\n"
            case Progress(type="text_delta"):
                if written := text.written(happening):
                    yield self.about.delta(content=written)
            case _:
                yield shapes.STILL_THERE

    async def _below(self) -> str:
        """What came in while the turn ran, and what is to be said besides."""
        news = await self.exchange.news()
        late = "" if news == self.told else news.removeprefix(self.told).strip()
        return "".join(f"\n\n{more}" for more in (late, self.exchange.note) if more)


def _ended(asked: Completion, about: Envelope, spent: Usage) -> Iterator[bytes]:
    yield about.delta(finish="stop")
    if asked.wants_usage:
        yield about.cost(spent)
    yield shapes.DONE


@dataclass
class Text:
    """The text of an answer: what of it was sent already, and what is yet to be.

    >>> from router.domain.messages import TextReply
    >>> text = Text("en", sent="You have 8")
    >>> text.rest([TextReply(text="You have 8 days.")])
    ' days.'
    """

    locale: Locale
    sent: str = ""
    _attempt: int | None = field(default=None, repr=False)

    def written(self, delta: Progress) -> str:
        """What of the delta to pass on; nothing, where it is of a later attempt."""
        attempt, piece = delta.data["attempt"], str(delta.data["text"])
        if self._attempt is None:
            self._attempt = attempt if isinstance(attempt, int) else 1
        if attempt != self._attempt:
            return ""
        piece = piece if self.sent else piece.lstrip()
        self.sent += piece
        return piece

    def rest(self, replies: list[Reply]) -> str:
        """What to send now that it is certain what the answer is."""
        sent = self.sent.rstrip()
        if not sent:
            return as_plain_text(replies, self.locale)
        for number, reply in enumerate(replies):
            said = as_plain_text([reply], self.locale)
            if said.startswith(sent):
                others = [*replies[:number], *replies[number + 1 :]]
                return self._after(said, as_plain_text(others, self.locale))
        whole = as_plain_text(replies, self.locale)
        if whole.startswith(sent):
            return self._after(whole, "")
        return f"{_LINE}{ANEW.within(self.locale)}\n\n{whole}"

    def _after(self, said: str, others: str) -> str:
        """The rest of what is being said, and whatever else there is to say below it."""
        kept = self.sent if said.startswith(self.sent) else self.sent.rstrip()
        return said[len(kept) :] + (f"\n\n{others}" if others else "")
