"""What a turn costs by how long its run already is.

A generated flow of 20 states and 30 slots is answered slot by slot, every fourth answer but one
being wrong, so that a run has 40 turns. Printed are the medians of the 1st, 10th, 20th and 40th:
one step of the machine by itself, and a turn of a conversation over a real Temporal dev server.
A step copies its run, slots and history included, so it grows; a turn is a hundred times that.

    python bench/flow_length.py [RUNS]
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turns import conversation_of, temporal

from router.assembly import assembled
from router.domain.principals import Principal
from router.flow.loader import load_flow
from router.flow.machine import step
from router.flow.model import FlowDefinition
from router.flow.run import Answered, Began, Run
from router.settings import Settings
from router.worker import build_worker

SLOTS, COLLECTS, TURNS = 30, 15, 40
SHOWN = (1, 10, 20, 40)
RUNS = 5
STEPS = 20
"""Runs of the machine alone for one over Temporal: it is a thousand times as fast."""

Took = dict[int, list[float]]


def generated() -> dict[str, Any]:
    """The flow: fifteen states that collect two slots each, with three that say something."""
    names = [f"s{number}" for number in range(SLOTS)]
    per = SLOTS // COLLECTS
    states: dict[str, Any] = {}
    for number in range(COLLECTS):
        last = number == COLLECTS - 1
        onward = "review" if last else f"c{number + 1}"
        if number % 5 == 1:
            states[f"t{number}"] = {"say": _both("Go on."), "next": onward}
            onward = f"t{number}"
        states[f"c{number}"] = {"collect": names[number * per : (number + 1) * per], "next": onward}
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


def answer_of(turn: int) -> int:
    """What is answered in a turn: nothing that is shown is a wrong one."""
    return 0 if turn % 4 == 3 else turn


def stepped(flow: FlowDefinition, took: Took) -> None:
    """One run of the machine by itself, microseconds."""
    run, now = Run(id="r", requester=Principal(id="alice", name="Alice")), datetime.now(UTC)
    run, _ = step(flow, run, Began(), now)
    for turn in range(1, TURNS + 1):
        event = Answered(slots={str(run.asked): answer_of(turn)})
        began = time.perf_counter()
        run, _ = step(flow, run, event, now)
        took[turn].append((time.perf_counter() - began) * 1e6)
    if run.status != "confirming":
        raise SystemExit(f"the run came to {run.state}, not to its end")


async def talked(settings: Settings, folder: str, runs: int, took: Took) -> None:
    """Whole conversations, milliseconds a turn; the first warms up and isn't counted."""
    async with (
        temporal(folder) as client,
        assembled(settings) as parts,
        build_worker(client, parts, "router"),
    ):
        for number in range(runs + 1):
            say = await conversation_of("alice", client, parts, "router")
            await say("long form")
            for turn in range(1, TURNS + 1):
                began = time.perf_counter()
                await say(str(answer_of(turn)))
                if number:
                    took[turn].append((time.perf_counter() - began) * 1e3)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    alone: Took = defaultdict(list)
    whole: Took = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        flows = Path(folder) / "flows"
        flows.mkdir()
        (flows / "long.yaml").write_text(json.dumps(generated()))
        flow = load_flow(flows / "long.yaml")
        for _ in range(runs * STEPS):
            stepped(flow, alone)
        settings = Settings.load(data=Path(folder), flows=flows)
        asyncio.run(talked(settings, folder, runs, whole))
    print(f"{len(flow.states)} states, {len(flow.slots)} slots; medians of {runs} runs")
    print(f"{'turn':>6}{'step, µs':>12}{'turn, ms':>12}")
    for turn in SHOWN:
        step_, all_ = statistics.median(alone[turn]), statistics.median(whole[turn])
        print(f"{turn:>6}{step_:>12.0f}{all_:>12.1f}")


if __name__ == "__main__":
    main()
