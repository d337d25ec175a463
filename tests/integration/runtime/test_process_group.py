"""Several processes of one command, with small programs in the place of the API."""

import asyncio
import logging
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import psutil
import pytest

from router.domain.errors import Unavailable
from router.runtime.process_group import ProcessCommand, ProcessGroup
from tests.waiting import HANGS_AFTER_S

AT_WORK = """
import asyncio, os, sys
from router.runtime.process import until_told_to_stop
from router.runtime.process_group import Parent

async def work():
    Parent(int(sys.argv[sys.argv.index("--parent") + 1])).tell_ready()
    await asyncio.Event().wait()

asyncio.run(until_told_to_stop(work()))
"""
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + AT_WORK.replace(
    "asyncio.run(until_told_to_stop(work()))", "asyncio.run(work())"
)
DRAINING = AT_WORK.replace(
    "    await asyncio.Event().wait()",
    """    try:
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0.5)
        print("drained", flush=True)
""",
)
BROKEN = "raise SystemExit(1)"
ANSWERING = AT_WORK.replace(
    "    await asyncio.Event().wait()",
    """    import socket
    shared = socket.socket(fileno=int(os.environ["SHARED"]))
    shared.setblocking(False)
    while True:
        taken, _ = await asyncio.get_running_loop().sock_accept(shared)
        with taken:
            taken.send(str(os.getpid()).encode())
""",
)


class Said(logging.Handler):
    """Lines of the log, each of which may be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._more = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self._more.set()

    async def until(self, fits: Callable[[list[str]], bool]) -> None:
        async with asyncio.timeout(HANGS_AFTER_S):
            while not fits(self.lines):
                self._more.clear()
                await self._more.wait()

    def pids(self) -> list[int]:
        """Those that have been at work, in that order."""
        at_work = [line for line in self.lines if line.endswith("is at work")]
        return [int(line.split("pid ")[1].split(")")[0]) for line in at_work]


@pytest.fixture
async def said(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Said]:
    log, heard = logging.getLogger("router.runtime.process_group"), Said()
    log.addHandler(heard)
    monkeypatch.setattr(log, "level", logging.INFO)
    yield heard
    log.removeHandler(heard)


def command(program: str, shared: socket.socket | None = None) -> ProcessCommand:
    there = {} if shared is None else {"SHARED": str(shared.fileno())}
    return ProcessCommand("it", (sys.executable, "-c", program), lambda _: there, shared)


@asynccontextmanager
async def kept(group: ProcessGroup) -> AsyncIterator["asyncio.Task[None]"]:
    running = asyncio.create_task(group.run())
    try:
        yield running
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def asked(shared: socket.socket) -> int:
    """Who answers at this socket."""
    reader, writer = await asyncio.open_connection(*shared.getsockname())
    try:
        return int(await reader.read())
    finally:
        writer.close()


@pytest.mark.slow
async def test_whoever_dies_is_replaced_and_the_others_answer_meanwhile(said: Said) -> None:
    with socket.create_server(("127.0.0.1", 0)) as shared:
        async with kept(ProcessGroup(command(ANSWERING, shared), 2, HANGS_AFTER_S)):
            await said.until(lambda _: len(said.pids()) == 2)
            first, second = said.pids()
            os.kill(first, signal.SIGKILL)
            answers = {await asked(shared) for _ in range(20)}
            assert first not in answers
            await said.until(lambda _: len(said.pids()) == 3)
            assert second in said.pids()
    assert any(f"(pid {first}) ended with SIGKILL: another starts" in it for it in said.lines)
    assert not any(psutil.pid_exists(pid) for pid in said.pids())


async def test_one_that_never_comes_to_work_ends_them_all(said: Said) -> None:
    with pytest.raises(Unavailable, match=r"it [12] ended with status 1 as it started"):
        await ProcessGroup(command(BROKEN), 2, HANGS_AFTER_S).run()
    assert said.pids() == []


@pytest.mark.slow
async def test_each_ends_what_it_has_under_way_when_they_are_stopped(
    said: Said, capfd: pytest.CaptureFixture[str]
) -> None:
    async with kept(ProcessGroup(command(DRAINING), 2, HANGS_AFTER_S)):
        await said.until(lambda _: len(said.pids()) == 2)
    # The two write at the same time: a line of one may end after a line of the other.
    assert capfd.readouterr().out.count("drained") == 2


@pytest.mark.slow
async def test_one_that_does_not_end_when_told_is_killed(said: Said) -> None:
    async with kept(ProcessGroup(command(STUBBORN), 1, grace=0.1)):
        await said.until(lambda _: len(said.pids()) == 1)
    (pid,) = said.pids()
    assert f"pid {pid} didn't end in 0 s and is killed" in said.lines
    assert not psutil.pid_exists(pid)


PARENT = """
import asyncio, logging, sys
from router.runtime.process_group import ProcessCommand, ProcessGroup

logging.basicConfig(level="INFO", stream=sys.stdout, format="%(message)s")
words = (sys.executable, "-c", sys.argv[1])
asyncio.run(ProcessGroup(ProcessCommand("it", words), 1, 60).run())
"""


@pytest.mark.slow
async def test_without_its_parent_it_stops_by_itself() -> None:
    parent: Process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, AT_WORK), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout
    async with asyncio.timeout(HANGS_AFTER_S):
        line = (await parent.stdout.readline()).decode()
        child = psutil.Process(int(line.split("pid ")[1].split(")")[0]))
        parent.kill()
        await parent.wait()
        await asyncio.to_thread(psutil.wait_procs, [child], HANGS_AFTER_S)
    assert not child.is_running()
