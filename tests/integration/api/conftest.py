"""The API over a real Temporal server, a real SQLite file and the sample directory."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from httpx import AsyncClient, Response
from pydantic import JsonValue
from temporalio.client import Client
from temporalio.worker import Worker

from router.api.dependencies import Services
from router.directory.file import FileDirectory
from router.domain.commands import StartFlow
from router.domain.locale import Localised
from router.domain.messages import Message, Route
from router.domain.principals import Capability, Principal
from router.domain.webhook_events import EVENTS, WebhookSubscription
from router.flow.definition import FlowDefinition
from router.flow.paused import Situation
from router.retrieval.index import CapabilityIndex
from router.routing.prompts import Prompts
from router.runtime.configuration_kinds import ConfigurationKinds
from router.runtime.definitions import load_capabilities, tenants_of
from router.runtime.server import GRACE, ApiServer, create_app
from router.runtime.tenant_configuration import Configuration, HouseConfiguration
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store
from router.understanding.reader import Reader
from router.understanding.reading import PatternHit, Reading
from tests.databases import migrate
from tests.fakes.clock import Clock
from tests.fakes.encoder import PairsEncoder
from tests.integration.api.workflows import EchoConversation, OneApprovalFlow
from tests.unit.understanding.flows import LEAVE
from tests.waiting import HANGS_AFTER_S
from workflows.document import DocumentWorkflow

QUEUE = "api-tests"
TOLD = WebhookSubscription("https://told.example/hooks?key=1", frozenset(EVENTS))
"""Another system that wants to hear of everything, and that nobody tells."""
PROBLEM = "application/problem+json"


class Offering:
    """Capabilities, by role."""

    def __init__(self, *capabilities: Capability) -> None:
        self.offered = capabilities

    def of(self, _: str, person: str | None = None) -> "Offering":
        return self

    def visible_to(self, person: Principal) -> Sequence[Capability]:
        return [c for c in self.offered if person.may(c.roles)]

    def choosable_by(self, person: Principal) -> Sequence[Capability]:
        return [c for c in self.visible_to(person) if c.by_model]

    def startable(self, name: str, person: Principal) -> FlowDefinition | None:
        forms = {"leave_request", "audit", "get_leave_balance"}
        usable = forms & {c.name for c in self.visible_to(person)}
        return LEAVE if name in usable else None

    def title_of(self, tool: str) -> Localised | None:
        return next((c.title for c in self.offered if (c.kind, c.name) == ("tool", tool)), None)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.offered)

    def look_ups(self) -> frozenset[str]:
        return frozenset({"get_current_time"})

    def definition(self, name: str) -> FlowDefinition | None:
        return LEAVE if name == LEAVE.flow else None

    def result_problems(self, name: str, result: JsonValue) -> list[str]:
        return [] if isinstance(result, dict) else [f"result: isn't what {name} gives"]


class LeaveReader:
    """Takes what mentions leave for the beginning of a leave request."""

    def of(self, _: str, person: str | None = None) -> "LeaveReader":
        return self

    def read(self, message: Message, situation: Situation) -> Reading:
        text = message.text or ""
        at = text.find("请假")
        if at < 0:
            return Reading(normalised=text)
        return Reading(
            normalised=text,
            patterns=[PatternHit(flow="leave_request", pattern="请假", span=(at, at + 2))],
            route=Route(kind="flow", target="leave_request", by="pattern", reason="请假"),
            commands=[StartFlow(flow="leave_request", slots={"leave_type": "annual"})],
        )


def capability(kind: str, name: str, *roles: str, **more: bool | str) -> Capability:
    title = Localised(zh=f"{name} 中文", en=f"{name} English")
    return Capability.model_validate(
        {"kind": kind, "name": name, "title": title, "description": title, "roles": roles}
        | {"examples": (f"办 {name}", f"do {name}"), **more}
    )


@pytest.fixture(scope="session")
async def temporal(temporal_client: Client) -> AsyncIterator[Client]:
    """A real server with a worker that runs the test workflows."""
    workflows = [EchoConversation, OneApprovalFlow, DocumentWorkflow]
    async with Worker(temporal_client, task_queue=QUEUE, workflows=workflows):
        yield temporal_client


@pytest.fixture(scope="session")
async def store(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Store]:
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('api')}/router.db")
    await migrate(database)
    yield Store(database, [TOLD])
    await database.dispose()


@pytest.fixture(scope="session")
async def services(temporal: Client, store: Store) -> Services:
    offering = Offering(
        capability("flow", "leave_request"),
        capability("flow", "audit", "hr"),
        capability("skill", "policy-advisor"),
        capability("skill", "named-alone", "hr", by_model=False, hint="[week]"),
        capability("skill", "untold", "hr", by_name=False),
        capability("tool", "get_leave_balance"),
        capability("tool", "locate", client=True),
        capability("tool", "tangle"),
    )
    return await services_over(temporal, store, offering, 100_000)


async def services_over(
    temporal: Client, store: Store, offering: Offering, requests_per_minute: int
) -> Services:
    """What an API is made of that offers this, with the sample directory and no model."""
    index = CapabilityIndex(PairsEncoder())
    await index.update(offering.offered)
    settings = Settings(
        task_queue=QUEUE, user_requests_per_minute=requests_per_minute, _env_file=None
    )
    house = house_of(settings)
    return Services(
        settings=settings,
        temporal=temporal,
        store=store,
        directory=FileDirectory.load(),
        offered=offering,
        reader=LeaveReader(),
        index=index,
        prompts=Prompts.load(),
        configuration=Configuration(house, store),
    )


def house_of(settings: Settings) -> HouseConfiguration:
    """What the shipped files come to, for documents to be laid over it."""
    offered = load_capabilities(settings)
    tenants = tenants_of(settings)
    return HouseConfiguration(
        settings,
        offered,
        Reader([]),
        CapabilityIndex(None),
        tenants,
        has_model=True,
        kinds=ConfigurationKinds(settings),
        people=lambda _: FileDirectory.load().everyone(),
    )


@pytest.fixture(scope="session")
def app(services: Services) -> FastAPI:
    return create_app(services)


As = Callable[[str], AsyncClient]


def client_of(app: FastAPI, user: str | None) -> AsyncClient:
    return AsyncClient(
        transport=httpx.ASGITransport(app, raise_app_exceptions=False),
        base_url="http://localhost",
        headers={"Authorization": f"Bearer {user}"} if user else {},
        timeout=60,
    )


def desk(services: Services, user: str | None = None, **settings: Any) -> AsyncClient:
    """A client of an API of its own, some of whose settings are others."""
    changed = services.settings.model_copy(update=settings)
    return client_of(create_app(replace(services, settings=changed)), user)


@asynccontextmanager
async def served(app: FastAPI, unread: int | None = None) -> AsyncIterator[str]:
    """The application behind a real server; its address.

    The system keeps so many bytes of what a client doesn't read: megabytes, where nothing is said.
    """
    server = ApiServer(app, GRACE)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        if unread is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, unread)
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.stop()
            await serving


@pytest.fixture(scope="session")
async def address(app: FastAPI) -> AsyncIterator[str]:
    async with served(app) as address:
        yield address


@pytest.fixture
async def online(address: str) -> AsyncIterator[AsyncClient]:
    """Alice, over a real socket."""
    headers = {"Authorization": "Bearer alice"}
    async with AsyncClient(base_url=address, headers=headers, timeout=60) as client:
        yield client


async def until(
    ask: Callable[[], Awaitable[Response]], holds: Callable[[Response], bool] = lambda _: False
) -> None:
    """Ask again until it holds, for a minute at most."""
    async with asyncio.timeout(HANGS_AFTER_S):
        while not holds(await ask()):  # noqa: ASYNC110 - it is another program that changes
            await asyncio.sleep(0.05)


def problem(answer: Response, status: int) -> Any:
    """What a refusal of this status says, as a problem."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), answer.text
    assert answer.json()["status"] == status
    return answer.json()


@pytest.fixture
async def caller(app: FastAPI) -> AsyncIterator[As]:
    """Clients by user id."""
    clients: dict[str, AsyncClient] = {}

    def of(user: str) -> AsyncClient:
        return clients.setdefault(user, client_of(app, user))

    yield of
    for client in clients.values():
        await client.aclose()


@pytest.fixture
def alice(caller: As) -> AsyncClient:
    return caller("alice")


@pytest.fixture
async def conversation(alice: AsyncClient) -> str:
    """The path of a new conversation of alice's."""
    answer = await alice.post("/v1/conversations", json={})
    return f"/v1/conversations/{answer.json()['id']}"


@pytest.fixture
def unique() -> str:
    return uuid4().hex


@pytest.fixture
def clock() -> Clock:
    return Clock()
