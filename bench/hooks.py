"""What hooks that may refuse add to a turn: one, three at once, and one that only looks on.

The turn is that of `turns.py`: an answer to what a flow asked, in one process against one dev
server. All are taken in alternation, in conversations too young to be continued as new. A hook
hears of messages with its phrase alone, so that each day that is answered has hooks of its own.
They do nothing themselves.

    python bench/hooks.py [TURNS]
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from temporalio.client import Client
from turns import START, WARM_UP, Say, conversation_of, percentile, temporal

from router.domain.hooks import DecisionEvent, TurnEvent
from router.runtime.composition import Parts, assembled
from router.runtime.worker import build_worker
from router.settings import Settings
from router.tool.hook import Hook, hook

TURNS = 100
ROUNDS = 8
"""Of one conversation; the first of each isn't counted."""
ANSWERS = {
    "no hook": "2027-03-09",
    "one that may refuse": "2027-03-08",
    "three that may refuse": "2027-03-07",
}
"""Days before the start: each is asked for again, over and over."""
LOOKING_ON = "no hook but one that looks on"


def refusing(name: str, day: str) -> Hook:
    async def looks(event: DecisionEvent) -> None:
        """Has nothing to say."""

    looks.__name__ = looks.__qualname__ = name
    return hook("before_decision", phrases=[day])(looks)


@hook("after_turn")
async def looking_on(event: TurnEvent) -> None:
    """Notes nothing."""


def hooks() -> list[Hook]:
    one, three = (ANSWERS[f"{number} that may refuse"] for number in ("one", "three"))
    return [refusing("alone", one), *(refusing(f"of_{n}", three) for n in range(3))]


async def measure(turns: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.load(data=Path(folder))
        async with temporal(folder) as client, assembled(settings) as parts:
            registered = parts.offered.registry.hooks
            registered.swap([], hooks())
            async with build_worker(client, parts, "router"):
                took = await alternated(client, parts, ANSWERS, turns)
                registered.swap([], [looking_on])
                looked_on = {LOOKING_ON: ANSWERS["no hook"]}
                return took | await alternated(client, parts, looked_on, turns)


async def alternated(
    client: Client, parts: Parts, answers: dict[str, str], turns: int
) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {name: [] for name in answers}
    for number in range(turns + WARM_UP):
        if number % ROUNDS == 0:
            say = await opened(client, parts)
        for name, day in answers.items():
            began = time.perf_counter()
            answered = await say(day)
            milliseconds = (time.perf_counter() - began) * 1000
            if answered.route.by != "slot":
                raise SystemExit(f"not a turn of the flow: {answered}")
            if number >= WARM_UP and number % ROUNDS:
                took[name].append(milliseconds)
    return took


async def opened(client: Client, parts: Parts) -> Say:
    """A new conversation, in which a flow asks for the end of a leave."""
    say = await conversation_of("alice", client, parts, "router")
    for opening in ("我要请年假", START):
        await say(opening)
    return say


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    took = asyncio.run(measure(turns))
    print(f"A flow turn with hooks, {turns} of each, one at a time, milliseconds")
    print(f"{'':32}{'p50':>8}{'p95':>8}{'more, p50':>12}")
    base = percentile(took["no hook"], 0.5)
    for name, values in took.items():
        more = f"{percentile(values, 0.5) - base:12.1f}" if name != "no hook" else ""
        shares = "".join(f"{percentile(values, share):8.1f}" for share in (0.5, 0.95))
        print(f"{name:32}{shares}{more}")


if __name__ == "__main__":
    main()
