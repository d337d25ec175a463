"""Scripts in a real sandbox: what they can do, and everything that they can't."""

import asyncio
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from activities.control_group import DELEGATED, PREFIX, bounded, divisible
from activities.sandbox import MIB, Bubblewrap, NoSandbox, Output, SandboxLimits, Script
from router.domain.errors import MisconfiguredError, PermanentToolError
from tests.table import each_row
from tests.waiting import HANGS_AFTER_S

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap isn't installed")

REPOSITORY = Path(__file__).parents[4]
MARK = "98765.4321"
"""Seconds to sleep, by which a process is known again."""


@pytest.fixture
def for_all() -> Iterator[Path]:
    """A folder that everybody may enter, as those of pytest aren't."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


async def run(source: str, limits: SandboxLimits | None = None, **more: str) -> Output:
    """What a Python script comes to, with a file beside it."""
    script = Script("scripts/a.py", "python", ("-x", "two words; $(id)"), **more)
    files = {"scripts/a.py": source.encode(), "references/a.md": "一".encode()}
    return await Bubblewrap(limits).run(script, files)


async def failure(source: str, limits: SandboxLimits | None = None) -> str:
    with pytest.raises(PermanentToolError) as failed:
        await run(source, limits)
    assert len(str(failed.value)) < 2300
    return str(failed.value)


def sleeping() -> list[psutil.Process]:
    found = psutil.process_iter(["cmdline"])
    return [process for process in found if MARK in (process.info["cmdline"] or [])]


async def gone() -> None:
    """Until nobody sleeps any more: the kernel ends a namespace a moment after its first."""
    async with asyncio.timeout(HANGS_AFTER_S):
        while sleeping():  # noqa: ASYNC110 - processes tell nobody
            await asyncio.sleep(0.01)


async def test_a_script_has_its_arguments_its_input_and_the_skills_files() -> None:
    ran = await run(
        "import sys; print(sys.argv, sys.stdin.read(), open('references/a.md').read());"
        "print('aside', file=sys.stderr)",
        input="given",
    )
    said = "['/skill/scripts/a.py', '-x', 'two words; $(id)'] given 一\n"
    assert ran == Output(said, "aside\n")


async def test_a_script_may_write_to_a_tmp_that_is_empty_at_the_next_run() -> None:
    source = "import os; print(os.listdir('/tmp')); open('/tmp/a', 'w').write('x')"
    assert [(await run(source)).output for _ in range(2)] == ["[]\n"] * 2


async def test_a_script_may_use_its_neighbours() -> None:
    files = {"scripts/a.py": b"import b; print(b.X)", "scripts/b.py": b"X = 1"}
    ran = await Bubblewrap().run(Script("scripts/a.py", "python"), files)
    assert ran.output == "1\n"


@each_row("program", ["sh", "bash"])
async def test_a_shell_runs_too(program: str) -> None:
    script = Script("scripts/a.sh", program, ("x",), "in")  # type: ignore[arg-type]
    ran = await Bubblewrap().run(script, {"scripts/a.sh": b'echo "$1 $(cat)" | tr a-z A-Z'})
    assert ran.output == "X IN\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "output"),
    [
        (
            "import os; print(os.getuid(), os.getgid(), os.getgroups(), sorted(os.environ))",
            "65534 65534 [] ['HOME', 'LANG', 'PATH', 'PWD']\n",
        ),
        (
            "import os; os.symlink('/etc/passwd', '/tmp/a'); print(os.path.exists('/tmp/a'))",
            "False\n",
        ),
        ("import ctypes; print(ctypes.CDLL(None).unshare(0x10000000))", "-1\n"),
        (
            r"import sys; sys.stdout.buffer.write(b'a\xff\x00\x1b[31m\tb\n')",
            "a\ufffd\ufffd\ufffd[31m\tb\n",
        ),
    ],
    ids=["no rights or environment", "no way out of tmp", "no further namespace", "only text"],
)
async def test_a_script_has_no_more_than_that(
    monkeypatch: pytest.MonkeyPatch, source: str, output: str
) -> None:
    monkeypatch.setenv("ROUTER_LLM_API_KEY", "secret")
    assert (await run(source)).output == output


@pytest.mark.slow
@each_row(
    "address", ["('127.0.0.1', PORT)", "('1.1.1.1', 53)", "('localhost', PORT)", "('::1', PORT)"]
)
async def test_there_is_no_network(address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = address.replace("PORT", str(listening.getsockname()[1]))
        said = await failure(f"import socket; socket.create_connection({address}, 2)")
    assert "rror: " in said.splitlines()[-1]


@pytest.mark.slow
@each_row(
    "path",
    [
        "/etc/passwd", "/etc/hosts", "/proc/self/environ", "/proc/1/cmdline", "/sys/kernel",
        "/var/log", "/home", "/run", str(Path.home() / ".bashrc"), str(Path.home() / ".ssh"),
        str(REPOSITORY / "pyproject.toml"), str(REPOSITORY), "/skill/../etc/passwd",
    ],
)  # fmt: skip
async def test_nothing_of_the_machine_can_be_read(path: str) -> None:
    ran = await run(f"import os; print(os.path.lexists({path!r}))")
    assert ran.output == "False\n"


@pytest.mark.slow
@each_row(
    "path",
    ["/skill/a", "/skill/scripts/a.py", "/a", "/etc/a", "/usr/bin/a", "/dev/a", "/dev/shm/a"],
)
async def test_nothing_but_tmp_can_be_written(path: str) -> None:
    assert "Error" in await failure(f"open({path!r}, 'w')")


@pytest.mark.slow
@each_row(
    ("source", "said"),
    [
        (f"import time; time.sleep({MARK})", "scripts/a.py was stopped: it ran for 2 s"),
        ("x = bytearray(10**9)", "MemoryError"),
        ("while True: print('x' * 1000)", "was stopped: it wrote more than 32768 bytes"),
        ("import sys\nwhile True: sys.stderr.write('x' * 1000)", "it wrote more than 32768 bytes"),
        ("open('/tmp/a', 'wb').write(b'x' * 10**7)", "File too large"),
        (
            "for i in range(9): open(f'/tmp/{i}', 'wb').write(b'x' * 5 * 10**6)",
            "No space left on device",
        ),
        ("for i in range(999): globals()[f'f{i}'] = open('/dev/null')", "Too many open files"),
        ("import sys; sys.exit('no such city')", "scripts/a.py failed: status 1; no such city"),
        ("import os; os.kill(os.getpid(), 9)", "scripts/a.py failed: status 137"),
        ("syntax error", "SyntaxError"),
    ],
)
async def test_whatever_goes_too_far_ends_as_an_error_that_says_so(source: str, said: str) -> None:
    limits = SandboxLimits(seconds=2, cpu_seconds=1, file=6 * MIB)
    assert said in await failure(source, limits)
    await gone()


MEMFD = """
import os
kept = [os.memfd_create(str(n)) for n in range(30)]
for each in kept: os.write(each, b"x" * 5_000_000)
"""
SEGMENTS = """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for n in range(10):
    segment = libc.shmget(0, 16_000_000, 0o1600)
    at = ctypes.c_void_p(libc.shmat(segment, None, 0))
    assert segment >= 0 and at.value
    ctypes.memset(at, 1, 16_000_000)
    libc.shmdt(at)
