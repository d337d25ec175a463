"""Runs functions over foreign input in child processes, and kills those that take too much.

    runner = IsolatedRunner("router.api.flow_reading")
    found = await runner.run(ProcessLimits(), read_flow_text, path, text, known)
    await runner.close()

One process per runner has the modules imported and forks a child for each job
(`router.isolation.program`); it is started for the first job and ends after a while without one. A
job has memory, processor time and wall time of its own. Cancelling `run` kills its child at once,
whatever native code that is in. Arguments travel as pickles, which the child alone loads; results
travel as JSON, so a child that foreign input has taken over can't run code in its parent.
"""

import asyncio
import logging
import os
import pickle
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NamedTuple, ParamSpec, TypeVar

from router.domain.errors import InvalidInput, Unavailable
from router.domain.locale import Localised
from router.isolation.limits import ProcessLimits, child_environment
from router.isolation.program import (
    OUT_OF_MEMORY,
    REFUSED,
    TOO_LONG,
    ChildEnd,
    Refusal,
    result_adapter,
)

PROGRAM = (sys.executable, "-P", "-m", "router.isolation.program")
START_SECONDS = 60.0
"""Until the process is ready."""
IDLE_SECONDS = 300.0
"""Without a job, after which the process ends."""
CHUNK_BYTES = 65_536
P = ParamSpec("P")
T = TypeVar("T")
LimitKind = Literal["time", "memory", "output", "crash"]

_log = logging.getLogger(__name__)


class LimitExceeded(InvalidInput):
    """A job took more than its limits allow, or crashed its process; nothing was changed."""

    def __init__(self, limit: LimitKind) -> None:
        self.limit = limit
        super().__init__(_EXCEEDED[limit])


_EXCEEDED: dict[LimitKind, Localised] = {
    "time": Localised(
        zh="处理这份内容花的时间超过了上限，已经中止；请精简或拆分后再试。",
        en="This took too long and was stopped: shorten it or split it, then try again.",
    ),
    "memory": Localised(
        zh="处理这份内容需要的内存超过了上限，已经中止；请精简或拆分后再试。",
        en="This needed too much memory and was stopped: shorten it or split it, then try again.",
    ),
    "output": Localised(
        zh="得到的结果太大，没法给出；请精简或拆分后再试。",
        en="The result is too large: shorten the input or split it, then try again.",
    ),
    "crash": Localised(
        zh="这份内容让处理它的进程崩溃了；请精简或改写后再试。",
        en="This crashed the process that worked on it: shorten it or write it in another way.",
    ),
}


class ProcessLost(Unavailable):
    """Somebody else, or the kernel, has killed the process of a job."""


class _Process(NamedTuple):
    process: Process
    jobs: socket.socket
    """Its end takes what `router.isolation.program` calls arrivals."""


