"""What people chose, and what is held back for them, on both databases."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from router.extensions.notifications.preferences import USUAL, NotificationPreferences
from router.extensions.notifications.store import (
    LEASE,
    ChosenPreferences,
    DeferredPost,
    Notifications,
)
from router.store.database import Database

NOW = datetime.now(UTC)
DIGEST = NotificationPreferences(digest="09:00")


def reminder(run: str = "r1", person: str = "bob", **more: object) -> DeferredPost:
    about = {"tenant": "default", "person": person, "platform": "mail", "run": run, "number": 7}
    return DeferredPost.model_validate({**about, "due": NOW, **more})


@pytest.fixture
def store(database: Database) -> Notifications:
    return Notifications(database)


async def claimed(store: Notifications, later: timedelta = timedelta()) -> list[str]:
    found = await store.claim(["mail"], datetime.now(UTC) + later, 10)
    return sorted(f"{post.person}:{post.run}" for post in found)


async def test_what_was_chosen_is_there_and_for_others_what_is_usual(store: Notifications) -> None:
    kept = store
    await kept.choose("default", "bob", DIGEST)
    await kept.choose("default", "bob", NotificationPreferences(days_off=True))
    bobs = await kept.choice("default", "bob")
    assert bobs.preferences == bobs.before == NotificationPreferences(days_off=True)
    assert await kept.choice("default", "carol") == ChosenPreferences()
    assert await kept.choice("acme", "bob") == ChosenPreferences()


async def test_until_they_were_changed_the_channels_before_hold(store: Notifications) -> None:
    kept, begun = store, datetime.now(UTC)
    await kept.choose("default", "bob", NotificationPreferences(channels=("slack",)))
    between = datetime.now(UTC)
    await kept.choose("default", "bob", NotificationPreferences(channels=("mail",)))
    await kept.choose("default", "bob", NotificationPreferences(channels=("mail",), news=True))
    choice = await kept.choice("default", "bob")
    assert choice.preferences.channels == choice.at(datetime.now(UTC)).channels == ("mail",)
    assert choice.at(between) == NotificationPreferences(channels=("slack",), news=True)
    assert choice.at(begun).channels == ("slack",)


async def test_what_is_due_is_one_process_s_at_a_time(store: Notifications) -> None:
    await store.defer(reminder())
    await store.defer(reminder("r2", due=NOW + timedelta(hours=1)))
    taken = await asyncio.gather(*(claimed(store) for _ in range(4)))
    assert sorted(taken) == [[], [], [], ["bob:r1"]]
    assert await claimed(store, timedelta(minutes=2)) == ["bob:r1"]
    assert await store.claim(["slack"], NOW + LEASE * 100, 10) == []


async def test_of_reminders_of_one_run_one_waits(store: Notifications) -> None:
    await store.defer(reminder())
    await store.defer(reminder(number=9, due=NOW + timedelta(hours=9)))
    (post,) = await store.claim(["mail"], NOW, 10)
    assert post.number == 7
    await store.done(post)
    assert await claimed(store, timedelta(days=1)) == []


async def test_another_choice_has_what_waits_looked_at_at_once(store: Notifications) -> None:
    later = NOW + timedelta(days=9)
    await store.defer(reminder(due=later))
    await store.defer(reminder(person="carol", due=later))
    await store.choose("default", "bob", DIGEST)
    soon = timedelta(minutes=1)
    assert await claimed(store, soon) == ["bob:", "bob:r1"]


async def test_a_digest_is_there_for_as_long_as_it_is_wished_for(store: Notifications) -> None:
    await store.choose("default", "bob", DIGEST)
    soon = datetime.now(UTC) + timedelta(minutes=1)
    (post,) = await store.claim(["mail"], soon, 10)
    assert (post.is_digest, post.number) == (True, 0)
    await store.again(post, soon, 739_000)
    await store.choose("default", "bob", DIGEST)
    (post,) = await store.claim(["mail"], soon, 10)
    assert post.number == 739_000
    await store.choose("default", "bob", USUAL)
    assert await claimed(store, timedelta(days=30)) == []


async def test_another_choice_takes_nothing_from_who_posts_it(store: Notifications) -> None:
    """What is looked at anew at once would be posted by somebody else as well."""
    await store.choose("default", "bob", DIGEST)
    await store.defer(reminder())
    assert await claimed(store) == ["bob:", "bob:r1"]
    await store.choose("default", "bob", NotificationPreferences(digest="08:00"))
    assert await claimed(store) == []
    assert await claimed(store, LEASE + timedelta(seconds=5)) == ["bob:", "bob:r1"]


async def test_what_was_worked_out_under_another_choice_is_looked_at_anew(
    store: Notifications,
) -> None:
    kept, later = store, datetime.now(UTC) + timedelta(days=1)
    await kept.choose("default", "bob", DIGEST)
    (post,) = await kept.claim(["mail"], datetime.now(UTC), 10)
    await kept.again(post, later, 739_000, under=DIGEST)
    assert await claimed(store, timedelta(minutes=5)) == []
    await kept.choose("default", "bob", NotificationPreferences(digest="08:00"))
    (post,) = await kept.claim(["mail"], datetime.now(UTC), 10)
    await kept.again(post, later, under=DIGEST)
    (post,) = await kept.claim(["mail"], datetime.now(UTC), 10)
    await kept.done(post, under=DIGEST)
    (post,) = await kept.claim(["mail"], datetime.now(UTC), 10)
    assert post.number == 739_000
    await kept.done(post, under=NotificationPreferences(digest="08:00"))
    assert await claimed(store, timedelta(days=9)) == []
