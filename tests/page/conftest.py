from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser
from temporalio.client import Client

from router.runtime.composition import Parts
from router.runtime.worker import build_worker
from tests.page.house import QUEUE, Door, Served, Visitor, chromium
from tests.workflow.conftest import parts

__all__ = ["parts"]


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """One browser, one server: all of them in one process, before it is said which goes where."""
    for item in items:
        if "tests/page/" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("page"))
    yield


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
async def real_client(parts: Parts, temporal_client: Client) -> AsyncIterator[Client]:
    async with build_worker(temporal_client, parts, QUEUE):
        yield temporal_client


@pytest.fixture(scope="session")
async def served(parts: Parts, real_client: Client) -> AsyncIterator[Served]:
    """The house as it ships, without a model."""
    async with Served(parts, real_client, QUEUE) as served:
        yield served


@pytest.fixture
async def door(browser: Browser) -> AsyncIterator[Door]:
    """Where people come in; whose browsers may have nothing to complain of."""
    door = Door(browser)
    yield door
    assert await door.close() == []


@pytest.fixture
async def alice(door: Door, served: Served) -> Visitor:
    return await (await door.visitor(served)).come("王丽 Alice")


@pytest.fixture
async def bob(door: Door, served: Served) -> Visitor:
    return await (await door.visitor(served)).come("陈博 Bob")
