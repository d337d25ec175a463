"""The product as somebody has it who installed the wheel and owns no checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import psutil
import pytest

from tests.e2e.house import House, Person

ROOT = Path(__file__).parents[2]
READY_WITHIN = 10.0
"""Seconds of CPU, of all processes together: a busy machine has no less of those."""


@pytest.mark.slow
def test_dev_is_ready_soon_in_an_empty_folder_and_takes_a_turn(tmp_path: Path) -> None:
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", str(tmp_path)], check=True, cwd=ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    house = House(tmp_path / "data", variables={"PYTHONPATH": str(site)}, folder=empty).start()
    try:
        assert cpu_seconds(house) < READY_WITHIN
        turn = Person(house, "alice").chat().say("我要请年假，下周一到周三，家里有事")
        assert turn["flow"]["status"] == "confirming"
        assert "<title>" in httpx.get(f"{house.url}/").text
        assert list(empty.iterdir()) == []
    finally:
        assert house.stop() == 0


def cpu_seconds(house: House) -> float:
    """What `dev` and everything it started have taken so far."""
    assert house.process is not None
    whole = psutil.Process(house.process.pid)
    times = [one.cpu_times() for one in (whole, *whole.children(recursive=True))]
    return sum(one.user + one.system for one in times)
