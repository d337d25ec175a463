"""How many requests a person, and a tenant, may make: token buckets, in each API process."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import ceil
from time import monotonic

from router.domain.errors import TooManyRequests
from router.domain.principals import Principal
from router.domain.texts import Localised
from router.telemetry.metrics import REFUSED

MINUTE = 60.0
MOST = 100_000
"""Buckets of a process. Beyond it the one that was used least lately is forgotten: it is full by
then, or its owner gets a few requests more."""


@dataclass
class _Bucket:
    tokens: float
    at: float


class Buckets:
    """One bucket for each key: holds a minute's worth, and fills up evenly.

    >>> buckets = Buckets(60, clock=lambda: 0.0)
    >>> [buckets.wait("alice") for _ in range(60)] == [0.0] * 60, buckets.wait("alice")
    (True, 1.0)
    """

    def __init__(
        self, per_minute: int, clock: Callable[[], float] = monotonic, most: int = MOST
    ) -> None:
        self._size = float(per_minute)
        self._clock = clock
        self._most = most
        self._buckets: OrderedDict[Hashable, _Bucket] = OrderedDict()

    def wait(self, key: Hashable) -> float:
        """Take a token, and 0; or take none, and the seconds until there is one."""
        now, rate = self._clock(), self._size / MINUTE
        bucket = self._buckets.setdefault(key, _Bucket(self._size, now))
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._size, bucket.tokens + (now - bucket.at) * rate)
        bucket.at = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / rate
        bucket.tokens -= 1
        return 0.0


class Rates:
    """What each person and each tenant may ask for; None is as much as they like."""

    def __init__(
        self,
        per_user: int | None = None,
        per_tenant: int | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._users = Buckets(per_user, clock) if per_user else None
        self._tenants = Buckets(per_tenant, clock) if per_tenant else None

    def admit(self, caller: Principal) -> None:
        """Count a request.

        Raises:
            TooManyRequests: the person's, or the tenant's, are used up for the moment.
        """
        if self._users and (wait := self._users.wait((caller.tenant, caller.id))):
            REFUSED.labels("user").inc()
            raise _refusal(wait, _PERSON)
        if self._tenants and (wait := self._tenants.wait(caller.tenant)):
            REFUSED.labels("tenant").inc()
            raise _refusal(wait, _TENANT)


_PERSON = Localised(zh="您的请求太频繁了", en="You make too many requests")
_TENANT = Localised(zh="贵公司的请求太频繁了", en="Your company makes too many requests")


def _refusal(wait: float, who: Localised) -> TooManyRequests:
    seconds = ceil(wait)
    said = Localised(zh=f"{who.zh}，请 {seconds} 秒后再试", en=f"{who.en}; wait {seconds} s")
    return TooManyRequests(said, retry_after=seconds)
