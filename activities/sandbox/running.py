"""Running a script of a skill in a sandbox, and making sure that it ends."""

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from activities.sandbox.bubblewrap import SKILL, command, other_user
from activities.sandbox.limits import Limits
from activities.sandbox.program import Program
from router.domain.errors import MisconfiguredError, PermanentToolError, RouterError
from router.tool.dependencies import Provider

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
        """What the script writes, which sees these files by their paths.

        Raises `PermanentToolError` where it fails, or uses more than it may.
        """


sandbox: Provider[Sandbox] = Provider("sandbox")
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

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    async def run(self, script: Script, files: Mapping[str, bytes]) -> Output:
        """What the script writes; it has ended, with all that it started, whatever happens."""
        words = (f"{SKILL}/{script.path}", *script.arguments)
        with _laid_out(files) as folder:
            line = command(_program(), folder, script.program, words, self._limits)
            user = other_user()
            process = await asyncio.create_subprocess_exec(
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
            try:
                return await self._heard_out(process, script)
            finally:
                await _gone(process)

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
        return f"bubblewrap at {_program()}, {ran.output.strip()}"

    async def _heard_out(self, process: Process, script: Script) -> Output:
        assert process.stdin and process.stdout and process.stderr  # noqa: S101, PT018 - pipes
        most = self._limits.output
        stop = lambda: _kill(process)  # noqa: E731
        try:
            async with asyncio.timeout(self._limits.seconds):
                output, errors, _, status = await asyncio.gather(
                    _read(process.stdout, most, stop),
                    _read(process.stderr, most, stop),
                    _write(process.stdin, script.input),
                    process.wait(),
                )
        except TimeoutError:
            raise PermanentToolError(
                f"{script.path} was stopped: it ran for {self._limits.seconds:g} s"
            ) from None
        if max(len(output), len(errors)) > most:
            raise PermanentToolError(
                f"{script.path} was stopped: it wrote more than {most} bytes; have it write less"
            )
        return self._judged(script, status, Output(_text(output), _text(errors)))

    def _judged(self, script: Script, status: int, ran: Output) -> Output:
        """What it wrote, where it ended well."""
        if status == 0:
            return ran
        if ran.errors.startswith(_OWN_WORDS):
            raise PermanentToolError(f"the sandbox can't be made: {ran.errors.strip()[:_SHOWN]}")
        why = {
            _BY_SIGNAL + signal.SIGXCPU: f"it took {self._limits.cpu_seconds} s of CPU time",
            _BY_SIGNAL + signal.SIGXFSZ: f"it wrote a file over {self._limits.file} bytes",
        }.get(status, f"status {status}")
        last = (ran.errors.strip() or ran.output.strip())[-_SHOWN:]
        raise PermanentToolError(f"{script.path} failed: {why}{f'; {last}' if last else ''}")


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
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        for place in root.rglob("*"):
            place.chmod(0o755 if place.is_dir() else 0o644)
        yield root


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
    """Give it the text; a script need not read what it is given."""
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.write(text.encode())
        await stream.drain()
    stream.close()


def _kill(process: Process) -> None:
    """End bubblewrap, and with it the namespace and every process in it."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def _gone(process: Process) -> None:
    _kill(process)
    await asyncio.shield(process.wait())


def _text(raw: bytes) -> str:
    text = raw.decode(errors="replace")
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for sign in text
    )
