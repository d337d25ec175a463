"""Fuzzes every entrance for its share of the minutes, and prints what came of each.

    python -m tests.fuzz [--minutes 70] [--entrance NAME …] [--findings FOLDER]
    python -m tests.fuzz --entrance NAME --replay FILE …

A finding is a file in the findings folder with a text beside it that says what it breaks. Each is
tried again by a process of its own that nothing looks into, for what looks makes slow: what doesn't
break anything there is no finding. Ends with 1 where there are any, or a process didn't end well.
"""

import argparse
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.entrance import CORPUS, Entrance
from tests.fuzz.fuzzer import GRACE, apart, loaded

if TYPE_CHECKING:
    from tests.fuzz.findings import Report
    from tests.fuzz.trial import Promise

ROOT = Path(__file__).parents[2]
ROOM = ROOT / ".fuzz"
"""What was learnt: inputs that reach something new, kept from night to night."""
SLICE = 300.0
"""Seconds of a process: what grows with all it has taken isn't one input's doing."""
SUITE = "schemathesis"
"""An entrance of another kind: `tests/e2e/fuzz`, over a real house, with its own way to look."""
ARTIFACTS = ("crash-*", "timeout-*", "oom-*", "leak-*")


def names() -> list[str]:
    """Every entrance there is: each has a corpus, and another test sees to that."""
    return sorted(path.name for path in CORPUS.iterdir() if path.is_dir())


def run(entrance: Entrance, seconds: float, findings: Path) -> "Report":
    """Fuzz an entrance for so many seconds, a process after the other."""
    from tests.fuzz.findings import Report

    whole, left = Report(entrance.name), seconds
    while left > 0:
        part = _slice(entrance, min(left, SLICE), findings)
        whole.executions += part.executions
        whole.seconds += part.seconds
        whole.coverage = max(whole.coverage, part.coverage)
        whole.longest_stop = max(whole.longest_stop, part.longest_stop)
        whole.memory = max(whole.memory, part.memory)
        whole.findings += part.findings
        whole.ended = part.ended or whole.ended
        left -= max(part.seconds, min(left, SLICE))
    kept = dict.fromkeys(whole.findings)
    whole.findings = [path for path in kept if confirmed(entrance.name, path)]
    return whole


def _slice(entrance: Entrance, seconds: float, findings: Path) -> "Report":
    from tests.fuzz.findings import Report

    room = ROOM / entrance.name
    room.mkdir(parents=True, exist_ok=True)
    kept = room / "report.json"
    kept.unlink(missing_ok=True)
    ended = apart(entrance, seconds, room, findings)
    report = Report.read(kept) if kept.exists() else Report(entrance.name)
    told = (room / "log.txt").read_text("utf-8", "replace")
    report.coverage = max((int(n) for n in re.findall(r"\bcov: (\d+)", told)), default=0)
    report.findings += _of_libfuzzer(entrance.name, room, findings)
    if ended:
        last = next((line for line in reversed(told.splitlines()) if line.strip()), "")
        report.ended = f"status {ended}: {last[:200]}"
    return report


def _of_libfuzzer(name: str, room: Path, findings: Path) -> list[str]:
    """Inputs that ended the process, or held it for minutes, as libFuzzer kept them."""
    from tests.fuzz.findings import keep
    from tests.fuzz.trial import Broken

    found = []
    for pattern in ARTIFACTS:
        for path in room.glob(pattern):
            said = f"libFuzzer kept it as {path.name.partition('-')[0]}, see {room}/log.txt"
            promise: Promise = "going on" if pattern.startswith("timeout") else "documented"
            found.append(str(keep(findings, name, path.read_bytes(), Broken(promise, said))))
            path.unlink()
    return found


def confirmed(name: str, path: str) -> bool:
    """Whether it breaks something where nobody looks on; if not, its files go."""
    words = [sys.executable, "-m", "tests.fuzz", "--entrance", name, "--replay", path]
    try:
        ended = subprocess.run(words, cwd=ROOT, capture_output=True, check=False, timeout=GRACE)
    except subprocess.TimeoutExpired:
        return True
    if ended.returncode:
        print(ended.stdout.decode("utf-8", "replace"), end="", flush=True)
        return True
    for each in (Path(path), Path(f"{path}.txt")):
        each.unlink(missing_ok=True)
    return False


def suite(findings: Path) -> "Report":
    """The tests of `tests/e2e/fuzz`, slow ones too, as long as they take."""
    from tests.fuzz.findings import Report, keep
    from tests.fuzz.trial import Broken

    began, report = time.monotonic(), Report(SUITE)
    words = [sys.executable, "-m", "pytest", "-q", "-n0", "-m", "slow", "tests/e2e/fuzz"]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
    report.seconds = time.monotonic() - began
    if ended.returncode:
        broken = Broken("answered", "see the file")
        report.findings.append(str(keep(findings, SUITE, ended.stdout, broken)))
    return report


def fuzz(wanted: Sequence[str], minutes: float, findings: Path) -> int:
    """Fuzz these entrances, one after the other, and print a line of each."""
    print(
        f"{'entrance':16}{'executions':>12}{'a second':>10}{'coverage':>10}{'findings':>10}"
        f"{'longest stop':>14}{'peak memory':>13}",
        flush=True,
    )
    good, known, share = True, loaded(), minutes * 60 / len(wanted)
    for name in wanted:
        each = suite(findings) if name == SUITE else run(known[name], share, findings)
        rate = each.executions / each.seconds if each.seconds else 0
        stop, memory = f"{each.longest_stop * 1000:.0f} ms", f"{each.memory / 2**20:.0f} MiB"
        print(
            f"{name:16}{each.executions:12,}{rate:10.0f}{each.coverage:10,}{len(each.findings):10}"
            f"{stop:>14}{memory:>13}  {each.ended}",
            *(f"\n    {path}" for path in each.findings),
            flush=True,
        )
        good &= not each.findings and not each.ended
    return 0 if good else 1


def main() -> int:
    """What was asked for on the command line; its exit status."""
    asked = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    asked.add_argument("--entrance", action="append", choices=[*names(), SUITE])
    asked.add_argument("--minutes", type=float, default=70)
    asked.add_argument("--findings", type=Path, default=ROOM / "findings")
    asked.add_argument("--replay", type=Path, nargs="+", metavar="FILE")
    given = asked.parse_args()
    # Whoever is told to end ends what it has started too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if given.replay:
        if not given.entrance:
            asked.error("--replay needs --entrance: whose input is it?")
        from tests.fuzz.findings import replayed

        return int(bool(replayed(given.entrance[0], given.replay)))
    return fuzz(given.entrance or names(), given.minutes, given.findings.absolute())


if __name__ == "__main__":
    sys.exit(main())
