"""What a bounded cache drops, and when."""

from router.domain.bounded_cache import BoundedCache
from tests.fakes.clock import Clock


def test_the_value_used_least_recently_makes_room() -> None:
    cache = BoundedCache[str, int](max_entries=2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_a_value_that_is_put_again_is_new_and_takes_no_second_place() -> None:
    cache = BoundedCache[str, int](max_entries=2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        cache.put(key, value)
    assert [cache.get(key) for key in "abc"] == [3, None, 4]


def test_a_value_is_gone_once_its_own_time_is_over() -> None:
    clock = Clock()
    cache = BoundedCache[str, int](max_entries=3, clock=clock)
    cache.put("minute", 1, seconds=60)
    cache.put("hour", 2, seconds=3600)
    cache.put("always", 3)
    clock.now += 60
    assert [cache.get(key) for key in ("minute", "hour", "always")] == [None, 2, 3]


def test_a_value_that_is_used_lives_no_longer_for_that() -> None:
    clock = Clock()
    cache = BoundedCache[str, int](max_entries=2, clock=clock)
    cache.put("a", 1, seconds=60)
    clock.now += 59
    assert cache.get("a") == 1
    clock.now += 1
    assert cache.get("a") is None


def test_a_discarded_value_is_gone_and_one_that_is_not_there_is_no_error() -> None:
    cache = BoundedCache[str, int](max_entries=2)
    cache.put("a", 1)
    cache.discard("a")
    cache.discard("b")
    assert cache.get("a") is None
