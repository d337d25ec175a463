"""Writing new files: all of them or none, and never over one that is there."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from router.cli.starting_points.names import Names
from router.domain.errors import Conflict, MisconfiguredError


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
