"""What processes die of: told from what was only there when they did."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from router.domain.errors import SetAside
from router.telemetry import crashes
from router.telemetry.crashes import FOLDER, TALLY, ActivityRegister, ActivityWork, registered

PROCESS = """
import asyncio, json, os, sys
from contextlib import AsyncExitStack
from pathlib import Path
from router.telemetry.crashes import ActivityWork, registered

async def live(register, end, names):
    async with AsyncExitStack() as stack:
        for name in names:
            work = ActivityWork("run", name, "tool", "flow/1")
            await stack.enter_async_context(register.trying(work))
        if end == "broke":
            os.abort()
        if end == "killed":
            os.kill(os.getpid(), 9)
        if end == "failed":
            raise RuntimeError("the database is away")
        os.write(1, b"up")
        sys.stdin.read()

for end, *names in json.loads(sys.argv[2]):
    child = os.fork()
    if not child:
        with registered(Path(sys.argv[1])) as register:
            asyncio.run(live(register, end, names))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=sys.stderr)
"""
STATUS = {"broke": -6, "killed": -9, "failed": 1}


def dies(data: Path, *deaths: Sequence[str]) -> None:
    """Processes one after the other: how each ends, and what it has under way then."""
    words = [sys.executable, "-c", PROCESS, str(data), json.dumps(deaths)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stderr.splitlines()
    ends = [int(line) for line in said if line.lstrip("-").isdecimal()]
    assert ends == [STATUS[end] for end, *_ in deaths], said


def work(name: str) -> ActivityWork:
    return ActivityWork("run", name, "tool", "flow/1")


def runs(data: Path, name: str) -> bool:
    """True where the next process runs it."""
    with registered(data) as register:
        assert register is not None
        try:
            register.trying(work(name))
        except SetAside:
            return False
        return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("deaths", "left"),
    [
        (["broke"], True),
        (["broke", "broke"], False),
        (["killed", "broke"], False),
        (["broke", "killed"], True),
        (["killed", "killed"], True),
        (["killed", "killed", "killed"], False),
        (["failed"] * 4, True),
    ],
)
def test_what_processes_die_of_is_set_aside(tmp_path: Path, deaths: list[str], left: bool) -> None:
    dies(tmp_path, *([end, "deadly"] for end in deaths))
    assert [runs(tmp_path, "deadly"), runs(tmp_path, "other")] == [left, True]


@pytest.mark.slow
def test_what_was_only_there_is_not_to_blame(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dies(tmp_path, *(["broke", "deadly", f"passing by {number}"] for number in range(2)))
    assert not runs(tmp_path, "deadly")
    assert all(runs(tmp_path, f"passing by {number}") for number in range(2))
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert said == ["tool of flow/1 is set aside: 2 processes died while it was under way"]
    assert "Aborted" in caplog.text  # the trace that the process left


@pytest.mark.slow
def test_of_two_that_were_there_twice_the_one_that_does_it_alone_is_to_blame(
    tmp_path: Path,
) -> None:
    dies(tmp_path, *[["broke", "deadly", "lengthy"]] * 2)
    assert runs(tmp_path, "deadly")
    assert runs(tmp_path, "lengthy")
    dies(tmp_path, ["broke", "deadly"])
    assert not runs(tmp_path, "deadly")
    assert runs(tmp_path, "lengthy")


@pytest.mark.slow
async def test_suspects_run_one_after_the_other_and_others_beside_them(tmp_path: Path) -> None:
    await asyncio.to_thread(dies, tmp_path, *[["killed", "one", "two"]] * 2)
    at_work: list[str] = []
    two_are, go_on = asyncio.Event(), asyncio.Event()

    async def have(register: ActivityRegister, name: str) -> None:
        async with register.trying(work(name)):
            at_work.append(name)
            if len(at_work) > 1:
                two_are.set()
            await go_on.wait()

    with registered(tmp_path) as register:
        assert register is not None
        tasks = [asyncio.create_task(have(register, name)) for name in ("one", "two", "new")]
        await two_are.wait()
        assert at_work == ["one", "new"]
        go_on.set()
        await asyncio.gather(*tasks)
    assert at_work == ["one", "new", "two"]


@pytest.mark.slow
def test_a_process_that_lives_is_not_counted_among_the_dead(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PROCESS, str(tmp_path), '[["lives", "slow"]]']
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as living:
        assert living.stdout is not None
        assert living.stdout.read(2) == b"up"
        dies(tmp_path, *[["killed", "quick"]] * 3)
        assert [runs(tmp_path, "slow"), runs(tmp_path, "quick")] == [True, False]
        living.communicate()
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [TALLY]


@pytest.mark.slow
async def test_others_that_run_already_hear_of_it(tmp_path: Path) -> None:
    with registered(tmp_path) as register:
        assert register is not None
        await asyncio.to_thread(dies, tmp_path, *[["broke", "deadly"]] * 2)
        register.trying(work("deadly"))
        assert not runs(tmp_path, "deadly")  # which is a start, and counts
        with pytest.raises(SetAside, match="died of this step 2 times"):
            register.trying(work("deadly"))


async def test_what_is_more_than_can_be_noted_runs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crashes, "SIZE", crashes.SLOT)
    with registered(tmp_path) as register:
        assert register is not None
        async with register.trying(work("one")), register.trying(work("長" * 300)):
            pass


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["", "{", "[]", '{"run/one": {"colour": 1}}'])
def test_a_damaged_tally_is_begun_anew(tmp_path: Path, damage: str) -> None:
    dies(tmp_path, *[["broke", "one"]] * 2)
    (tmp_path / FOLDER / TALLY).write_text(damage)
    assert runs(tmp_path, "one")


def test_where_nothing_can_be_noted_work_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FOLDER).write_text("no folder")
    with registered(tmp_path) as register:
        assert register is None
    assert "can't be told" in caplog.text
