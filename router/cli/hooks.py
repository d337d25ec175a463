"""`intent-router hooks`: the hooks of the project's own, by where they stand."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from router.cli.options import echo_aligned
from router.domain.hooks import EVENTS
from router.runtime.definitions import load_registry
from router.settings import Settings
from router.tool.hook import Hook


def hooks(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
) -> None:
    """List the hooks of one's own.

    Each is where it stands, its name, its time, whether it is required, its file, and what it is
    for. What keeps one from being called is said on stderr.
    """
    settings = Settings.load()
    registry = load_registry(settings)
    order = [*EVENTS]
    found = sorted(registry.hooks, key=lambda one: (order.index(one.point), one.name))
    if as_json:
        typer.echo(json.dumps([_object_of(one) for one in found], ensure_ascii=False, indent=2))
    elif found:
        echo_aligned([_row_of(one) for one in found])
    else:
        typer.echo("there are no hooks: begin one with `intent-router new hook NAME`", err=True)
    for wrong in registry.misfit_hooks(settings):
        typer.echo(wrong, err=True)


def _row_of(hook: Hook) -> tuple[str, ...]:
    needed = "required" if hook.required else "optional"
    time, file = f"{hook.timeout.total_seconds():g}s", Path(hook.source.file).name
    about = hook.description.partition("\n")[0]
    return (hook.point, hook.name, time, needed, file, about)


def _object_of(hook: Hook) -> dict[str, Any]:
    return {
        "point": hook.point,
        "name": hook.name,
        "description": hook.description,
        "timeout": hook.timeout.total_seconds(),
        "required": hook.required,
        "tools": sorted(hook.tools),
        "phrases": list(hook.phrases),
        "source": f"{hook.source.file}:{hook.source.line}",
    }
