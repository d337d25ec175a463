"""What is done to the house: who is killed, who stands still, which wire is cut, and when."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tests.e2e.chaos.house import House, answers
from tests.e2e.chaos.kept import Kept

Kind = Literal["kill", "freeze", "cut", "stall"]
PROCESSES = ("api", "worker", "temporal", "database")
WIRES = ("api", "temporal", "database", "model")
FIRST, LAST = 0.02, 0.95
"""The shares of all conversations that are over at the first blow, and at the last."""
SHORTEST, LONGEST = 0.5, 6.0
"""Seconds for which somebody stands still, or nobody hears them."""


@dataclass(frozen=True)
class Blow:
    """One, when so many conversations are over."""

    kind: Kind
    target: str
    due: float
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.kind} {self.target}"


def drawn(kills: int, conversations: int, draws: random.Random) -> list[Blow]:
    """So many kills, the same of everybody, and half as many cut-offs, at random moments."""
    kinds: list[tuple[Kind, str]] = [("kill", PROCESSES[n % 4]) for n in range(kills)]
    cut_offs: list[tuple[Kind, str]] = [("freeze", name) for name in PROCESSES]
    cut_offs += [("cut", name) for name in WIRES] + [("stall", name) for name in WIRES]
    draws.shuffle(cut_offs)
    kinds += [cut_offs[n % len(cut_offs)] for n in range(kills // 2)]
    draws.shuffle(kinds)
    moments = sorted(draws.uniform(FIRST, LAST) * conversations for _ in kinds)
    return [
        Blow(kind, target, due, draws.uniform(SHORTEST, LONGEST))
        for (kind, target), due in zip(kinds, moments, strict=True)
    ]


async def rage(
    house: House,
    blows: list[Blow],
    over: Callable[[], int],
    draws: random.Random,
    say: Callable[[str], None],
) -> None:
    """Strike each blow as soon as it is due, one after another; `over` conversations are."""
    for number, blow in enumerate(blows, start=1):
        while over() < blow.due:  # noqa: ASYNC110 - many things make it more
            await asyncio.sleep(0.1)
        say(f"{number}/{len(blows)} {blow.name}, {over()} conversations over")
        await strike(house, blow, draws)
        await asyncio.sleep(draws.uniform(0, 1))


async def strike(house: House, blow: Blow, draws: random.Random) -> None:
    """Strike, and return when it is mended; what broke of it may take longer."""
    if blow.kind in {"kill", "freeze"}:
        unlucky = draws.choice(house.processes[blow.target])
        await (_kill(house, unlucky) if blow.kind == "kill" else _freeze(unlucky, blow.seconds))
        return
    wire = draws.choice(house.wires[blow.target])
    (wire.cut if blow.kind == "cut" else wire.stall)()
    try:
        await asyncio.sleep(blow.seconds)
    finally:
        wire.mend()


async def _freeze(unlucky: Kept, seconds: float) -> None:
    unlucky.freeze()
    try:
        await asyncio.sleep(seconds)
    finally:
        unlucky.thaw()


async def _kill(house: House, unlucky: Kept) -> None:
    unlucky.kill()
    await unlucky.serves()
    if unlucky.name == "temporal":
        await answers(int(house.temporal.split(":")[1]))
