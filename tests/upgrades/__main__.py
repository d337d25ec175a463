"""From the release before to this tree, and back: `make upgrade-test`.

    python -m tests.upgrades [TAG] [postgresql | sqlite]

TAG is the newest that is tagged, or whatever git knows. Before there is one, it goes from this
commit to a made-up release after it. The older program runs as it was, over a real Temporal and
either database, with runs under way. Then what docs/operations.md has under
"Upgrading" is done to it, and what it promises is looked at. Minutes; the status is 1 where
something was lost, doubled, or refused.
"""

import asyncio
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from tests.log import Log
from tests.upgrades.houses import HOUSES, Release, Upgraded, migrated
from tests.upgrades.release import (
    git,
    head_of,
    newest_tag,
    unpack_releases,
)
from tests.upgrades.runs import Open, Request

KILLS = 6
"""At so many places a migration is killed, the first and the last among them."""
AT_ONCE = 4


async def migrations(house: Upgraded, newer: Release, log: Log) -> None:
    """Of a copy each: killed in the middle, several at once; no row of the release is another."""
    before = await house.rows(await house.copy(), None)
    whole = await house.copy()
    status, said = await migrated(newer, whole, 0)
    assert status == 0, said
    writes = int(said.split()[-1])
    if not writes:
        log.says(f"{house.name}: no migration came since")
        return
    assert await house.rows(whole, before) == before, "rows of the release are others afterwards"
    broken = await house.copy()
    places = sorted({1 + (writes - 1) * part // (KILLS - 1) for part in range(KILLS)})
    for place in places:
        status, said = await migrated(newer, broken, place)
        assert status == -signal.SIGKILL, said
        assert await house.rows(broken, before) == before, f"killed at {place}: rows are lost"
    several = await house.copy()
    ends = await asyncio.gather(*(migrated(newer, several, None) for _ in range(AT_ONCE)))
    refused = [said for status, said in ends if status]
    assert all(house.may_refuse and "database is locked" in said for said in refused), refused
    for copy in (broken, several):
        status, said = await migrated(newer, copy, None)
        assert status == 0, said
        assert f"is at revision {head_of(newer.tree)}" in said
    for copy in (broken, several):
        assert await house.rows(copy, before) == before, "rows of the release are others afterwards"
    kept = sum(map(len, before.values()))
    log.says(
        f"{house.name}: migrated to {head_of(newer.tree)} by {writes} statements, "
        f"killed at {places}, {AT_ONCE} at once, of which {len(refused)} gave up waiting; "
        f"{kept} rows as they were"
    )


async def story(house: Upgraded, older: Release, newer: Release, log: Log) -> None:
    """One house from the release before to this one, back, and there again."""
    await house.start(older)
    people = house.people()
    waiting = await Open.begun(people)
    log.says(f"{house.name}: at the release before, with four runs under way")
    await house.stop()
    await house.back_up()
    await migrations(house, newer, log)
    await house.start(older)
    persons = iter([(people.erin, people.carol), (people.bob, people.carol)])
    gathered = ""
    async for step in house.rolled(newer):
        await waiting.all_wait()
        if not gathered:
            gathered = await waiting.words_go_on()
        else:
            await (await Request.begun(*next(persons))).ends()
        log.says(f"{house.name}: {step}: what waits waits, people are answered")
    await house.doctor(newer)
    log.says(f"{house.name}: doctor finds nothing")
    await back_again(house, waiting, gathered, (older, newer), log)


async def back_again(
    house: Upgraded, waiting: Open, gathered: str, both: tuple[Release, Release], log: Log
) -> None:
    """What the newer began goes on with the older, and the other way round; then all ends."""
    older, newer = both
    people = waiting.people
    by_newer = await Request.begun(people.olga, people.carol)
    await house.stop()
    await house.start(older)
    await by_newer.ends()
    log.says(f"{house.name}: back at the release before, which ends what the newer began")
    await house.stop()
    await house.start(newer)
    await waiting.end(gathered)
    log.says(f"{house.name}: forward again: every run has ended, each effect is there once")


async def all_of(folder: Path, chosen: list[str], commit: str | None, log: Log) -> int:
    """How many of the houses failed."""
    older_tree, newer_tree = unpack_releases(folder, commit)
    older = Release.of(older_tree, folder / "older")
    newer = Release.of(newer_tree, folder / "newer")
    failed = 0
    for name in chosen:
        own = folder / name
        own.mkdir()
        async with HOUSES[name](own) as house:
            try:
                await story(house, older, newer, log)
            except Exception:  # noqa: BLE001 - whatever it is, the others are to run
                traceback.print_exc()
                failed += 1
                for said in sorted(own.glob("*.log")):
                    last = said.read_text("utf-8", "replace").splitlines()[-8:]
                    print(f"--- {said.name}", *(each[:400] for each in last), sep="\n")
    return failed


def main(given: list[str]) -> int:
    chosen = [name for name in HOUSES if name in given] or [*HOUSES]
    commit = next((one for one in given if one not in HOUSES), None) or newest_tag()
    log = Log()
    log.says(f"from {git('log', '-1', '--format=%h of %cs, %s', commit or 'HEAD')}")
    with tempfile.TemporaryDirectory(prefix="upgrade-") as folder:
        return min(asyncio.run(all_of(Path(folder), chosen, commit, log)), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
