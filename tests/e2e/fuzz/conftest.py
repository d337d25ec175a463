import re
from collections.abc import Iterator

import pytest

from tests.e2e.house import House, Person


@pytest.fixture(scope="session")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house of its own: what is left in it when this is over, nobody wants to meet."""
    house = House(tmp_path_factory.mktemp("fuzzed") / "data").start()
    yield house
    assert house.stop() == 0
    assert not re.search(r"ERROR +router\.", house.log())


@pytest.fixture(scope="session")
def requests_waiting(fuzzed: House) -> House:
    """Requests of those in whose name Schemathesis calls, so that there are runs and approvals."""
    for name in ("frank", "bob"):
        chat = Person(fuzzed, name).chat()
        slots = {"leave_type": "personal", "start": "2027-02-01", "end": "2027-02-01"}
        chat.act_start("leave_request", {**slots, "reason": "a day off"})
        assert chat.act("confirm", True)["flow"]["status"] == "waiting_approval"
    return fuzzed
