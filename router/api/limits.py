"""How much may be asked: requests and processor time a minute, turns at once, workers' backlog.

Temporal knows how long the oldest task of a queue has waited; it is asked in the background, at
most once a second, and first of all where it wasn't asked for long. Tasks of conversations that a
worker has in its cache go to that worker first, and to the queue some seconds later
(`runtime.worker.MISSED_AFTER`): a busy one shows here too.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import ceil, inf
from time import monotonic

from temporalio.client import Client
from temporalio.service import RPCError

from router.domain.bounded_cache import BoundedCache
from router.domain.errors import TooManyRequests, Unavailable
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.gateway.builds import waiting_seconds
from router.telemetry.metrics import BACKLOG, REFUSED

MINUTE = 60.0
MAX_BUCKETS = 100_000
"""Of a process. Beyond it the one that was used least recently is dropped: it is full again, or its
owner gets a few requests more."""


@dataclass
class _Bucket:
    tokens: float
    at: float


class Buckets:
    """One bucket for each key: holds a minute's worth, and fills up evenly."""

    def __init__(
        self,
        per_minute: float,
        clock: Callable[[], float] = monotonic,
        max_buckets: int = MAX_BUCKETS,
    ) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets = BoundedCache[Hashable, _Bucket](max_buckets)

    def wait(self, key: Hashable) -> float:
        """Take a token, and 0; or take none, and the seconds until there is one."""
        bucket, rate = self._filled(key), self._per_minute / MINUTE
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / rate
        bucket.tokens -= 1
        return 0.0

    def charge(self, key: Hashable, amount: float) -> None:
        """Take so much, though there may be less: what is owed has to fill up first."""
        self._filled(key).tokens -= amount

    def owed_seconds(self, key: Hashable) -> float:
        """Return for how many seconds more is owed than there is; 0: nothing is."""
        return max(0.0, -self._filled(key).tokens) / (self._per_minute / MINUTE)

    def _filled(self, key: Hashable) -> _Bucket:
        """Return the key's bucket with what has filled up since it was used."""
        now, size, rate = self._clock(), float(self._per_minute), self._per_minute / MINUTE
        if (bucket := self._buckets.get(key)) is None:
            bucket = _Bucket(size, now)
            self._buckets.put(key, bucket)
        bucket.tokens = min(size, bucket.tokens + (now - bucket.at) * rate)
        bucket.at = now
        return bucket


class RateLimits:
    """How many requests, and how much work on texts, each person and each tenant has a minute."""

    def __init__(
        self, per_user: int, per_tenant: int, clock: Callable[[], float] = monotonic
    ) -> None:
        self._users, self._tenants = Buckets(per_user, clock), Buckets(per_tenant, clock)
        self._user_seconds = Buckets(USER_TEXT_SECONDS_PER_MINUTE, clock)
        self._tenant_seconds = Buckets(TENANT_TEXT_SECONDS_PER_MINUTE, clock)

    def charge(self, caller: Principal, seconds: float) -> None:
        """Count processor time that was spent on the caller's texts."""
        self._user_seconds.charge((caller.tenant, caller.id), seconds)
        self._tenant_seconds.charge(caller.tenant, seconds)

    def admit(self, caller: Principal) -> None:
        """Count a request; `TooManyRequests` where the person's, or the tenant's, are used up."""
        person, tenant = (caller.tenant, caller.id), caller.tenant
        for whose, wait_of, key, who in (
            ("user_seconds", self._user_seconds.owed_seconds, person, _PERSON_S_TEXTS),
            ("tenant_seconds", self._tenant_seconds.owed_seconds, tenant, _TENANT_S_TEXTS),
            ("user", self._users.wait, person, _PERSON),
            ("tenant", self._tenants.wait, tenant, _TENANT),
        ):
            if wait := wait_of(key):
                REFUSED.labels(whose).inc()
                seconds = ceil(wait)
                zh, en = f"{who.zh}，请 {seconds} 秒后再试", f"{who.en}; wait {seconds} s"
                raise TooManyRequests(Localised(zh=zh, en=en), retry_after=seconds)


USER_TEXT_SECONDS_PER_MINUTE = 6.0
TENANT_TEXT_SECONDS_PER_MINUTE = 20.0
"""Processor time of one API process for reading texts of a person, and of all of a tenant."""
BUSY_RETRY = 2
"""Seconds after which a turn of those that are too many may be over."""


@dataclass(frozen=True)
class TurnLimits:
    """How many turns of a person, and of everybody of a tenant, may wait or run at once."""

    per_user: float = inf
    per_tenant: float = inf

    def check(self, of_user: int, of_tenant: int) -> None:
        """Return where one more may begin beside so many; else `TooManyRequests`."""
        for whose, held, most, zh, en in (
            ("user_turns", of_user, self.per_user, "您", "of your messages"),
            ("tenant_turns", of_tenant, self.per_tenant, "贵公司", "messages of your company"),
        ):
            if held >= most:
                REFUSED.labels(whose).inc()
                said = Localised(
                    zh=f"{zh}已有 {held} 条消息正在处理，请等其中一条完成后再发",
                    en=f"{held} {en} are being answered already; wait for one to end",
                )
                raise TooManyRequests(said, retry_after=BUSY_RETRY)


_PERSON = Localised(zh="您的请求太频繁了", en="You make too many requests")
_PERSON_S_TEXTS = Localised(
    zh="您发来的长消息太多，一时读不完", en="Your texts took too long to read lately"
)
_TENANT_S_TEXTS = Localised(
    zh="贵公司发来的长消息太多，一时读不完", en="Your company's texts took too long to read lately"
)
_TENANT = Localised(zh="贵公司的请求太频繁了", en="Your company makes too many requests")

FRESH = 1.0
"""Seconds that a measurement is good for."""
STALE = 10.0
"""Seconds after which it says nothing any more: it is measured again before a message is taken."""
MAX_LOOK_S = 1.0
"""So long a message waits for that, at most."""
BUSY = Localised(
    zh="现在太忙了，消息没有收下，请稍后再发一次",
    en="It is too busy right now and the message wasn't taken; send it again in a moment.",
)

_log = logging.getLogger(__name__)


@dataclass
class Backlog:
    """Refuses messages while the oldest task has waited for `most` seconds or longer."""

    temporal: Client
    task_queue: str
    most: float
    clock: Callable[[], float] = monotonic
    _age: float = 0.0
    _at: float = float("-inf")
    _looking: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Return where one more message can be taken; `Unavailable` where workers are too late."""
        if self.clock() - self._at > FRESH:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self.look(), name="looking at the backlog")
            if self.clock() - self._at > STALE:
                await asyncio.wait({self._looking}, timeout=MAX_LOOK_S)
        if self.clock() - self._at <= STALE and self._age >= self.most:
            REFUSED.labels("backlog").inc()
            raise Unavailable(BUSY)

    async def look(self) -> None:
        """Measure it. Where Temporal doesn't tell, nobody is refused for it."""
        age = 0.0
        try:
            age = await waiting_seconds(self.temporal, self.task_queue)
        except RPCError as error:
            _log.warning("the backlog of %s isn't known: %s", self.task_queue, error.message)
        self._age, self._at = age, self.clock()
        BACKLOG.set(age)
