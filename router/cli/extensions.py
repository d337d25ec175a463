"""`intent-router extensions`: the installed extensions."""

import json
from collections.abc import Callable
from typing import Annotated

import typer

from router.cli import CommandTable
from router.cli.options import echo_aligned
from router.domain.errors import RouterError
from router.extension import Extension
from router.llm.protocol_table import ProtocolTable
from router.runtime.configuration_kinds import register_configuration_kinds
from router.runtime.definitions import load_core_tools
from router.runtime.extension_work import check_worker_part
from router.runtime.extensions import (
    Extensions,
    import_formats,
    import_packages,
    load_configured,
    register_understanding_of,
)
from router.runtime.prompts import PromptJobTable
from router.runtime.server import make_api
from router.settings import Settings
from router.tool.kinds import ToolSources


def omit_faulty_extensions(found: Extensions, tools: ToolSources | None = None) -> None:
    """Leave out each extension that would be refused once it is used.

    A process does this before it uses anything of an extension.

    Args:
        found: The extensions.
        tools: The sources of the core's tools, to which those of extensions are added. A process
            has only one source of each kind, so it passes none, and adds them before anything else.

    Raises:
        MisconfiguredError: A required extension is refused.
    """
    added = [tools.add_extension] if tools else []
    registered = [register_configuration_kinds, register_understanding_of]
    for fault in found.find_faults(*_checks(), *added, *registered):
        found.leave_out(fault)


def _checks() -> list[Callable[[Extension], object]]:
    """Return checks of what doesn't change this process."""
    return [
        make_api().include_extension,
        import_packages,
        import_formats,
        CommandTable().add_extension,
        lambda each: each.checks(),
        lambda each: each.settings(),
        lambda each: each.tables(),
        PromptJobTable().add_extension,
        check_worker_part,
        ProtocolTable().import_extension,
    ]


def find_core_tools(settings: Settings) -> ToolSources:
    """Return the sources of the core's tools, with no tools if some can't be loaded."""
    try:
        return load_core_tools(settings)
    except RouterError:  # `doctor` and `tools list` say which
        return ToolSources(settings)


def extensions(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
) -> None:
    """List the installed extensions, and why some aren't loaded.

    Each line has the name, the distribution that it comes from, and `loaded` or the reason. They
    start in this order.
    """
    settings = Settings.load()
    found = load_configured(settings)
    omit_faulty_extensions(found, find_core_tools(settings))
    rows = [(each.extension.name, each.distribution, "loaded") for each in found.loaded]
    rows += [(each.name, each.distribution, each.reason) for each in found.omitted]
    if as_json:
        named = [dict(zip(("name", "distribution", "status"), row, strict=True)) for row in rows]
        typer.echo(json.dumps(named, ensure_ascii=False, indent=2))
    elif rows:
        echo_aligned(rows)
    for sentence in found.unknown:
        typer.echo(sentence, err=True)
    for each in found.omitted:
        if each.traceback:
            typer.echo(f"{each.name}:\n{each.traceback}", err=True)
