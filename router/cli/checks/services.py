"""Checks of what runs elsewhere: the database, Temporal, and models."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import groupby

from sqlalchemy import Connection
from temporalio.api.workflowservice.v1 import DescribeWorkerDeploymentRequest
from temporalio.client import Client

from router.cli.options import absent_database
from router.contracts.start_options import SEARCH_ATTRIBUTES
from router.directory.sources import people_of
from router.directory.tenants import Tenants
from router.domain.errors import MisconfiguredError, Unavailable
from router.domain.principals import Directory
from router.domain.records import Orphaned
from router.gateway import failing_workflows
from router.gateway.builds import is_polled, stranded
from router.gateway.generations import halves
from router.gateway.lost_runs import REMEDY, misfits
from router.llm.client import ChatModel
from router.llm.protocols import DEFAULT
from router.llm.servers import ServerMemory
from router.llm.types import AccessRefused, ChatRequest, Function, ModelRefused, UserMessage
from router.runtime.composition import SERVERS
from router.runtime.configuration_kinds import ConfigurationKinds
from router.runtime.definitions import load_capabilities
from router.runtime.editions import drafted
from router.runtime.model_protocols import load_protocols
from router.runtime.tables import aged_rows, all_migrations
from router.runtime.temporal import (
    certificate_of,
    check_namespace,
    connect,
    missing_from,
    temporal_says,
)
from router.runtime.upkeep import check_keys
from router.settings import ROLES, ModelAccess, Settings
from router.settings.models import ADDRESSES
from router.store.columns import moment_there
from router.store.database import Database, is_usable
from router.store.document_versions import ConfigurationStore
from router.store.flow_runs import left_behind, orphaned
from router.store.identity import HealthChecks, Houses, KeySeals
from router.store.retention import Retention
from router.store.store import Store
from router.store.tables import ROUTER

SECONDS = 5.0
CLOCKS_APART = 60.0
ENDS_SOON = timedelta(days=7)


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Database]:
    """The settings' database, let go of on leaving."""
    database = Database(settings.database_url)
    try:
        yield database
    finally:
        await database.dispose()


async def database(settings: Settings) -> str:
    """The database answers and takes rows, and its tables are those of this version."""
    if absent := absent_database(settings):
        return f"{absent} will be made by the first start"
    database = Database(settings.database_url)
    try:
        async with asyncio.timeout(SECONDS):
            current = await database.read(lambda connection: _are_current(connection, settings))
            if current:
                await HealthChecks(database).write("doctor")
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


def _are_current(connection: Connection, settings: Settings) -> bool:
    return all(is_usable(connection, each) for each in all_migrations(settings))


async def clock(settings: Settings) -> str:
    """This machine's clock is that of the database, or nearly."""
    if absent_database(settings):
        return "nothing to compare it with"
    async with _opened(settings) as database:
        apart = (datetime.now(UTC) - await database.read(moment_there)).total_seconds()
    if abs(apart) > CLOCKS_APART:
        raise MisconfiguredError(
            f"this machine's clock is {abs(apart):.0f} s {'ahead of' if apart > 0 else 'behind'} "
            "the database's: set it by a time server, and start what runs here again"
        )
    return "as the database's"


async def retention(settings: Settings) -> str:
    """No more would expire at once than goes as a rule."""
    days = settings.retention_days
    if days is None or absent_database(settings):
        return "nothing expires" if days is None else f"after {days} days"
    async with _opened(settings) as database:
        if not await database.read(lambda connection: _are_current(connection, settings)):
            return "not looked at: the tables aren't those of this version"
        await Retention(database, aged_rows(settings)).check(days)
    return f"after {days} days"


async def documents(settings: Settings) -> str:
    """What tenants have of their own in the database fits what there is in files here."""
    if absent_database(settings):
        return "none"
    async with _opened(settings) as database:
        if not await database.read(lambda connection: is_usable(connection, ROUTER)):
            return "not looked at: the tables aren't those of this version"
        held = await ConfigurationStore(database).active()
    offered = load_capabilities(settings)
    tenants, kinds = Tenants.load(settings.tenants, settings.persona), ConfigurationKinds(settings)
    told, unfit = list[str](), list[str]()
    for tenant, own in groupby(held, key=lambda each: each.tenant):
        mine = [*own]
        draft = drafted(settings, offered, mine, tenant, tenants.entry(tenant), kinds)
        told.append(f"{len(mine)} of {tenant}")
        unfit += (f"{tenant}: {problem}" for problem in draft.problems)
    if unfit:
        remedy = "until then what they were last is used; see `intent-router config list`"
        raise MisconfiguredError("\n".join([*unfit, remedy]))
    return ", ".join(told) or "none"


