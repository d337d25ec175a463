from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.house import House, Person


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One `intent-router dev` for all tests that don't break it."""
    house = House(tmp_path_factory.mktemp("house") / "data").start()
    yield house
    assert house.stop() == 0


@pytest.fixture
def own_house(tmp_path: Path) -> Iterator[House]:
    """An `intent-router dev` that a test may kill and start again."""
    house = House(tmp_path / "data").start()
    yield house
    if house.process is not None and house.process.poll() is None:
        house.stop()


@pytest.fixture
def alice(house: House) -> Person:
    return Person(house, "alice")


@pytest.fixture
def bob(house: House) -> Person:
    return Person(house, "bob")


@pytest.fixture
def frank(house: House) -> Person:
    return Person(house, "frank")
