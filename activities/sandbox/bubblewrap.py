"""The command line of bubblewrap: a machine that has nothing in it but a script and Python.

Every namespace is new: no network, no other process, a user without rights. Of the file system
there are programs and libraries, read-only, the skill's files likewise, and a /tmp that ends with
the run. There is no /proc, and no environment but what is set here.
"""

import os
import stat
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from activities.sandbox.limits import LAUNCHER, Limits
from activities.sandbox.program import Program
from router.domain.errors import MisconfiguredError

NOBODY = 65534
"""The user that scripts run as, within and, where this process is root, outside too."""
SKILL = "/skill"
"""Where the skill's files are, within."""

_ISOLATED = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent")
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ALSO = ("/usr/share/zoneinfo", "/etc/alternatives", "/etc/ld.so.cache")
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108 - its own

# Where memory runs out in spite of all limits, it is the script that is ended and not this worker.
_FIRST_TO_GO = ("/bin/sh", "-c", 'echo 1000 >/proc/self/oom_score_adj; exec "$@"', "sh")


def command(
    bwrap: str, folder: Path, program: Program, words: tuple[str, ...], limits: Limits
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
    """The Python for launcher and scripts: this one, or the system's where that can't be reached.

    Raises `MisconfiguredError` where there is neither.
    """
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
    """True where whoever runs bubblewrap gets there."""
    if os.geteuid() != 0:
        return os.access(place, os.X_OK)
    return all(path.stat().st_mode & stat.S_IXOTH for path in (place, *place.parents))
