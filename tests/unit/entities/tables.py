"""Tables of what is said and what it comes to, a file a kind: `data/dates.txt`."""

from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def table(name: str, section: str) -> list[Any]:
    """The rows under the heading `# section`: texts, or pairs where `▸` parts two."""
    return _sections(name)[section]


@cache
def _sections(name: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    rows: list[Any] = []
    for line in (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            rows = found.setdefault(line[2:], [])
        elif line:
            typed, parted, expected = line.partition(" ▸")
            rows.append((typed, expected.strip()) if parted else typed)
    return found
