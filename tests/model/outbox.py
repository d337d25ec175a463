"""A mailbox, and the processes that post what is new in it: who posts is the product's own code.

A process is what it was given when it claimed the mailbox, and what it has heard since: run again
from the start with that, `Outbox._delivered` comes to what it does next. Around it stand as values
the log, the mailbox's row, the lease, and the platform, which knows no post by its key.

    the log ── read ──▶ a process ── post ──▶ the platform
    the mailbox ── claim ──▶ │
        ▲──── note ──────────┘
"""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

from router.domain.errors import Unavailable
from router.domain.records import LogEntry, Mailbox
from router.extensions.channels import outbox
from router.extensions.notifications.store import LEASE
from tests.model.exploration import BrokenPromise

REACHES = "what is said reaches its reader"
SAID_ONCE = "nothing is said twice but for a fault"
AWAY = "away"
BATCH = 2
"""Rows that are read at once: few, so that there are several batches."""
_LONG = LEASE / 2

Doing = tuple[str, int, bool]
"""What a process does next: `read`, `post` or `note`, up to which row, and whether it goes on."""


class _Asks:
    def __init__(self, *doing: Any) -> None:
        self._doing = doing

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self._doing)


class _Mailboxes:
    """What the store says of mailboxes is what the world answers."""

    async def unread(self, mailbox: Mailbox, limit: int) -> Any:
        del mailbox, limit
        return [SimpleNamespace(sequence=number) for number in await _Asks("read", 0, True)]

    async def advance(self, mailbox: Mailbox, position: int, due: datetime) -> Mailbox | None:
        goes_on = due > datetime.now(UTC) + _LONG
        return mailbox if await _Asks("note", position, goes_on) else None


class _Posting(outbox.Outbox):
    async def _post(self, mailbox: Mailbox, row: LogEntry) -> None:
        del mailbox
        if await _Asks("post", row.sequence, True) == AWAY:
            raise Unavailable("the platform is away")


@asynccontextmanager
async def _in_time(_: str) -> AsyncIterator[None]:
    yield


def _pause(*_: object) -> timedelta:
    return timedelta(seconds=1)


_STORE = SimpleNamespace(mailboxes=_Mailboxes(), clock=lambda: datetime.now(UTC))
_SERVICES: Any = SimpleNamespace(store=_STORE)
_OUTBOX = _Posting(_SERVICES, {})


@dataclass(frozen=True)
class Process:
    """Somebody who has claimed the mailbox: with what they saw of it, and have heard since."""

    name: str
    position: int
    news: int
    heard: tuple[Any, ...] = ()
    hangs: bool = False

    @property
    def doing(self) -> Doing | None:
        """What it does next; None where it is done."""
        box = Mailbox(
            tenant="t",
            platform="p",
            kind="conversation",
            subject="c",
            place={},
            position=self.position,
            news=self.news,
            due=datetime.now(UTC),
        )
        with (
            mock.patch.multiple(outbox, in_time=_in_time, pause_after=_pause, AT_ONCE=BATCH),
            mock.patch.object(outbox.log, "disabled", True),
        ):
            going = _OUTBOX._delivered(box)
            try:
                doing: Doing = going.send(None)
                for answer in self.heard:
                    doing = going.send(answer)
            except (StopIteration, Unavailable):
                return None
            finally:
                going.close()
        return doing

    def hears(self, answer: Any) -> "Process":
        """The same, once it has what it asked for."""
        return replace(self, heard=(*self.heard, answer))


def is_taken(holder: str, by: str) -> bool:
    """Whether the mailbox takes a note: as `Mailboxes.advance`, from whoever holds it alone."""
    return holder == by


