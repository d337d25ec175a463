"""How long the stories that ship take to play, on skipping time.

Each is played with real workflows and tools, three times, and counts as the quickest. In
alternation with them, on the same server: a bare update with one activity, as many as the story
has steps.

    python bench/stories.py
"""

import asyncio
import time
from uuid import uuid4

from bare import BareRouted, bare_do, bare_read
from temporalio.client import Client
from temporalio.worker import Worker

from router.settings import Settings
from router.story_runner.environment import opened
from router.story_runner.runner import chosen, run_in

LONG = 10
"""Steps of a story that is long enough to be timed."""
TIMES = 3
QUEUE = "bare"


async def main() -> None:
    """Print a row a story."""
    settings = Settings.load()
    stories = [one for one in chosen(settings, [], "") if len(one.steps) >= LONG]
    print("| story | steps | s | s, bare | ms a step |\n| --- | --: | --: | --: | --: |")
    async with opened(settings) as house:
        client = house.environment.client
        bare = Worker(
            client, task_queue=QUEUE, workflows=[BareRouted], activities=[bare_do, bare_read]
        )
        async with bare:
            await run_in(house, stories[:1], lambda _: None)
            for story in stories:
                ours, floor = [], []
                for _ in range(TIMES):
                    (outcome,) = (await run_in(house, [story], lambda _: None)).outcomes
                    ours.append(outcome.seconds)
                    floor.append(await bare_seconds(client, len(story.steps)))
                a_step = min(ours) / len(story.steps) * 1000
                row = (f"{len(story.steps)}", f"{min(ours):.2f}", f"{min(floor):.2f}")
                print(f"| {story.name} | {' | '.join(row)} | {a_step:.0f} |", flush=True)


async def bare_seconds(client: Client, updates: int) -> float:
    """How long so many updates take, one after the other, each with an activity."""
    handle = await client.start_workflow(BareRouted.run, id=uuid4().hex, task_queue=QUEUE)
    began = time.monotonic()
    for _ in range(updates):
        await handle.execute_update(BareRouted.turn, args=["word", 1])
    seconds = time.monotonic() - began
    await handle.terminate()
    return seconds


if __name__ == "__main__":
    asyncio.run(main())
