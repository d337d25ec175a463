"""`intent-router skills eval`."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from router.cli.options import write_out
from router.domain.errors import InvalidInput


def evaluate(  # noqa: PLR0913 - each is an option of the command, none an argument of a call
    skills: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SKILL]...", help="Which skills.", show_default="all with tasks"),
    ] = None,
    *,
    runs: Annotated[int, typer.Option(min=1, max=50, help="How often each task is run.")] = 1,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Run nothing: hold run B against run A, which are kept."),
    ] = None,
    tasks: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Tasks in place of those that ship.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this task; more than once.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Which model judges; else the usual one.")
    ] = None,
    at_once: Annotated[int, typer.Option(min=1, max=16, help="Tasks at the same time.")] = 2,
    at_least: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with 1 where fewer tasks pass.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Where to write the report.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Have skills work on tasks with the model that is configured, and say what holds.

    Each run is kept under its id. Exit status 1 where too few tasks pass, or an answer or a
    judge's word was lacking. docs/skills.md says how a task is written.
    """
    from router.extensions.evaluation.commands import skill_evaluation as evaluation
    from router.extensions.evaluation.commands.prompt_evaluation import tell
    from router.extensions.evaluation.skill_runs import compared, keep, kept
    from router.settings import Settings

    settings = Settings.load()
    folder = settings.data / evaluation.KEPT
    if compare is not None and (skills or tasks or task):
        raise InvalidInput("--compare runs nothing: leave skills and tasks out")
    if out is not None:  # before anything is asked: answers may be paid for
        write_out(out, "")
    about: dict[str, str] = {}
    if compare is not None:
        report = compared(*(kept(each, folder) for each in compare))
    else:
        options = evaluation.SkillOptions(
            *(tuple(skills or ()), runs, tasks, tuple(task or ()), judge, at_once)
        )
        run = asyncio.run(evaluation.evaluated(settings, options))
        about, report = {"id": run.id, "kept": str(keep(run, folder))}, run.report()
    tell(report, at_least, out, as_json=as_json, about=about)
