"""`intent-router eval`: how well a file of labelled messages is routed."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer


def evaluate(  # noqa: PLR0913 - each is an option of the command, none an argument of a call
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Labelled messages.")],
    *,
    report: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to write the report, HTML and JSON.")
    ] = None,
    user: Annotated[str, typer.Option(help="Who says what no line says who says it.")] = "alice",
    now: Annotated[
        str | None, typer.Option(help="When it is said, where the line doesn't say when.")
    ] = None,
    llm: Annotated[
        bool | None,
        typer.Option(
            "--llm/--no-llm",
            help="With the model, or without.",
            show_default="with, where one is configured",
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Take only the lines whose `split` is this.")
    ] = None,
    at_least: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with 1 where the accuracy is below.")
    ] = None,
    fit: Annotated[
        Path | None,
        typer.Option(metavar="DEV.jsonl", help="First fit the thresholds to these, and keep them."),
    ] = None,
    from_log: Annotated[
        bool,
        typer.Option("--from-log", help="First write FILE, from what people chose when asked."),
    ] = False,
) -> None:
    """Route every line of FILE, execute nothing, and say how much of it was right.

    A line is {"text", "label"[, "slots"][, "user"][, "now"][, "split"]}; a label is the name
    of a flow, skill or tool, or reply, clarify, handoff, or none for what starts no flow.
    docs/evaluation.md has the rest.
    """
    from router.cli.evaluation import Options, evaluation
    from router.settings import Settings

    options = Options(file, report, user, now, llm, split, at_least, fit, from_log)
    asyncio.run(evaluation(Settings.load(), options))
