"""What a script may use up, and how it is held to that."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
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
