"""The database's roles as compose makes them, in a real server that asks for passwords."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]
import pytest

from router.store.database import Database
from router.store.tables import ROUTER
from tests.ports import free_ports
from tests.postgres import MISSING, binaries, command, wait_until_it_answers
from tests.table import each_row

pytestmark = pytest.mark.slow  # a server of its own, which asks for passwords

DEPLOY = Path(__file__).parents[3] / "deploy"
SUPERUSER = "postgres"


@dataclass(frozen=True)
class Server:
    """A server whose roles were made by deploy/postgres-roles.sh, and their passwords' folder."""

    port: int
    secrets: Path

    def make_roles(self) -> None:
        subprocess.run(
            [DEPLOY / "postgres-roles.sh"],
            env={
                "PATH": os.environ["PATH"],
                "PGHOST": "127.0.0.1",
                "PGPORT": str(self.port),
                "PGUSER": SUPERUSER,
                **{
                    f"{role.upper()}_PASSWORD_FILE": str(self.secrets / f"{role}_password")
                    for role in (SUPERUSER, "router", "temporal")
                },
            },
            check=True,
            capture_output=True,
        )

    async def connect(self, role: str, database: str) -> asyncpg.Connection:
        """Connect as whoever has the role's password."""
        password = (self.secrets / f"{role}_password").read_text().strip()
        return await asyncpg.connect(
            host="127.0.0.1", port=self.port, user=role, password=password, database=database
        )


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = binaries()
    if found is None:
        pytest.skip(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="roles-"))
    subprocess.run([DEPLOY / "make-secrets.sh", folder / "secrets"], check=True)
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    password = folder / "password"
    shutil.copy(folder / "secrets" / "postgres_password", password)
    password.chmod(0o644)
    options: list[str | Path] = [
        "-U",
        SUPERUSER,
        "-A",
        "scram-sha-256",
        "--pwfile",
        password,
        "--no-sync",
    ]
    making: list[str | Path] = [found / "initdb", "-D", folder / "data", *options]
    subprocess.run(making, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)
    (port,) = free_ports(1)
    serve = command(found, folder, port)
    quiet = subprocess.DEVNULL
    serving = subprocess.Popen(serve, stdout=quiet, stderr=quiet, user=user, cwd=folder)
    try:
        wait_until_it_answers(found / "pg_isready", port)
        made = Server(port, folder / "secrets")
        made.make_roles()
        yield made
    finally:
        serving.send_signal(signal.SIGQUIT)
        serving.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


async def test_each_has_all_it_needs_in_its_own_databases(server: Server) -> None:
    url = (server.secrets / "database_url").read_text().strip()
    database = Database(url.replace("@postgres:5432", f"@127.0.0.1:{server.port}"))
    try:
        await database.migrate(ROUTER)
    finally:
        await database.dispose()
    for name in ("temporal", "temporal_visibility"):
        connection = await server.connect("temporal", name)
        # What Temporal's schema asks for besides tables.
        await connection.execute("CREATE EXTENSION IF NOT EXISTS btree_gin")
        await connection.execute("CREATE TABLE executions (id text)")
        await connection.close()


@each_row(
    ("role", "others"),
    [
        ("temporal", ["router", "postgres", "template1"]),
        ("router", ["temporal", "temporal_visibility", "postgres", "template1"]),
    ],
)
async def test_whoever_has_one_of_them_reaches_no_database_of_another(
    server: Server, role: str, others: list[str]
) -> None:
    for database in others:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
            await server.connect(role, database)


@each_row(
    "statement",
    [
        "COPY (SELECT 1) TO PROGRAM 'id > /tmp/owned'",
        "COPY (SELECT 1) TO '/tmp/owned'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT * FROM pg_authid",
        "CREATE ROLE another SUPERUSER",
        "ALTER ROLE CURRENT_USER SUPERUSER",
        "SET ROLE postgres",
        "CREATE DATABASE another",
        "CREATE EXTENSION file_fdw",
        "ALTER SYSTEM SET log_statement = 'all'",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'",
    ],
)
async def test_neither_does_what_a_superuser_may(server: Server, statement: str) -> None:
    for role in ("router", "temporal"):
        superuser = await server.connect(SUPERUSER, "postgres")
        connection = await server.connect(role, role)
        with pytest.raises(asyncpg.PostgresError):
            await connection.execute(statement)
        await connection.close()
        await superuser.close()


async def test_a_password_that_is_another_counts_once_it_runs_again(server: Server) -> None:
    before = await server.connect("router", "router")
    await before.execute("CREATE TABLE kept (id int)")
    await before.close()
    password = server.secrets / "router_password"
    old = password.read_text()
    password.write_text('it\'s "new" $1 \\ `id`\n')

    server.make_roles()

    after = await server.connect("router", "router")
    assert await after.fetchval("SELECT count(*) FROM kept") == 0
    await after.close()
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(
            host="127.0.0.1",
            port=server.port,
            user="router",
            password=old.strip(),
            database="router",
        )
