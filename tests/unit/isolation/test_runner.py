"""Functions over foreign input in child processes: their results, bounds and ends."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from router.domain.errors import DefinitionError, InvalidInput
from router.isolation.limits import MIB, ProcessLimits
from router.isolation.runner import IsolatedRunner, LimitExceeded, ProcessLost
from tests.processes import wait_for_end
from tests.table import each_row
from tests.unit.isolation import jobs

ROOT = Path(__file__).parents[3]
LIMITS = ProcessLimits(memory_bytes=64 * MIB, cpu_seconds=1, wall_seconds=30, output_bytes=10_000)


@pytest.fixture(scope="module")
async def runner() -> AsyncIterator[IsolatedRunner]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(ROOT))
        environment.setenv("ROUTER_LLM_API_KEY", "secret")
        made = IsolatedRunner("tests.unit.isolation.jobs")
        yield made
        await made.close()


async def test_many_results_come_from_children_of_one_process(runner: IsolatedRunner) -> None:
    results = await asyncio.gather(*(runner.run(LIMITS, jobs.double, n) for n in range(20)))
    first = runner.pid
    again = await runner.run(LIMITS, jobs.double, 21)
    assert results == [2 * n for n in range(20)]
    assert again == 42
    assert runner.pid == first


async def test_what_a_function_refuses_is_raised_to_whoever_runs_it(runner: IsolatedRunner) -> None:
    with pytest.raises(InvalidInput) as refused:
        await runner.run(LIMITS, jobs.refuse, "text")
    with pytest.raises(DefinitionError) as found:
        await runner.run(LIMITS, jobs.find_problems, "flow.yaml")
    with pytest.raises(RuntimeError, match=r"KeyError: 'a mistake'"):
        await runner.run(LIMITS, jobs.fail, "a mistake")
    assert refused.value.said.zh == "text：太长。"
    assert refused.value.problems[0].within("zh") == "太长"
    assert found.value.problems[0].place == ("states", 0)


@pytest.mark.slow
@each_row(
    ("function", "argument", "limit"),
    [
        (jobs.spin, 60.0, "time"),
        (jobs.stay_in_native_code, 30_000_000, "time"),
        (jobs.take_memory, 500 * MIB, "memory"),
        (jobs.take_native_memory, 8_000, "memory"),
        (jobs.write, 20_000, "output"),
        (jobs.crash, int(signal.SIGSEGV), "crash"),
    ],
)
async def test_a_job_that_takes_too_much_is_killed_and_the_next_one_runs(
    runner: IsolatedRunner, function: Callable[[Any], Any], argument: Any, limit: str
) -> None:
    with pytest.raises(LimitExceeded) as exceeded:
        await runner.run(LIMITS, function, argument)
    assert exceeded.value.limit == limit
    assert await runner.run(LIMITS, jobs.double, 1) == 2


async def test_a_job_that_waits_for_ever_ends_by_the_clock(runner: IsolatedRunner) -> None:
    brief = LIMITS.model_copy(update={"wall_seconds": 0.1})
    await runner.run(LIMITS, jobs.double, 1)
    with pytest.raises(LimitExceeded) as exceeded:
        await runner.run(brief, jobs.sleep, 3_600.0)
    assert exceeded.value.limit == "time"


async def test_a_job_is_killed_when_its_client_leaves(
    runner: IsolatedRunner, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address := str(tmp_path / "told"))
        listener.listen()
        listener.setblocking(False)
        loop = asyncio.get_running_loop()
        waiting = asyncio.create_task(runner.run(LIMITS, jobs.tell_and_wait, address))
        told, _ = await loop.sock_accept(listener)
        with told:
            pid = int(await loop.sock_recv(told, 20))
            child = os.pidfd_open(pid)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await wait_for_end(child)
    assert await runner.run(LIMITS, jobs.double, 1) == 2


async def test_a_process_that_is_killed_is_started_again(runner: IsolatedRunner) -> None:
    await runner.run(LIMITS, jobs.double, 1)
    assert runner.pid is not None
    os.kill(runner.pid, signal.SIGKILL)
    with suppress(ProcessLost):  # the job may have been sent before the process was gone
        await runner.run(LIMITS, jobs.double, 1)
    assert await runner.run(LIMITS, jobs.double, 2) == 4


async def test_a_job_reads_no_key_of_the_deployment(runner: IsolatedRunner) -> None:
    names = await runner.run(LIMITS, jobs.names_of_environment)
    assert not [name for name in names if name.startswith("ROUTER_")]
