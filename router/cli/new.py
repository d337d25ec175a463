"""`intent-router new`: files of a project, flow, process, skill, tool or hook that work at once.

Files are written all of them or none, and never over one that is there, where they are found at
once, and never into an installed package.
"""

import keyword
import os
import re
import shlex
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from router.cli.flows import validated
from router.cli.project import new_project
from router.cli.scaffold import (
    Names,
    NewFile,
    ScaffoldPlace,
    ScaffoldResult,
    about,
    check_absent,
    folder_at,
    place_for,
    schema_for,
    shortened,
)
from router.domain.errors import InvalidInput, MisconfiguredError
from router.domain.locale import Locale
from router.flow.gallery import Gallery
from router.runtime.definitions import load_registry
from router.settings import Settings
from router.settings.project import find_project
from router.settings.sample import SAMPLE_CODE, sample_folder
from router.tool.kinds.declarations import tool_folders
from router.tool.tool import RESERVED

What = Literal["flow", "skill", "tool", "hook"]

LONGEST_WORDS = 40
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_WORDS = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")
_CHINESE = re.compile("[\u4e00-\u9fff]")
LONGEST = {"flow": 63, "tool": 63, "skill": 64, "hook": 63}


def named(
    what: What, name: str, zh: str | None, en: str | None, taken: Collection[str] = ()
) -> Names:
    """The names of something new; words that nobody gave are those in its name.

    >>> named("flow", "parking_permit", "停车证", None)
    Names(name='parking_permit', zh='停车证', en='parking permit')

    Raises `InvalidInput`: it can't be called so, or something else is.
    """
    _check_form(what, name)
    if name in RESERVED or keyword.iskeyword(name):
        raise InvalidInput(f"the name {name!r} means something else already: say what it is for")
    if name in taken:
        raise InvalidInput(f"something is called {name} already: choose another name")
    english = _words("--en", re.sub("[_-]", " ", name) if en is None else en)
    return Names(name, english if zh is None else _words("--zh", zh), english)


def _check_form(what: What, name: str) -> None:
    form, joint, written = (
        (_KEBAB, "-", "small letters, digits and single hyphens, as in policy-advisor")
        if what == "skill"
        else (_SNAKE, "_", "small letters, digits and single _, a letter first, as in desk_lamp")
    )
    most = LONGEST[what]
    if not form.fullmatch(name) or len(name) > most:
        # What might be meant by a name of another form: `Desk Lamp` is desk_lamp.
        parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name) if name.isascii() else []
        near = joint.join(part.lower() for part in parts)[:most]
        meant = f", such as {near}" if near and form.fullmatch(near) else ""
        raise InvalidInput(
            f"a {what} can't be called {name[:80]!r}: write up to {most} {written}{meant}"
        )


def _words(option: str, written: str) -> str:
    if not _WORDS.fullmatch(written) or len(written) > LONGEST_WORDS:
        remedy = f"write up to {LONGEST_WORDS} letters and digits with single spaces or hyphens"
        raise InvalidInput(f"{option} {written[:80]!r} can't be what people call it: {remedy}")
    if option == "--en" and _CHINESE.search(written):
        raise InvalidInput(f"--en {written!r} isn't English: write it in --zh")
    return written


