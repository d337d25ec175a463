"""Processor time of a turn on 1, 2 and 4 APIs and workers, which share one PostgreSQL server.

Real processes, with one Temporal server beside them. The same turns are taken at each size, one
person after the other, so that what is compared is what a turn costs, and not who waits for whom:
of ten turns three answer what a flow asked, two ask where requests stand, five are small talk
(`load.py`). Each goes to the next API in turn. What idle processes use meanwhile, their polls and
upkeep, is measured by itself before, and taken off; `APIs` is the share that is theirs, rest
included. Rows and their KiB are those that a turn leaves in the router's database. Each size has a
house of its own, one after the other; the first comes once more at the end and says how far the
machine has drifted meanwhile.

    python bench/machines.py [--sizes 1 2 4 1] [--turns 120]
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
from houses import House, products_on_postgres
from load import MIX, SETTLED, Desk

SIZES = (1, 2, 4, 1)
TURNS = 120
BLOCK = 20
"""Turns that are measured together; the median of several is shown."""
IDLE_SECONDS = 4.0
OPEN = 8
"""Conversations on each API."""


class Spread:
    """Turns of one size, on each of its APIs in turn."""

    def __init__(self, houses: Sequence[House]) -> None:
        self.desks = [Desk(house) for house in houses]
        self.house = houses[0]
        self.number = 0

    async def open(self) -> None:
        for desk in self.desks:
            await desk.open_up_to(OPEN)

    async def take(self, turns: int) -> None:
        for _ in range(turns):
            desk = self.desks[self.number % len(self.desks)]
            # By rounds, so that each API has the whole mix, however many there are.
            if not await desk.mixed(self.number // len(self.desks) % len(MIX)):
                raise SystemExit("a turn was refused, although each waited for its answer")
            self.number += 1


async def idle(spread: Spread) -> float:
    """Seconds of processor time a second that its processes use without a turn."""
    before, began = spread.house.used()[0], time.monotonic()
    await asyncio.sleep(IDLE_SECONDS)
    return (spread.house.used()[0] - before) / (time.monotonic() - began)


async def block(spread: Spread, at_rest: float) -> float:
    """Milliseconds of processor time a turn, without what is used at rest."""
    before, began = spread.house.used()[0], time.monotonic()
    await spread.take(BLOCK)
    used, took = spread.house.used()[0] - before, time.monotonic() - began
    return 1000 * (used - at_rest * took) / BLOCK


def _apis(spread: Spread) -> float:
    """Seconds of processor time that the APIs have used."""
    processes = spread.house.processes[: len(spread.desks)]
    return sum(sum(process.cpu_times()[:2]) for process in processes)


async def kept(database: str) -> tuple[float, float]:
    """Rows in the database, and KiB of them with their indexes."""
    connection = await asyncpg.connect(database)
    try:
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        names = [row["tablename"] for row in await connection.fetch(tables)]
        rows = [await connection.fetchval(f'SELECT count(*) FROM "{name}"') for name in names]
        size_of = "SELECT pg_total_relation_size($1::regclass)"
        sizes = [await connection.fetchval(size_of, name) for name in names]
    finally:
        await connection.close()
    return float(sum(rows)), sum(sizes) / 1024


async def measured(sizes: Sequence[int], turns: int, folder: Path) -> None:
    """Print a line for each size."""
    first = 0.0
    for size in sizes:
        async with AsyncExitStack() as stack:
            houses = await stack.enter_async_context(products_on_postgres(folder, 1000, size))
            spread = Spread(houses)
            await spread.open()
            await asyncio.sleep(SETTLED)
            await spread.take(2 * BLOCK)
            at_rest = await idle(spread)
            before, apis = await kept(houses[0].database), _apis(spread)
            spent = [await block(spread, at_rest) for _ in range(max(turns // BLOCK, 1))]
            share = (_apis(spread) - apis) / (BLOCK * len(spent)) * 1000
            after = await kept(houses[0].database)
        rows, kib = (
            (now - then) / (BLOCK * len(spent)) for now, then in zip(after, before, strict=True)
        )
        cost = statistics.median(spent)
        first = first or cost
        print(
            f"{size:>5}{cost:>13.1f}{min(spent):>9.1f}{max(spent):>9.1f}{cost / first:>9.2f}"
            f"{share / cost:>7.2f}{1000 * at_rest / (2 * size):>20.1f}{rows:>11.1f}{kib:>10.1f}",
            flush=True,
        )


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options.add_argument("--turns", type=int, default=TURNS, help="of each size")
    given = options.parse_args()
    print(
        f"{'each':>5}{'CPU ms/turn':>13}{'least':>9}{'most':>9}{'ratio':>9}{'APIs':>7}"
        f"{'at rest, ms/s each':>20}{'rows/turn':>11}{'KiB/turn':>10}"
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        asyncio.run(measured(given.sizes, given.turns, Path(folder)))


if __name__ == "__main__":
    main()
