"""An extension of another distribution adds routes, workflows, activities, metrics, and work in
the background."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.acme_badges.background import ENDED, RUNS
from tests.e2e.house import House, Person

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parent
ROOT = TESTS.parents[1]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A `dev` where the distribution is installed, as `pip install` does it."""
    shutil.copytree(TESTS / "acme_badges", tmp_path / "acme_badges")
    info = tmp_path / "acme_badges-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: acme-badges\nVersion: 0.1.0\n")
    points = "[intent_router.extensions]\nbadges = acme_badges:BadgeExtension\n"
    (info / "entry_points.txt").write_text(points)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    house = House(tmp_path / "data", variables={"PYTHONPATH": path}).start()
    yield house
    if house.process is not None and house.process.poll() is None:
        house.stop()


def test_its_workflow_runs_beside_a_conversation_and_what_it_runs_stops_with_the_processes(
    house: House,
) -> None:
    alice = Person(house, "alice")
    notes = [house.data / "api.txt", house.data / "worker.txt"]
    assert [note.read_text() for note in notes] == [RUNS, RUNS]

    before = alice.days_left()
    printed = alice.post("/v1/badges/7")
    after = alice.days_left()

    assert printed.json() == "7 printed at default"
    assert before == after
    metrics = httpx.get(house.metrics, trust_env=False).text
    assert 'badges_printed_total{site="default"} 1.0' in metrics
    assert house.stop() == 0
    assert [note.read_text() for note in notes] == [ENDED, ENDED]
