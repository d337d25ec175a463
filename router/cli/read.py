"""`intent-router read`: what is read of a file that somebody might hand in. No server is needed."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from activities.documents import EASTERNMOST
from router.documents.document_type import document_types, recognised
from router.documents.file_format import UnreadableFile
from router.documents.page import Material
from router.documents.reader import DocumentReader
from router.domain.documents import OTHER, Document, ReadField
from router.domain.errors import InvalidInput, NotFound
from router.runtime.definitions import format_packages, load_registry
from router.settings import Settings

_WIDTH = 9
"""Of the column of names, at least."""


def read(
    file: Annotated[Path, typer.Argument(help="A PDF, a picture, an OFD, or an XML.")],
    text: Annotated[bool, typer.Option(help="Show what is written in it, a line each.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON, with places.")] = False,
) -> None:
    """Read FILE as papers are read that people hand in.

    In a process of its own that is bounded as ever, and with the types of documents that there
    are, the project's own too. Nothing is kept. Exit status 1: nothing can be read of it.
    """
    settings = Settings.load()
    load_registry(settings)
    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    try:
        material, document = asyncio.run(_read(file.read_bytes(), format_packages(settings)))
    except UnreadableFile as refused:
        raise InvalidInput(f"{file}: {refused.text.en} ({refused.code})") from None
    if as_json:
        shown = document.model_dump(mode="json", exclude_defaults=True, exclude={"text"})
        typer.echo(json.dumps({"type": document.type, **shown}, ensure_ascii=False, indent=2))
    else:
        typer.echo("\n".join(_lines(document)))
    if text:
        typer.echo("\n".join(["", *(line.text for line in material.lines)]))


async def _read(content: bytes, formats: Sequence[str]) -> tuple[Material, Document]:
    async with DocumentReader(formats) as reader:
        material = await reader.read(content)
    return material, recognised(material, (datetime.now(UTC) + EASTERNMOST).date())


def _lines(document: Document) -> Iterator[str]:
    """What a person reads: the type first, then a field a line, and what is to be said of it."""
    kind = document_types().get(document.type)
    many = "1 page" if document.pages == 1 else f"{document.pages} pages"
    yield f"{document.type}: {kind.label.en if kind else 'of no type that is known'}, {many}"
    width = max(_WIDTH, *map(len, document.fields)) if document.fields else _WIDTH
    for name, field in document.fields.items():
        yield f"  {name:{width}} {_field(field)}"
    if document.lacks:
        yield f"  not found: {', '.join(document.lacks)}"
    elif document.type == OTHER:
        yield f"  known are: {', '.join(document_types())}"
    for problem in document.problems:
        yield f"  {problem.code}: {problem.text.en}"


def _field(field: ReadField) -> str:
    asked = "" if field.is_sure else ", so it is asked"
    return f"{_plain(field.value)}  ({field.source}, {field.confidence:.2f}{asked})"


def _plain(value: JsonValue) -> str:
    if isinstance(value, dict):
        return " ".join(str(part) for part in value.values())
    return str(value)
