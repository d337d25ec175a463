"""Drawing a flow for the terminal: from a file or by its name, perhaps with a run's way on it."""

from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from sqlalchemy.engine import make_url

from router.definitions import load_catalog, load_registry
from router.directory.sources import people_of
from router.documents.faults import nearest
from router.domain.errors import Conflict, NotFound
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import RunRecord
from router.domain.texts import Locale
from router.drawing import graph_of, journey_of, mermaid_of, svg_of
from router.flow.loader import load_flow
from router.flow.model import FlowDefinition
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store

Format = Literal["mermaid", "svg"]
_WRITERS = {"mermaid": mermaid_of, "svg": svg_of}


async def drawn(
    settings: Settings, name: str, picture: Format, locale: Locale, run: str | None
) -> str:
    """The picture of a flow; with a run's way, read from the store: no server is needed.

    Raises:
        NotFound: there is no such flow, or no such run.
        Conflict: the run is of another flow, or of another version of it.
        DefinitionError: with every problem of the file.
    """
    definition = _definition(settings, name)
    graph = graph_of(definition, locale)
    if run is None:
        return _WRITERS[picture](graph, None)
    record = await _record(settings, run)
    _check_same(definition, record)
    everyone = {one.id: one for one in people_of(settings).everyone()}
    requester = everyone.get(record.requester)
    zone = ZoneInfo(requester.timezone if requester else "UTC")
    return _WRITERS[picture](graph, journey_of(definition, record.history, zone))


def _definition(settings: Settings, name: str) -> FlowDefinition:
    registry = load_registry(settings)
    if name.endswith((".yaml", ".yml")) or Path(name).is_file():
        return load_flow(Path(name), registry.parameters())
    catalog = load_catalog(settings, registry)
    found = catalog.get(name)
    if found is None:
        known = [flow.flow for flow in catalog]
        remedy = nearest(name, known) or f"there are {', '.join(known)}, or name a .yaml file"
        raise NotFound(f"there is no flow {name}: {remedy}")
    return found


async def _record(settings: Settings, run: str) -> RunRecord:
    _check_there(settings)
    database = Database(settings.database_url)
    try:
        await database.migrate()
        record = await Store(database).runs.find(DEFAULT_TENANT, run)
    finally:
        await database.dispose()
    if record is None:
        raise NotFound(f"{database} has no flow run {run!r}: see GET /v1/flow-runs for their ids")
    return record


def _check_there(settings: Settings) -> None:
    """Make no database where there is none."""
    path = make_url(settings.database_url).database
    if settings.uses_sqlite and not Path(path or "").exists():
        raise NotFound(f"there are no runs at {path} yet: set ROUTER_DATABASE_URL, or name --data")


def _check_same(definition: FlowDefinition, record: RunRecord) -> None:
    """A way is drawn on what was walked, or not at all."""
    if record.flow != definition.flow:
        raise Conflict(f"the run {record.id} is of {record.flow}: draw that one")
    if record.version != definition.version:
        raise Conflict(
            f"the run {record.id} began with version {record.version} of {record.flow}, "
            f"and this is version {definition.version}: draw the earlier file, or "
            f"GET /v1/flow-runs/{record.id}/graph"
        )
