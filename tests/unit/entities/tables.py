"""What is said, in rows: in a test, or in a file a kind with what it comes to, `data/dates.txt`."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"


def phrases(text: str) -> list[str]:
    """Those that stand a line each or two spaces apart."""
    return re.split(r"\s*\n\s*|\s{2,}", text.strip())


def spread(*rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """A row for each of the phrases that a row ends with: what they come to stands before them."""
    return [(*before, said) for *before, text in rows for said in phrases(text)]


def typed(text: str) -> pytest.MarkDecorator:
    """A test once for each of the phrases, as its argument `typed`."""
    return pytest.mark.parametrize("typed", phrases(text))


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
