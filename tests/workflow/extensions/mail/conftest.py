from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
from httpx import AsyncClient
from temporalio.client import Client

from company.people.people import human_resources
from company.people.records import Owner
from router.domain.principals import DEFAULT_TENANT
from router.runtime.composition import Parts
from router.runtime.upkeep import at_work
from router.runtime.worker import build_worker
from router.settings import Settings
from tests.fakes.slack import Slack
from tests.fakes.smtp import MailServer
from tests.workflow.extensions.mail.mail_house import (
    ALICE,
    ANY_TIME,
    BOB,
    MAIL_QUEUE,
    PREFERENCES,
    House,
    with_addresses,
)


@pytest.fixture(scope="module")
async def addressed(
    real_client: Client, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Parts]:
    """The parts of a house whose people have addresses, with a worker of its own."""
    folder = tmp_path_factory.mktemp("mail")
    settings = Settings.load(data=folder, directory=with_addresses(folder))
    async with at_work(settings) as parts:
        people = await parts.dependencies.resolve(human_resources)
        alice = Owner(tenant=DEFAULT_TENANT, person="alice")
        await people.leave.entitle(alice, "annual", 2027, Decimal(365))
        async with build_worker(real_client, parts, MAIL_QUEUE):
            yield parts


@pytest.fixture
async def house(addressed: Parts, real_client: Client) -> AsyncIterator[House]:
    async with MailServer() as mail, Slack() as slack:
        yield House(addressed, real_client, mail, slack)


@pytest.fixture
async def router(house: House) -> AsyncIterator[AsyncClient]:
    async with house.open() as api:
        for person in (ALICE, BOB):
            answer = await api.put(PREFERENCES, json=ANY_TIME, headers=person)
            assert answer.status_code == 200
        yield api
