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
from router.tool.registry import Registry


def misfits(settings: Settings, registry: Registry) -> list[str]:
    """What keeps hooks from being called: tools that aren't there, settings that aren't set."""
    lacking = registry.lacking(settings)
    unset = [
        f"the hook {each.name} fails whenever it is called: {lacking[provider]} isn't set; set it"
        for each in registry.hooks
        for provider in sorted(each.providers & lacking.keys(), key=lambda one: one.name)
    ]
    return [*unset, *registry.hooks.problems(registry.names, registry.prefixes)]


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
    for wrong in misfits(settings, registry):
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
