"""The compose file in a real engine: `make compose-test`.

    python -m tests.compose [FOLDER]

Builds the image from its locks, and types what docs/operations.md says, word for word: up, scale,
back up, restore, upgrade, replace without a pause; people use it meanwhile. FOLDER keeps images
for the next run. Needs Debian with docker.io, docker-compose and debootstrap, and root; or an
engine in DOCKER_HOST, whose ports 8000 to 8003 and so on have to be free. What no registry gives
is stood in for, and told. Minutes.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.compose.engine import Engine, engine, lacking
from tests.compose.house import House, Proxy, Traffic
from tests.drills.desk import Person, until
from tests.log import Log

PAUSE = 2.0
"""Seconds for which a replacement may refuse: what is asked of it, not how quick it is."""


def proxy(person: Person) -> Proxy:
    """Theirs, which has measured."""
    transport = person.http._transport
    assert isinstance(transport, Proxy)
    return transport


async def opened(house: House, log: Log) -> None:
    """The image is built, and everything comes up."""
    said = await house.types("up")
    log.says("built from locks/ with hashes, and up; a token, and doctor:")
    print(*(line for line in said.splitlines()[-14:]), sep="\n")
    await until("everything is well", house.well)
    log.says(f"{len(await house.containers())} containers are well")


async def kept(house: House, log: Log) -> None:
    """Nothing is replaced where there is no port for another API: the old one stays."""
    before = await house.containers("api")
    said = await house.shell("deploy/replace.sh api || echo refused\n")
    assert "the old containers of api stay" in said, said
    assert "refused" in said, said
    assert await house.containers("api") == before
    log.says("without a port for another, the API isn't replaced, and stays")


async def scaled(house: House, log: Log) -> None:
    """Two APIs and three workers."""
    await house.types("scale")
    await until("everything is well", house.well)
    many = {service: len(await house.containers(service)) for service in ("api", "worker")}
    assert many == {"api": 2, "worker": 3}, many
    log.says("two APIs, three workers")


async def replaced(house: House, log: Log, person: Person) -> None:
    """Every API and worker is another than before; nobody is refused for long."""
    before = {*await house.containers("api"), *await house.containers("worker")}
    (house.folder / "router" / "newer.txt").write_text("another image\n", "utf-8")
    measured = proxy(person)
    measured.longest, measured.refused = 0.0, 0
    async with Traffic(person).going() as traffic:
        await traffic.heard()
        await house.types("replace")
        await traffic.heard()
    after = {*await house.containers("api"), *await house.containers("worker")}
    assert len(after) == len(before), (before, after)
    assert not before & after, before & after
    await until("everything is well", house.well)
    log.says(
        f"{len(after)} containers replaced under {traffic.answered} messages, each answered once: "
        f"{measured.refused} refused, for {measured.longest:.2f} s at the longest"
    )
    assert measured.longest < PAUSE, "a replacement refused people for too long"


async def upgraded(house: House, log: Log, person: Person) -> None:
    """By the plain steps, which pause: how long is told."""
    (house.folder / "router" / "newest.txt").write_text("one more image\n", "utf-8")
    measured = proxy(person)
    measured.longest, measured.refused = 0.0, 0
    async with Traffic(person).going() as traffic:
        await house.types("upgrade")
        await traffic.heard()
    log.says(
        f"upgraded by the plain steps under {traffic.answered} messages, each answered once: "
        f"refused for {measured.longest:.1f} s at the longest"
    )


async def restored(house: House, log: Log) -> None:
    """All volumes go, and what was kept comes back with the same secrets."""
    await house.down()
    log.says("down, its volumes too")
    await house.types("restore")
    await until("everything is well", house.well)
    log.says("restored on an empty machine")


async def story(house: House, log: Log) -> None:
    """One house from its first start to its restore, and what waited over all of it."""
    await opened(house, log)
    alice, bob, erin, frank, olga = map(house.person, ("alice", "bob", "erin", "frank", "olga"))
    before = await alice.balance()
    await alice.takes_leave(await alice.hands_in(), bob, before)
    log.says("alice asked for leave, bob approved it, and it is booked once")
    before, waits = await frank.balance(), await frank.hands_in()
    await kept(house, log)
    await scaled(house, log)
    await replaced(house, log, olga)
    await upgraded(house, log, olga)
    await house.types("backup")
    await until("everything is well", house.well)
    log.says("backed up")
    later = await erin.hands_in()
    await restored(house, log)
    alone = await erin.http.get(f"/flow-runs/{later}")
    assert alone.status_code == 404, "what came after the backup is gone"
    await frank.takes_leave(waits, bob, before)
    log.says("what waited before it all is approved now, and booked once")


def run(folder: Path, own: Engine, log: Log) -> None:
    """The story in a copy of the tree, which leaves no container behind."""
    pulled, stood_in = own.images(folder)
    log.says(f"images: {len(pulled)} real; stood in for: {', '.join(stood_in) or 'none'}")
    with tempfile.TemporaryDirectory(prefix="compose-") as own_folder:
        house = House(own, Path(own_folder) / "intent-router")
        house.copied()
        try:
            asyncio.run(story(house, log))
        finally:
            asyncio.run(house.down())


def main(given: list[str]) -> int:
    if missing := lacking():
        print(
            f"the compose file can't be tested here without {', '.join(missing)}", file=sys.stderr
        )
        return 1
    log = Log()
    with tempfile.TemporaryDirectory(prefix="engine-") as folder:
        kept = Path(given[0] if given else folder).resolve()
        with engine(kept) as own:
            log.says(f"an engine answers at {own.host}")
            run(kept, own, log)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
