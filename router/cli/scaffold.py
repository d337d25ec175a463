"""What `intent-router new` writes: files that work at once, all of them or none.

What something new is called: its name, and the words that people have for it.

Writing new files: all of them or none, and never over one that is there.

What a command of `new` has to say.

Where something new goes: where it is found at once, and never into an installed package.
"""

import keyword
import os
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from router.cli.schema import FOLDER, NAMES, text_of
from router.domain.errors import Conflict, InvalidInput, MisconfiguredError
from router.tool.tool import RESERVED

What = Literal["flow", "skill", "tool"]

LONGEST_WORDS = 40
_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_WORDS = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")
_CHINESE = re.compile("[\u4e00-\u9fff]")
LONGEST = {"flow": 63, "tool": 63, "skill": 64}


@dataclass(frozen=True)
class Names:
    """The name that programs have for it, and the words of people in both languages."""

    name: str
    zh: str
    en: str


def named(
    what: What, name: str, zh: str | None, en: str | None, taken: Collection[str] = ()
) -> Names:
    """The names of something new; words that nobody gave are those in its name.

    >>> named("flow", "parking_permit", "停车证", None)
    Names(name='parking_permit', zh='停车证', en='parking permit')

    Raises:
        InvalidInput: it can't be called so, or something else is.
    """
    _check_form(what, name)
    if name in RESERVED or keyword.iskeyword(name):
        raise InvalidInput(f"the name {name!r} means something else already: say what it is for")
    if name in taken:
        raise InvalidInput(f"something is called {name} already: choose another name")
    english = _words("--en", re.sub("[_-]", " ", name) if en is None else en)
    return Names(name, english if zh is None else _words("--zh", zh), english)


def _check_form(what: What, name: str) -> None:
    form, written = (
        (_KEBAB, "small letters, digits and single hyphens, as in policy-advisor")
        if what == "skill"
        else (_SNAKE, "small letters, digits and single _, a letter first, as in desk_lamp")
    )
    if not form.fullmatch(name) or len(name) > LONGEST[what]:
        remedy = f"write up to {LONGEST[what]} {written}"
        near = _near(what, name)
        meant = f", such as {near}" if near and form.fullmatch(near) else ""
        raise InvalidInput(f"a {what} can't be called {name[:80]!r}: {remedy}{meant}")


def _near(what: What, name: str) -> str:
    """What might be meant by a name of another form: `Desk Lamp` is desk_lamp."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name) if name.isascii() else []
    return ("-" if what == "skill" else "_").join(part.lower() for part in parts)[: LONGEST[what]]


def _words(option: str, written: str) -> str:
    if not _WORDS.fullmatch(written) or len(written) > LONGEST_WORDS:
        remedy = f"write up to {LONGEST_WORDS} letters and digits with single spaces or hyphens"
        raise InvalidInput(f"{option} {written[:80]!r} can't be what people call it: {remedy}")
    if option == "--en" and _CHINESE.search(written):
        raise InvalidInput(f"--en {written!r} isn't English: write it in --zh")
    return written


@dataclass(frozen=True)
class NewFile:
    """A file to be written."""

    path: Path
    text: str


def template(name: str) -> str:
    """A template's text: a whole file, about something called `my_…`."""
    return (resources.files("router.cli.templates") / name).read_text("utf-8")


def about(text: str, names: Names, stand_in: str) -> str:
    """A template's text about something else than its `stand_in`, such as `my_flow`.

    Lines that are patterns get the words in small letters, which messages are searched in.
    """
    return "".join(
        _line_about(line, names, stand_in, small=line.lstrip().startswith("- '"))
        for line in text.splitlines(keepends=True)
    )


def _line_about(line: str, names: Names, stand_in: str, *, small: bool) -> str:
    zh, en = (names.zh.lower(), names.en.lower()) if small else (names.zh, names.en)
    for stands, means in (
        (stand_in.upper(), names.name.upper()),
        (stand_in, names.name),
        ("示例事项", zh),
        ("sample request", en),
        ("Sample request", names.en[0].upper() + names.en[1:]),
    ):
        line = line.replace(stands, means)
    return line


def check_absent(files: Iterable[NewFile]) -> None:
    """Raises `Conflict` with every file that is there already."""
    there = [str(file.path) for file in files if file.path.exists() or file.path.is_symlink()]
    if there:
        verb = "are" if len(there) > 1 else "is"
        raise Conflict(
            f"{', '.join(there)} {verb} there already and nothing was written: "
            "choose another name, or move it away"
        )


def write_all(files: Sequence[NewFile]) -> None:
    """Write the files.

    Raises:
        Conflict: one is there already.
        MisconfiguredError: one can't be written; then none of them is left.
    """
    check_absent(files)
    written: list[Path] = []
    try:
        for file in files:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            with file.path.open("x", encoding="utf-8", newline="\n") as out:
                written.append(file.path)
                out.write(file.text)
    except OSError as error:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise MisconfiguredError(
            f"{error.filename or files[0].path} can't be written ({error.strerror}): "
            "name a folder that you may write to with --folder"
        ) from None


@dataclass(frozen=True)
class ScaffoldResult:
    """New files, and the commands to go on with."""

    files: Sequence[NewFile]
    commands: Sequence[str]
    remark: str = ""


def with_setting(command: str, setting: tuple[str, Path] | None) -> str:
    """The command, with the setting before it without which it wouldn't find the new files.

    >>> with_setting("intent-router route hello", ("ROUTER_FLOWS", Path("flows")))
    'ROUTER_FLOWS=flows intent-router route hello'
    """
    if setting is None:
        return command
    name, value = setting
    return f"{name}={shlex.quote(str(value))} {command}"


@dataclass(frozen=True)
class ScaffoldPlace:
    """A folder for something new; `in_use` where what is in it is found without further ado."""

    folder: Path
    in_use: bool


def place_for(
    given: Path | None, configured: Path | None, own: Path, otherwise: str
) -> ScaffoldPlace:
    """The folder that was asked for, or else the settings', or else the project's `own`.

    Where the project is installed rather than checked out here, its own is no place to write to:
    then it is the folder `otherwise` of the working directory.
    """
    in_use = configured or own
    if given is not None:
        return ScaffoldPlace(given, given.resolve() == in_use.resolve())
    if configured is not None or own.resolve().is_relative_to(Path.cwd()):
        return ScaffoldPlace(shortened(in_use), in_use=True)
    return ScaffoldPlace(Path(otherwise), in_use=False)


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

    Within a checkout it is the one that ships. Elsewhere a copy is laid into `.schemas/`, in the
    folder `top` or here: a path into an installed package would be another one on every machine.
    """
    checkout = FOLDER.parents[1]
    if (checkout / "pyproject.toml").is_file() and folder.resolve().is_relative_to(checkout):
        return Path(os.path.relpath(FOLDER, folder.resolve())).as_posix(), []
    copies = (top or folder) / ".schemas"
    copy = copies / NAMES[name]
    missing = [] if copy.exists() else [NewFile(copy, text_of(name))]
    return Path(os.path.relpath(copies, folder)).as_posix(), missing
