"""`intent-router flows`: `validate`, `test` and `graph`."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

import typer

from router.cli.options import DataFolderOption, absent_database, paths_argument, settings_in
from router.directory.sources import people_of
from router.domain.errors import (
    Conflict,
    DefinitionError,
    InvalidInput,
    NotFound,
    Problem,
    RouterError,
    nearest,
)
from router.domain.locale import Locale
from router.domain.principals import DEFAULT_TENANT
from router.domain.records import RunRecord
from router.drawing import bpmn_of, graph_of, journey_of, mermaid_of, svg_of
from router.flow.definition import FlowDefinition
from router.flow.loader import FlowFile, Vocabulary, examine_all, load_flow
from router.runtime.definitions import flow_folder, load_catalog, load_registry, vocabulary
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from router.story import coverage, expectations
from router.story_runner.runner import chosen, run
from router.understanding.triggers.patterns import rivalries

Format = Literal["mermaid", "svg", "bpmn"]
_WRITERS = {"mermaid": mermaid_of, "svg": svg_of}


async def drawn(
    settings: Settings, name: str, picture: Format, locale: Locale, run: str | None
) -> str:
    """The picture of a flow; with a run's way, read from the store: no server is needed."""
    definition = _definition(settings, name)
    if picture == "bpmn":
        if run is not None:
            raise InvalidInput("BPMN has no place for a run's way: use --format svg, or omit --run")
        return bpmn_of(definition, locale)
    graph = graph_of(definition, locale)
    if run is None:
        return _WRITERS[picture](graph, None)
    record = await _record(settings, run)
    # A way is drawn on what was walked, or not at all.
    if record.flow != definition.flow:
        raise Conflict(f"the run {record.id} is of {record.flow}: draw that one")
    if record.version != definition.version:
        raise Conflict(
            f"the run {record.id} began with version {record.version} of {record.flow}, "
            f"and this is version {definition.version}: draw the earlier file, or "
            f"GET /v1/flow-runs/{record.id}/graph"
        )
    everyone = {one.id: one for one in people_of(settings).everyone()}
    requester = everyone.get(record.requester)
    zone = ZoneInfo(requester.timezone if requester else "UTC")
    return _WRITERS[picture](graph, journey_of(definition, record.history, zone))


def _definition(settings: Settings, name: str) -> FlowDefinition:
    registry = load_registry(settings)
    if name.endswith((".yaml", ".yml")) or Path(name).is_file():
        return load_flow(Path(name), vocabulary(registry))
    catalog = load_catalog(settings, registry)
    found = catalog.get(name)
    if found is None:
        known = [flow.flow for flow in catalog]
        remedy = nearest(name, known) or f"there are {', '.join(known)}, or name a .yaml file"
        raise NotFound(f"there is no flow {name}: {remedy}")
    return found


async def _record(settings: Settings, run: str) -> RunRecord:
    if absent := absent_database(settings):
        raise NotFound(
            f"there are no runs at {absent} yet: set ROUTER_DATABASE_URL, or name --data"
        )
    database = Database(settings.database_url)
    try:
        await database.migrate(ROUTER)
        record = await Store(database).runs.find(DEFAULT_TENANT, run)
    finally:
        await database.dispose()
    if record is None:
        raise NotFound(f"{database} has no flow run {run!r}: see GET /v1/flow-runs for their ids")
    return record


@dataclass(frozen=True)
class Validated:
    """Sound flow files, all that is wrong with any and between them, and what might be better."""

    files: list[FlowFile]
    errors: list[Problem]
    warnings: list[Problem]
    between: list[Problem]
    """Of both, what concerns sentences that two flows want."""


