"""Reading a file that a person wrote, with a bound on its size."""

from pathlib import Path

from router.documents.faults import Fault
from router.documents.yaml_document import Unreadable


def read_text(path: Path, largest: int, remedy: str) -> str:
    """The file's text, less a byte-order mark.

    Raises `Unreadable` where there is no such file, it isn't UTF-8, or it has more than
    `largest` bytes; then `remedy` says what to do.
    """
    try:
        if not path.is_file():
            raise Unreadable(1, Fault(f"there is no such file{_link(path)}", "check the path"))
        with path.open("rb") as file:
            raw = file.read(largest + 1)
    except OSError as error:
        raise Unreadable(1, Fault(f"it can't be read: {error.strerror}", "check it")) from None
    if len(raw) > largest:
        raise Unreadable(1, Fault(f"it is over {largest // 1024} KiB", remedy))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, Fault("this isn't UTF-8", "save the file as UTF-8")) from None


def _link(path: Path) -> str:
    return f" as {path.readlink()}, which it links to" if path.is_symlink() else ""
