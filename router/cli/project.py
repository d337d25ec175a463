"""`intent-router new project`: the folder of a company's own deployment."""

import re
import shlex
from importlib import resources
from pathlib import Path

from router.cli.scaffold import Names, NewFile, ScaffoldResult, about, schema_for
from router.domain.errors import Conflict, InvalidInput
from router.domain.locale import Locale
from router.settings.project import check_package, find_project

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
MAX_NAME_CHARS = 40
FILES = {
    "pyproject.toml": "pyproject.toml",
    "people.yaml": "people.yaml",
    "persona.yaml": "persona.yaml",
    "README.md": "README.md",
    "Dockerfile": "Dockerfile",
    "docker-compose.yml": "docker-compose.yml",
    "env.example": ".env.example",
    "gitignore": ".gitignore",
    "dockerignore": ".dockerignore",
    "ci.yml": ".github/workflows/test.yml",
}
"""The templates, with the file of the project that each becomes."""
FLOW = Names("access_card", "门禁卡", "access card")
TOOL = Names("opening_hours", "营业时间", "opening hours")


def new_project(name: str, locale: Locale, folder: Path) -> ScaffoldResult:
    """Return the files of a project with a flow and a tool that work.

    Args:
        name: The name of its Python package, such as `acme`.
        locale: The language of the people in its directory.
        folder: Where to write.

    Raises:
        InvalidInput: The name can't be the name of a package.
        MisconfiguredError: An installed package has the name already.
        Conflict: The folder has a project already, or is within one.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS:
        raise InvalidInput(
            f"a project can't be called {name[:80]!r}: write up to {MAX_NAME_CHARS} small letters, "
            "digits and single _, a letter first, as in acme"
        )
    if (folder / "pyproject.toml").exists():
        raise Conflict(
            f"{folder / 'pyproject.toml'} is there already and nothing was written: add to that "
            "project with `intent-router new flow`, `skill`, `tool` or `hook`, or choose another "
            "folder with --folder"
        )
    if (around := find_project(folder)) is not None:
        raise Conflict(
            f"{folder} is within the project in {around.folder} and nothing was written: add to "
            "that with `intent-router new flow`, `skill`, `tool` or `hook`, or go to another folder"
        )
    check_package(name, folder.resolve(), is_new=True)
    files = [NewFile(folder / path, _text(source, name, locale)) for source, path in FILES.items()]
    commands = ["intent-router dev", "intent-router flows test", "python -m pytest"]
    if folder.resolve() != Path.cwd():
        commands.insert(0, f"cd {shlex.quote(str(folder))}")
    return ScaffoldResult([*files, *_package(folder, name), *_flow(folder)], commands)


def _text(template: str, name: str, locale: Locale) -> str:
    text = (resources.files("router.cli.templates") / "project" / template).read_text("utf-8")
    text = text.replace("my-company", name.replace("_", "-")).replace("my_company", name)
    return text.replace("LOCALE", locale)


def _package(folder: Path, name: str) -> list[NewFile]:
    package = folder / name
    test = about("my_tool_python_test.py", TOOL)
    test = test.replace(f"router.cli.templates.{TOOL.name}", f"{name}.tools.{TOOL.name}")
    return [
        NewFile(package / "__init__.py", f'"""The Python code of {name}."""\n'),
        NewFile(package / "tools" / "__init__.py", f'"""The tools of {name}."""\n'),
        NewFile(package / "tools" / f"{TOOL.name}.py", about("my_tool.py", TOOL)),
        NewFile(package / "hooks" / "__init__.py", f'"""The hooks of {name}."""\n'),
        NewFile(folder / "tests" / f"test_{TOOL.name}.py", test),
        NewFile(
            folder / "tests" / f"test_{FLOW.name}.py", about("my_flow_test.py", FLOW, "my_flow")
        ),
    ]


def _flow(folder: Path) -> list[NewFile]:
    flows = folder / "flows"
    near, copies = schema_for(flows, "flow")
    near_story, story_copies = schema_for(flows / "tests", "story", flows)
    flow = about("my_flow.yaml", FLOW, "my_flow").replace("../../schemas", near)
    story = about("my_flow_story.yaml", FLOW, "my_flow")
    return [
        NewFile(flows / f"{FLOW.name}.yaml", flow),
        NewFile(flows / "tests" / f"{FLOW.name}.yaml", story.replace("../../schemas", near_story)),
        *copies,
        *story_copies,
        NewFile(folder / "skills" / "README.md", "One folder for each skill, with its SKILL.md.\n"),
    ]
