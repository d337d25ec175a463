"""Programs that nobody here wrote, run where they can do no harm, and made sure to end.

bubblewrap makes a machine of new namespaces: no network, no other process, no rights, no /proc and
no environment but what is set here; programs, libraries and the skill's files read-only, and a
/tmp that ends with the run.
"""

import asyncio
import os
import re
import shutil
import signal
import stat
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Literal, Protocol

from activities.control_group import ControlGroup, bounded
from router.domain.errors import (
    ArgumentsToolError,
    MisconfiguredError,
    PermanentToolError,
    RouterError,
)
from router.domain.file_types import path_within
from router.tool.context import Provider

Program = Literal["python", "sh", "bash"]

_BY_NAME: dict[bytes, Program] = {b"python": "python", b"sh": "sh", b"bash": "bash"}
_BY_SUFFIX: dict[str, Program] = {".py": "python", ".sh": "sh"}
_SHEBANG = re.compile(
    rb"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?(python|sh|bash)(?:3(?:\.\d+)?)?[\s$]"
)


def program_of(path: str, content: bytes) -> Program:
    """Python or a shell, by the script's first line or its suffix; raises `ArgumentsToolError`."""
    said = _SHEBANG.match(content[:200] + b"\n")
    if said is not None:
        return _BY_NAME[said[1]]
    suffix = PurePosixPath(path).suffix
    if suffix not in _BY_SUFFIX or content.startswith(b"#!"):
        raise ArgumentsToolError(f"path: {path} is a script of neither Python nor sh")
    return _BY_SUFFIX[suffix]


MIB = 1024 * 1024


@dataclass(frozen=True)
class SandboxLimits:
    """Bounds on one run of a script. Those of processes hold for each of them."""

    seconds: float = 20.0
    """From start to end, whatever it does meanwhile."""
    cpu_seconds: int = 10
    memory: int = 256 * MIB
    processes: int = 16
    """At once, threads counted."""
    file: int = 8 * MIB
    files: int = 32 * MIB
    """All that it writes to its /tmp, which is memory."""
    together: int = 320 * MIB
    """Bytes of memory of all processes, with their /tmp, files in memory and shared segments: where
    a control group can be made."""
    open_files: int = 64
    output: int = 32 * 1024
    """Bytes of each of its two outputs."""

    def as_resources(self) -> str:
        """What `LAUNCHER` reads: a limit's name, the soft and the hard one."""
        # The soft one ends it with a signal that says which; the hard one ends it for certain.
        each = {
            "CPU": (self.cpu_seconds, self.cpu_seconds + 1),
            "AS": (self.memory, self.memory),
            "NPROC": (self.processes, self.processes),
            "FSIZE": (self.file, self.file),
            "NOFILE": (self.open_files, self.open_files),
            "CORE": (0, 0),
        }
        return " ".join(f"{name}={soft}={hard}" for name, (soft, hard) in each.items())


LAUNCHER = """
import os, resource, sys
for limit in sys.argv[1].split():
    name, soft, hard = limit.split("=")
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (int(soft), int(hard)))
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Run within the sandbox, for there the number of processes counts those of the sandbox alone;
outside, everything that this user runs on the machine would count."""


NOBODY = 65534
"""The user that scripts run as, within and, where this process is root, outside too."""
SKILL = "/skill"
"""Where the skill's files are, within."""

_ISOLATED = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent")
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ALSO = ("/usr/share/zoneinfo", "/etc/alternatives", "/etc/ld.so.cache")
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 - its own

# It waits for a line of its input: by then it is in its control group, if any. Where memory runs
# out in spite of all limits, it is the script that is ended and not this worker.
_FIRST_TO_GO = ("/bin/sh", "-c", 'read -r _; echo 1000 >/proc/self/oom_score_adj; exec "$@"', "sh")
_GO = "\n"


def command(
    bwrap: str, folder: Path, program: Program, words: tuple[str, ...], limits: SandboxLimits
) -> list[str]:
    """What to run so that `program` runs with `words`, and sees `folder` as its working folder."""
    return [
        *_FIRST_TO_GO,
        bwrap,
        *_ISOLATED,
        *("--new-session", "--cap-drop", "ALL", "--uid", str(NOBODY), "--gid", str(NOBODY)),
        "--clearenv",
        *(word for pair in _ENVIRONMENT.items() for word in ("--setenv", *pair)),
        *_programs(),
        *("--dev", "/dev", "--size", str(limits.files), "--tmpfs", "/tmp"),  # noqa: S108
        *("--ro-bind", str(folder), SKILL, "--chdir", SKILL),
        # What bubblewrap makes the root and /dev of is memory, which a script could write to.
        *("--remount-ro", "/dev", "--remount-ro", "/", "--"),
        *(python(), "-I", "-S", "-c", LAUNCHER, limits.as_resources()),
        *_interpreter(program),
        *words,
    ]


