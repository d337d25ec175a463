"""What is asked of model servers outside of turns: whether they are there, and to read ahead.

No message pays for finding out that a server is away or back, or for the first reading of what
every question begins with, which takes a small server minutes. The breakers that it attends
take no call for a trial: they stay open until one of its own is answered.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol, runtime_checkable

from router.domain.circuit import CircuitBreaker
from router.llm.fallback import FallbackChains
from router.llm.types import (
    ChatRequest,
    ContextTooLong,
    Crowded,
    ModelRefused,
    ModelUnavailable,
    UserMessage,
)

EVERY = 1.0
"""Seconds between two looks at a breaker: that costs nothing."""
ABSENT = 2.0
"""Seconds between two looks for a server that is away; with a trial it is back within ten."""
FAILED = 5.0
"""Seconds after a trial that failed; the next one may cost a server that bills."""
UNREAD = 60.0
"""Seconds until a server that couldn't read ahead is asked to again."""
CHANGED = 15.0
"""Seconds between two looks at what questions begin with."""
COLD = 6.0
"""Seconds of a first reading after which a server is left alone until it has read."""
TRIAL_SECONDS = 60.0
"""Some servers load a model when they are first asked for it."""
FRESH = 3.0
"""Seconds until another trial is made beside one that isn't answered: that one may never be."""
READING_SECONDS = 300.0
"""On two cores 5,000 tokens take two minutes."""

TRIAL = ChatRequest(messages=(UserMessage(text="Hello"),), must_call=False, max_tokens=1)

Sleep = Callable[[float], Awaitable[None]]
_log = logging.getLogger(__name__)


@runtime_checkable
class Attended(Protocol):
    """A model at a server that can be asked more than questions."""

    @property
    def endpoint(self) -> str:
        """Its name, for people."""

    @property
    def server(self) -> str:
        """Where it is; what is true of a server is so of all models there."""

    async def is_away(self) -> bool:
        """Whether nothing answers at its server."""

    def prefix(self, request: ChatRequest) -> str:
        """A fingerprint of what its server would read for this."""

    async def read(self, request: ChatRequest, seconds: float) -> None:
        """Have its server read this, and hardly answer; raises as `answer`."""


class ModelSupervisor:
    """Attends the models of these chains, those that can be, for as long as it is run.

    `beginnings` are what questions begin with by now, each as a question with `max_tokens=1`; none
    where servers aren't to read ahead.
    """

    def __init__(
        self,
        chains: FallbackChains,
        beginnings: Callable[[], Sequence[ChatRequest]],
        pause: Sleep = asyncio.sleep,
    ) -> None:
        self._chains = chains
        self._beginnings = beginnings
        self._pause = pause
        self._reading: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self) -> None:
        """Attend them all, and those of skills once they are there, until cancelled."""
        attended: list[CircuitBreaker] = []
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    for model, breaker in self._chains.links:
                        if breaker not in attended and isinstance(model, Attended):
                            attended.append(breaker)
                            breaker.attended = True
                            tasks.create_task(self._attend(model, breaker), name=model.endpoint)
                    await self._pause(EVERY)
        finally:
            for breaker in attended:
                breaker.attended = False

    async def _attend(self, model: Attended, breaker: CircuitBreaker) -> None:
        server = self._reading[model.server]
        beginnings = self._beginnings if self._chains.decides(model) else list
        attendance = _Attendance(model, breaker, beginnings, server, self._pause)
        while True:
            try:
                wait = await attendance.look()
            except Exception:  # noqa: BLE001 - whatever it is
                # Without it nobody would ever close the breaker.
                _log.exception("%s can't be looked after right now", model.endpoint)
                wait = UNREAD
            await self._pause(wait)