def validated(settings: Settings, paths: list[Path] | None) -> Validated:
    """The files at these paths, beside the flows in use; without paths, the flows in use."""
    known = vocabulary(load_registry(settings))
    files, errors = examine_all(paths or [flow_folder(settings)], known)
    sound = [file for file in files if not file.problems]
    names = {*(file.path.stem for file in files), *(Path(each.file).stem for each in errors)}
    neighbours, trouble = ([], []) if paths is None else _neighbours(settings, names, known)
    roles = None
    try:
        roles = people_of(settings).roles
    except DefinitionError as error:
        trouble += error.problems
    except RouterError as error:
        trouble.append(Problem(str(settings.directory), 1, str(error), "roles were not looked at"))
    warnings = [*trouble, *(remark for file in sound for remark in file.remarks(roles))]
    asked = {file.definition.flow: file for file in files if file.has_sound_triggers}
    by_name = {**asked, **{file.definition.flow: file for file in neighbours}}
    between = []
    for rivalry in rivalries(file.definition for file in by_name.values()):
        if asked.keys() & {rivalry.flow, rivalry.by}:
            file = by_name[rivalry.flow]
            problem = file.problem(*rivalry.told(file.definition))
            (errors if rivalry.kind == "taken" else warnings).append(problem)
            between.append(problem)
    return Validated(sound, errors, warnings, between)


def _neighbours(
    settings: Settings, names: set[str], known: Vocabulary
) -> tuple[list[FlowFile], list[Problem]]:
    """The flows in use that aren't of those names; what keeps others from being looked at."""
    in_use, problems = examine_all([flow_folder(settings)], known)
    sound = [file for file in in_use if not file.problems and file.path.stem not in names]
    return sound, [problem for problem in problems if Path(problem.file).stem not in names]


app = typer.Typer(help="Look after flow files.")


@app.command()
def validate(
    paths: Annotated[
        list[Path] | None, paths_argument("Flow files, or folders of them.", "the flows in use")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Take warnings for errors.")] = False,
) -> None:
    """Check flow files; name each problem with its file, line and remedy.

    Warnings are for what can be run and is probably not meant; they change the exit status only
    with --strict.
    """
    found = validated(Settings.load(), paths)
    for problem in found.warnings:
        typer.echo(f"warning: {problem}", err=True)
    if found.errors:
        raise DefinitionError(found.errors)
    if not found.files:
        raise InvalidInput("there are no flow files there: name a folder that has *.yaml in it")
    for flow in (file.definition for file in found.files):
        typer.echo(f"ok  {flow.flow} version {flow.version}: {len(flow.states)} states")
    if strict and found.warnings:
        raise InvalidInput(f"--strict allows no warnings, and there are {len(found.warnings)}")


@app.command("test")
def run_stories(
    paths: Annotated[
        list[Path] | None,
        paths_argument(
            "Files of stories, or folders of them.", "`tests` beside the flows and skills in use"
        ),
    ] = None,
    pick: Annotated[
        str, typer.Option("-k", metavar="TEXT", help="Only stories with this in their name.")
    ] = "",
    least_coverage: Annotated[
        float,
        typer.Option(min=0, max=100, metavar="PERCENT", help="Fail where less of a flow is taken."),
    ] = 0.0,
) -> None:
    """Run the stories beside flows and skills, with time skipping; say what no story took.

    Without paths and -k every flow in use is looked at, otherwise those that a story came to.
    """
    settings = Settings.load()
    stories = chosen(settings, paths or [], pick)

    def tell(outcome: expectations.StoryOutcome) -> None:
        for line in expectations.told(outcome):
            typer.echo(line)

    report, catalog = asyncio.run(run(settings, stories, tell))
    found = report.coverage(catalog, whole=not paths and not pick)
    for line in coverage.told(found):
        typer.echo(line)
    failed, low = len(report.failed), [c for c in found if c.share < least_coverage]
    typer.echo(f"{len(stories)} {'story' if len(stories) == 1 else 'stories'}, {failed} failed")
    for each in low:
        taken = int(each.share * 10) / 10  # rounded down: it mustn't read like enough
        said = f"{each.definition.flow}: {taken} % is less than {least_coverage:g} %"
        typer.echo(f"error: {said}", err=True)
    if failed or low:
        raise typer.Exit(1)


@app.command()
def graph(
    flow: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A flow, or a flow file.")],
    picture: Annotated[Format, typer.Option("--format", help="What to write.")] = "mermaid",
    locale: Annotated[Literal["zh", "en"], typer.Option(help="The language of labels.")] = "zh",
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Mark the way that this run took.")
    ] = None,
    data: DataFolderOption = None,
) -> None:
    """Draw a flow: its states by kind, the ways between them, what is timed, how it ends."""
    settings = settings_in(data)
    typer.echo(asyncio.run(drawn(settings, flow, picture, locale, run)), nl=False)
