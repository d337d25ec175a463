"""A real PostgreSQL server for the tests: the one in `ROUTER_TEST_POSTGRES`, or one of our own."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]
import pytest

from tests.ports import free_ports

GIVEN = "ROUTER_TEST_POSTGRES"
MISSING = (
    "PostgreSQL isn't tested: there are no server binaries here. "
    f"Install Debian's package postgresql, or set {GIVEN} to the URL of a server"
)


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a server in which databases may be made, up to the database's name."""
    if server := given():
        yield server
        return
    found = binaries()
    if found is None:
        pytest.skip(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="router-postgres-"))
    try:
        with _running(found, folder) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def given() -> str:
    """The URL of the server that the environment names, up to the database's name; or nothing."""
    return os.environ.get(GIVEN, "").rpartition("/")[0]


async def make_database(server: str, name: str, template: str | None = None) -> str:
    """Make a database, empty or a copy of the one called `template`, and give its URL."""
    copied = f' TEMPLATE "{template}"' if template else ""
    await order(f"{server}/postgres", f'CREATE DATABASE "{name}"{copied}')
    return f"{server}/{name}"


async def drop_database(server: str, name: str) -> None:
    """Remove a database, and whoever is still connected to it."""
    await order(f"{server}/postgres", f'DROP DATABASE "{name}" WITH (FORCE)')


async def order(database: str, statement: str) -> None:
    """Have it done in the database at this URL."""
    connection = await asyncpg.connect(database)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def binaries() -> Path | None:
    found = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    path = Path(found) if found else next(reversed(installed), None)
    return path.resolve().parent if path else None


def cluster(binaries: Path, folder: Path) -> str:
    """Make one in `folder/data`; gives the user that its server has to run as."""
    # The server refuses to run as root, which is who runs tests in a container.
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:
        shutil.chown(folder, user)
    options = ["-U", "router", "-A", "trust", "-E", "UTF8", "--no-sync"]
    make: list[str | Path] = [binaries / "initdb", "-D", folder / "data", *options]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)
    return user


def command(binaries: Path, folder: Path, port: int, *settings: str) -> list[str]:
    """What serves the cluster there, durable through any kill but that of the machine."""
    always = ("fsync=off", "listen_addresses=127.0.0.1", "max_connections=200")
    every = (*always, f"unix_socket_directories={folder}", *settings)
    options = [part for setting in every for part in ("-c", setting)]
    return [str(binaries / "postgres"), "-D", str(folder / "data"), "-p", str(port), *options]


@contextmanager
def _running(binaries: Path, folder: Path) -> Iterator[str]:
    user, (port,) = cluster(binaries, folder), free_ports(1)
    # autovacuum would visit every test's database, over and over
    serve = command(binaries, folder, port, "synchronous_commit=off", "autovacuum=off")
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(serve, stdout=quiet, stderr=quiet, user=user, cwd=folder)
    try:
        wait_until_it_answers(binaries / "pg_isready", port)
        yield f"postgresql://router@127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nobody needs the data any more
        server.wait(10)


def wait_until_it_answers(ready: Path, port: int) -> None:
    deadline = time.monotonic() + 30
    while subprocess.run([ready, "-q", "-h", "127.0.0.1", "-p", str(port)], check=False).returncode:
        if time.monotonic() > deadline:
            raise TimeoutError("PostgreSQL didn't answer within 30 s")
        time.sleep(0.1)
