"""When Python looks for garbage: what stays is set aside, all of it looked at rarely."""

import gc
from collections.abc import Iterator

import pytest
from prometheus_client.registry import REGISTRY

from router.runtime import garbage_collection
from router.runtime.garbage_collection import EACH, GROWN, UNEXPLAINED, CollectionPolicy

pytestmark = pytest.mark.slow

MANY = UNEXPLAINED // 20


class Kept:
    """How many workflows there are."""

    number = 0

    def __call__(self) -> int:
        return self.number


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def policy(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> Iterator[CollectionPolicy]:
    monkeypatch.setattr(garbage_collection, "UNEXPLAINED", MANY)
    policy = CollectionPolicy(kept)
    policy.begin()
    yield policy
    policy.end()
    gc.unfreeze()


def objects(number: int) -> list[list[int]]:
    return [[] for _ in range(number)]


def cycles(number: int) -> None:
    """Garbage that counting references doesn't free."""
    for _ in range(number):
        one: list[object] = []
        one.append(one)


def test_what_is_left_of_much_is_not_looked_at_again(policy: CollectionPolicy) -> None:
    before = gc.get_freeze_count()
    stays = objects(GROWN)
    gc.collect()
    assert gc.get_freeze_count() >= before + len(stays)
    assert len(gc.get_objects(2)) < GROWN / 2


def test_what_is_left_of_little_may_yet_become_garbage(policy: CollectionPolicy) -> None:
    before = gc.get_freeze_count()
    stays = objects(GROWN // 2)
    gc.collect()
    assert gc.get_freeze_count() <= before
    assert len(gc.get_objects(2)) >= len(stays)


def frozen_garbage(number: int) -> None:
    gc.disable()
    try:
        cycles(number)
        gc.freeze()
    finally:
        gc.enable()


def test_garbage_that_was_set_aside_is_found_once_the_process_has_nothing_to_do(
    policy: CollectionPolicy,
) -> None:
    frozen_garbage(MANY + GROWN)
    assert not policy.look(idle=False)
    assert policy.unexplained > MANY
    assert policy.look(idle=True)
    assert policy.unexplained < GROWN


def test_twice_as_much_is_looked_for_however_busy_it_is(policy: CollectionPolicy) -> None:
    frozen_garbage(2 * MANY + GROWN)
    assert policy.look(idle=False)
    assert policy.unexplained < GROWN


def test_what_open_workflows_explain_is_not_looked_through(
    policy: CollectionPolicy, kept: Kept
) -> None:
    stays = objects(2 * MANY + GROWN)
    gc.freeze()
    kept.number = len(stays) // EACH
    assert not policy.look(idle=True)
    kept.number = 0
    assert policy.look(idle=True)


def test_the_next_full_collection_is_as_soon_after_a_look_through_all(
    policy: CollectionPolicy,
) -> None:
    """Python waits for a quarter of what stayed, unless it is told that this is next to nothing."""
    stays = objects(20 * MANY)
    gc.freeze()
    assert policy.look(idle=True)
    before = gc.get_stats()[2]["collections"]
    more = objects(len(stays) // 10)
    assert gc.get_stats()[2]["collections"] > before
    assert more


def test_it_says_how_long_it_took(policy: CollectionPolicy) -> None:
    name, labels = "router_garbage_collection_seconds_total", {"generation": "2"}
    before = REGISTRY.get_sample_value(name, labels)
    gc.collect()
    after = REGISTRY.get_sample_value(name, labels)
    assert before is not None
    assert after is not None
    assert after > before


def test_in_the_end_the_collector_is_as_python_has_it() -> None:
    before, watching = gc.get_threshold(), list(gc.callbacks)
    policy = CollectionPolicy()
    policy.begin()
    assert gc.get_threshold() == garbage_collection.THRESHOLDS
    policy.end()
    gc.unfreeze()
    assert (gc.get_threshold(), gc.callbacks) == (before, watching)
