"""`intent-router flows`: `validate`, `test` and `graph`."""

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import typer

from router.cli.paths import paths_argument

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
    from router.cli.validating import validated
    from router.domain.errors import DefinitionError, InvalidInput
    from router.settings import Settings

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
        paths_argument("Files of stories, or folders of them.", "`tests` beside the flows in use"),
    ] = None,
    pick: Annotated[
        str, typer.Option("-k", metavar="TEXT", help="Only stories with this in their name.")
    ] = "",
    least_coverage: Annotated[
        float,
        typer.Option(min=0, max=100, metavar="PERCENT", help="Fail where less of a flow is taken."),
    ] = 0.0,
) -> None:
    """Run the stories beside the flows, with time skipping; say what no story took.

    Without paths and -k every flow in use is looked at, otherwise those that a story came to.
    """
    from router.settings import Settings
    from router.stage.running import chosen, run
    from router.story import coverage, telling

    settings = Settings.load()
    stories = chosen(settings, paths or [], pick)

    def tell(outcome: telling.Outcome) -> None:
        for line in telling.told(outcome):
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
    picture: Annotated[
        Literal["mermaid", "svg"], typer.Option("--format", help="What to write.")
    ] = "mermaid",
    locale: Annotated[Literal["zh", "en"], typer.Option(help="The language of labels.")] = "zh",
    run: Annotated[
        str | None, typer.Option(metavar="ID", help="Mark the way that this run took.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The data folder of `dev`.", show_default=".data")
    ] = None,
) -> None:
    """Draw a flow: its states by kind, the ways between them, what is timed, how it ends."""
    from router.cli.drawing import drawn
    from router.settings import Settings

    settings = Settings.load(**({} if data is None else {"data": data}))
    typer.echo(asyncio.run(drawn(settings, flow, picture, locale, run)), nl=False)
