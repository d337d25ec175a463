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
seconds. Meanwhile processes get SIGKILL or stand still (SIGSTOP), and the wires between them are
cut or stall.

At the end a checker that knows none of the engine's code reads the database and Temporal. The
exit status is 1 where anything is lost, doubled, wrong, or left behind. Needs PostgreSQL's server
(Debian: postgresql). Took 32 minutes on two cores that seven others kept busy as well (a load of
12 to 18); 30 conversations and 10 kills take six.

    python bench/chaos.py [--conversations 500] [--kills 50] [--seed N] [--keep DIR]
"""

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # as a script it would be bench/ alone

from tests.e2e.chaos.storm import Plan, chaos


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--conversations", type=int, default=Plan.conversations)
    parser.add_argument("--kills", type=int, default=Plan.kills, help="and half as many cut-offs")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new folder for data and logs")
    return parser.parse_args()


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
    plan = Plan(given.conversations, given.kills, given.seed)
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
