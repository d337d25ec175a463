"""A cache in memory that never grows beyond a number of entries."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from math import inf
from time import monotonic
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """At most `max_entries` values, by key. The one used least recently makes room for a new one.

    >>> cache = BoundedCache[str, int](max_entries=2)
    >>> cache.put("a", 1), cache.put("b", 2), cache.get("a"), cache.put("c", 3)
    (None, None, 1, None)
    >>> cache.get("a"), cache.get("b")
    (1, None)
    """

    def __init__(self, max_entries: int, clock: Callable[[], float] = monotonic) -> None:
        self._max_entries = max_entries
        self._clock = clock
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value; `None` if there is none, or its time is over."""
        if (entry := self._entries.get(key)) is None:
            return None
        value, ends = entry
        if ends <= self._clock():
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V, seconds: float = inf) -> None:
        """Keep the value under the key, for so many seconds at most."""
        self._entries[key] = (value, self._clock() + seconds)
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def discard(self, key: K) -> None:
        """Drop the value, if there is one."""
        self._entries.pop(key, None)
