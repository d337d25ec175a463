"""Fixtures of documents that are laid over the shipped files."""

import pytest

from activities.capabilities import Capabilities
from router.runtime.definitions import load_capabilities
from router.settings import Settings
from tests.unit.runtime.documents import Desk


@pytest.fixture(scope="module")
def settings() -> Settings:
    return Settings(_env_file=None)


@pytest.fixture(scope="module")
def house(settings: Settings) -> Capabilities:
    return load_capabilities(settings)


@pytest.fixture
def desk(settings: Settings, house: Capabilities) -> Desk:
    return Desk(settings, house)
