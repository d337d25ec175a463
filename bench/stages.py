"""Where the processor time of a turn goes: by kind of turn and stage, beside a bare turn's.

A sampler reads the stacks of the product's process from outside while turns of one kind are taken,
one after the other, and of the floor's process while it takes bare turns of the same shape
(`load.py`). A sample counts for the stage of the innermost frame that is of one: what pydantic does
for an activity is pydantic's, what the standard library does is its caller's. Only samples of
threads that ran count; they are scaled to the processor time that the kernel says was used.

A thread that waits for Python's lock seems to run. What the kernel says of each is beside that, and
exact: the loop's own thread, the others of Python (workflows, the database), Temporal's core.

The turn that a model decides is of a house of its own, whose model is scripted and answers at once.

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
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from houses import House, on_sqlite
from load import PEOPLE, SETTLED, Desk, Floor
from open_loop import Turn

from tests.fakes.model_server import ModelServer, calls

RATE = 250
"""Samples a second; each stops the process for a fraction of a millisecond."""
ROUNDS = 3
WARM_UP = 10
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
    "event loop": r"/(asyncio|concurrent|runtime|cli)/|/(selectors|threading)\.py|/__main__",
    "contracts, values": r"router/",
}
"""Stages by the files of their frames, the first that fits; what fits none is `other`."""
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


Kind = tuple[str, Turn, House]
LOOP, CORE, OTHERS = "thread of the loop", "threads of the core", "other threads"


@dataclass
class Spent:
    """What so many turns of a kind took: milliseconds by kind of thread, and samples by stage."""

    turns: int = 0
    ms: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    samples: Counter[str] = field(default_factory=Counter)

    @property
    def all_ms(self) -> float:
        """Of all threads, in all turns."""
        return sum(self.ms.values())

    def by_stage(self) -> dict[str, float]:
        """Milliseconds a turn."""
        scale = self.all_ms / max(self.samples.total(), 1) / self.turns
        return {stage: scale * count for stage, count in self.samples.items()}


def running_times(house: House) -> dict[str, float]:
    """Milliseconds that the kernel has run the house's threads for, by kind."""
    found: dict[str, float] = defaultdict(float)
    for process in house.processes:
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            name = (thread / "comm").read_text().strip()
            nanoseconds = int((thread / "schedstat").read_text().split()[0])
            core = name.startswith(("tokio", "workflow-proc"))
            kind = LOOP if thread.name == str(process.pid) else CORE if core else OTHERS
            found[kind] += nanoseconds / 1e6
    return found


async def profiled(kinds: list[Kind], turns: int, folder: Path) -> dict[str, Spent]:
    """What turns of each kind take, in alternation."""
    found = {name: Spent() for name, *_ in kinds}
    each = max(turns // ROUNDS, 1)
    for round_ in range(ROUNDS):
        for name, turn, house in kinds:
            file, spent = folder / f"{name}-{round_}.txt".replace(" ", "-"), found[name]
            async with Sampler(house, file):
                before = running_times(house)
                await take(name, turn, each)
                for kind, ms in running_times(house).items():
                    spent.ms[kind] += ms - before.get(kind, 0.0)
            spent.turns += each
            spent.samples += by_stage(file.read_text(encoding="utf-8").splitlines())
    return found


async def take(name: str, turn: Turn, turns: int) -> None:
    """Take so many turns, each after the one before."""
    for number in range(turns):
        if not await turn(number):
            raise SystemExit(f"{name} was refused, although each waited for its answer")


def table(found: Mapping[str, Spent]) -> str:
    """Milliseconds by stage, a column each, what costs most first; and by kind of thread."""
    spent = {name: each.by_stage() for name, each in found.items()}
    stages = {stage for stages in spent.values() for stage in stages}
    order = sorted(stages, key=lambda stage: -sum(each.get(stage, 0.0) for each in spent.values()))
    lines = {stage: [each.get(stage, 0.0) for each in spent.values()] for stage in order}
    lines |= {
        kind: [each.ms[kind] / each.turns for each in found.values()]
        for kind in (LOOP, OTHERS, CORE)
    }
    lines["all"] = [each.all_ms / each.turns for each in found.values()]
    rows = [f"{'CPU ms a turn':22}" + "".join(f"{name:>15}" for name in found)]
    rows += [f"{name:22}" + "".join(f"{ms:>15.2f}" for ms in line) for name, line in lines.items()]
    samples = (each.samples.total() for each in found.values())
    return "\n".join([*rows, f"{'samples':22}" + "".join(f"{number:>15}" for number in samples)])


async def of_rules(turns: int, flames: Path | None) -> dict[str, Spent]:
    """The turns that no model decides, each beside its bare one."""
    async with settled() as (desk, floor, folder):
        kinds: list[Kind] = [
            ("small talk", desk.small_talk, desk.house),
            ("bare talk", floor.kept, floor.house),
            ("status", desk.status, desk.house),
            ("bare status", floor.called, floor.house),
            ("flow's answer", desk.answer, desk.house),
            ("bare answer", floor.told, floor.house),
        ]
        return await measured(kinds, turns, flames or folder)


async def of_a_model(turns: int, flames: Path | None) -> dict[str, Spent]:
    """A turn that a model answers, beside a bare one of the same activities."""
    answer = calls(("respond_message", {"text": "好的，我在。"}))
    async with ModelServer(answer) as model:
        asking = {"BASE_URL": model.url, "MODEL": "scripted", "API_KEY": "-"}
        given = {f"ROUTER_LLM_{name}": value for name, value in asking.items()}
        async with settled(**given) as (desk, floor, folder):
            kinds: list[Kind] = [
                ("model's answer", desk.chat, desk.house),
                ("bare activity", floor.called, floor.house),
            ]
            return await measured(kinds, turns, flames or folder)


@asynccontextmanager
async def settled(**variables: str) -> AsyncIterator[tuple[Desk, Floor, Path]]:
    """Both houses with conversations, once the product has learnt what there is; and a folder."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with on_sqlite(Path(folder), cached=1000, **variables) as (ours, bare):
            desk, floor = Desk(ours), Floor(bare)
            # Of all people there are: a tool is called for each so often in a minute, and no more.
            await desk.open_up_to(len(PEOPLE))
            await floor.open_up_to(1)
            await asyncio.sleep(SETTLED)
            yield desk, floor, Path(folder)


async def measured(kinds: list[Kind], turns: int, folder: Path) -> dict[str, Spent]:
    for name, turn, _ in kinds:
        await take(name, turn, WARM_UP)
    return await profiled(kinds, turns, folder)


async def all_kinds(turns: int, flames: Path | None) -> str:
    return table(await of_rules(turns, flames) | await of_a_model(turns, flames))


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--turns", type=int, default=60, help="of each kind")
    options.add_argument("--flames", type=Path, help="keep the stacks there, collapsed")
    given = options.parse_args()
    if given.flames:
        given.flames.mkdir(parents=True, exist_ok=True)
    print(asyncio.run(all_kinds(given.turns, given.flames)))


if __name__ == "__main__":
    main()
