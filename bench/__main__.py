"""Every benchmark of this folder, on one page: `make bench`.

    python bench [NAME …] [--into docs/benchmarks.md]

Each runs in a process of its own, one after the other, and prints its table with its baseline,
which was measured in the same run; the page says on which machine, when, at which commit, and how
busy the machine was. With `--into`, the tables of a page that has them already are replaced and
its pictures drawn anew (`plots.py`). The status is 1 where a benchmark failed; others still run.
"""

import argparse
import ast
import os
import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import plots

HERE = Path(__file__).parent
ROOT = HERE.parent

BANNER = re.compile(r"Temporal (CLI|Server|Persistence|Metrics|UI)\b.*[:(]")


def benchmarks() -> list[str]:
    """The names of those files that can be run, `chaos` and its like included."""
    files = sorted(HERE.glob("*.py"))
    runnable = (f for f in files if "__main__" in f.read_text(encoding="utf-8"))
    apart = {"__main__", "plots", "flames", "semantic_router_peer"}
    return [file.stem for file in runnable if file.stem not in apart]


def machine() -> str:
    """What the figures are of: when, which commit, which processor, and how busy it is."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {_commit()}, {_processor()}, "
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )


def _commit() -> str:
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    return said.stdout.strip() or "unknown"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def title(name: str) -> str:
    """The first line of a benchmark's docstring."""
    told = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))) or ""
    return told.partition("\n")[0]


def without_banners(printed: str) -> str:
    """What a benchmark printed, without what Temporal's server says when it starts."""
    lines = [line.rstrip() for line in printed.splitlines() if not BANNER.match(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def taken(name: str) -> tuple[str, bool]:
    """A benchmark's section of the page, and whether it came to its end."""
    began = time.monotonic()
    print(f"{name} …", file=sys.stderr, flush=True)
    run = subprocess.run(
        [sys.executable, str(HERE / f"{name}.py")],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        cwd=ROOT,
        # Whatever else is installed: what is measured is the tree that this file stands in.
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    table = without_banners(run.stdout) or "(nothing was measured: see above)"
    ended = "" if run.returncode == 0 else f"; it FAILED with {run.returncode}"
    seconds = time.monotonic() - began
    head = f"## {title(name)}\n\n`python bench/{name}.py`: {seconds:.0f} s{ended}; {machine()}."
    return f"{head}\n\n{plots.fenced(name, table)}", run.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; all where none is named")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="a page whose tables to replace")
    given = parser.parse_args()
    unknown = set(given.names) - set(benchmarks())
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: there are {benchmarks()}")
    fine = True
    print("# Benchmarks\n", flush=True)
    for name in given.names or benchmarks():
        section, ended = taken(name)
        fine = fine and ended
        print(f"{section}\n", flush=True)
        if given.into is not None and ended:
            plots.replace(given.into, name, section)
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
