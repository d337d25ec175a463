"""How a word would show in the files of a database, whatever it was wrapped in."""

import base64
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

LONG_ENOUGH = 8
"""Characters of base64 that aren't found by chance."""


def forms(word: str) -> Iterator[bytes]:
    """A word as it is, escaped once and twice, in UTF-16, and each in base64 at any offset."""
    escaped = json.dumps(word).strip('"')
    twice = json.dumps(escaped).strip('"')
    wide = (word.encode("utf-16-le"), word.encode("utf-16-be"))
    for raw in {word.encode(), escaped.encode(), twice.encode(), *wide}:
        yield raw
        for offset in range(3):
            # A character stands for six bits: at the ends they are of neighbouring bytes too.
            first, last = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6
            encoded = base64.b64encode(b"\0" * offset + raw)[first:last]
            if len(encoded) >= LONG_ENOUGH:
                yield encoded
                yield encoded.translate(bytes.maketrans(b"+/", b"-_"))


def found_in(content: bytes, words: Iterable[str]) -> set[str]:
    """Which of the words show, in any form."""
    return {word for word in words if any(form in content for form in forms(word))}


def bytes_of(data: Path, name: str = "temporal.db") -> bytes:
    """The database with its write-ahead log or journal, which comes and goes with transactions."""
    content = []
    for file in sorted(data.glob(f"{name}*")):
        with suppress(FileNotFoundError):
            content.append(file.read_bytes())
    return b"".join(content)


def rows_of(file: Path, but: str = "\0") -> bytes:
    """All rows of a database, values whole, those of tables that begin with `but` left out."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30) as database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith(but)
        ]
        rows = [row for name in tables for row in database.execute(f'SELECT * FROM "{name}"')]
    return b"\n".join(
        value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row
    )
