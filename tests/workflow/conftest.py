from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from decimal import Decimal
from functools import partial

import httpx
import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from company.people.people import human_resources
from company.people.records import Owner
from router.domain.principals import DEFAULT_TENANT
from router.gateway import generations
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from router.story_runner.runner import skip
from tests.fakes.model_server import ModelServer
from tests.servers import process_name
from tests.workflow.desk import QUEUE, Approver, Talk, person, skipping
from tests.workflow.test_streaming import served
from tests.workflow.tooled import Tooled, talking

# A server that is busy with other tests takes its time to change a namespace.
vars(generations)["_PATIENCE"] = timedelta(seconds=60)

Passing = Callable[..., Awaitable[None]]
"""Lets time pass, as much as a `timedelta` of the same arguments."""


@pytest.fixture(scope="session")
async def parts(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Parts]:
    data = tmp_path_factory.mktemp("data")
    settings = Settings.load(data=data, temporal_namespace=process_name())
    async with at_work(settings) as parts:
        alice = Owner(tenant=DEFAULT_TENANT, person="alice")
        people = await parts.dependencies.resolve(human_resources)
        for year in (2026, 2027):
            # She asks for leave in every other test: whether she has any isn't for their order.
            await people.leave.entitle(alice, "annual", year, Decimal(365))
        yield parts


@pytest.fixture(scope="session")
async def environment(parts: Parts) -> AsyncIterator[WorkflowEnvironment]:
    async with skipping(parts) as environment:
        yield environment


@pytest.fixture(scope="session")
async def real_client(parts: Parts, temporal_client: Client) -> AsyncIterator[Client]:
    """A client of the server that `dev` runs, whose clock nobody moves."""
    async with build_worker(temporal_client, parts, QUEUE):
        yield temporal_client


@pytest.fixture
def passing(environment: WorkflowEnvironment) -> Passing:
    return lambda **time: skip(environment, timedelta(**time))


@pytest.fixture
async def api(parts: Parts, real_client: Client) -> AsyncIterator[httpx.AsyncClient]:
    """Alice's connection to the API."""
    async with served(parts, real_client, QUEUE) as client:
        yield client


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Client:
    """A client of the real server, or of the one whose clock a test moves if it moves one."""
    if "environment" in request.fixturenames:
        environment: WorkflowEnvironment = request.getfixturevalue("environment")
        return environment.client
    real_client: Client = request.getfixturevalue("real_client")
    return real_client


@pytest.fixture
async def talk(client: Client, parts: Parts) -> Talk:
    """A conversation of alice's."""
    return await Talk(client, parts, await person(parts, "alice")).open()


@pytest.fixture
def bob(client: Client, parts: Parts) -> Approver:
    return Approver(client, parts, "bob")


@pytest.fixture
def carol(client: Client, parts: Parts) -> Approver:
    return Approver(client, parts, "carol")


@pytest.fixture
def tooled(real_client: Client, parts: Parts) -> Tooled:
    """Opens houses of their own for a test's tools, skills, flows and scripted model."""
    return partial(talking, real_client, parts)
