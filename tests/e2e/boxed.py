"""A process as its container has it: a root that can't be written, nobody's user, no rights."""

import os
import shutil
import subprocess
import sys
from asyncio.subprocess import Process
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
NOBODY = 10001
PYTHON = os.environ.get("ROUTER_TESTS_PYTHON", sys.executable)
MODULES = Path(os.environ.get("ROUTER_TESTS_MODULES", ROOT))
"""Another interpreter, and where it finds what was installed as the image installs it."""
DATA = "/tmp/data"
SECRETS = "/tmp/secrets"


def box(data: Path, secrets: Path) -> list[str]:
    """What goes before a command: it sees everything, and writes to `data` and `/tmp` alone."""
    return [
        *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--perms", "1777", "--tmpfs", "/tmp"),
        *_kept(ROOT),
        *_kept(Path(PYTHON).parents[1]),
        *_kept(MODULES),
        *("--bind", str(data), DATA, "--ro-bind", str(secrets), SECRETS),
        *("--chdir", DATA, "--setenv", "HOME", "/nonexistent", "--setenv", "ROUTER_DATA", DATA),
        *("--die-with-parent", *_nobody()),
        *(PYTHON, "-m", "router"),
    ]


def innermost(process: Process) -> psutil.Process:
    """What runs in the box: bubblewrap hands no signal on, as the `init` of compose does."""
    found = psutil.Process(process.pid)
    while within := found.children():
        (found,) = within
    return found


def _kept(folder: Path) -> list[str]:
    """What the box's own /tmp would hide, where its user gets at it."""
    if not folder.is_relative_to("/tmp"):
        return []
    above = [parent for parent in folder.parents if parent.is_relative_to("/tmp")][-2::-1]
    passable = [word for parent in above for word in ("--perms", "0755", "--dir", str(parent))]
    return [*passable, "--ro-bind", str(folder), str(folder)]


def _nobody() -> list[str]:
    """The image's user, where this one may become it and the interpreter lets it in."""
    change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if os.geteuid() != 0 or subprocess.run([*change, PYTHON, "-c", ""], check=False).returncode:
        return []
    rights = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    return [*rights, *change, "--no-new-privs", "--inh-caps=-all"]


def give(folder: Path) -> Path:
    """Make the folder, as the image makes its own: its user's."""
    folder.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, NOBODY if _nobody() else 0)
    return folder


def works() -> bool:
    """True where boxes can be made here."""
    if shutil.which("bwrap") is None:
        return False
    tried = subprocess.run(
        ["bwrap", "--ro-bind", "/", "/", "true"], check=False, capture_output=True
    )
    return tried.returncode == 0
