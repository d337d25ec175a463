"""`intent-router prompts eval`."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from router.cli.options import write_out


def evaluate(  # noqa: PLR0913 - each is an option of the command, none an argument of a call
    jobs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[JOB]...", help="Which jobs.", show_default="all with cases"),
    ] = None,
    *,
    prompt: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Ask with this version.", show_default="most used"),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="VERSION", help="And with this one, side by side.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, max=50, help="How often each case is asked.")] = 1,
    cases: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Cases in place of those that ship.")
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this case; more than once.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Which model judges; else the usual one.")
    ] = None,
    at_once: Annotated[int, typer.Option(min=1, max=32, help="Questions at the same time.")] = 4,
    at_least: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with 1 where fewer cases pass.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Where to write the report.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Have a model do the cases of JOB, and say how many of its answers hold.

    Nothing is executed. Exit status 1 where too few pass, or an answer or a judge's word was
    lacking. docs/prompts.md says how a case is written.
    """
    from router.extensions.evaluation.commands.prompt_evaluation import (
        PromptOptions,
        evaluated,
        tell,
    )
    from router.settings import Settings

    options = PromptOptions(
        *(tuple(jobs or ()), prompt, against, runs, cases, tuple(case or ()), judge, at_once)
    )
    if out is not None:  # before anything is asked: answers may be paid for
        write_out(out, "")
    report = asyncio.run(evaluated(Settings.load(), options))
    tell(report, at_least, out, as_json=as_json)