def new_flow(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """Files of a flow that loads, starts by its examples and has no rival; or `InvalidInput`."""
    place = place_for(given, settings.flows, sample_folder("flows"), "flows", "ROUTER_FLOWS")
    folder = place.folder
    near, copies = schema_for(folder, "flow")
    near_story, story_copies = schema_for(folder / "tests", "story", folder)
    flow = about("my_flow.yaml", names, "my_flow").replace("../../schemas", near)
    story = about("my_flow_story.yaml", names, "my_flow")
    files = [
        NewFile(folder / f"{names.name}.yaml", flow),
        NewFile(
            folder / "tests" / f"{names.name}.yaml", story.replace("../../schemas", near_story)
        ),
    ]
    check_absent(files)
    with TemporaryDirectory() as aside:
        path = Path(aside) / f"{names.name}.yaml"
        path.write_text(flow, encoding="utf-8")
        rivals = validated(settings, [path]).between
    if rivals:
        raise InvalidInput(
            f"by the words {names.zh!r} and {names.en!r} it would be in another flow's way "
            f"({rivals[0].what}): choose other words with --zh and --en"
        )
    asked = f"我要申请{names.zh}" if _CHINESE.search(names.zh) else f"I need the {names.en}"
    words = (f'route "{asked}"', f"flows test {_quoted(files[1].path)}")
    commands = [place.command(each) for each in words]
    return ScaffoldResult([*files, *copies, *story_copies], commands)


SCHEMAS = "../../router/schemas"
"""Where the gallery's flow files have their schema; its stories and tools stand one deeper."""


def new_process(settings: Settings, name: str) -> ScaffoldResult:
    """The gallery's files of this process, each where it is found; raises `NotFound`."""
    one = Gallery().find(name)
    flow_place = place_for(None, settings.flows, sample_folder("flows"), "flows", "ROUTER_FLOWS")
    tool_place = _http_place(settings, None)
    stories, tools = flow_place.folder / "tests", tool_place.folder
    files, copies = list[NewFile](), list[NewFile]()
    for schema, folder, ending, text, written, top in (
        ("flow", flow_place.folder, "yaml", one.text, SCHEMAS, None),
        ("story", stories, "yaml", one.stories, f"../{SCHEMAS}", flow_place.folder),
        ("tools", tools, "json", one.tools, f"../{SCHEMAS}", None),
    ):
        near, missing = schema_for(folder, schema, top)
        files.append(NewFile(folder / f"{name}.{ending}", text.replace(written, near)))
        copies += missing
    check_absent(files)
    return ScaffoldResult(
        [*files, *copies],
        [
            f"intent-router tools validate {_quoted(files[2].path)}",
            flow_place.command(f"flows test {_quoted(files[1].path)}", tool_place),
        ],
        f"put the address of your system into {files[2].path}: base_url",
    )


def new_skill(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """The files of a skill in the Agent Skills format."""
    place = place_for(given, settings.skills, sample_folder("skills"), "skills", "ROUTER_SKILLS")
    folder = place.folder
    lines = folder / "tests" / f"{names.name}.jsonl"
    files = [
        NewFile(folder / names.name / "SKILL.md", about("SKILL.md", names, "my-skill")),
        NewFile(lines, about("my_skill_lines.jsonl", names, "my-skill")),
    ]
    commands = (f"skills validate {_quoted(files[0].path.parent)}", f"eval {_quoted(lines)}")
    return ScaffoldResult(files, [place.command(each) for each in commands])


NewToolKind = Literal["python", "http", "openapi", "mcp"]
_OWN = sample_folder(SAMPLE_CODE) / "tools"


def new_tool(
    settings: Settings, names: Names, kind: NewToolKind, given: Path | None
) -> ScaffoldResult:
    """The files of a tool of this kind, with a test of it, where tools of the kind are found."""
    if kind == "python":
        return _python(settings, names, given)
    if kind == "mcp":
        return _mcp(settings, names, given)
    if kind == "http":
        return _requesting(settings, names, given, "my_tool.json", "my_tool_http_test.py")
    begun = _requesting(settings, names, given, "my_tool_openapi.json", "my_tool_openapi_test.py")
    document = begun.files[0].path.with_suffix(".openapi.yaml")
    described = NewFile(document, about("my_tool.openapi.yaml", names))
    remark = f"put your system's document into {document}, and its address: {_variable(names)}"
    return ScaffoldResult([described, *begun.files], begun.commands, remark)


def _quoted(path: Path) -> str:
    """Return the path as a shell takes it."""
    return shlex.quote(str(path))


def code_folder(settings: Settings, kind: Literal["tools", "hooks"]) -> Path | None:
    """Return the folder of a project's tools or hooks in Python; `None` outside of a project."""
    project = find_project()
    if project is None or not settings.packages:
        return None
    packages = sorted(settings.packages)
    own = next((name for name in packages if name.endswith(f".{kind}")), f"{packages[0]}.{kind}")
    return project.folder / own.replace(".", "/")


def _python(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """A function of a package of tools: that is how code is found."""
    configured = code_folder(settings, "tools")
    place = place_for(given, configured, _OWN, "company/tools", "PYTHONPATH")
    root, package = package_of(place.folder)
    module = f"{package}.{names.name}"
    test = about("my_tool_python_test.py", names).replace(
        f"router.cli.templates.{names.name}", module
    )
    tests = shortened(root / "tests" / "unit" / Path(*package.split(".")))
    files = [
        NewFile(place.folder / f"{names.name}.py", about("my_tool.py", names)),
        NewFile(tests / f"test_{names.name}.py", test),
    ]
    call = f'intent-router tools call {names.name} \'{{"topic": "one two"}}\' --user alice'
    commands = [f"python -m pytest {_quoted(files[1].path)}"]
    return ScaffoldResult(files, commands if place.setting else [call, *commands])


def new_hook(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """A hook in a package where hooks are found, with a test of it."""
    own, configured = sample_folder(SAMPLE_CODE) / "hooks", code_folder(settings, "hooks")
    place = place_for(given, configured, own, "company/hooks", "PYTHONPATH")
    root, package = package_of(place.folder, otherwise="")
    module = f"{package}.{names.name}"
    test = about("my_hook_test.py", names, "my_hook")
    tests = shortened(root / "tests" / "unit" / Path(*package.split(".")))
    files = [
        NewFile(place.folder / f"{names.name}.py", about("my_hook.py", names, "my_hook")),
        NewFile(
            tests / f"test_{names.name}.py",
            test.replace(f"router.cli.templates.{names.name}", module),
        ),
    ]
    commands = [f"python -m pytest {_quoted(files[1].path)}"]
    return ScaffoldResult(files, commands if place.setting else ["intent-router hooks", *commands])


def package_of(
    folder: Path, otherwise: str = ", or choose --kind http, openapi or mcp"
) -> tuple[Path, str]:
    """Where the package in `folder` is imported from, and its dotted name; it has to be one.

    `otherwise` is what else can be done where it is none.
    """
    root, names = folder.resolve(), list[str]()
    while (root / "__init__.py").is_file():
        names.insert(0, root.name)
        root = root.parent
    if not names:
        raise MisconfiguredError(
            f"{folder} is no Python package, and code is found in packages alone: "
            f"run this in a project, which `intent-router new project NAME` begins{otherwise}"
        )
    return root, ".".join(names)


def _requesting(
    settings: Settings, names: Names, given: Path | None, file_from: str, test_from: str
) -> ScaffoldResult:
    """A JSON file of requests from the one template, and the test of it from the other."""
    place = _http_place(settings, given)
    folder = place.folder
    near, copies = schema_for(folder, "tools")
    file = folder / f"{names.name}.json"
    test = _beside(folder) / f"test_{names.name}.py"
    text = about(test_from, names).replace(f"{names.name}_openapi.json", file.name)
    files = [
        NewFile(file, about(file_from, names).replace("../../schemas", near)),
        NewFile(test, _pointing(text, test, file)),
    ]
    validate = f"intent-router tools validate {_quoted(file)}"
    return ScaffoldResult(
        [*files, *copies],
        [validate, place.command("tools list"), f"python -m pytest {_quoted(test)}"],
        f"put the address of your system into {file}, or into {_variable(names)}",
    )


def _http_place(settings: Settings, given: Path | None) -> ScaffoldPlace:
    """Where files of HTTP tools are found."""
    configured, code = settings.http_tools, code_folder(settings, "tools")
    if configured is not None and not configured.is_dir():
        configured = None
    if configured is None and code is not None:
        there = (folder for folder in tool_folders(code.parent) if folder.is_dir())
        configured = next(there, code / "http")
    return place_for(given, configured, _OWN / "http", "http_tools", "ROUTER_HTTP_TOOLS")


def _variable(names: Names) -> str:
    return f"ROUTER_TOOL_{names.name.upper()}_URL"


def _mcp(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    project = find_project()
    usual = shortened(project.folder / "mcp_servers") if project else Path("mcp_servers")
    folder = folder_at(given or usual)
    near, copies = schema_for(folder, "mcp")
    file, program = folder / f"{names.name}.json", folder / f"{names.name}_server.py"
    test = _beside(folder) / f"test_{names.name}.py"
    python = Path(sys.executable)  # not resolved: it is the environment's own
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    entry = about("my_tool_mcp.json", names).replace("../../schemas", near)
    entry = entry.replace('"python"', f'"{python.as_posix()}"')
    entry = entry.replace(f'["{program.name}"]', f'["{program.as_posix()}"]')
    text = about("my_tool_mcp_test.py", names).replace(f"{names.name}_mcp.json", file.name)
    files = [
        NewFile(program, about("my_tool_server.py", names)),
        NewFile(file, entry),
        NewFile(test, _pointing(text, test, file)),
    ]
    listing = ScaffoldPlace(file, "ROUTER_MCP_SERVERS").command("tools list")
    commands = [listing, f"python -m pytest {_quoted(test)}"]
    return ScaffoldResult([*files, *copies], commands, _using_mcp(settings, file))


def _using_mcp(settings: Settings, file: Path) -> str:
    """Return what to do to have the server of a new file in use."""
    if settings.mcp_servers:
        return f"put its entry into {settings.mcp_servers} too, which ROUTER_MCP_SERVERS names"
    project = find_project()
    if project is None or not file.resolve().is_relative_to(project.folder):
        return f"set ROUTER_MCP_SERVERS={_quoted(file)} to have it in use"
    line = f'mcp_servers = "{file.resolve().relative_to(project.folder).as_posix()}"'
    return f"put {line} under [tool.intent-router] in {shortened(project.file)} to have it in use"


def _beside(folder: Path) -> Path:
    """Where tests of what is in `folder` go: with the project's own, or into `tests` in it."""
    project = find_project()
    if project is not None and folder.resolve().is_relative_to(project.folder):
        return shortened(project.folder / "tests")
    checkout = _OWN.parents[1]
    if (checkout / "tests").is_dir() and folder.resolve().is_relative_to(_OWN):
        return shortened(checkout / "tests" / "unit" / "activities" / "tools")
    return folder / "tests"


def _pointing(text: str, test: Path, file: Path) -> str:
    """A test that finds the file from where it stands."""
    way = Path(os.path.relpath(file.resolve().parent, test.resolve().parent))
    steps = "".join(".parent" if part == ".." else f' / "{part}"' for part in way.parts)
    return text.replace("Path(__file__).parent", f"Path(__file__).parent{steps}")


app = typer.Typer(help="Begin a project, a flow, a skill, a tool or a hook that works at once.")

NameArgument = Annotated[
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
FolderOption = Annotated[
    Path | None, typer.Option(help="Where to write.", show_default="where it is found at once")
]


@app.command()
def project(
    name: Annotated[str, typer.Argument(help="The name of its Python package, such as acme.")],
    locale: Annotated[Locale, typer.Option(help="The language of its people.")] = "en",
    folder: Annotated[Path, typer.Option(help="Where to write.")] = Path(),
) -> None:
    """Write a company's own deployment: people, a flow, a tool in Python, tests, an image."""
    _write(new_project(name, locale, folder_at(folder)))


@app.command()
def flow(name: NameArgument, zh: Zh = None, en: En = None, folder: FolderOption = None) -> None:
    """Write a flow with stories of it. It loads, and its examples start it and no other."""
    settings = Settings.load()
    names = named("flow", name, zh, en, load_registry(settings).names)
    _write(new_flow(settings, names, folder))


@app.command()
def process(
    name: Annotated[str, typer.Argument(help="One of the gallery's, such as overtime.")],
) -> None:
    """Copy a whole process of the gallery: its flow, its stories, and the file of its tools."""
    _write(new_process(Settings.load(), name))


@app.command()
def skill(name: NameArgument, zh: Zh = None, en: En = None, folder: FolderOption = None) -> None:
    """Write a skill, with lines that people say who mean it."""
    _write(new_skill(Settings.load(), named("skill", name, zh, en), folder))


@app.command()
def tool(
    name: NameArgument,
    kind: Annotated[
        NewToolKind,
        typer.Option(
            help="A function here, a declared request, an operation of an OpenAPI document, "
            "or a program of its own."
        ),
    ] = "python",
    zh: Zh = None,
    en: En = None,
    folder: FolderOption = None,
) -> None:
    """Write a tool with a test of it."""
    settings = Settings.load()
    names = named("tool", name, zh, en, load_registry(settings).names)
    _write(new_tool(settings, names, kind, folder))


@app.command()
def hook(name: NameArgument, zh: Zh = None, en: En = None, folder: FolderOption = None) -> None:
    """Write a hook that refuses certain messages, with a test of it."""
    settings = Settings.load()
    hooks = load_registry(settings).hooks
    names = named("hook", name, zh, en, [each.name for each in hooks])
    _write(new_hook(settings, names, folder))


def _write(written: ScaffoldResult) -> None:
    check_absent(written.files)
    begun: list[Path] = []
    try:
        for file in written.files:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            with file.path.open("x", encoding="utf-8", newline="\n") as out:
                begun.append(file.path)
                out.write(file.text)
    except OSError as error:
        for path in begun:
            with suppress(OSError):
                path.unlink()
        raise MisconfiguredError(
            f"{error.filename or written.files[0].path} can't be written ({error.strerror}): "
            "name a folder that you may write to with --folder"
        ) from None
    for file in written.files:
        typer.echo(f"wrote {file.path}")
    if written.remark:
        typer.echo(f"then  {written.remark}")
    for number, command in enumerate(written.commands):
        typer.echo(f"{'next ' if number == 0 else '     '} {command}")
