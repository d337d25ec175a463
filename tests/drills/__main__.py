"""Drills: `make drill`. Each brings a bad day about on real servers, and mends it.

    python -m tests.drills [PART OF A NAME …]

One after the other, each in a house of its own (PostgreSQL, Temporal, `serve`, `worker`). What is
printed is how long it took until somebody was told, by what, and how long what is written in
docs/operations.md took to help. The status is 1 where a drill failed; the others still run.
"""

import asyncio
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import tests.drills
from tests.drills.desk import DRILLS, Stopwatch, desk


async def ran(heading: str) -> Stopwatch | None:
    """How it went; None where it failed, with the reason and the processes' last lines printed."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory(prefix="drill-") as folder:
        async with desk(Path(folder)) as house:
            try:
                await DRILLS[heading](house, watch)
            except Exception:  # noqa: BLE001 - whatever it is, the others are to run
                traceback.print_exc()
                for program in house.programs:
                    last = (each[:400] for each in program.said.splitlines()[-8:])
                    print(f"--- {program.log.name}", *last, sep="\n", file=sys.stderr)
                return None
    return watch


def line(heading: str, watch: Stopwatch | None) -> str:
    """The drill's row of the table."""
    if watch is None:
        return f"| {heading} | FAILED | | |"
    noticed = "; ".join(f"{by} {seconds:.0f} s" for seconds, by in watch.notices)
    seconds, by = watch.mended or (0.0, "")
    return f"| {heading} | {noticed} | {by} | {seconds:.0f} s |"


def main(wanted: list[str]) -> int:
    for module in iter_modules(tests.drills.__path__):
        if module.name != "__main__":
            import_module(f"tests.drills.{module.name}")
    chosen = [h for h in DRILLS if not wanted or any(w.lower() in h.lower() for w in wanted)]
    failed = 0
    heads = "what went wrong", "noticed by, after", "mended by", "after"
    print(f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|", sep="\n", flush=True)
    for heading in chosen:
        watch = asyncio.run(ran(heading))
        failed += watch is None
        print(line(heading, watch), flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
