"""`intent-router extensions`: the installed extensions."""

import json
from typing import Annotated

import typer

from router.cli import CommandTable
from router.cli.options import echo_aligned
from router.domain.errors import RouterError
from router.llm.protocol_table import ProtocolTable
from router.runtime.definitions import load_core_tools
from router.runtime.extension_work import check_worker_part
from router.runtime.extensions import (
    Extensions,
    OmittedExtension,
    import_formats,
    import_packages,
    load_configured,
    register_extension_policies,
    register_flow_kinds,
)
from router.runtime.prompts import PromptJobTable
from router.runtime.server import make_api
from router.settings import Settings
from router.tool.kinds import ToolSources


def find_faults(found: Extensions, tools: ToolSources | None = None) -> list[OmittedExtension]:
    """Return the loaded extensions that raise, or that are refused, once they are used.

    Args:
        found: The extensions.
        tools: The sources of the core's tools, whose names are taken.
    """
    return found.find_faults(
        make_api().include_extension,
        import_packages,
        import_formats,
        CommandTable().add_extension,
        lambda each: each.checks(),
        lambda each: each.settings(),
        lambda each: each.tables(),
        PromptJobTable().add_extension,
        check_worker_part,
        (tools or ToolSources(Settings.load())).add_extension,
        ProtocolTable().import_extension,
        register_flow_kinds,
        register_extension_policies,
    )


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
    faults = {fault.name: fault for fault in find_faults(found, find_core_tools(settings))}
    omitted = [*faults.values(), *found.omitted]
    used = [each for each in found.loaded if each.extension.name not in faults]
    rows = [(each.extension.name, each.distribution, "loaded") for each in used]
    rows += [(each.name, each.distribution, each.reason) for each in omitted]
    if as_json:
        named = [dict(zip(("name", "distribution", "status"), row, strict=True)) for row in rows]
        typer.echo(json.dumps(named, ensure_ascii=False, indent=2))
    elif rows:
        echo_aligned(rows)
    for sentence in found.unknown:
        typer.echo(sentence, err=True)
    for each in omitted:
        if each.traceback:
            typer.echo(f"{each.name}:\n{each.traceback}", err=True)