async def payload_keys(settings: Settings) -> str:
    """Each payload key is the one that the house has by that id, and none is missing yet."""
    ids = ", ".join(settings.payload_keys.keys)
    said = ids or "none: what Temporal keeps isn't encrypted"
    if absent_database(settings):
        return said
    async with _opened(settings) as database:
        await check_keys(settings, KeySeals(database))
        known = await KeySeals(database).known()
    gone = [id_ for id_ in known if id_ not in settings.payload_keys.keys]
    # What began since the current key was there is, as a rule, encrypted with it.
    since = known.get(settings.payload_keys.current) if ids else None
    if gone and (older := await _begun_before(settings, since)):
        began = f" that began before {since:%Y-%m-%dT%H:%M:%SZ}" if since else ""
        raise MisconfiguredError(
            f"{older} workflows{began} go on and may need the keys {', '.join(gone)}, which this "
            "house had and ROUTER_PAYLOAD_KEYS hasn't: put them back, behind the others, until "
            "those have ended; where a key is lost for good, see docs/operations.md"
        )
    return said


async def _begun_before(settings: Settings, moment: datetime | None) -> int:
    """How many workflows go on that began before then; all, without a moment."""
    began = f" AND StartTime < '{moment.isoformat()}'" if moment else ""
    client = await _client(settings)
    with temporal_says():
        return (await client.count_workflows(f"ExecutionStatus = 'Running'{began}")).count


async def approvals(settings: Settings) -> str:
    """Whoever an approval waits for is somebody in the directory."""
    return await _of_people(settings, orphaned, _orphaned, "they wait for people in the directory")


async def requests(settings: Settings) -> str:
    """Whoever a request is of that goes on is somebody in the directory."""
    well = "those under way are of people in the directory"
    return await _of_people(settings, left_behind, _left_behind, well)


async def _of_people(
    settings: Settings,
    look: Callable[[Database, Directory], Awaitable[list[Orphaned]]],
    told: Callable[[Orphaned], str],
    well: str,
) -> str:
    """That it is `well`; raises `MisconfiguredError` with each that is of nobody."""
    if absent_database(settings):
        return "none yet"
    people = people_of(settings)
    async with _opened(settings) as database:
        found = await look(database, people)
    if found:
        raise MisconfiguredError("\n".join(map(told, found)))
    return well


def _left_behind(found: Orphaned) -> str:
    return (
        f"{found.person} of {found.tenant} isn't in the directory, and requests of theirs go on "
        f"({found.count}): `intent-router runs list --requester {found.person}` lists them, and "
        f"`runs terminate --requester {found.person} --yes` ends them"
    )


def _orphaned(found: Orphaned) -> str:
    return (
        f"{found.person} of {found.tenant} isn't in the directory, and approvals wait for them "
        f"({found.count}): have somebody else decide with `intent-router runs reassign --from "
        f"{found.person} --to …`"
    )


async def temporal(settings: Settings) -> str:
    """The Temporal server answers, and takes what it is shown."""
    await _client(settings)
    said = f"answers at {settings.temporal_address}"
    if settings.is_temporal_over_tls:
        said += " over TLS"
    if settings.temporal_api_key is not None:
        said += " with an API key"
    if (own := certificate_of(settings)) is not None:
        name, ends = own.subject.rfc4514_string(), own.not_valid_after_utc
        said += f" with the certificate of {name}, which ends on {ends:%Y-%m-%d}"
        if ends < datetime.now(UTC) + ENDS_SOON:
            raise MisconfiguredError(f"{said}: have a new one signed, and start everything again")
    return said


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
    """Somebody polls every queue that work is sent to, of a build that takes new work."""
    client = await _client(settings)
    with temporal_says():
        now = datetime.now(UTC)
        idle = [queue for queue in settings.queues if not await is_polled(client, queue, now)]
    if idle:
        raise MisconfiguredError(
            f"nobody polls {', '.join(idle)}: start `intent-router worker`, without --queues or "
            "with the kind of work that is missing"
        )
    return f"somebody polls {', '.join(settings.queues)}"


async def worker_builds(settings: Settings) -> str:
    """No run waits for a worker of a build that nobody runs any more."""
    client = await _client(settings)
    with temporal_says():
        deployment, queues = settings.worker_deployment, settings.queues
        found = await stranded(client, deployment, queues, datetime.now(UTC))
    if found:
        raise MisconfiguredError("\n".join(map(str, found)))
    return "no run waits for a build without a worker"


async def runs(settings: Settings) -> str:
    """Every run that goes on by the database does so in Temporal, and no other."""
    if absent := absent_database(settings):
        return f"none: {absent} will be made by the first start"
    client = await _client(settings)
    async with _opened(settings) as database:
        with temporal_says():
            found = await misfits(client, Store(database).runs, settings.task_queue)
    if found:
        raise MisconfiguredError("\n".join([*map(str, found), REMEDY]))
    return "the database and Temporal agree on what goes on"


async def workflows(settings: Settings) -> str:
    """No workflow stands still because its task fails again and again."""
    client = await _client(settings)
    with temporal_says():
        found = await failing_workflows.find_failing_workflows(client, settings.task_queue)
    if found.total:
        raise MisconfiguredError(f"{found.describe(quoting=True)}\n{failing_workflows.REMEDY}")
    return "no workflow's task fails again and again"