def other_user() -> int | None:
    """Whom bubblewrap itself is to run as, where this process is root: never as that."""
    return NOBODY if os.geteuid() == 0 else None


@cache
def python() -> str:
    """The Python for launcher and scripts, or the system's; raises `MisconfiguredError` without."""
    name = "python{}.{}".format(*sys.version_info)
    for place in (Path(sys.base_prefix, "bin", name), Path("/usr/bin/python3")):
        if place.exists() and _is_open(place.resolve()):
            return str(place)
    raise MisconfiguredError(
        f"no Python that user {NOBODY} may run: install python3, or don't run this as root"
    )


def _interpreter(program: Program) -> tuple[str, ...]:
    if program == "python":
        return (python(), "-E", "-s", "-B")
    return (f"/bin/{program}",)


def _programs() -> Iterator[str]:
    for name in _SYSTEM:
        yield from ("--ro-bind-try", f"/usr/{name}", f"/usr/{name}")
        root = Path("/", name)
        link = root.readlink() if root.is_symlink() else None
        yield from (
            ("--symlink", str(link), str(root)) if link else ("--ro-bind-try", *[str(root)] * 2)
        )
    for path in _ALSO:
        yield from ("--ro-bind-try", path, path)
    prefix = Path(python()).parent.parent
    if prefix != Path("/usr"):
        for name in ("bin", "lib"):
            yield from ("--ro-bind", str(prefix / name), str(prefix / name))


def _is_open(place: Path) -> bool:
    if os.geteuid() != 0:
        return os.access(place, os.X_OK)
    return all(path.stat().st_mode & stat.S_IXOTH for path in (place, *place.parents))


_SHOWN = 2000
"""Characters of what a script that failed wrote last."""
_BY_SIGNAL = 128
"""Added to a signal's number, where one ended the script."""
_OWN_WORDS = "bwrap: "


@dataclass(frozen=True)
class Script:
    """A script by its path among the files, and what it is given."""

    path: str
    program: Program
    arguments: tuple[str, ...] = ()
    input: str = ""


@dataclass(frozen=True)
class Output:
    """What a script wrote, to each of its outputs."""

    output: str
    errors: str


class Sandbox(Protocol):
    """A place where scripts may run."""

    async def run(self, script: Script, files: Mapping[str, bytes]) -> Output:
        """What the script writes; raises `PermanentToolError` where it fails or uses too much."""


sandbox: Provider[Sandbox] = Provider(
    "sandbox", unset=lambda settings: "" if settings.skill_sandbox else "ROUTER_SKILL_SANDBOX"
)
"""What tools name it by. They are offered to nobody where there is none."""


class NoSandbox:
    """Where scripts aren't run."""

    async def run(self, script: Script, files: Mapping[str, bytes]) -> Output:
        """Refuse it."""
        del files
        raise PermanentToolError(
            f"{script.path} isn't run: there is no sandbox here; an operator sets "
            "ROUTER_SKILL_SANDBOX=bwrap"
        )


