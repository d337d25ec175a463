"""Everything is killed and cut off while people work: is anything lost, doubled or left behind?

Real processes: two APIs, two workers, `temporal server start-dev` with its state in a file, and
PostgreSQL. Simulated employees and approvers (zh and en) ask for leave, claim expenses, decide,
take back, ask questions, have tools read and write, and consult a skill, over HTTP, as careful
clients do: with a key for every POST, sent again until it is answered, and sometimes after, each
time to either API. Some of the conversations are held by clients of OpenAI's. The model server
gives one wrong answer, or none, out of three. Another system is told what happens, as webhooks, and
doesn't take four of ten tries; one more is never there. Others come by Slack, Feishu, DingTalk,
WeCom and Teams, whose fakes sign and redeliver as they do: they ask for leave, talk and hear the
news, and their approvers press cards there or open mails' links. Conversations are put away after
seconds. Meanwhile one fault after another comes over the house, each as often as any: processes
get SIGKILL or stand still for a minute, any two parts are cut off from each other, silently or not,
links are slow or lose a fifth, disks are full, the database fails over for half a minute, takes no
writes or no connections, a process may open no file, lives on another day, or half the workers are
of a new build.

With `--database sqlite` the house is `intent-router dev`, and faults are those that it can have.
After each fault the clock runs until all is well: each API begins a conversation and answers it
with what a tool read, and no task waits for a worker. At the end a checker that knows none of the
engine's code reads the database and Temporal. The exit status is 1 where anything is lost, doubled,
wrong, or left behind. Needs PostgreSQL's server (Debian: postgresql), and root for the full disks,
which are file systems in memory; without it that fault is left out, and the table says so.

    python bench/chaos.py [--conversations 500] [--faults 50] [--only kill,pause,…] [--seed N]
        [--database postgresql|sqlite] [--seconds 60] [--keep DIR]
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).parents[1]))  # as a script it would be bench/ alone

from tests.e2e.chaos.faults import FAULTS
from tests.e2e.chaos.house import Dialect
from tests.e2e.chaos.storm import Plan, chaos


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--conversations", type=int, default=Plan.conversations)
    parser.add_argument("--faults", type=int, default=Plan.faults)
    parser.add_argument("--only", type=names, default=(), help=", ".join(FAULTS))
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--database", choices=get_args(Dialect), default=Plan.database)
    parser.add_argument(
        "--seconds", type=float, default=Plan.seconds, help="of a pause; of others at most"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new folder for data and logs")
    return parser.parse_args()


def names(text: str) -> tuple[str, ...]:
    """Those of faults, with commas between them."""
    chosen = tuple(text.replace("-", " ").split(","))
    if unknown := [name for name in chosen if name not in FAULTS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(FAULTS)}")
    return chosen


def progress(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, file=sys.stderr, flush=True)


async def measure(plan: Plan, folder: Path) -> bool:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    outcome = await chaos(plan, folder, progress)
    print(outcome.table())
    return outcome.good


def main() -> None:
    given = options()
    plan = Plan(
        *(given.conversations, given.faults, given.seed, given.only),
        *(given.database, given.seconds),
    )
    with ExitStack() as stack:
        folder = given.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if given.keep and given.keep.exists():
            raise SystemExit(f"--keep {given.keep} is there already: name a folder that isn't")
        try:
            good = asyncio.run(measure(plan, folder))
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise SystemExit(130) from None
    sys.exit(not good)


if __name__ == "__main__":
    main()
