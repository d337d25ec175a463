"""What a turn costs by how long its run already is.

A generated flow of 20 states and 30 slots is answered slot by slot; then its last state asks for
the same two slots over and over, each time forgetting what was said. So every second answer does
the same thing, whether the run is at its beginning or has gone on for hundreds of turns: it fills
a slot and enters a state. Printed are medians of such turns at the run's beginning, middle and
end: one step of the machine by itself; a turn of a conversation over a real Temporal dev server,
with the processor time that this process takes for it; and, in turns with that, a turn of two
bare Temporal workflows (`bare.py`), which shows how much of the rest is Temporal's own growth.

    python bench/flow_length.py [RUNS]
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bare import BareFirst, BareSecond, BareTeller, bare_read
from temporalio.worker import Worker
from turns import bare_turns, conversation_of, temporal

from router.domain.principals import Principal
from router.flow.definition import FlowDefinition
from router.flow.engine.events import Answered, Began
from router.flow.engine.machine import step
from router.flow.engine.run import Run
from router.flow.loader import load_flow
from router.runtime.composition import assembled
from router.runtime.worker import build_worker
from router.settings import Settings

SLOTS, COLLECTS = 30, 15
STEPS, TURNS = 400, 60
"""Turns of a run: of the machine by itself, and over Temporal."""
WINDOW = 5
"""Turns that enter a state, at the beginning, in the middle and at the end, that are counted."""
RUNS = 5
ALONE = 20
"""Runs of the machine by itself for one over Temporal: it is a thousand times as fast."""

Took = dict[int, list[float]]


ENOUGH = [{"if": "slots.s29 > 1000000.0", "to": "review"}, {"to": "again"}]


def generated() -> dict[str, Any]:
    """The flow: fifteen states that collect two slots each; the last is come back to."""
    names = [f"s{number}" for number in range(SLOTS)]
    per = SLOTS // COLLECTS
    states: dict[str, Any] = {}
    for number in range(COLLECTS):
        last = number == COLLECTS - 1
        onward: Any = ENOUGH if last else f"c{number + 1}"
        if number in (1, 6):
            states[f"t{number}"] = {"say": _both("Go on."), "next": onward}
            onward = f"t{number}"
        states[f"c{number}"] = {"collect": names[number * per : (number + 1) * per], "next": onward}
    again = [names[-2], names[-1]]
    states["again"] = {"say": _both("Once more."), "forget": again, "next": f"c{COLLECTS - 1}"}
    states["review"] = {"confirm": _both("Fine?"), "confirmed": "done", "declined": "c0"}
    return {
        "flow": "long",
        "title": _both("Long"),
        "description": _both("A long form"),
        "triggers": {"patterns": ["^long form$"], "examples": ["long form"]},
        "slots": {name: _slot(name) for name in names},
        "start": "c0",
        "states": {**states, "done": {"end": "completed"}},
    }


def _slot(name: str) -> dict[str, Any]:
    check = {"that": f"slots.{name} > 0.0", "say": _both("More than zero, please, such as 7.")}
    return {"type": "integer", "label": _both(name), "ask": _both(f"{name}?"), "check": [check]}


def _both(text: str) -> dict[str, str]:
    return {"zh": text, "en": text}


def stepped(flow: FlowDefinition, took: Took) -> None:
    """One run of the machine by itself, microseconds."""
    run, now = Run(id="r", requester=Principal(id="alice", name="Alice")), datetime.now(UTC)
    run, _ = step(flow, run, Began(), now)
    for turn in range(1, STEPS + 1):
        event = Answered(slots={str(run.question.path): turn})
        began = time.perf_counter()
        run, _ = step(flow, run, event, now)
        took[turn].append((time.perf_counter() - began) * 1e6)
    if run.visit < STEPS // 2:
        raise SystemExit(f"the run stayed in {run.state}, where it should have gone on and on")


class Talks:
    """Whole conversations, and bare workflows beside them: milliseconds a turn."""

    def __init__(self) -> None:
        self.whole: Took = defaultdict(list)
        self.used: Took = defaultdict(list)
        self.bare: Took = defaultdict(list)

    async def take(self, settings: Settings, folder: str, runs: int) -> None:
        """The first run warms up and isn't counted."""
        async with (
            temporal(folder) as client,
            assembled(settings) as parts,
            Worker(
                client,
                task_queue="bare",
                workflows=[BareFirst, BareSecond],
                activities=[bare_read, BareTeller(client).bare_tell],
            ),
            build_worker(client, parts, "router"),
        ):
            for number in range(runs + 1):
                say = await conversation_of("alice", client, parts, "router")
                bare = await bare_turns(client, "bare")
                await say("long form")
                for turn in range(1, TURNS + 1):
                    ours, theirs = await _timed(say(str(turn))), await _timed(bare(turn))
                    if number:
                        self.whole[turn].append(ours[0])
                        self.used[turn].append(ours[1])
                        self.bare[turn].append(theirs[0])


async def _timed(turn: Awaitable[object]) -> tuple[float, float]:
    """Milliseconds that it takes, and of this process's processor."""
    began, used = time.perf_counter(), time.process_time()
    await turn
    return (time.perf_counter() - began) * 1e3, (time.process_time() - used) * 1e3


def medians(took: Took) -> list[float]:
    """At the beginning, in the middle, at the end; of turns that enter a state."""
    entering = [turn for turn in sorted(took) if turn % 2 == 0]
    middle = len(entering) // 2
    windows = (entering[:WINDOW], entering[middle : middle + WINDOW], entering[-WINDOW:])
    return [statistics.median(ms for turn in window for ms in took[turn]) for window in windows]


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    alone: Took = defaultdict(list)
    talks = Talks()
    with tempfile.TemporaryDirectory() as folder:
        flows = Path(folder) / "flows"
        flows.mkdir()
        (flows / "long.yaml").write_text(json.dumps(generated()))
        flow = load_flow(flows / "long.yaml")
        for _ in range(runs * ALONE):
            stepped(flow, alone)
        settings = Settings.load(data=Path(folder), flows=flows)
        asyncio.run(talks.take(settings, folder, runs))
    print(f"{len(flow.states)} states, {len(flow.slots)} slots; medians of {runs} runs")
    print(f"{'':24}{'first':>10}{'middle':>10}{'last':>10}")
    rows = [
        (f"step of {STEPS}, µs", alone),
        (f"turn of {TURNS}, ms", talks.whole),
        ("  this process, ms", talks.used),
        ("  bare Temporal, ms", talks.bare),
    ]
    for name, took in rows:
        print(f"{name:24}" + "".join(f"{median:10.1f}" for median in medians(took)))


if __name__ == "__main__":
    main()
