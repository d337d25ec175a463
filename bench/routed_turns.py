"""A turn that a model decides beside a bare Temporal workflow with the same activities.

Both run in this process against one dev server:

* ours: a message that no pattern takes. It is understood (local activity), decided (activity:
  capabilities are searched, a scripted model is asked over HTTP and answers at once) and written
  to the event log (local activity). With a tool: the model calls one, which runs as an activity,
  and says what it found in a third;
* bare: an update that runs a local activity, one activity (three), and a local activity.
  Nothing is computed and nothing is kept.

The time in which the client waits for the model is taken off ours: it is shown by itself. The
vectors of the messages are cached, since the same ones come again. Turns of the two are taken
in alternation, so that a drifting machine drifts for both.

    python bench/routed_turns.py [TURNS]
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

from bare import BareRouted, bare_do, bare_read
from temporalio.client import Client
from temporalio.worker import Worker
from turns import TURNS, WARM_UP, conversation_of, percentile, temporal, timed

from router.llm.fallback import FallbackChain
from router.runtime.composition import Parts, assembled
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.fakes.model_server import Behaviour, ModelServer, calls, says
from tests.fakes.web_server import Received, Reply

TEXTS = (
    *("最近总是睡不好，怎么办", "给我讲讲你能做什么", "今天心情有点差", "这家公司怎么样"),
    *("what do you think about Mondays", "tell me something nice", "how are you doing", "午饭吃啥"),
)
ABOUT_LEAVE = (
    *(
        "年假我用到什么程度了",
        "帮我瞧瞧年假剩多少来着",
        "年假这块儿我还有富余吗",
        "年假还够几天来着",
    ),
    *("I wonder if I have used up my annual leave", "my annual leave, how much of it is left over"),
)
"""For a tool that is near to them, and that no sentence of it takes."""
USERS = ("alice", "bob", "carol", "dave", "erin", "frank", "gina", "olga")
"""In turn: a person may call a tool only so often a minute."""

ANSWER = calls(("respond_message", {"text": "好的，我在。"}))
CALL = calls(("get_leave_balance", {"leave_type": "annual"}))

Turn = Callable[[int], Awaitable[None]]


def with_tool(received: Received) -> Reply:
    """Calls a tool where functions are offered and it hasn't yet; then it says what it found."""
    last = received.body["messages"][-1]
    found = last["role"] == "tool" or not received.body.get("tools")
    answer: Behaviour = says("查到了。") if found else CALL
    return answer(received)


class Waited(FallbackChain):
    """A chain that adds up how long its models took to answer."""

    seconds = 0.0

    async def answer(self, *given, **more):
        began = time.perf_counter()
        try:
            return await super().answer(*given, **more)
        finally:
            self.seconds += time.perf_counter() - began


async def bare_turns(client: Client, activities: int) -> Turn:
    handle = await client.start_workflow("BareRouted", id=f"bare-{uuid4()}", task_queue="bare")

    async def turn(number: int) -> None:
        given = [f"word {number}", activities]
        await handle.execute_update("turn", args=given, result_type=str)

    return turn


async def our_turns(client: Client, parts: Parts, kind: str) -> Turn:
    says = [await conversation_of(user, client, parts, "router") for user in USERS]

    async def turn(number: int) -> None:
        texts = ABOUT_LEAVE if kind == "tool" else TEXTS
        answered = await says[number % len(says)](texts[number % len(texts)])
        decided = (answered.route.kind, answered.route.by) == (kind, "llm")
        if not decided or any(call.status != "done" for call in answered.tool_calls):
            raise SystemExit(f"not a turn that a model decided: {answered}")

    return turn


async def measure(
    behaviour: Behaviour, kind: str, activities: int, turns: int
) -> list[list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        async with ModelServer(behaviour) as model, temporal(folder) as client:
            settings = Settings.load(
                data=Path(folder), llm_base_url=model.url, llm_model="scripted", llm_api_key="-"
            )
            async with assembled(settings) as parts:
                await parts.index.update(parts.offered.everything())
                chain = parts.chains.usual
                chain.__class__ = Waited
                bare = Worker(
                    client,
                    task_queue="bare",
                    workflows=[BareRouted],
                    activities=[bare_read, bare_do],
                )
                async with bare, build_worker(client, parts, "router"):
                    ours = await our_turns(client, parts, kind)
                    theirs = await bare_turns(client, activities)
                    return await alternated(ours, theirs, chain, turns)


async def alternated(ours: Turn, theirs: Turn, chain: Waited, turns: int) -> list[list[float]]:
    """Milliseconds of ours without the model, of the bare ones, and of the model."""
    rows: list[list[float]] = [[], [], []]
    for number in range(turns + WARM_UP):
        chain.seconds = 0.0
        mine, bare = await timed(ours, number), await timed(theirs, number)
        model = 1000 * chain.seconds
        if number >= WARM_UP:
            for row, value in zip(rows, (mine - model, bare, model), strict=True):
                row.append(value)
    return rows


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    print(f"A turn that a model decides, {turns} of each, one at a time, milliseconds")
    for title, behaviour, kind, activities in (
        ("answered at once", ANSWER, "reply", 1),
        ("with a tool, phrased", with_tool, "tool", 3),
    ):
        ours, bare, model = asyncio.run(measure(behaviour, kind, activities, turns))
        print(f"{title:36}{'p50':>8}{'p95':>8}")
        shown = {
            "  intent-router, without the model": ours,
            f"  bare Temporal, {activities} of its activities": bare,
            "  the model, as its client sees it": model,
        }
        for name, values in shown.items():
            print(f"{name:36}{percentile(values, 0.5):8.1f}{percentile(values, 0.95):8.1f}")
        ratios = [percentile(ours, share) / percentile(bare, share) for share in (0.5, 0.95)]
        print(f"{'  ratio':36}" + "".join(f"{ratio:8.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