class IsolatedRunner:
    """Runs functions in child processes.

    Args:
        modules: What the process imports before the first job: the functions' modules.
        prepare: Called once in the process before the first job, so it has to survive pickling.
        idle_seconds: How long the process waits for a job before it ends.
    """

    def __init__(
        self,
        *modules: str,
        prepare: Callable[[], object] | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._modules = modules
        self._prepare = prepare
        self._idle_seconds = idle_seconds
        self._running: _Process | None = None
        self._starting = asyncio.Lock()
        self._jobs = 0
        self._idle: asyncio.TimerHandle | None = None
        self.last_end: ChildEnd | None = None
        """How the child of the last job ended, and what it took."""

    @property
    def pid(self) -> int | None:
        """The process that forks children; None while there is none."""
        return self._running.process.pid if self._running is not None else None

    def preload(self, module: str) -> None:
        """Import a module in addition, once the process starts the next time."""
        if module not in self._modules:
            self._modules = (*self._modules, module)

    async def run(
        self, limits: ProcessLimits, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the function's result, made in a child process of these limits.

        The function stands at the top of a module, its return type is annotated, and its result
        survives JSON as pydantic writes it.

        Raises:
            LimitExceeded: it took too long or too much memory, or its result is too large.
            InvalidInput, DefinitionError: the function has raised it.
            ProcessLost: its process ended without a result; another try may help.
            Unavailable: no process can be started.
            RuntimeError: the function has raised anything else, whose traceback this has.
        """
        call = pickle.dumps((function, args, kwargs), protocol=pickle.HIGHEST_PROTOCOL)
        self._jobs += 1
        self._keep()
        try:
            output, end = await self._exchange(call, limits)
        finally:
            self._jobs -= 1
            self._end_when_idle()
        self.last_end = end
        _check(end, output)
        result: T = result_adapter(function).validate_json(output)
        return result

    async def close(self) -> None:
        """Kill all jobs and end the process."""
        self._keep()
        await self._end()

    async def _begin(self, limits: ProcessLimits) -> tuple[socket.socket, int]:
        """Have a child forked; return the connection to it, and the pipe for how it ends."""
        for _ in range(2):  # the process may have ended without our having learned of it
            running = await self._ready()
            ours, theirs = socket.socketpair()
            end, end_of_child = os.pipe()
            ours.setblocking(False)
            message = limits.model_dump_json().encode()
            try:
                socket.send_fds(running.jobs, [message], [theirs.fileno(), end_of_child])
            except OSError:
                ours.close()
                os.close(end)
                if self._running is running:
                    await self._end()
            else:
                return ours, end
            finally:
                theirs.close()
                os.close(end_of_child)
        raise ProcessLost(_LOST)

    async def _exchange(self, call: bytes, limits: ProcessLimits) -> tuple[bytes, ChildEnd]:
        connection, end = await self._begin(limits)
        try:
            async with asyncio.timeout(limits.wall_seconds):
                output = await _converse(connection, call, limits.output_bytes)
            # The connection ends once this was written, or nobody is there who would write it.
            raw = os.read(end, CHUNK_BYTES)
        except TimeoutError:
            raise LimitExceeded("time") from None
        finally:
            connection.close()  # which kills a child that is still there
            os.close(end)
        if not raw:
            raise ProcessLost(_LOST)
        return output, ChildEnd.model_validate_json(raw)

    async def _ready(self) -> _Process:
        async with self._starting:
            if self._running is not None and self._running.process.returncode is None:
                return self._running
            await self._end()
            self._running = await _start(self._modules, self._prepare)
            return self._running

    async def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.jobs.close()
            with suppress(ProcessLookupError):
                os.killpg(running.process.pid, signal.SIGKILL)
            await asyncio.shield(running.process.wait())

    def _keep(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _end_when_idle(self) -> None:
        if not self._jobs:
            self._keep()
            self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._leave)

    def _leave(self) -> None:
        # The process ends with its socket.
        if self._running is not None:
            self._running.jobs.close()
            self._running = None


async def _start(modules: tuple[str, ...], prepare: Callable[[], object] | None) -> _Process:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    with theirs:
        process = await asyncio.create_subprocess_exec(
            *PROGRAM,
            str(theirs.fileno()),
            *modules,
            pass_fds=[theirs.fileno()],
            cwd="/",  # where no `.env` is
            env=child_environment(),
            start_new_session=True,  # a Ctrl-C isn't for it, and it is killed with its children
        )
    try:
        ours.send(pickle.dumps(prepare))
        async with asyncio.timeout(START_SECONDS):
            ready = await asyncio.get_running_loop().sock_recv(ours, 1)
    except (TimeoutError, ConnectionError):
        ready = b""
    except BaseException:
        ours.close()
        raise
    if not ready:
        ours.close()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        status = await process.wait()
        raise Unavailable(f"the process for foreign input doesn't start (status {status})")
    _log.info("foreign input is processed in children of pid %d", process.pid)
    return _Process(process, ours)


async def _converse(connection: socket.socket, call: bytes, most: int) -> bytes:
    """Send the call and return all that comes back; raises where that is over `most` bytes."""
    loop, output = asyncio.get_running_loop(), bytearray()
    with suppress(ConnectionError):  # how the child ended says why
        await loop.sock_sendall(connection, call)
        connection.shutdown(socket.SHUT_WR)
    with suppress(ConnectionError):
        while len(output) <= most and (part := await loop.sock_recv(connection, CHUNK_BYTES)):
            output += part
    if len(output) > most:
        raise LimitExceeded("output")
    return bytes(output)


def _check(end: ChildEnd, output: bytes) -> None:
    """Return if the child has a result; else raise what kept it from having one."""
    if end.status == 0:
        return
    if end.status == REFUSED:
        raise Refusal.model_validate_json(output).as_error()
    if end.status == -signal.SIGXCPU:
        raise LimitExceeded("time")
    if end.status == TOO_LONG:
        raise LimitExceeded("output")
    # Allocators of native code stop by a trap or an abort where there is no more memory.
    if end.status in {OUT_OF_MEMORY, -signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL}:
        raise LimitExceeded("memory")
    if end.status == -signal.SIGKILL:
        raise ProcessLost(_LOST)
    if end.status < 0:
        _log.error("foreign input ended its child process by signal %d", -end.status)
        raise LimitExceeded("crash")
    raise RuntimeError(f"in a child process: {output.decode(errors='replace')}")


_LOST = Localised(
    zh="处理这份内容的进程中断了，什么都没有改变；请再试一次。",
    en="The process that worked on this was interrupted, and nothing was changed: try again.",
)
