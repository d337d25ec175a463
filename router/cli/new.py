"""`intent-router new`: `flow`, `skill` and `tool`, begun from files that work at once.

A new flow, with stories of it in both languages.

A new skill, with lines that people say who mean it.

A new tool of one of the kinds there are, with a test of it.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

import activities
import flows
import skills
from router.cli.flows import validated
from router.cli.scaffold import (
    Names,
    NewFile,
    ScaffoldResult,
    about,
    check_absent,
    folder_at,
    place_for,
    schema_for,
    shortened,
    template,
    with_setting,
)
from router.domain.errors import InvalidInput, MisconfiguredError
from router.settings import Settings

MY_FLOW = "my_flow"


def new_flow(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """The files of a flow that loads, starts by its examples, and has no rival among those in use.

    Raises:
        InvalidInput: by these words it would take another flow's messages, or lose its own.
        Conflict: one of the files is there already.
    """
    own = Path(next(iter(flows.__path__)))
    place = place_for(given, settings.flows, own, "flows")
    folder = folder_at(place.folder)
    near, copies = schema_for(folder, "flow")
    near_story, story_copies = schema_for(folder / "tests", "story", folder)
    flow = about(template("my_flow.yaml"), names, MY_FLOW).replace("../../schemas", near)
    story = about(template("my_flow_story.yaml"), names, MY_FLOW)
    files = [
        NewFile(folder / f"{names.name}.yaml", flow),
        NewFile(
            folder / "tests" / f"{names.name}.yaml", story.replace("../../schemas", near_story)
        ),
    ]
    check_absent(files)
    _check_alone(settings, names, flow)
    command = f'intent-router route "我要申请{names.zh}"'
    test = f"intent-router flows test {files[1].path}"
    setting = None if place.in_use else ("ROUTER_FLOWS", folder)
    return ScaffoldResult(
        [*files, *copies, *story_copies], [with_setting(each, setting) for each in (command, test)]
    )


def _check_alone(settings: Settings, names: Names, text: str) -> None:
    with TemporaryDirectory() as aside:
        path = Path(aside) / f"{names.name}.yaml"
        path.write_text(text, encoding="utf-8")
        rivals = validated(settings, [path]).between
    if rivals:
        raise InvalidInput(
            f"by the words {names.zh!r} and {names.en!r} it would be in another flow's way "
            f"({rivals[0].what}): choose other words with --zh and --en"
        )


MY_SKILL = "my-skill"


def new_skill(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """The files of a skill in the Agent Skills format."""
    place = place_for(given, settings.skills, Path(next(iter(skills.__path__))), "skills")
    folder = folder_at(place.folder)
    lines = folder / "tests" / f"{names.name}.jsonl"
    files = [
        NewFile(folder / names.name / "SKILL.md", about(template("SKILL.md"), names, MY_SKILL)),
        NewFile(lines, about(template("my_skill_lines.jsonl"), names, MY_SKILL)),
    ]
    setting = None if place.in_use else ("ROUTER_SKILLS", folder)
    commands = (
        f"intent-router skills validate {files[0].path.parent}",
        f"intent-router eval {lines}",
    )
    return ScaffoldResult(files, [with_setting(each, setting) for each in commands])


Kind = Literal["python", "http", "openapi", "mcp"]
MY_TOOL = "my_tool"
_OWN = Path(activities.__path__[0]) / "tools"


def new_tool(settings: Settings, names: Names, kind: Kind, given: Path | None) -> ScaffoldResult:
    """The files of a tool of this kind, with a test of it.

    Raises:
        MisconfiguredError: the folder is none where tools of the kind are found.
    """
    return _KINDS[kind](settings, names, given)


def _text(name: str, names: Names) -> str:
    return about(template(name), names, MY_TOOL)


def _python(_: Settings, names: Names, given: Path | None) -> ScaffoldResult:
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
    return ScaffoldResult(files, [call, *commands] if place.in_use else commands)


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


def _http(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """A file that declares the request itself."""
    return _requesting(settings, names, given, "my_tool.json", "my_tool_http_test.py")


def _openapi(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """A document of operations, and a file beside it that selects one of them."""
    begun = _requesting(settings, names, given, "my_tool_openapi.json", "my_tool_openapi_test.py")
    document = begun.files[0].path.with_suffix(".openapi.yaml")
    described = NewFile(document, _text("my_tool.openapi.yaml", names))
    remark = f"put your system's document into {document}, and its address: {_variable(names)}"
    return ScaffoldResult([described, *begun.files], begun.commands, remark)


def _requesting(
    settings: Settings, names: Names, given: Path | None, file_from: str, test_from: str
) -> ScaffoldResult:
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
    return ScaffoldResult(
        [*files, *copies],
        [commands[0], with_setting(commands[1], setting), f"python -m pytest {test}"],
        f"put the address of your system into {file}, or into {_variable(names)}",
    )


def _variable(names: Names) -> str:
    return f"ROUTER_TOOL_{names.name.upper()}_URL"


def _mcp(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
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
    return ScaffoldResult([*files, *copies], [listing, f"python -m pytest {test}"], remark)


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


_KINDS: Mapping[Kind, Callable[[Settings, Names, Path | None], ScaffoldResult]] = {
    "python": _python,
    "http": _http,
    "openapi": _openapi,
    "mcp": _mcp,
}


app = typer.Typer(help="Begin a flow, a skill or a tool with files that work at once.")

Name = Annotated[
    str, typer.Argument(help="What it is called, such as desk_lamp (skills: desk-lamp).")
]
Zh = Annotated[
    str | None, typer.Option("--zh", metavar="WORDS", help="What people call it in Chinese.")
]
En = Annotated[
    str | None,
    typer.Option(
        "--en", metavar="WORDS", help="The same in English.", show_default="the name's words"
    ),
]
Folder = Annotated[
    Path | None, typer.Option(help="Where to write.", show_default="where it is found at once")
]


@app.command()
def flow(name: Name, zh: Zh = None, en: En = None, folder: Folder = None) -> None:
    """Write a flow with stories of it. It loads, and its examples start it and no other."""
    from router.cli.scaffold import named
    from router.runtime.definitions import load_registry
    from router.settings import Settings

    settings = Settings.load()
    names = named("flow", name, zh, en, load_registry(settings).names)
    _write(new_flow(settings, names, folder))


@app.command()
def skill(name: Name, zh: Zh = None, en: En = None, folder: Folder = None) -> None:
    """Write a skill, with lines that people say who mean it."""
    from router.cli.scaffold import named
    from router.settings import Settings

    _write(new_skill(Settings.load(), named("skill", name, zh, en), folder))


@app.command()
def tool(
    name: Name,
    kind: Annotated[
        Literal["python", "http", "openapi", "mcp"],
        typer.Option(
            help="A function here, a declared request, an operation of an OpenAPI document, "
            "or a program of its own."
        ),
    ] = "python",
    zh: Zh = None,
    en: En = None,
    folder: Folder = None,
) -> None:
    """Write a tool with a test of it."""
    from router.cli.scaffold import named
    from router.runtime.definitions import load_registry
    from router.settings import Settings

    settings = Settings.load()
    names = named("tool", name, zh, en, load_registry(settings).names)
    _write(new_tool(settings, names, kind, folder))


def _write(written: "ScaffoldResult") -> None:
    from router.cli.scaffold import write_all

    write_all(written.files)
    for file in written.files:
        typer.echo(f"wrote {file.path}")
    if written.remark:
        typer.echo(f"then  {written.remark}")
    for number, command in enumerate(written.commands):
        typer.echo(f"{'next ' if number == 0 else '     '} {command}")
