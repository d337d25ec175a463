"""The servers that every process of a test run shares, each started when a test first needs it.

The process that begins the run owns them: with pytest-xdist that is the controller. It listens on
a socket, whose path is in the environment variable `INTENT_ROUTER_TEST_SERVERS`. `server_address`
asks there for a server by name, and the owner starts it at the first request. The owner stops all
of them as the run ends.

Tests that stop a server, move its clock or start it with other options start their own.
"""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from tests.ports import free_ports
from tests.postgres import postgres_server

SOCKET = "INTENT_ROUTER_TEST_SERVERS"
"""The environment variable that names the owner's socket; its folder is everybody's."""
MAX_PROCESSES = 16
"""Each process of the run has a namespace of its own on the Temporal server."""
FAILURES_REPORTED = "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute"
"""After so many failures of a workflow's task the server says so, as `dev` sets it."""
SLOW_START_S = 120
"""For a machine that is busy with something else."""
TEMPORAL_OPTIONS = (
    *("--headless", "--ip", "127.0.0.1", "--log-level", "error"),
    *("--dynamic-config-value", "frontend.enableServerVersionCheck=false"),
    *("--dynamic-config-value", f"{FAILURES_REPORTED}=3"),
)


class SharedServerError(Exception):
    """A shared server doesn't start."""


class SharedServers:
    """Start each server once and answer every request for its address, until `stop` is called."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="router-tests-"))
        self._running = ExitStack()
        self._addresses: dict[str, str] = {}
        self._listener = Listener(str(self.folder / "socket"))
        os.environ[SOCKET] = str(self.folder / "socket")
        threading.Thread(target=self._listen, daemon=True).start()

    def stop(self) -> None:
        """Stop the servers and remove their data."""
        del os.environ[SOCKET]
        self._listener.close()
        self._running.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _listen(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                return  # stopped
            with connection:
                self._answer(connection)

    def _answer(self, connection: Connection) -> None:
        name = connection.recv()
        try:
            if name not in self._addresses:
                self._addresses[name] = self._running.enter_context(STARTERS[name]())
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            connection.send(("", str(error)))
        else:
            connection.send((self._addresses[name], ""))


def server_address(name: str) -> str:
    """Return the address of the shared server of this name; it is started if it isn't running.

    Raises:
        SharedServerError: The server doesn't start.
    """
    if name not in STARTERS:
        raise SharedServerError(f"there is no shared server {name!r}: {', '.join(STARTERS)}")
    with Client(os.environ[SOCKET]) as connection:
        connection.send(name)
        address, error = connection.recv()
    if error:
        raise SharedServerError(f"the shared server {name!r} doesn't start: {error}")
    return str(address)


@contextmanager
def run_folder(name: str) -> Iterator[Path]:
    """Enter a folder that the processes of this run share, one process at a time."""
    folder = Path(os.environ[SOCKET]).with_name(name)
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def process_name() -> str:
    """Return a name that no other process of this run has."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


@contextmanager
def _temporal() -> Iterator[str]:
    (port,) = free_ports(1)
    names = ("main", *(f"gw{number}" for number in range(MAX_PROCESSES)))
    program = Path(sys.executable).with_name("temporal")
    command = [str(program), "server", "start-dev", "--port", str(port), *TEMPORAL_OPTIONS]
    command += [word for name in names for word in ("--namespace", name)]
    quiet = subprocess.DEVNULL
    # Its own session, since Ctrl-C is for the tests, which stop it. If they are killed, its input
    # ends, and the shell stops it.
    server = subprocess.Popen(
        ["sh", "-c", '"$@" & read -r _; kill -9 $!; wait', "sh", *command],
        stdin=subprocess.PIPE,
        stdout=quiet,
        stderr=quiet,
        start_new_session=True,
    )
    try:
        _wait_for_port(port, server)
        yield f"127.0.0.1:{port}"
    finally:
        server.communicate()


def _wait_for_port(port: int, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + SLOW_START_S
    while server.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"Temporal doesn't answer on port {port}: exit status {server.poll()}")


STARTERS: dict[str, Callable[[], Any]] = {"temporal": _temporal, "postgresql": postgres_server}