"""
CHILDREN = """
import os, sys
ready, gate = os.pipe(), os.pipe()
children = []
for n in range(8):
    if not (child := os.fork()):
        os.close(gate[1])
        kept = b"x" * 20_000_000
        os.write(ready[1], b".")
        os.close(ready[1])
        os.read(gate[0], 1)
        os._exit(0)
    children.append(child)
os.close(ready[1])
have = 0
while have < 8 and (more := os.read(ready[0], 8)):
    have += len(more)
os.close(gate[1])
sys.exit(max(os.waitpid(child, 0)[1] for child in children))
"""
"""All of them have their share at once, however busy the machine is."""


@pytest.fixture
async def grouped() -> None:
    """Where a control group can be made."""
    async with bounded(MIB) as group:
        if group is None:
            pytest.skip("no control group can be made here")


@pytest.mark.slow
@pytest.mark.usefixtures("grouped")
@pytest.mark.parametrize("source", [MEMFD, SEGMENTS, CHILDREN], ids=["memfd", "shm", "fork"])
async def test_memory_counts_wherever_it_is_and_whoever_has_it(source: str) -> None:
    limits = SandboxLimits(together=80 * MIB)
    assert "it took more than 83886080 bytes of memory" in await failure(source, limits)
    mine = f"{PREFIX}{os.getpid()}-*"  # other workers of this suite run theirs meanwhile
    assert [place for group in divisible() for place in group.glob(mine)] == []


def test_of_groups_only_those_that_are_ours_are_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for group, shared in (("slice/unit/worker", ""), ("slice/unit", "memory"), ("slice", "memory")):
        (tmp_path / group).mkdir(parents=True, exist_ok=True)
        (tmp_path / group / "cgroup.subtree_control").write_text(shared)
    os.setxattr(tmp_path / "slice/unit", DELEGATED, b"1")
    membership = tmp_path / "mine"
    monkeypatch.setattr("activities.control_group.GROUPS", tmp_path)
    monkeypatch.setattr("activities.control_group.MINE", membership)
    found = {}
    for path in ("/slice/unit/worker", "/slice/unit", "/nowhere"):
        membership.write_text(f"4:cpu:{path}\n0::{path}\n")
        found[path] = [str(group.relative_to(tmp_path)) for group in divisible()]
    assert found == {
        "/slice/unit/worker": ["slice/unit/worker", "slice/unit"],
        "/slice/unit": ["slice/unit"],
        "/nowhere": [],
    }
    membership.write_text("4:cpu,memory:/mine\n")
    assert list(divisible()) == [tmp_path / "memory/mine"]


async def test_a_script_that_never_ends_uses_up_its_cpu_time() -> None:
    said = await failure("while True: pass", SandboxLimits(seconds=60, cpu_seconds=1))
    assert said == "scripts/a.py failed: it took 1 s of CPU time"


async def test_a_fork_bomb_ends_with_the_run() -> None:
    source = f"""