async def two_halves(settings: Settings) -> str:
    """The database and Temporal are of one house, and of one moment."""
    if absent := absent_database(settings):
        return f"{absent} will be made by the first start"
    client = await _client(settings)
    async with _opened(settings) as database:
        with temporal_says():
            found = await halves(client, Houses(database), settings.task_queue)
    if found.trouble:
        raise MisconfiguredError(found.trouble)
    return "the database and Temporal are of one moment"


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


class TemporalNotRunning(Unavailable):
    """No Temporal server answers, and the settings name none: `dev` starts its own."""


async def _client(settings: Settings) -> Client:
    try:
        async with asyncio.timeout(SECONDS):
            return await connect(settings)
    except (TimeoutError, Unavailable) as error:
        if "temporal_address" not in settings.model_fields_set:
            raise TemporalNotRunning(
                "no Temporal server runs here: `intent-router dev` starts its own; for `serve` and "
                "`worker`, start one and set ROUTER_TEMPORAL_ADDRESS"
            ) from None
        if isinstance(error, Unavailable):
            raise
        raise Unavailable(
            f"no Temporal server answers at ROUTER_TEMPORAL_ADDRESS={settings.temporal_address}: "
            "correct it, or start one (`intent-router dev` brings its own)"
        ) from None


MODEL_SECONDS = 30.0
"""A small model on a small machine takes that long for its first word."""

_SAY = Function(
    name="say",
    description="Say one word.",
    parameters={
        "type": "object",
        "properties": {"word": {"type": "string", "maxLength": 20}},
        "required": ["word"],
    },
)
_ENDS = {
    "anthropic": "which is the server alone (https://api.anthropic.com), without /v1/messages",
    "gemini": "which is the server alone (https://generativelanguage.googleapis.com)",
}
_WAYS = {
    "functions": "functions",
    "json_schema": "a JSON schema",
    "json_object": "a JSON object",
    "text": "plain text",
}


async def model(settings: Settings) -> str:
    """Every model that is configured answers; what its server refuses is remembered."""
    load_protocols(settings)
    accesses = settings.models
    if not accesses:
        return _none(settings)
    for own in (*map(settings.model_of, ROLES), settings.escalation):
        if own is not None and own not in accesses:
            accesses.append(own)
    memory = ServerMemory(settings.data / SERVERS)
    return "\n".join([await _probed(access, memory) for access in accesses])


def _none(settings: Settings) -> str:
    """Without a model rules decide; half of one is a slip."""
    if settings.llm_model:
        whose = ADDRESSES[settings.llm_protocol]
        raise MisconfiguredError(
            f"{settings.describe('llm_model')} is nowhere: set ROUTER_LLM_BASE_URL to its "
            f"server's address, or ROUTER_LLM_API_KEY for {whose}"
        )
    if settings.llm_base_url or settings.llm_api_key:
        given = _given_of_model(settings)
        said = f"none: {given} is set, and ROUTER_LLM_MODEL isn't"
        if not given.startswith("OPENAI_"):
            raise MisconfiguredError(f"{said}: set it to the model's name")
        return f"{said}; set it to the model's name, or rules decide alone"
    return "none configured: rules decide, and offer what can be done"


def _given_of_model(settings: Settings) -> str:
    """Return the variable, or the line of the project's file, that sets a key or an address."""
    half = "llm_api_key" if settings.llm_api_key else "llm_base_url"
    ours, theirs = f"ROUTER_{half}".upper(), half.replace("llm", "openai").upper()
    set_ = {name.upper() for name, value in settings.environment.items() if value}
    named = next((name for name in (ours, f"{ours}_FILE", theirs) if name in set_), None)
    return named or settings.describe(half)


async def _probed(access: ModelAccess, memory: ServerMemory) -> str:
    chat = ChatModel(
        access.base_url,
        access.model,
        access.api_key,
        memory,
        spoken=access.protocol,
        options=access.options,
    )
    asked = UserMessage(text="Call the function say with the word yes.")
    probe = ChatRequest(messages=(asked,), functions=(_SAY,), max_tokens=64)
    try:
        answer = await chat.answer(probe, MODEL_SECONDS)
    except ModelRefused as error:
        end = _ENDS.get(access.protocol, "which mostly ends with /v1")
        remedy = f"correct ROUTER_LLM_MODEL and ROUTER_LLM_BASE_URL, {end}"
        if isinstance(error, AccessRefused):
            remedy = "correct ROUTER_LLM_API_KEY, or see that it may use this model"
        raise MisconfiguredError(f"{error}; {remedy}") from error
    finally:
        await chat.aclose()
    said = f"{chat.endpoint} answers as {answer.model}, asked by {_WAYS[answer.how]}"
    if access.protocol != DEFAULT:
        said = f"{said} ({access.protocol})"
    if not any(call.known for call in answer.calls):
        said += ", but it called nothing: expect it to decide little"
    if unfit := memory.unfit(chat.endpoint):
        said += f", for it failed on functions until {unfit.since.date()}: tried again from "
        return f"{said}{unfit.until.date()} on, or once {SERVERS} in the data folder is deleted"
    refused = ", ".join(sorted(memory.refused(chat.endpoint)))
    return f"{said}; it refuses {refused}" if refused else said
