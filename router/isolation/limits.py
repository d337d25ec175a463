"""The bounds of a child process, and how a process takes them upon itself."""

import ctypes
import os
import resource
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from router.domain.value import Value

MIB = 1024 * 1024
MAX_OPEN_FILES = 64
INHERITED_VARIABLES = (
    *("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH"),
)
"""The environment of a child process. Other variables hold keys that no foreign input may reach."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Two threads on busy cores spin for each other, and a process with threads can't be forked."""
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


class ProcessLimits(Value):
    """The resources that one job may use."""

    memory_bytes: int = 256 * MIB
    """Address space in addition to what the process has before the job begins."""
    cpu_seconds: int = 10
    wall_seconds: float = 20.0
    """From the moment the job is sent until its result has arrived."""
    output_bytes: int = 8 * MIB
    """Of the result as JSON."""


def child_environment() -> dict[str, str]:
    """Return the variables a child process gets, with `PYTHONPATH` valid in any folder."""
    own = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    paths = [
        str(Path(each).resolve()) for each in own.pop("PYTHONPATH", "").split(os.pathsep) if each
    ]
    return {**own, **ONE_THREAD, **({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})}


def seclude_process() -> None:
    """Give up the network, new privileges, core dumps and writing to files.

    A kernel that allows no new network namespace leaves the process its network.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.unshare(_CLONE_NEWNET) != 0:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    kill_first_when_memory_is_short()


def kill_first_when_memory_is_short() -> None:
    """Have the kernel kill this process before the API or a worker."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def die_with_parent() -> None:
    """Have this process killed as soon as its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_group_with_this() -> None:
    """Have all processes of this process's group killed once this process has ended.

    A signal for a parent's death reaches no grandchildren, and what a library starts can't ask for
    one. So a shell waits for the end of a pipe that the kernel closes with this process, however
    that ends, and then kills the group. Nothing is done if this process leads no session: its group
    has others in it then.
    """
    if os.getsid(0) == os.getpid():
        # The end that this process holds is closed by nobody else: children don't inherit it.
        ending, _ = os.pipe()
        command = ["/bin/sh", "-c", "read _; kill -9 0"]
        subprocess.Popen(command, stdin=ending, stdout=subprocess.DEVNULL)  # noqa: S603
        os.close(ending)


def bound_process(limits: ProcessLimits) -> None:
    """Bound this process's memory, processor time and open files, beginning now."""
    die_with_parent()
    memory = _status_bytes("VmSize") + limits.memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    bound_cpu(limits.cpu_seconds)
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, MAX_OPEN_FILES))


def bound_data(more_bytes: int) -> None:
    """Bound the memory this process may write to, at so much more than it has.

    Unlike address space this counts nothing that threads and allocators have only reserved.
    """
    most = _status_bytes("VmData") + more_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def bound_cpu(seconds: int) -> None:
    """Have this process killed once it has used so much more processor time.

    The bound can be renewed: a process that runs several jobs calls this before each of them.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


def _status_bytes(field: str) -> int:
    """Return a size that the kernel tells of this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    found = next(line for line in status.splitlines() if line.startswith(f"{field}:"))
    return int(found.split()[1]) * 1024
