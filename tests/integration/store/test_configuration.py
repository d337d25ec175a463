"""Documents of configuration: versions that are only added to, on both databases."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from router.domain.configuration_documents import (
    WHOLE,
    Activation,
    DocumentVersion,
    digest_of,
    standing,
)
from router.domain.errors import Conflict, NotFound, Outdated
from router.store.database import Database
from router.store.erasure import PersonErasure
from router.store.store import Store

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


def written(version: int = 1, text: str = "one", tenant: str = "default", **more: Any) -> Any:
    about = {"tenant": tenant, "kind": "flows", "name": "overtime", "version": version}
    by = {"author": "olga", "written_at": NOW, "note": "why"}
    return DocumentVersion.model_validate(
        {**about, **by, "text": text, "digest": digest_of(text), **more}
    )


def held(version: int | None, tenant: str = "default") -> Activation:
    by = {"activated_by": "olga", "activated_at": NOW}
    return Activation(tenant=tenant, kind="flows", name="overtime", version=version, **by)


async def texts(store: Store, tenant: str | None = None) -> list[str]:
    return [each.text for each in await store.configuration.active(tenant)]


@pytest.mark.slow
async def test_a_version_holds_once_it_is_activated_and_until_another_is(store: Store) -> None:
    kept = store.configuration
    await kept.write(written(), None)
    assert await texts(store) == []
    await kept.activate(held(1), 0)
    assert await texts(store) == ["one"]
    await kept.write(written(2, "two"), 1)
    assert await texts(store) == ["two"]
    await kept.activate(held(1), 2)
    assert await texts(store) == ["one"]
    await kept.activate(held(None), 3)
    assert await texts(store) == []
    (head,) = await kept.heads("default")
    assert (head.latest, head.active, head.digest) == (2, None, digest_of("two"))
    assert [each.version for each in await kept.activations("default", "flows", "overtime")] == [
        *(1, 2, 1),
        None,
    ]


@pytest.mark.slow
async def test_two_authors_over_one_version_the_later_is_told(store: Store) -> None:
    await store.configuration.write(written(), 0)
    await store.configuration.write(written(2, "hers"), 1)
    with pytest.raises(Outdated, match="is 2 by now"):
        await store.configuration.write(written(2, "his"), 2)
    assert await texts(store) == ["hers"]


@pytest.mark.slow
async def test_what_was_checked_beside_other_documents_does_not_hold(store: Store) -> None:
    await store.configuration.write(written(), 0)
    with pytest.raises(Outdated, match="while this one was checked"):
        await store.configuration.write(written(2, "two"), 0)
    with pytest.raises(Outdated):
        await store.configuration.activate(held(None), 0)
    assert await texts(store) == ["one"]
    assert len(await store.configuration.versions("default", "flows", "overtime")) == 1


async def test_a_flow_s_version_is_one_behaviour_for_ever(store: Store) -> None:
    await store.configuration.write(written(flow_version=1, behaviour="a"), 0)
    await store.configuration.write(written(2, "said otherwise", flow_version=1, behaviour="a"), 1)
    with pytest.raises(Conflict, match="raise version to 2"):
        await store.configuration.write(written(3, "x", flow_version=1, behaviour="b"), 2)
    await store.configuration.write(written(3, "x", flow_version=2, behaviour="b"), 2)
    assert await texts(store) == ["x"]


async def test_tenants_have_documents_of_one_name_each_its_own(store: Store) -> None:
    await store.configuration.write(written(), 0)
    await store.configuration.write(written(1, "acme's", "acme"), 0)
    assert await texts(store, "acme") == ["acme's"]
    assert await texts(store, "default") == ["one"]
    assert await store.configuration.mark() == 2
    assert await store.configuration.mark("acme") == 1
    assert await store.configuration.find("globex", "flows", "overtime", 1) is None
    assert await store.configuration.heads("globex") == []


async def test_a_version_that_was_never_written_cannot_hold(store: Store) -> None:
    await store.configuration.write(written(), 0)
    for wanted, seen in ((held(2), 1), (held(1, "acme"), 0)):
        with pytest.raises(NotFound):
            await store.configuration.activate(wanted, seen)


async def test_whoever_is_erased_has_written_nothing(store: Store, database: Database) -> None:
    await store.configuration.write(written(), 0)
    await PersonErasure(database, "default", "olga").erase("erased-1")
    (left,) = await store.configuration.active()
    assert (left.author, left.note, left.text) == ("erased-1", "", "one")
    (head,) = await store.configuration.heads("default")
    assert head.activated_by == "erased-1"


def minutes(count: int) -> datetime:
    return NOW + timedelta(minutes=count)


def planned(version: int | None, after: int = 0, share: int = WHOLE, **more: Any) -> Activation:
    """To hold some minutes from now, for a share of people."""
    told = {"share": share, "holds_from": minutes(after) if after else None, **more}
    return held(version).model_copy(update=told)


async def whole(store: Store, at: datetime) -> list[int]:
    return [each.version for each in await store.configuration.active("default", at)]


async def test_a_version_holds_from_its_moment_on_and_moves_the_mark_then(store: Store) -> None:
    kept = store.configuration
    await kept.write(written(), 0)
    await kept.write(written(2, "two"), 1, planned(2, 5))
    assert await whole(store, minutes(4)) == [1]
    assert await whole(store, minutes(5)) == [2]
    marks = [await kept.mark("default", minutes(after)) for after in (4, 5)]
    assert marks == [2, 3]
    (head,) = await kept.heads("default", at=minutes(4))
    assert (head.active, head.upcoming, head.upcoming_from) == (1, 2, minutes(5))
    (head,) = await kept.heads("default", at=minutes(5))
    assert (head.active, head.upcoming) == (2, None)


async def test_what_was_checked_before_a_moment_came_does_not_hold_after_it(store: Store) -> None:
    kept = store.configuration
    await kept.write(written(), 0)
    await kept.write(written(2, "two"), 1, planned(2, 5))
    late = held(1).model_copy(update={"activated_at": minutes(6)})
    with pytest.raises(Outdated):
        await kept.activate(late, await kept.mark("default", minutes(4)))
    await kept.activate(late, await kept.mark("default", minutes(6)))
    assert await whole(store, minutes(6)) == [1]


async def test_a_share_stands_beside_what_everybody_has_until_it_is_taken_back(
    store: Store,
) -> None:
    kept = store.configuration
    await kept.write(written(), 0)
    await kept.write(written(2, "two"), 1, planned(2, share=10))
    await kept.activate(planned(2, share=50), 2)
    assert await whole(store, NOW) == [1]
    both = await kept.holding("default", NOW)
    told = [(each.activation.version, each.activation.share) for each in both]
    assert told == [(1, 100), (2, 10), (2, 50)]
    assert [each.document.text for each in both if each.document] == ["one", "two", "two"]
    (head,) = await kept.heads("default", at=NOW)
    assert (head.active, head.shared, head.share) == (1, 2, 50)

    its = standing(await kept.activations("default", "flows", "overtime"), NOW).rolled_back
    await kept.take_back(its, 3, "carol", NOW)
    assert [each.activation.version for each in await kept.holding("default", NOW)] == [1]
    assert await kept.mark("default", NOW) == 5
    with pytest.raises(Outdated):
        await kept.take_back(its, 3, "carol", NOW)
    *_, last = await kept.activations("default", "flows", "overtime")
    assert (last.taken_back_by, last.taken_back_at) == ("carol", NOW)


async def test_a_machine_whose_clock_is_behind_activates_after_what_has_begun(
    store: Store,
) -> None:
    await store.configuration.write(written(), 0)
    slow = held(None).model_copy(update={"activated_at": minutes(-9)})
    await store.configuration.activate(slow, 1)
    assert await whole(store, NOW) == []


async def test_the_pseudonym_stands_for_whoever_took_back(store: Store, database: Database) -> None:
    await store.configuration.write(written(), 0)
    held_now = await store.configuration.activations("default", "flows", "overtime")
    await store.configuration.take_back(held_now, 1, "olga", NOW)
    await PersonErasure(database, "default", "olga").erase("erased-1")
    (left,) = await store.configuration.activations("default", "flows", "overtime")
    assert (left.activated_by, left.taken_back_by) == ("erased-1", "erased-1")
