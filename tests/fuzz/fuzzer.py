"""One entrance fuzzed in a process of its own, forked from one that has all of us loaded.

`atheris` has to see our modules before anybody imports them, and takes its time: it is done once,
by `loaded`, and this module imports none of ours but in functions. Whoever is forked ends by
`os._exit`, for libFuzzer knows no other end than its own.
"""

import asyncio
import os
import resource
import select
import signal
import sys
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fuzz.entrance import Entrance
    from tests.fuzz.findings import Report
    from tests.fuzz.trial import Trial

OURS = ("router", "activities")
EVERY = 2.0
"""Seconds between two reports: whoever waits for them may have to go on without this process."""
MOST_OF_A_KIND = 12
"""Findings of a promise that are written down: of a hundred more nobody learns more."""
GRACE = 420.0
"""Seconds beyond its time until a process that doesn't end is ended."""


def loaded() -> "dict[str, Entrance]":
    """Every entrance, with all of ours that they import looked into."""
    import atheris

    with atheris.instrument_imports(include=list(OURS), enable_loader_override=False):
        from tests.fuzz.entrance import entrances

        return entrances()


def apart(entrance: "Entrance", seconds: float, room: Path, findings: Path) -> int:
    """Fuzz it in a process of its own; that one's exit status, or less than none.

    Args:
        entrance: One of those that were `loaded`.
        seconds: From the moment that it is open.
        room: Where inputs that reach something new are kept, in `corpus`, the report and a log.
        findings: Where findings are kept.
    """
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            said = os.open(room / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            _fuzz(entrance, seconds, room, findings)
        finally:
            sys.excepthook(*sys.exc_info())
            os._exit(70)
    try:
        waited, _, _ = select.select([os.pidfd_open(child)], [], [], seconds + GRACE)
    finally:
        # With what it started, such as Temporal's server: all are of one group of its own.
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if waited else -signal.SIGALRM


class Fuzzing:
    """An entrance, and what came of it so far."""

    def __init__(self, trial: "Trial", report: "Report", room: Path, findings: Path) -> None:
        self._trial = trial
        self.report = report
        self._room = room
        self._findings = findings
        self._seen: set[str] = set()
        self._due = 0.0
        self.began = time.monotonic()

    async def attempt(self, data: bytes) -> None:
        """Try one input; what it breaks, and nothing before it did, is written down."""
        from tests.fuzz.findings import keep

        for broken in await self._trial.attempt(data):
            kind = sum(each.startswith(broken.promise) for each in self._seen)
            if broken.signature not in self._seen and kind < MOST_OF_A_KIND:
                self._seen.add(broken.signature)
                path = keep(self._findings, self.report.entrance, data, broken)
                self.report.findings.append(str(path))
                print(f"FOUND {broken.signature}: {broken.said}", file=sys.stderr, flush=True)
        self._trial.settled = True
        if time.monotonic() >= self._due:
            self.note()

    def note(self) -> None:
        """Report as things stand."""
        self._due = time.monotonic() + EVERY
        self.report.executions = self._trial.tried
        self.report.longest_stop = self._trial.longest
        self.report.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.report.seconds = time.monotonic() - self.began
        self.report.write(self._room / "report.json")


def _fuzz(entrance: "Entrance", seconds: float, room: Path, findings: Path) -> None:
    """Never returns: the process ends once so many seconds are over."""
    import atheris

    from tests.fuzz.findings import Report
    from tests.fuzz.mutation import changed
    from tests.fuzz.trial import Trial

    seeds = room / "seeds"
    for folder in (seeds, room / "corpus"):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(entrance.seeds()):
        (seeds / f"{number:04}").write_bytes(seed)
    loop, stack = asyncio.new_event_loop(), AsyncExitStack()
    asyncio.set_event_loop(loop)
    trial = Trial(entrance, loop.run_until_complete(stack.enter_async_context(entrance.open())))
    stack.enter_context(trial.running())
    fuzzing = Fuzzing(trial, Report(entrance.name), room, findings)

    def attempt(data: bytes) -> None:
        loop.run_until_complete(fuzzing.attempt(data))
        if time.monotonic() - fuzzing.began > seconds:
            fuzzing.note()
            loop.run_until_complete(stack.aclose())
            os._exit(0)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        if entrance.form == "bytes" or seed % 2:
            return bytes(atheris.Mutate(data, most))
        return changed(data, entrance.form, seed, most, entrance.words)

    words: list[Any] = [entrance.name, str(room / "corpus"), str(seeds)]
    words += [f"-max_len={entrance.longest}", f"-max_total_time={int(seconds) + 600}"]
    words += [
        f"-artifact_prefix={room}/",
        "-timeout=120",
        "-report_slow_units=3600",
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
    ]
    atheris.Setup(words, attempt, custom_mutator=mutated)
    atheris.Fuzz()
