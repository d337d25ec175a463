"""How long the event loop stood still is among the metrics."""

import asyncio
import time

from prometheus_client.registry import REGISTRY

from router.telemetry.loop_stalls import BEAT, LEAST, measure_stalls


def counted() -> tuple[float, float]:
    """How many there were, and their seconds."""
    names = ("router_loop_stall_seconds_count", "router_loop_stall_seconds_sum")
    count, seconds = (REGISTRY.get_sample_value(name) or 0.0 for name in names)
    return count, seconds


async def test_a_stall_of_the_loop_is_counted_with_its_length() -> None:
    watching = asyncio.create_task(measure_stalls())
    await asyncio.sleep(0)  # it begins
    count, seconds = counted()
    time.sleep(4 * LEAST)  # noqa: ASYNC251 - a stall is what this is about
    await asyncio.sleep(2 * BEAT)  # it has its turn, which was due long ago
    assert counted()[0] > count
    watching.cancel()
    assert counted()[1] - seconds >= 4 * LEAST - BEAT
