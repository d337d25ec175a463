"""Where the processor time of a turn goes: by kind of turn and stage, beside a bare turn's.

A sampler reads the stacks of the product's process from outside while turns of one kind are taken,
one after the other, and of the floor's process while it takes bare turns of the same shape
(`load.py`). A sample counts for the stage of the innermost frame that is of one: what pydantic does
for an activity is pydantic's, what the standard library does is its caller's. Only samples of
threads that ran count; they are scaled to the processor time that the kernel says was used.

    python bench/stages.py [--turns 60] [--flames FOLDER]

`--flames` keeps a flame graph of each kind there. The sampler is `py-spy`: reading another
process wants root, or `CAP_SYS_PTRACE`.
"""

import argparse
import asyncio
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from houses import House, on_sqlite
from load import PEOPLE, SETTLED, Desk, Floor
from open_loop import Turn

RATE = 250
"""Samples a second; each stops the process for a fraction of a millisecond."""
ROUNDS = 3
STAGES: Mapping[str, str] = {
    "pydantic": r"/pydantic(_core)?/",
    "database": r"/(sqlalchemy|alembic|aiosqlite|sqlite3|psycopg|store)/|bare_house\.py keep",
    "codec": r"router/secrecy/",
    "metrics, spans, log": r"/(opentelemetry|prometheus_client|logging|structlog|telemetry)/",
    "HTTP": r"/uvicorn/|/starlette/|/fastapi/|/h11/|/httptools/|/anyio/",
    "events (SSE)": r"/sse_starlette/|router/api/streams|router/store/live",
    "API": r"router/api/|router/gateway/|router/directory/|bare_house\.py",
    "understanding": r"router/(understanding|entities|lexicon|retrieval|routing)/",
    "flow engine": r"router/flow/",
    "activities": r"(^|/)activities/",
    "workflows": r"(^|/)workflows/|bare\.py",
    "payloads": r"/temporalio/(converter|contrib/pydantic)",
    "sandbox": r"/temporalio/worker/workflow_sandbox/",
    "Temporal's SDK": r"/temporalio/",
    "event loop": r"/asyncio/|/selectors\.py|/concurrent/|/threading\.py",
    "uvloop": r"router/(runtime|cli)/|/__main__",
    "contracts, values": r"router/",
}
"""Stages by the files of their frames, the first that fits; what fits none is `other`. What the
program's own main runs is its event loop, which is no Python."""
_STAGES = [(stage, re.compile(pattern)) for stage, pattern in STAGES.items()]


def stage_of(stack: str) -> str:
    """The stage of a sample: frames from the outermost to the innermost, parted by semicolons.

    >>> stage_of("run (asyncio/runners.py);say (router/api/turns.py);dumps (json/__init__.py)")
    'API'
    """
    within = None
    for frame in reversed(stack.split(";")):
        path = f"/{frame.partition('(')[2].rstrip(')')} {frame.partition(' ')[0]}"
        stage = next((name for name, pattern in _STAGES if pattern.search(path)), None)
        if stage == "event loop":
            within = within or stage
        elif stage is not None:
            return stage
    return within or "other"


def by_stage(lines: Iterable[str]) -> Counter[str]:
    """Samples by stage, of collapsed stacks with a number behind each."""
    found: Counter[str] = Counter()
    for line in lines:
        stack, _, number = line.rpartition(" ")
        found[stage_of(stack)] += int(number)
    return found


class Sampler:
    """Takes the stacks of a process for as long as it is entered."""

    def __init__(self, house: House, into: Path) -> None:
        (self._process,) = house.processes
        self._into = into

    async def __aenter__(self) -> None:
        command = Path(sys.executable).with_name("py-spy")
        options = ["--rate", RATE, "--format", "raw", "--full-filenames", "--nonblocking"]
        self._running = await asyncio.create_subprocess_exec(
            *map(str, (command, "record", "--pid", self._process.pid, *options)),
            *("--output", str(self._into), "--duration", "unlimited"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert self._running.stdout is not None
        await asyncio.wait_for(self._running.stdout.readuntil(b"Sampling"), 60)

    async def __aexit__(self, *_: object) -> None:
        self._running.send_signal(signal.SIGINT)
        said, _ = await self._running.communicate()
        if self._running.returncode != 0 or not self._into.exists():
            raise SystemExit(f"the sampler failed: {said.decode()}")


async def profiled(
    kinds: list[tuple[str, Turn, House]], turns: int, folder: Path
) -> dict[str, tuple[float, Counter[str]]]:
    """Milliseconds of processor time a turn, and samples by stage, of each kind in alternation."""
    used: Counter[str] = Counter()
    samples: dict[str, Counter[str]] = {name: Counter() for name, *_ in kinds}
    each = max(turns // ROUNDS, 1)
    for round_ in range(ROUNDS):
        for name, turn, house in kinds:
            file = folder / f"{name}-{round_}.txt".replace(" ", "-")
            async with Sampler(house, file):
                before = house.used()[0]
                for number in range(each):
                    if not await turn(number):
                        raise SystemExit("a turn was refused, although each waited for its answer")
                used[name] += house.used()[0] - before
            samples[name] += by_stage(file.read_text(encoding="utf-8").splitlines())
    return {name: (1000 * used[name] / (each * ROUNDS), samples[name]) for name, *_ in kinds}


def table(found: Mapping[str, tuple[float, Counter[str]]]) -> str:
    """Milliseconds by stage, a column each, what costs most first."""
    spent = {
        name: {stage: ms * count / max(counts.total(), 1) for stage, count in counts.items()}
        for name, (ms, counts) in found.items()
    }
    stages = {stage for stages in spent.values() for stage in stages}
    order = sorted(stages, key=lambda stage: -sum(each.get(stage, 0.0) for each in spent.values()))
    rows = [f"{'CPU ms a turn':22}" + "".join(f"{name:>15}" for name in found)]
    for stage in order:
        values = "".join(f"{each.get(stage, 0.0):>15.2f}" for each in spent.values())
        rows.append(f"{stage:22}{values}")
    rows.append(f"{'all':22}" + "".join(f"{ms:>15.2f}" for ms, _ in found.values()))
    rows.append(f"{'samples':22}" + "".join(f"{c.total():>15}" for _, c in found.values()))
    return "\n".join(rows)


async def measured(turns: int, flames: Path | None) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with on_sqlite(Path(folder), cached=1000) as (ours, bare):
            desk, floor = Desk(ours), Floor(bare)
            # Of all people there are: a tool is called for each so often in a minute, and no more.
            await desk.open_up_to(len(PEOPLE))
            await floor.open_up_to(1)
            await asyncio.sleep(SETTLED)
            kinds: list[tuple[str, Turn, House]] = [
                ("small talk", desk.small_talk, ours),
                ("bare talk", floor.kept, bare),
                ("status", desk.status, ours),
                ("bare status", floor.called, bare),
                ("flow's answer", desk.answer, ours),
                ("bare answer", floor.told, bare),
            ]
            for name, turn, _ in kinds:
                for number in range(10):
                    if not await turn(number):
                        raise SystemExit(f"{name} was refused")
            kept = flames or Path(folder)
            kept.mkdir(parents=True, exist_ok=True)
            print(table(await profiled(kinds, turns, kept)))


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--turns", type=int, default=60, help="of each kind")
    options.add_argument("--flames", type=Path, help="keep the stacks there, collapsed")
    given = options.parse_args()
    asyncio.run(measured(given.turns, given.flames))


if __name__ == "__main__":
    main()
