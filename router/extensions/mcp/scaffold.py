"""What `intent-router new tool --kind mcp` writes."""

import sys
from pathlib import Path

from router.cli.scaffold import (
    Names,
    NewFile,
    ScaffoldPlace,
    ScaffoldResult,
    about,
    folder_at,
    point_test_at,
    quoted,
    schema_for,
    shortened,
    tests_folder,
)
from router.extensions.mcp.settings import McpSettings
from router.settings import Settings
from router.settings.project import find_project

_TEMPLATES = "router.extensions.mcp.templates"


def new_mcp_tool(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """Return the files of a program that is an MCP server with one tool."""
    project = find_project()
    usual = shortened(project.folder / "mcp_servers") if project else Path("mcp_servers")
    folder = folder_at(given or usual)
    near, copies = schema_for(folder, "mcp")
    file, program = folder / f"{names.name}.json", folder / f"{names.name}_server.py"
    test = tests_folder(folder) / f"test_{names.name}.py"
    python = Path(sys.executable)  # not resolved: it is the environment's own
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    entry = _about("my_tool_mcp.json", names).replace("../schemas", near)
    entry = entry.replace('"python"', f'"{python.as_posix()}"')
    entry = entry.replace(f'["{program.name}"]', f'["{program.as_posix()}"]')
    text = _about("my_tool_mcp_test.py", names).replace(f"{names.name}_mcp.json", file.name)
    files = [
        NewFile(program, _about("my_tool_server.py", names)),
        NewFile(file, entry),
        NewFile(test, point_test_at(text, test, file)),
    ]
    listing = ScaffoldPlace(file, "ROUTER_MCP_SERVERS").command("tools list")
    commands = [listing, f"python -m pytest {quoted(test)}"]
    return ScaffoldResult([*files, *copies], commands, _using_mcp(settings, file))


def _using_mcp(settings: Settings, file: Path) -> str:
    """Return what to do to have the server of a new file in use."""
    servers = settings.section(McpSettings).servers
    if servers:
        return f"put its entry into {servers} too, which ROUTER_MCP_SERVERS names"
    project = find_project()
    if project is None or not file.resolve().is_relative_to(project.folder):
        return f"set ROUTER_MCP_SERVERS={quoted(file)} to have it in use"
    line = f'servers = "{file.resolve().relative_to(project.folder).as_posix()}"'
    return (
        f"put {line} under [tool.intent-router.mcp] in {shortened(project.file)} to have it in use"
    )


def _about(template: str, names: Names) -> str:
    return about(template, names, package=_TEMPLATES)