import os, time
while True:
    try:
        if not os.fork(): os.execvp("sleep", ["sleep", "{MARK}"])
    except OSError as error:
        print(error); break
"""
    assert "Resource temporarily unavailable" in (await run(source)).output
    await gone()


async def test_what_a_script_leaves_behind_is_ended_with_it() -> None:
    left = f"['setsid', 'sleep', '{MARK}'], start_new_session=True"
    await run(f"import subprocess; subprocess.Popen({left})")
    await gone()


async def test_a_run_that_is_cancelled_is_ended_at_once() -> None:
    running = asyncio.create_task(run(f"import os; os.execvp('sleep', ['sleep', '{MARK}'])"))
    async with asyncio.timeout(HANGS_AFTER_S):
        while not sleeping():  # noqa: ASYNC110 - processes tell nobody
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone()


async def test_nothing_is_left_in_the_files(for_all: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(for_all))
    await run("print(1)")
    await failure("1 / 0")
    assert len(os.listdir(for_all)) == 0  # noqa: PTH208 - a list of names is what it is about


async def test_a_sandbox_that_works_says_what_it_is() -> None:
    assert "Python 3." in await Bubblewrap().probe()


async def test_without_bubblewrap_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MisconfiguredError, match="install the package bubblewrap"):
        await Bubblewrap().probe()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fake", "said"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions"),
        ('while [ $1 != -- ]; do shift; done; shift; exec "$@"', "failed"),
        ("exit 0", "isn't one"),
    ],
    ids=["one that may make no namespaces", "one that isolates nothing", "one that does nothing"],
)
async def test_a_sandbox_that_is_none_is_found_out(
    for_all: Path, monkeypatch: pytest.MonkeyPatch, fake: str, said: str
) -> None:
    program = for_all / "bwrap"
    program.write_text(f"#!/bin/sh\n{fake}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{for_all}:/usr/bin:/bin")
    with pytest.raises(MisconfiguredError, match=said):
        await Bubblewrap().probe()


async def test_where_there_is_no_sandbox_nothing_runs() -> None:
    with pytest.raises(PermanentToolError, match="ROUTER_SKILL_SANDBOX=bwrap"):
        await NoSandbox().run(Script("scripts/a.py", "python"), {})
