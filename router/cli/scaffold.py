"""What `intent-router new` writes: files from templates, and the places where they are found."""

import os
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

import typer

from router.cli.schema import FOLDER, schema_files, text_of
from router.domain.errors import Conflict, MisconfiguredError
from router.settings import Settings
from router.settings.project import find_project
from router.settings.sample import SAMPLE_CODE, sample_folder


@dataclass(frozen=True)
class Names:
    """The name that programs have for it, and the words of people in both languages."""

    name: str
    zh: str
    en: str


@dataclass(frozen=True)
class NewFile:
    """A file to be written."""

    path: Path
    text: str


def about(
    template: str,
    names: Names,
    stand_in: str = "my_tool",
    package: str = "router.cli.templates",
) -> str:
    """A template's text, which is a whole file, about something else than its `stand_in`."""
    text, lines = (resources.files(package) / template).read_text("utf-8"), []
    for line in text.splitlines(keepends=True):
        small = line.lstrip().startswith("- '")  # a pattern, which is searched for in small letters
        for stands, means in (
            (stand_in.upper(), names.name.upper()),
            (stand_in, names.name),
            ("示例事项", names.zh.lower() if small else names.zh),
            ("sample request", names.en.lower() if small else names.en),
            ("Sample request", names.en[0].upper() + names.en[1:]),
        ):
            line = line.replace(stands, means)  # noqa: PLW2901
        lines.append(line)
    return "".join(lines)


def check_absent(files: Iterable[NewFile]) -> None:
    """Raises `Conflict` with every file that is there already."""
    there = [str(file.path) for file in files if file.path.exists() or file.path.is_symlink()]
    if there:
        verb = "are" if len(there) > 1 else "is"
        raise Conflict(
            f"{', '.join(there)} {verb} there already and nothing was written: "
            "choose another name, or move it away"
        )


@dataclass(frozen=True)
class ScaffoldResult:
    """New files, and the commands to go on with."""

    files: Sequence[NewFile]
    commands: Sequence[str]
    remark: str = ""


@dataclass(frozen=True)
class ScaffoldPlace:
    """A folder for something new, and the `setting` without which what is in it isn't found.

    >>> ScaffoldPlace(Path("flows"), "ROUTER_FLOWS").command("route hello")
    'ROUTER_FLOWS=flows intent-router route hello'
    """

    folder: Path
    setting: str | None

    def command(self, words: str, *others: "ScaffoldPlace") -> str:
        """A command as it has to be typed to find the new files, here and in the `others`."""
        places = (each for each in (self, *others) if each.setting)
        before = [f"{each.setting}={shlex.quote(str(each.folder))} " for each in places]
        return f"{''.join(before)}intent-router {words}"


def place_for(
    given: Path | None, configured: Path | None, own: Path, otherwise: str, setting: str
) -> ScaffoldPlace:
    """The folder that was asked for, or else the settings', or else the project's `own`.

    Where the project is installed rather than checked out here, its own is no place to write to:
    then it is the folder `otherwise` of the working directory. It has to be a folder, or none yet.
    """
    in_use = configured or own
    place = ScaffoldPlace(Path(otherwise), setting)
    if given is not None:
        found = given.resolve() == in_use.resolve()
        place = ScaffoldPlace(given, None if found else setting)
    elif configured is not None or own.resolve().is_relative_to(Path.cwd()):
        place = ScaffoldPlace(shortened(in_use), None)
    folder_at(place.folder)
    return place


def shortened(path: Path) -> Path:
    """The path as it is typed from here."""
    resolved = path.resolve()
    return resolved.relative_to(Path.cwd()) if resolved.is_relative_to(Path.cwd()) else path


def folder_at(folder: Path) -> Path:
    """The same, where it is a folder or could be made one; raises `MisconfiguredError`."""
    for above in (folder, *folder.parents):
        if above.exists() and not above.is_dir():
            raise MisconfiguredError(f"{above} is no folder: name another one with --folder")
    return folder


def schema_for(folder: Path, name: str, top: Path | None = None) -> tuple[str, list[NewFile]]:
    """Where a file in `folder` finds its schema, offline; the schema itself, where it isn't near.

    Outside a checkout that is a copy in `.schemas/`: installed packages are elsewhere everywhere.
    """
    checkout, own = FOLDER.parents[1], schema_files()[name].parent
    in_checkout = own.is_relative_to(checkout) and folder.resolve().is_relative_to(checkout)
    if in_checkout and (checkout / "pyproject.toml").is_file():
        return Path(os.path.relpath(own, folder.resolve())).as_posix(), []
    copies = (top or folder) / ".schemas"
    copy = copies / f"{name}.json"
    missing = [] if copy.exists() else [NewFile(copy, text_of(name))]
    return Path(os.path.relpath(copies, folder)).as_posix(), missing


OWN_TOOLS = sample_folder(SAMPLE_CODE) / "tools"
"""The folder of the sample company's tools."""


def quoted(path: Path) -> str:
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


def tests_folder(folder: Path) -> Path:
    """Where tests of what is in `folder` go: with the project's own, or into `tests` in it."""
    project = find_project()
    if project is not None and folder.resolve().is_relative_to(project.folder):
        return shortened(project.folder / "tests")
    checkout = OWN_TOOLS.parents[1]
    if (checkout / "tests").is_dir() and folder.resolve().is_relative_to(OWN_TOOLS):
        return shortened(checkout / "tests" / "unit" / "activities" / "tools")
    return folder / "tests"


def point_test_at(text: str, test: Path, file: Path) -> str:
    """A test that finds the file from where it stands."""
    way = Path(os.path.relpath(file.resolve().parent, test.resolve().parent))
    steps = "".join(".parent" if part == ".." else f' / "{part}"' for part in way.parts)
    return text.replace("Path(__file__).parent", f"Path(__file__).parent{steps}")


def write_scaffold(written: ScaffoldResult) -> None:
    """Write all new files or none, and say which, and how to go on.

    Raises:
        Conflict: One is there already.
        MisconfiguredError: One can't be written.
    """
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
