"""Everything dies or is cut off while people work: nothing is lost, doubled or left behind.

`bench/chaos.py` is the same with five hundred conversations.
"""

import tempfile
from pathlib import Path

import pytest

from tests.e2e.chaos.crowd import Plan
from tests.e2e.chaos.storm import chaos
from tests.postgres import MISSING, binaries

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dev")]


async def test_nothing_is_lost_or_doubled_when_each_process_is_killed() -> None:
    if binaries() is None:
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to PostgreSQL's user
        outcome = await chaos(Plan(conversations=20, kills=4), Path(folder))
    kills = {name for name in outcome.blows if name.startswith("kill")}
    assert kills == {"kill api", "kill worker", "kill temporal", "kill database"}
    assert outcome.good, outcome.table()
