"""`intent-router new`: files of a project, flow, process, skill, tool or hook that work at once.

Files are written all of them or none, and never over one that is there, where they are found at
once, and never into an installed package.
"""

import keyword
import re
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from router.cli.flows import validated
from router.cli.project import new_project
from router.cli.scaffold import (
    OWN_TOOLS,
    Names,
    NewFile,
    ScaffoldResult,
    about,
    check_absent,
    code_folder,
    folder_at,
    place_for,
    quoted,
    schema_for,
    shortened,
    write_scaffold,
)
from router.domain.errors import InvalidInput, MisconfiguredError
from router.domain.locale import Locale
from router.runtime.definitions import load_registry
from router.runtime.extensions import load_configured
from router.settings import Settings
from router.settings.sample import SAMPLE_CODE, sample_folder
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
    words = (f'route "{asked}"', f"flows test {quoted(files[1].path)}")
    commands = [place.command(each) for each in words]
    return ScaffoldResult([*files, *copies, *story_copies], commands)


def new_skill(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """The files of a skill in the Agent Skills format."""
    place = place_for(given, settings.skills, sample_folder("skills"), "skills", "ROUTER_SKILLS")
    folder = place.folder
    lines = folder / "tests" / f"{names.name}.jsonl"
    files = [
        NewFile(folder / names.name / "SKILL.md", about("SKILL.md", names, "my-skill")),
        NewFile(lines, about("my_skill_lines.jsonl", names, "my-skill")),
    ]
    commands = (f"skills validate {quoted(files[0].path.parent)}", f"eval {quoted(lines)}")
    return ScaffoldResult(files, [place.command(each) for each in commands])


def new_tool(settings: Settings, names: Names, kind: str, given: Path | None) -> ScaffoldResult:
    """The files of a tool of this kind, with a test of it, where tools of the kind are found.

    Raises `InvalidInput` if no extension has the kind.
    """
    if kind == "python":
        return _python(settings, names, given)
    kinds = _tool_templates(settings)
    if kind not in kinds:
        remedy = f"choose among {', '.join(('python', *kinds))}"
        raise InvalidInput(f"--kind {kind[:40]!r} is no kind of tools here: {remedy}")
    module, _, function = kinds[kind].partition(":")
    made: ScaffoldResult = getattr(import_module(module), function)(settings, names, given)
    return made


def _either(names: Sequence[str]) -> str:
    *before, last = names
    return f"{', '.join(before)} or {last}" if before else last


def _tool_templates(settings: Settings) -> dict[str, str]:
    """Return the kinds of tools that extensions write, each with the function that does it."""
    found: dict[str, str] = {}
    for added in load_configured(settings).collect(lambda each: each.tool_templates()):
        found = {**found, **{n: each for n, each in added.items() if n not in found}}
    return found


def _python(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """A function of a package of tools: that is how code is found."""
    configured = code_folder(settings, "tools")
    place = place_for(given, configured, OWN_TOOLS, "company/tools", "PYTHONPATH")
    others = [*_tool_templates(settings)]
    otherwise = f", or choose --kind {_either(others)}" if others else ""
    root, package = package_of(place.folder, otherwise)
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
    commands = [f"python -m pytest {quoted(files[1].path)}"]
    return ScaffoldResult(files, commands if place.setting else [call, *commands])


def new_hook(settings: Settings, names: Names, given: Path | None) -> ScaffoldResult:
    """A hook in a package where hooks are found, with a test of it."""
    own, configured = sample_folder(SAMPLE_CODE) / "hooks", code_folder(settings, "hooks")
    place = place_for(given, configured, own, "company/hooks", "PYTHONPATH")
    root, package = package_of(place.folder)
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
    commands = [f"python -m pytest {quoted(files[1].path)}"]
    return ScaffoldResult(files, commands if place.setting else ["intent-router hooks", *commands])


def package_of(folder: Path, otherwise: str = "") -> tuple[Path, str]:
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
    folder: Annotated[
        Path | None, typer.Option(help="Where to write.", show_default="the folder NAME")
    ] = None,
) -> None:
    """Write a company's own deployment: people, a flow, a tool in Python, tests, an image."""
    write_scaffold(new_project(name, locale, folder_at(folder or Path(name))))


@app.command()
def flow(name: NameArgument, zh: Zh = None, en: En = None, folder: FolderOption = None) -> None:
    """Write a flow with stories of it. It loads, and its examples start it and no other."""
    settings = Settings.load()
    names = named("flow", name, zh, en, load_registry(settings).names)
    write_scaffold(new_flow(settings, names, folder))


@app.command()
def skill(name: NameArgument, zh: Zh = None, en: En = None, folder: FolderOption = None) -> None:
    """Write a skill, with lines that people say who mean it."""
    write_scaffold(new_skill(Settings.load(), named("skill", name, zh, en), folder))


@app.command()
def tool(
    name: NameArgument,
    kind: Annotated[
        str,
        typer.Option(
            help="A function here (python), a declared request (http), an operation of an OpenAPI "
            "document (openapi), a program of its own (mcp), or a kind of another extension."
        ),
    ] = "python",
    zh: Zh = None,
    en: En = None,
    folder: FolderOption = None,
) -> None:
    """Write a tool with a test of it."""
    settings = Settings.load()
    names = named("tool", name, zh, en, load_registry(settings).names)
    write_scaffold(new_tool(settings, names, kind, folder))


@app.command()
def hook(name: NameArgument, zh: Zh = None, en: En = None, folder: FolderOption = None) -> None:
    """Write a hook that refuses certain messages, with a test of it."""
    settings = Settings.load()
    hooks = load_registry(settings).hooks
    names = named("hook", name, zh, en, [each.name for each in hooks])
    write_scaffold(new_hook(settings, names, folder))