@dataclass(frozen=True)
class Post:
    """One state. `to_say`, `faults` and `erasures` are what may come yet."""

    to_say: int
    faults: int
    erasures: int = 0
    said: tuple[int, ...] = ()
    position: int = 0
    news: int = 0
    holder: str = ""
    processes: tuple[Process, ...] = ()
    claims: int = 0
    posted: tuple[int, ...] = ()
    broken: int = 0
    """How often a process died or hung so far."""

    @property
    def key(self) -> bytes:
        """Everything that anything depends on."""
        return hashlib.blake2b(repr(self).encode(), digest_size=16).digest()

    def moves(self) -> Iterator[tuple[str, Callable[[], "Post"]]]:
        """What can happen; a lease ends only before its holder's work where that is held up."""
        if self.to_say:
            number = self.news + 1
            said = replace(self, to_say=self.to_say - 1, said=(*self.said, number), news=number)
            yield f"{number} is said", partial(_same, said)
        if not self.holder and self.news > self.position:
            yield "a process claims the mailbox", self._claimed
        for process in self.processes:
            yield from self._moves_of(process)
        going = {process.name for process in self.processes if not process.hangs}
        if self.holder and self.holder not in going:
            yield f"the lease of {self.holder} ends", partial(_same, replace(self, holder=""))
        if self.erasures:
            fewer = replace(self, erasures=self.erasures - 1)
            for number in self.said:
                left = tuple(one for one in self.said if one != number)
                yield f"{number} is erased", partial(_same, replace(fewer, said=left))

    def _moves_of(self, process: Process) -> Iterator[tuple[str, Callable[[], "Post"]]]:
        if process.hangs:
            awake = replace(process, hangs=False)
            yield f"{process.name} goes on", partial(self._with, process, awake)
            return
        doing = process.doing
        if doing is None:
            yield f"{process.name} is done", partial(self._with, process, None)
            return
        what = f"{process.name}: {doing[0]} {doing[1] or ''}".rstrip()
        yield what, partial(self._done, process, doing)
        if self.faults:
            fewer = replace(self, faults=self.faults - 1, broken=self.broken + 1)
            yield (
                f"{process.name} dies before it can {doing[0]}",
                partial(fewer._with, process, None),
            )
            yield f"{what}, and dies", partial(fewer._dead, process, doing)
            hung = replace(process, hangs=True)
            yield (
                f"{process.name} hangs before it can {doing[0]}",
                partial(fewer._with, process, hung),
            )
        if self.faults and doing[0] == "post":
            fewer = replace(self, faults=self.faults - 1)
            yield (
                f"{what}: the platform is away",
                partial(fewer._with, process, process.hears(AWAY)),
            )

    def _claimed(self) -> "Post":
        name = f"process {self.claims + 1}"
        process = Process(name, self.position, self.news)
        more = (*self.processes, process)
        return replace(self, processes=more, holder=name, claims=self.claims + 1)

    def _done(self, process: Process, doing: Doing) -> "Post":
        what, number, goes_on = doing
        if what == "read":
            new = [one for one in self.said if one > self.position]
            return self._with(process, process.hears(tuple(new[:BATCH])))
        if what == "post":
            return replace(self, posted=(*self.posted, number))._with(process, process.hears(""))
        if not is_taken(self.holder, process.name):
            return self._with(process, process.hears(False))
        noted = replace(self, position=number, holder=self.holder if goes_on else "")
        return noted._with(process, process.hears(True))

    def _dead(self, process: Process, doing: Doing) -> "Post":
        after = self._done(process, doing)
        return replace(after, processes=tuple(p for p in after.processes if p.name != process.name))

    def _with(self, process: Process, other: Process | None) -> "Post":
        others = [other if one == process else one for one in self.processes]
        return replace(self, processes=tuple(one for one in others if one is not None))


def check(post: Post) -> None:
    """Raise `BrokenPromise` for the first that doesn't hold."""
    for promise, keeps in PROMISES.items():
        if (what := keeps(post)) is not None:
            raise BrokenPromise(promise, what)


def _reaches(post: Post) -> str | None:
    # Of what is erased a post that was held up may come late.
    first = tuple(dict.fromkeys(number for number in post.posted if number in post.said))
    if first != tuple(sorted(first)):
        return f"posted in the order {first}"
    if post.processes or post.holder or post.news > post.position:
        return None  # somebody posts it yet
    missing = [number for number in post.said if number not in post.posted]
    return f"{missing[0]} is never posted" if missing else None


def _said_once(post: Post) -> str | None:
    twice = sum(times - 1 for times in Counter(post.posted).values())
    faults = f"{post.broken} faults" if post.broken else "no fault"
    return f"posted {post.posted} after {faults}" if twice > post.broken else None


PROMISES: Mapping[str, Callable[[Post], str | None]] = {REACHES: _reaches, SAID_ONCE: _said_once}


def _same(post: Post) -> Post:
    return post
