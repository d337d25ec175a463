"""The schemas as they ship: files beside the library, which editors find without a network."""

from collections.abc import Mapping
from pathlib import Path

from router.domain.errors import Conflict, MisconfiguredError

FOLDER = Path(__file__).parents[2] / "schemas"
NAMES: Mapping[str, str] = {
    name: f"{name}.json" for name in ("flow", "story", "skill", "tools", "mcp", "directory")
}


def text_of(name: str) -> str:
    """The schema of this name, as JSON."""
    return (FOLDER / NAMES[name]).read_text("utf-8")


def write_to(folder: Path) -> list[Path]:
    """Copy every schema into a folder; one that is there already has to be an earlier copy.

    Raises:
        Conflict: a file there is something else.
        MisconfiguredError: the folder can't be written to.
    """
    copies = {folder / file: text_of(name) for name, file in NAMES.items()}
    try:
        for path in copies:
            if path.exists() and '"$schema"' not in path.read_text("utf-8", "replace")[:200]:
                raise Conflict(f"{path} is there and no schema: name another folder for --write")
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in copies.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MisconfiguredError(
            f"--write {folder} can't be written to ({error.strerror}): name another folder"
        ) from None
    return list(copies)