class _Attendance:
    """Of one model; `server` is held while its server reads, for one thing at a time."""

    def __init__(
        self,
        model: Attended,
        breaker: CircuitBreaker,
        beginnings: Callable[[], Sequence[ChatRequest]],
        server: asyncio.Lock,
        pause: Sleep,
    ) -> None:
        self._model, self._breaker = model, breaker
        self._beginnings = beginnings
        self._server = server
        self._pause = pause
        self._read: set[str] = set()
        self._rest = 0
        """Looks that are to pass before it reads ahead."""
        self._failures = -1
        """How many calls had failed when it was last looked."""

    async def look(self) -> float:
        """Do what is to be done; gives the seconds until it is to be looked again."""
        if self._breaker.state != "closed":
            return await self._try()
        before, self._failures = self._failures, self._breaker.failures
        # At first, and where a call has failed since: the next one needn't.
        if self._failures > before and await self._model.is_away():
            _log.warning("%s isn't there; rules decide until it is", self._model.endpoint)
            self._breaker.open()
            return ABSENT
        if self._rest > 0:
            self._rest -= 1
        elif unread := self._unread():
            await self._read_ahead(unread[0])
        else:
            self._rest = round(CHANGED / EVERY)
        return EVERY

    def _unread(self) -> list[ChatRequest]:
        return [one for one in self._beginnings() if self._model.prefix(one) not in self._read]

    async def _try(self) -> float:
        """Whether it is back; only when it has read again do turns get it."""
        if self._breaker.wait:
            return min(self._breaker.wait, EVERY)
        if await self._model.is_away():
            return ABSENT
        self._read.clear()
        try:
            async with self._server:
                with self._breaker.trial():
                    await self._answer_a_trial()
                    for unread in self._unread()[:1]:
                        await self._read_or_try(unread)
        except (ModelUnavailable, ModelRefused) as error:
            if self._breaker.state != "closed":
                _log.info("%s isn't back: %s", self._model.endpoint, error)
                return FAILED
        _log.warning("%s answers again", self._model.endpoint)
        return 0.0

    async def _answer_a_trial(self) -> None:
        """Return once it answered one, begun before it came back or since; raises as `read`."""
        patient = asyncio.create_task(self._model.read(TRIAL, TRIAL_SECONDS))
        try:
            while not patient.done():
                pause = asyncio.ensure_future(self._pause(FRESH))
                await asyncio.wait({patient, pause}, return_when=asyncio.FIRST_COMPLETED)
                pause.cancel()
                if not patient.done():
                    with suppress(ModelUnavailable):
                        return await self._model.read(TRIAL, FRESH)
            await patient
        finally:
            patient.cancel()
            await asyncio.gather(patient, return_exceptions=True)

    async def _read_or_try(self, request: ChatRequest) -> None:
        """One that reads nothing ahead may still answer: that is what counts."""
        try:
            await self._read_one(request)
        except (ModelUnavailable, ModelRefused):
            self._rest = round(UNREAD / EVERY)
            await self._answer_a_trial()

    async def _read_ahead(self, request: ChatRequest) -> None:
        try:
            async with self._server:
                await self._read_unless_cold(request)
        except Crowded:
            return  # turns come first
        except (ModelUnavailable, ModelRefused) as error:
            _log.info("%s doesn't read ahead: %s", self._model.endpoint, error)
            self._rest = round(UNREAD / EVERY)
            if isinstance(error, ContextTooLong):
                self._read.add(self._model.prefix(request))  # nor will it
            with suppress(ModelUnavailable, ModelRefused), self._breaker.trial():
                await self._answer_a_trial()

    async def _read_unless_cold(self, request: ChatRequest) -> None:
        """One that has never answered, and goes on reading, gets no turns until it has read."""
        reading = asyncio.create_task(self._read_one(request))
        patience = asyncio.ensure_future(self._pause(COLD))
        try:
            if not self._breaker.has_answered and not self._read:
                await asyncio.wait({reading, patience}, return_when=asyncio.FIRST_COMPLETED)
            is_cold = not (reading.done() or self._breaker.has_answered or self._read)
            if is_cold and self._breaker.state == "closed":
                _log.warning("%s is cold; rules decide until it has read", self._model.endpoint)
                self._breaker.open()
                with self._breaker.trial():
                    await reading
            while not reading.done():
                if self._breaker.state != "closed":
                    raise ModelUnavailable("it failed meanwhile")
                await asyncio.wait({reading}, timeout=EVERY)
            await reading
        finally:
            for task in (reading, patience):
                task.cancel()
            await asyncio.gather(reading, patience, return_exceptions=True)

    async def _read_one(self, request: ChatRequest) -> None:
        await self._model.read(request, READING_SECONDS)
        # Only now is it known how the server wants it.
        self._read.add(self._model.prefix(request))
