"""A new tool of one of the kinds there are, with a test of it."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import activities.tools
from router.cli.starting_points.files import NewFile, about, template
from router.cli.starting_points.names import Names
from router.cli.starting_points.places import folder_at, place_for, schema_for, shortened
from router.cli.starting_points.written import Written, with_setting
from router.domain.errors import MisconfiguredError
from router.settings import Settings

Kind = Literal["python", "http", "openapi", "mcp"]
STAND_IN = "my_tool"
_OWN = Path(next(iter(activities.tools.__path__)))


def new_tool(settings: Settings, names: Names, kind: Kind, given: Path | None) -> Written:
    """The files of a tool of this kind, with a test of it.

    Raises:
        MisconfiguredError: the folder is none where tools of the kind are found.
    """
    return _KINDS[kind](settings, names, given)


def _text(name: str, names: Names) -> str:
    return about(template(name), names, STAND_IN)


def _python(_: Settings, names: Names, given: Path | None) -> Written:
    """A function of a package of tools: that is how code is found."""
    place = place_for(given, None, _OWN, "activities/tools")
    root, package = package_of(folder_at(place.folder))
    module = f"{package}.{names.name}"
    test = _text("my_tool_python_test.py", names).replace(
        f"router.cli.templates.{names.name}", module
    )
    tests = shortened(root / "tests" / "unit" / Path(*package.split(".")))
    files = [
        NewFile(place.folder / f"{names.name}.py", _text("my_tool.py", names)),
        NewFile(tests / f"test_{names.name}.py", test),
    ]
    call = f'intent-router tools call {names.name} \'{{"topic": "one two"}}\' --user alice'
    commands = [f"python -m pytest {files[1].path}"]
    return Written(files, [call, *commands] if place.in_use else commands)


def package_of(folder: Path) -> tuple[Path, str]:
    """Where the package in `folder` is imported from, and its dotted name.

    Raises:
        MisconfiguredError: it is no package, so that no module in it would be found.
    """
    root, names = folder.resolve(), list[str]()
    while (root / "__init__.py").is_file():
        names.insert(0, root.name)
        root = root.parent
    if not names:
        raise MisconfiguredError(
            f"{folder} is no Python package, and tools of code are found in packages alone: "
            "run this in a checkout of the project, or choose --kind http, openapi or mcp"
        )
    return root, ".".join(names)


def _http(settings: Settings, names: Names, given: Path | None) -> Written:
    """A file that declares the request itself."""
    return _requesting(settings, names, given, "my_tool.json", "my_tool_http_test.py")


def _openapi(settings: Settings, names: Names, given: Path | None) -> Written:
    """A document of operations, and a file beside it that selects one of them."""
    begun = _requesting(settings, names, given, "my_tool_openapi.json", "my_tool_openapi_test.py")
    document = begun.files[0].path.with_suffix(".openapi.yaml")
    described = NewFile(document, _text("my_tool.openapi.yaml", names))
    remark = f"put your system's document into {document}, and its address: {_variable(names)}"
    return Written([described, *begun.files], begun.commands, remark)


def _requesting(
    settings: Settings, names: Names, given: Path | None, file_from: str, test_from: str
) -> Written:
    """A JSON file of requests from the one template, and the test of it from the other."""
    configured = (
        settings.http_tools if settings.http_tools and settings.http_tools.is_dir() else None
    )
    place = place_for(given, configured, _OWN / "http", "http_tools")
    folder = folder_at(place.folder)
    near, copies = schema_for(folder, "tools")
    file = folder / f"{names.name}.json"
    test = _beside(folder) / f"test_{names.name}.py"
    text = _text(test_from, names).replace(f"{names.name}_openapi.json", file.name)
    files = [
        NewFile(file, _text(file_from, names).replace("../../schemas", near)),
        NewFile(test, _pointing(text, test, file)),
    ]
    setting = None if place.in_use else ("ROUTER_HTTP_TOOLS", folder)
    commands = (f"intent-router tools validate {file}", "intent-router tools list")
    return Written(
        [*files, *copies],
        [commands[0], with_setting(commands[1], setting), f"python -m pytest {test}"],
        f"put the address of your system into {file}, or into {_variable(names)}",
    )


def _variable(names: Names) -> str:
    return f"ROUTER_TOOL_{names.name.upper()}_URL"


def _mcp(settings: Settings, names: Names, given: Path | None) -> Written:
    folder = folder_at(given or Path("mcp_servers"))
    near, copies = schema_for(folder, "mcp")
    file, program = folder / f"{names.name}.json", folder / f"{names.name}_server.py"
    test = _beside(folder) / f"test_{names.name}.py"
    entry = _text("my_tool_mcp.json", names).replace("../../schemas", near)
    entry = entry.replace('"python"', f'"{_python_here()}"')
    entry = entry.replace(f'["{program.name}"]', f'["{program.as_posix()}"]')
    text = _text("my_tool_mcp_test.py", names).replace(f"{names.name}_mcp.json", file.name)
    files = [
        NewFile(program, _text("my_tool_server.py", names)),
        NewFile(file, entry),
        NewFile(test, _pointing(text, test, file)),
    ]
    remark = (
        f"put its entry into {settings.mcp_servers} too, which ROUTER_MCP_SERVERS names"
        if settings.mcp_servers
        else f"set ROUTER_MCP_SERVERS={file} to have it in use"
    )
    listing = with_setting("intent-router tools list", ("ROUTER_MCP_SERVERS", file))
    return Written([*files, *copies], [listing, f"python -m pytest {test}"], remark)


def _python_here() -> str:
    """The interpreter that has this project, as it is typed from here."""
    here = Path(sys.executable)
    return (here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here).as_posix()


def _beside(folder: Path) -> Path:
    """Where tests of what is in `folder` go: with the project's own, or into `tests` in it."""
    checkout = _OWN.parents[1]
    if (checkout / "tests").is_dir() and folder.resolve().is_relative_to(_OWN):
        return shortened(checkout / "tests" / "unit" / "activities" / "tools")
    return folder / "tests"


def _pointing(text: str, test: Path, file: Path) -> str:
    """A test that finds the file from where it stands."""
    way = Path(os.path.relpath(file.resolve().parent, test.resolve().parent))
    steps = "".join(".parent" if part == ".." else f' / "{part}"' for part in way.parts)
    return text.replace("Path(__file__).parent", f"Path(__file__).parent{steps}")


_KINDS: Mapping[Kind, Callable[[Settings, Names, Path | None], Written]] = {
    "python": _python,
    "http": _http,
    "openapi": _openapi,
    "mcp": _mcp,
}