class Bubblewrap:
    """The sandbox that bubblewrap makes, a new one for each run."""

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self._limits = limits or SandboxLimits()

    async def run(self, script: Script, files: Mapping[str, bytes]) -> Output:
        """What the script writes; it has ended, with all that it started, whatever happens."""
        words = (f"{SKILL}/{script.path}", *script.arguments)
        async with bounded(self._limits.together) as group:
            with _laid_out(files) as folder:
                line = command(_program(), folder, script.program, words, self._limits)
                process = await _started(line)
                try:
                    if group is not None:
                        group.take(process.pid)
                    return await self._heard_out(process, script, group)
                finally:
                    _kill(process)
                    await asyncio.shield(process.wait())

    async def probe(self) -> str:
        """What the sandbox is; raises `MisconfiguredError` where it can't be had or isn't one."""
        script = Script("scripts/probe.py", "python")
        try:
            ran = await self.run(script, {script.path: PROBE})
        except (RouterError, OSError) as error:
            raise MisconfiguredError(
                f"ROUTER_SKILL_SANDBOX=bwrap can't be used, so no script is run: {error}; it needs "
                "bubblewrap 0.8 or newer, and user namespaces, which a container's seccomp "
                "profile, AppArmor or user.max_user_namespaces=0 may forbid"
            ) from error
        if not ran.output.startswith("Python"):
            raise MisconfiguredError(f"ROUTER_SKILL_SANDBOX=bwrap: {_program()} isn't one")
        async with bounded(self._limits.together) as group:
            bound = "together" if group else "one by one, for no control group can be made"
        said = f"bubblewrap at {_program()}, {ran.output.strip()}"
        return f"{said}; memory of a script's processes is bounded {bound}"

    async def _heard_out(
        self, process: Process, script: Script, group: ControlGroup | None
    ) -> Output:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - pipes
        most, stop = self._limits.output, partial(_kill, process)
        try:
            async with asyncio.timeout(self._limits.seconds):
                output, errors, _, status = await asyncio.gather(
                    _read(process.stdout, most, stop),
                    _read(process.stderr, most, stop),
                    _write(process.stdin, _GO + script.input),
                    process.wait(),
                )
        except TimeoutError:
            said = f"{script.path} was stopped: it ran for {self._limits.seconds:g} s"
            raise PermanentToolError(said) from None
        if max(len(output), len(errors)) > most:
            raise PermanentToolError(
                f"{script.path} was stopped: it wrote more than {most} bytes; have it write less"
            )
        ran = Output(_text(output), _text(errors))
        if status:
            full = group is not None and group.exceeded
            raise PermanentToolError(self._why(script, status, ran, full=full))
        return ran

    def _why(self, script: Script, status: int, ran: Output, *, full: bool) -> str:
        if ran.errors.startswith(_OWN_WORDS):
            return f"the sandbox can't be made: {ran.errors.strip()[:_SHOWN]}"
        why = {
            _BY_SIGNAL + signal.SIGXCPU: f"it took {self._limits.cpu_seconds} s of CPU time",
            _BY_SIGNAL + signal.SIGXFSZ: f"it wrote a file over {self._limits.file} bytes",
        }.get(status, f"status {status}")
        if full:
            why = f"it took more than {self._limits.together} bytes of memory"
        last = (ran.errors.strip() or ran.output.strip())[-_SHOWN:]
        return f"{script.path} failed: {why}{f'; {last}' if last else ''}"


async def _started(line: list[str]) -> Process:
    user = other_user()
    return await asyncio.create_subprocess_exec(
        *line,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
        env={},
        cwd="/",
        user=user,
        group=user,
        extra_groups=None if user is None else (),
    )


PROBE = b"""
import os, socket, sys
faults = [name for _, name in socket.if_nameindex() if name != "lo"]
faults += [path for path in ("/etc/passwd", "/proc/1", "/home", "/var") if os.path.exists(path)]
faults += [path for path in (".", "/", "/dev", "/usr/bin") if os.access(path, os.W_OK)]
if faults or not os.access("/tmp", os.W_OK):
    sys.exit("it isn't closed: " + ", ".join(faults))
print("Python", sys.version.split()[0])
"""
"""Isolation is tried out, not taken for granted."""


def _program() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise MisconfiguredError("there is no bwrap: install the package bubblewrap")
    return found


@contextmanager
def _laid_out(files: Mapping[str, bytes]) -> Iterator[Path]:
    """A folder with these files, which everybody may read: the script's user is another one."""
    with TemporaryDirectory(prefix="skill-") as name:
        root = Path(name)
        root.chmod(0o755)
        for path, content in files.items():
            _write_within(root, path, content)
        for place in root.rglob("*"):
            place.chmod(0o755 if place.is_dir() else 0o644)
        yield root


def _write_within(root: Path, path: str, content: bytes) -> None:
    """Whoever named it: a path is looked at where it is written, and leads nowhere else."""
    try:
        place = root / path_within(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    except (ValueError, OSError) as error:
        why = getattr(error, "strerror", None) or error
        raise PermanentToolError(f"the file {path[:200]!r} isn't laid out: {why}") from None


async def _read(stream: asyncio.StreamReader, most: int, stop: Callable[[], None]) -> bytes:
    """What comes, to the end; where it is more than `most`, a little more than that."""
    found = b""
    while part := await stream.read(most):
        if len(found) <= most:
            found += part
        if len(found) > most:
            stop()
    return found


async def _write(stream: asyncio.StreamWriter, text: str) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.write(text.encode())
        await stream.drain()
    stream.close()


def _kill(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _text(raw: bytes) -> str:
    text = raw.decode(errors="replace")
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for sign in text
    )
