"""The data folder of `dev`: each of its files is gone, one at a time."""

import asyncio
import shutil
from functools import partial
from pathlib import Path

import httpx

from tests.drills.desk import Desk, Person, Stopwatch, drill, until
from tests.e2e.house import House

TOGETHER = {"temporal.db", "router.db"}
"""What belongs together; of everything else nothing is missed."""


def person(house: House, user: str) -> Person:
    """Somebody with a client of this `dev`."""
    headers = {"Authorization": f"Bearer {user}", "X-Locale": "en"}
    return Person(httpx.AsyncClient(base_url=f"{house.url}/v1", headers=headers, timeout=60))


def files_of(folder: Path) -> list[str]:
    """What `dev` keeps, a database with what SQLite puts beside it."""
    return sorted(
        each.name for each in folder.iterdir() if not each.name.endswith(("-wal", "-shm"))
    )


def without(kept: Path, name: str) -> Path:
    """A copy of the folder in which this is gone."""
    folder = kept.parent / f"without-{name}"
    shutil.copytree(kept, folder)
    for each in folder.glob(f"{name}*"):
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    return folder


@drill("A file of dev's data folder is gone")
async def file_gone(desk: Desk, watch: Stopwatch) -> None:
    """A request waits for bob; what is missed is said, and put right as far as anybody can."""
    kept = desk.folder / "dev"
    first = await asyncio.to_thread(House(kept).start)
    run = await person(first, "frank").hands_in()
    await asyncio.to_thread(first.stop)
    for name in files_of(kept):
        if name not in TOGETHER:
            await nothing_missed(House(without(kept, name)), run)
    await older_temporal(House(without(kept, "temporal.db")), run, watch)
    await older_database(House(without(kept, "router.db")), run)


async def nothing_missed(house: House, run: str) -> None:
    """It starts, and the request is approved."""
    await asyncio.to_thread(house.start)
    try:
        assert (await person(house, "bob").decides(run)).is_success
        await until("it is recorded", partial(person(house, "frank").sees, run, "completed"))
    finally:
        await asyncio.to_thread(house.stop)


async def older_temporal(house: House, run: str, watch: Stopwatch) -> None:
    """Without Temporal's file the request is over, and its requester told."""
    frank, bob = person(house, "frank"), person(house, "bob")
    watch.breaks()
    await asyncio.to_thread(house.start)
    try:
        await watch.noticed("log of dev", partial(logged, house))
        await watch.noticed("intent-router reconcile", partial(lists, house, run))
        since = watch.mending()
        assert (await typed(house, "reconcile", "--yes"))[0] == 0
        await watch.right(
            since, "intent-router reconcile --yes", partial(frank.sees, run, "failed")
        )
        assert await bob.inbox() == []
        await frank.hands_in()
        assert len(await bob.inbox()) == 1
    finally:
        await asyncio.to_thread(house.stop)


async def older_database(house: House, run: str) -> None:
    """Without the router's own the request comes back, and can be decided."""
    await asyncio.to_thread(house.start)
    try:
        await until("dev says so", partial(logged, house))
        await until("reconcile lists it", partial(lists, house, run))
        assert (await typed(house, "reconcile", "--yes"))[0] == 0
        assert (await person(house, "bob").decides(run)).is_success
        await until("it is recorded", partial(person(house, "frank").sees, run, "completed"))
    finally:
        await asyncio.to_thread(house.stop)


async def typed(house: House, *words: str) -> tuple[int, str]:
    """A command on the same folder: its status, and what it said."""
    ended = await asyncio.to_thread(house.command, *words)
    return ended.returncode, ended.stdout + ended.stderr


async def logged(house: House) -> bool:
    return "aren't of one moment" in house.log()


async def lists(house: House, run: str) -> bool:
    """True once `reconcile` names the run: what is but minutes old, it leaves alone."""
    return run in (await typed(house, "reconcile"))[1]
