"""How `dev` ends when it is told to: once politely, twice at once."""

import signal
import subprocess
import sys

import pytest

from tests.samples import one_in

SCRIPT = """
import asyncio
from router.runtime.process import until_told_to_stop

async def work():
    try:
        print("working", flush=True)
        await asyncio.sleep(60)
    finally:
        print("cleaning up", flush=True)
        await asyncio.sleep({cleaning})
        print("clean", flush=True)

asyncio.run(until_told_to_stop(work()))
"""


def started(cleaning: float) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(cleaning=cleaning)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    return process


@pytest.mark.parametrize("number", one_in(3, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)))
@pytest.mark.slow
def test_one_signal_lets_it_clean_up(number: signal.Signals) -> None:
    with started(cleaning=0.1) as process:
        process.send_signal(number)
        assert process.stdout is not None
        assert process.stdout.read() == "cleaning up\nclean\n"
    assert process.returncode == 0


@pytest.mark.slow
def test_a_second_signal_waits_for_nothing() -> None:
    with started(cleaning=60) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline() == "cleaning up\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(50) == 130
