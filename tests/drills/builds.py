"""Builds of the worker: one that runs are pinned to is stopped; the release before is put back."""

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.drills.desk import BALANCE, DAYS, Desk, Program, Stopwatch, drill, until
from tests.upgrades.release import head_of, unpack_releases

DEPLOYMENT = ("--deployment-name", "intent-router")


async def made_current(desk: Desk, build: str) -> None:
    """Have new runs begin on this build, once Temporal knows it."""

    async def set_current() -> bool:
        words = ("set-current-version", *DEPLOYMENT, "--build-id", build, "--yes")
        await desk.temporal("worker", "deployment", *words)
        return True

    await until(f"{build} is current", set_current)


@drill("A build was stopped that runs stay on")
async def stopped_build(desk: Desk, watch: Stopwatch) -> None:
    """A run is pinned to 1.0, whose workers go; everybody else is to be answered meanwhile."""
    await desk.temporal_up()
    api, old = await desk.api(), await desk.worker(ROUTER_WORKER_VERSION="1.0")
    await made_current(desk, "1.0")
    await desk.ready()
    alice, bob, frank = (desk.person(user) for user in ("alice", "bob", "frank"))
    before, run = await alice.balance(), await alice.hands_in()
    await desk.worker(ROUTER_WORKER_VERSION="1.1")
    await made_current(desk, "1.1")
    watch.breaks()
    await old.stopped()
    deciding = asyncio.create_task(bob.decides(run))
    for _ in range(10):
        assert (await frank.says(BALANCE))["replies"]

    async def stranded() -> bool:
        return await api.metric("router_stranded_tasks") > 0

    await watch.noticed("alert RouterBuildStranded", stranded)
    await watch.noticed("doctor", partial(desk.doctor, "stay on build 1.0"))
    since = watch.mending()
    of_it = 'TemporalWorkerDeploymentVersion="intent-router:1.0"'
    words = ("--query", of_it, "--versioning-override-behavior", "auto_upgrade", "--yes")
    await desk.temporal("workflow", "update-options", *words)
    await watch.right(
        since, "temporal workflow update-options", partial(alice.sees, run, "completed")
    )
    await deciding
    assert await alice.balance() == before - DAYS


@drill("A release is taken back")
async def release_taken_back(desk: Desk, watch: Stopwatch) -> None:
    """Its tables are newer than what the release before knows, which starts on them, and works."""
    await desk.temporal_up()
    await taken_back(desk, watch, *unpack_releases(desk.folder))


@dataclass
class Rollout:
    """1.0 is the older release and 1.1 the newer one, each in a tree of its own."""

    desk: Desk
    trees: dict[str, Path]
    api: Program | None = None

    def variables(self, build: str) -> dict[str, str]:
        """What the processes of a build are told."""
        return {"ROUTER_WORKER_VERSION": build, "PYTHONPATH": str(self.trees[build])}

    async def worker(self, build: str) -> Program:
        """Start a worker of a build, and wait until it is at work."""
        given = self.variables(build)
        worker = await self.desk.start("worker", cwd=self.trees[build], given=given)
        await until(f"{build} is at work", partial(worker.says, "polls task queue"))
        return worker

    async def to(self, build: str) -> None:
        """Have new runs begin on this build, and its `serve` in the other's place."""
        await made_current(self.desk, build)
        if self.api is not None:
            await self.api.stopped()
        serve = ("serve", "--port", str(self.desk.ports.api))
        given = self.variables(build)
        self.api = await self.desk.start(*serve, cwd=self.trees[build], given=given)
        await self.desk.ready()


async def taken_back(desk: Desk, watch: Stopwatch, older: Path, newer: Path) -> None:
    """A run begun by each ends while the other is there: before, meanwhile, and afterwards."""
    rollout = Rollout(desk, {"1.0": older, "1.1": newer})
    old = await rollout.worker("1.0")
    await rollout.to("1.0")
    assert await revision(desk) == head_of(older)
    alice, bob, carol, erin, frank = map(desk.person, ("alice", "bob", "carol", "erin", "frank"))
    had, earlier = await alice.balance(), await alice.hands_in()
    await rollout.worker("1.1")
    await rollout.to("1.1")
    assert await revision(desk) == head_of(newer)
    await old.stopped(kill=True)
    watch.breaks()
    await rollout.worker("1.0")
    about = rollout.variables("1.0")
    told = partial(desk.doctor, "nothing new runs on 1.0", cwd=older, **about)
    await watch.noticed("doctor of 1.0", told)
    await alice.takes_leave(earlier, bob, had)
    had, meanwhile = await frank.balance(), await frank.hands_in()
    since = watch.mending()
    await rollout.to("1.0")
    await watch.right(since, "set-current-version, the old image", desk.is_ready)
    await frank.takes_leave(meanwhile, bob, had)
    had, afterwards = await erin.balance(), await erin.hands_in()
    await rollout.to("1.1")
    await erin.takes_leave(afterwards, carol, had)


async def revision(desk: Desk) -> str:
    """Which revision the tables have."""
    (row,) = await desk.query("SELECT version_num FROM alembic_version_router")
    return str(row["version_num"])
