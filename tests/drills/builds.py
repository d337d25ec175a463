"""Builds of the worker: one that runs are pinned to is stopped; the release before is put back."""

import asyncio
from functools import partial

from tests.drills.desk import DAYS, Desk, Stopwatch, drill, until

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
        assert (await frank.says("how many days of annual leave do I have left"))["replies"]

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
