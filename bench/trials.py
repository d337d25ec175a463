"""How long an author waits who tries a draft: for the process, a step, all of it again, a story.

The draft is a flow that ships; medians and the slowest of twenty steps, over one warm process.

    python bench/trials.py
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable

import psutil

from router.directory.sources import people_of
from router.extensions.authoring.settings import TrialSettings
from router.extensions.authoring.trials.draft_trials import DraftTrials
from router.extensions.authoring.trials.protocol import TrialPlay
from router.runtime.definitions import flow_folder, load_capabilities
from router.settings import Settings

FLOW = "leave_request"
STEPS = (
    {"user": "我要请年假，下周一到周三，家里有事"},
    {"user": {"confirm": True}},
    {"approver": "bob", "decides": "approve"},
    {"after": "P1D"},
)
TIMES = 5


async def seconds(waiting: Awaitable[object]) -> float:
    began = time.monotonic()
    await waiting
    return time.monotonic() - began


async def main() -> None:
    """Print a row for each sort of wait, and what the process holds."""
    settings, people = Settings.load(), people_of(Settings.load())
    author = next(iter(people.everyone()))
    text = (flow_folder(settings) / f"{FLOW}.yaml").read_text("utf-8")
    stories = (flow_folder(settings) / "tests" / f"{FLOW}.yaml").read_text("utf-8")
    trials = DraftTrials(load_capabilities(settings), people, TrialSettings(processes=1))
    draft = (author, FLOW, text)

    def play(steps: int, *, anew: bool = False) -> Awaitable[object]:
        asked = TrialPlay(user="alice", steps=STEPS[:steps], anew=anew)
        return trials.play(*draft, asked)

    rows = [("the first step, with the start of the process", [await seconds(play(1))])]
    steps, anew, kept = [], [], []
    for _ in range(TIMES):
        anew.append(await seconds(play(len(STEPS), anew=True)))
        steps += [await seconds(play(n, anew=n == 1)) for n in range(1, len(STEPS) + 1)]
        asked = TrialPlay(user="alice", steps=STEPS)
        kept.append(await seconds(trials.keep(*draft, "", "bench", asked)))
    rows += [("a step", steps), (f"{len(STEPS)} steps played anew", anew), ("keep a story", kept)]
    several = f"run {stories.count('- story:')} stories"
    rows.append((several, [await seconds(trials.run(*draft, stories))]))
    print("| what | s, median | s, slowest |\n| --- | --: | --: |")
    for what, each in rows:
        print(f"| {what} | {statistics.median(each):.2f} | {max(each):.2f} |")
    process = psutil.Process(trials.pids[0])
    held = [process, *process.children(recursive=True)]
    print(f"\nmemory: {sum(each.memory_info().rss for each in held) >> 20} MB")
    await trials.close()


if __name__ == "__main__":
    asyncio.run(main())
