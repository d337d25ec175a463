"""Options that several commands share, and rows as several print them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from router.settings import Settings

LOCAL_API = "http://127.0.0.1:8000"
DataFolder = Annotated[
    Path | None, typer.Option(help="The data folder of `dev`.", show_default=".data")
]


def settings_in(data: Path | None) -> Settings:
    """The settings, with this data folder where one is given; raises `MisconfiguredError`."""
    return Settings.load(**({} if data is None else {"data": data}))


def paths_argument(what: str, otherwise: str) -> Any:
    """The argument for paths: what they are, and what is checked where none is given."""
    return typer.Argument(metavar="[PATH]...", help=what, show_default=otherwise)


def echo_aligned(rows: Sequence[tuple[str, ...]]) -> None:
    """Print the rows, which have equally many cells, with their columns one below another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        typer.echo("  ".join(f"{cell:<{width}}" for cell, width in cells).rstrip())
