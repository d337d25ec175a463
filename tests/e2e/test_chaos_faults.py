"""Everything is cut off, dies, fills up while people work: nothing is lost, doubled or left over.

`bench/chaos.py` is the same with five hundred conversations. What strikes is tried here too.
"""

import asyncio
import random
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.chaos.blows import Blow, Presence, drawn, table
from tests.e2e.chaos.checker import Finding
from tests.e2e.chaos.faults import FAULTS
from tests.e2e.chaos.machine import Disk, Kept
from tests.e2e.chaos.storm import Plan, chaos
from tests.e2e.chaos.wire import Weather, Wire
from tests.postgres import MISSING, binaries

ON_SQLITE = ("kill", "partition", "full disk", "locked", "no descriptors")


@pytest.mark.slow
@pytest.mark.xdist_group("dev")
async def test_nothing_is_lost_or_doubled_whatever_comes_over_a_deployment() -> None:
    if binaries() is None:
        pytest.skip(MISSING)
    plan = Plan(conversations=24, faults=len(FAULTS) - 1, seconds=4)
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to PostgreSQL's user
        outcome = await chaos(plan, Path(folder))
    missing = {*FAULTS} - {blow.fault.name for blow in outcome.blows}
    assert missing == {"locked"} | (set() if Disk.can_be() else {"full disk"})
    assert outcome.good, outcome.table()


@pytest.mark.slow
@pytest.mark.xdist_group("dev")
async def test_nothing_is_lost_or_doubled_whatever_comes_over_one_machine(tmp_path: Path) -> None:
    plan = Plan(conversations=10, faults=5, seconds=4, only=ON_SQLITE, database="sqlite")
    outcome = await chaos(plan, tmp_path / "house")
    assert outcome.good, outcome.table()


Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """To somebody who says everything again."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while some := await reader.read(1024):
            writer.write(some)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, Wire(server.sockets[0].getsockname()[1]) as wire:
        yield wire


async def line(wire: Wire) -> Line:
    return await asyncio.open_connection("127.0.0.1", wire.port)


async def said(line: Line, words: bytes) -> bytes:
    """What comes back; nothing where the line is dead."""
    reader, writer = line
    with suppress(OSError):
        writer.write(words)
        return await reader.read(1024)
    return b""


async def test_a_wire_that_is_cut_resets_all_and_carries_again_once_mended(wire: Wire) -> None:
    old = await line(wire)
    assert await said(old, b"one") == b"one"
    wire.cut()
    assert await said(old, b"two") == b""
    assert await said(await line(wire), b"three") == b""
    wire.mend()
    assert await said(await line(wire), b"four") == b"four"


@pytest.mark.parametrize(("there", "back"), [(True, True), (True, False), (False, True)])
async def test_what_was_said_into_silence_arrives_when_it_is_mended(
    wire: Wire, there: bool, back: bool
) -> None:
    old = await line(wire)
    assert await said(old, b"one") == b"one"
    wire.stall(there=there, back=back)
    answer = asyncio.create_task(said(old, b"two"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(answer), 0.05)
    wire.mend()
    assert await answer == b"two"


async def test_bad_weather_delays_in_order_and_ends_connections(wire: Wire) -> None:
    wire.worsen(Weather(delay=0.01, lost=0.5, draws=random.Random(1)))
    slow = await line(wire)
    for number in range(3):
        assert await said(slow, b"%d" % number) == b"%d" % number
    wire.worsen(Weather(resets=1.0))
    assert await said(slow, b"more") == b""
    wire.mend()
    assert await said(await line(wire), b"again") == b"again"


def test_weather_loses_the_share_that_it_says() -> None:
    weather = Weather(delay=0.1, lost=0.2, draws=random.Random(1))
    late = sum(weather.seconds > 0.1 for _ in range(1000))
    assert 150 < late < 250


@pytest.mark.skipif(not Disk.can_be(), reason="only root mounts a disk")
def test_a_disk_that_is_full_takes_not_one_byte_more_until_it_is_cleared(tmp_path: Path) -> None:
    file = tmp_path / "small/file"
    with Disk(file.parent).mounted() as disk:
        file.write_bytes(b"1" * 4096)
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            file.with_name("more").write_bytes(b"2" * 4096)
        disk.clear()
        file.with_name("more").write_bytes(b"2" * 4096)


SERVER = "import signal; print('up', flush=True); signal.pause()"


async def test_a_process_serves_again_only_once_its_successor_says_so(tmp_path: Path) -> None:
    kept = Kept("server", [sys.executable, "-c", SERVER], tmp_path / "log", sign="up")
    kept.start()
    try:
        await kept.serves()
        kept.kill()
        await kept.serves()
        assert kept.log.read_text().split() == ["up", "up"]
        assert (kept.ends_of_its_own, kept.false_starts) == ([], 0)
    finally:
        await kept.stop()


TARGETS = {"kill": ["api", "worker"], "pause": ["api"], "locked": []}


def test_each_fault_comes_as_often_and_each_target_in_turn() -> None:
    blows = drawn(TARGETS, 8, 100, 60, random.Random(1))
    names = sorted(blow.name for blow in blows)
    assert names == ["kill api"] * 2 + ["kill worker"] * 2 + ["pause api"] * 4
    assert {blow.seconds for blow in blows} == {0.0, 60.0}
    assert [blow.due for blow in blows] == sorted(blow.due for blow in blows)


def test_a_finding_is_of_the_faults_that_somebody_was_there_at_whom_it_is_of() -> None:
    first = Blow(FAULTS["kill"], "api", 1, began=10, mended=12, well=15)
    second = Blow(FAULTS["pause"], "worker", 2, began=20, mended=80)
    findings = [Finding("lost", "the turn of m1 in c1"), Finding("orphan", "run r2 is open")]
    there = [Presence(("c1",), 0, 14), Presence(("c2", "r2"), 18, 30)]
    _, killed, paused = (row.split() for row in table([first, second], findings, there))
    assert killed == ["kill", "1", "1", "0", "0", "0", "3.0", "s", "3.0", "s,", "api"]
    assert paused == ["pause", "1", "0", "0", "0", "1", "never", "never"]
