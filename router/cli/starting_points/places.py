"""Where something new goes: where it is found at once, and never into an installed package."""

import os
from dataclasses import dataclass
from pathlib import Path

from router.cli.schemas.files import FOLDER, NAMES, text_of
from router.cli.starting_points.files import NewFile
from router.domain.errors import MisconfiguredError


@dataclass(frozen=True)
class Place:
    """A folder for something new; `in_use` where what is in it is found without further ado."""

    folder: Path
    in_use: bool


def place_for(given: Path | None, configured: Path | None, own: Path, otherwise: str) -> Place:
    """The folder that was asked for, or else the settings', or else the project's `own`.

    Where the project is installed rather than checked out here, its own is no place to write to:
    then it is the folder `otherwise` of the working directory.
    """
    in_use = configured or own
    if given is not None:
        return Place(given, given.resolve() == in_use.resolve())
    if configured is not None or own.resolve().is_relative_to(Path.cwd()):
        return Place(shortened(in_use), in_use=True)
    return Place(Path(otherwise), in_use=False)


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
