"""Checks of what runs elsewhere: the database and Temporal."""

import asyncio
from pathlib import Path

from sqlalchemy.engine import make_url
from temporalio.api.workflowservice.v1 import DescribeWorkerDeploymentRequest
from temporalio.client import Client

from router.api.polled import is_polled
from router.api.temporal import connect
from router.cli.listing import in_english_only
from router.contracts.search_attributes import SEARCH_ATTRIBUTES
from router.definitions import mcp_servers
from router.dev.registering import check_namespace, missing_from, temporal_says
from router.domain.errors import MisconfiguredError, Unavailable
from router.settings import Settings
from router.store.database import Database
from router.store.migration import ROUTER, is_current
from router.tool.mcp.connection import Away, look
from router.tool.mcp.file import ServerEntry
from router.tool.mcp.tools import Offer
from router.tool.signature import Source

SECONDS = 5.0
MCP_SECONDS = 30.0
"""A package runner fetches a server before it starts it."""


async def database(settings: Settings) -> str:
    """The database answers, and its tables are those of this version."""
    if settings.uses_sqlite and not _file(settings.database_url).exists():
        return f"{_file(settings.database_url)} will be made by the first start"
    database = Database(settings.database_url)
    try:
        async with asyncio.timeout(SECONDS):
            current = await database.read(lambda connection: is_current(connection, ROUTER))
    except TimeoutError:
        raise Unavailable(
            f"the database {database} doesn't answer: see that it runs and that "
            "ROUTER_DATABASE_URL names it"
        ) from None
    finally:
        await database.dispose()
    if not current:
        raise MisconfiguredError(
            f"the tables of {database} aren't those of this version: `intent-router serve` "
            "(or `dev`) brings older ones up to date when it starts; newer ones "
            "need the newer version"
        )
    return f"{database}, up to date"


async def temporal(settings: Settings) -> str:
    """The Temporal server answers."""
    await _client(settings)
    return f"answers at {settings.temporal_address}"


async def namespace(settings: Settings) -> str:
    """The namespace is there."""
    await check_namespace(await _client(settings))
    return settings.temporal_namespace


async def search_attributes(settings: Settings) -> str:
    """Everything that workflows set to be found by is registered, with the right type."""
    client = await _client(settings)
    with temporal_says():
        missing = await missing_from(client)
    if missing:
        raise MisconfiguredError(
            f"{', '.join(missing)} missing or of another type in namespace "
            f"{settings.temporal_namespace}: start `intent-router worker`, which registers them "
            "where it may, or run deploy/temporal-namespace.sh"
        )
    return f"all {len(SEARCH_ATTRIBUTES)} registered"


async def task_queues(settings: Settings) -> str:
    """Somebody polls every queue that work is sent to."""
    client = await _client(settings)
    with temporal_says():
        idle = [queue for queue in settings.queues if not await is_polled(client, queue)]
    if idle:
        raise MisconfiguredError(
            f"nobody polls {', '.join(idle)}: start `intent-router worker`, without --queues or "
            "with the kind of work that is missing"
        )
    return f"somebody polls {', '.join(settings.queues)}"


async def worker_version(settings: Settings) -> str:
    """The build that workers here run is the one that Temporal gives new runs to."""
    if settings.worker_version is None:
        return "none: workers take no part in worker versioning"
    client = await _client(settings)
    name, build = settings.worker_deployment, settings.worker_version
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=name)
    absent = (
        f"no worker of the deployment {name} was ever there: start `intent-router worker` "
        f"with ROUTER_WORKER_VERSION={build}"
    )
    with temporal_says(absent):
        described = await client.workflow_service.describe_worker_deployment(request)
    routing = described.worker_deployment_info.routing_config
    current = routing.current_deployment_version.build_id
    if build not in (current, routing.ramping_deployment_version.build_id):
        raise MisconfiguredError(
            f"nothing new runs on {build}: {current or 'no version'} is current; run `temporal "
            f"worker deployment set-current-version --deployment-name {name} --build-id {build}`"
        )
    return f"{build} of {name} is {'current' if build == current else 'ramping'}"


async def mcp(settings: Settings) -> str:
    """Every MCP server is there, and lists what it has."""
    entries = mcp_servers(settings)
    found = await asyncio.gather(*(_looked(settings, *entry) for entry in entries.items()))
    if not all(fine for fine, _ in found):
        remedy = f"correct {settings.mcp_servers}, or mend the server; the others are used"
        raise MisconfiguredError("\n".join([*(said for _, said in found), remedy]))
    return "\n".join(said for _, said in found) or "none named by ROUTER_MCP_SERVERS"


async def _looked(settings: Settings, name: str, entry: ServerEntry) -> tuple[bool, str]:
    try:
        listing = await look(name, entry, settings.environment, MCP_SECONDS)
    except Away as away:
        return False, f"{name} isn't there: {away}"
    there = f"{name}: {', '.join(tool.name for tool in listing.tools) or 'no tools'}"
    source = Source(str(settings.mcp_servers), 1)
    foreign = in_english_only(Offer(name, entry, listing, (), source).tools())
    return True, f"{there}\n{foreign}" if foreign else there


async def _client(settings: Settings) -> Client:
    try:
        async with asyncio.timeout(SECONDS):
            return await connect(settings)
    except (Unavailable, TimeoutError):
        raise Unavailable(
            f"no Temporal server answers at ROUTER_TEMPORAL_ADDRESS={settings.temporal_address}: "
            "correct it, or start one (`intent-router dev` brings its own)"
        ) from None


def _file(url: str) -> Path:
    return Path(make_url(url).database or "")
