"""The gallery of processes, for authors: what there is to begin from, and the files of each."""

import asyncio
from functools import cache

from fastapi import APIRouter
from pydantic import BaseModel

from router.api.dependencies import Author
from router.api.errors import problems
from router.domain.locale import Locale
from router.drawing import graph_of, svg_of
from router.flow.gallery import Gallery

router = APIRouter(prefix="/v1/flow-gallery", tags=["authors"])


class GalleryItem(BaseModel):
    """A process in the reader's language."""

    flow: str
    title: str
    description: str
    picture: str
    """SVG: its states and the ways between them, in words."""


class GalleryPage(BaseModel):
    """All of them, by name."""

    items: list[GalleryItem]


class GalleryFiles(BaseModel):
    """The files of a process, each to the byte."""

    text: str
    """The flow file."""
    stories: str
    """The story file; empty where there is none."""
    tools: str
    """The file that declares its tools over HTTP; empty where it needs none."""


@cache
def _gallery() -> Gallery:
    return Gallery()


@cache
def _items(locale: Locale) -> list[GalleryItem]:
    """Drawn once a language: they ship, and stay as they are."""
    return [
        GalleryItem(
            flow=one.name,
            title=one.definition.title.within(locale),
            description=one.definition.description.within(locale),
            picture=svg_of(graph_of(one.definition, locale, plain=True)),
        )
        for one in _gallery()
    ]


@router.get("", responses=problems(404))
async def index(author: Author) -> GalleryPage:
    """List the processes that ship, to begin from; none is in use by itself."""
    return GalleryPage(items=await asyncio.to_thread(_items, author.locale))


@router.get("/{flow}", responses=problems(404))
async def show(_: Author, flow: str) -> GalleryFiles:
    """Give a process's files, as an author would copy them."""
    found = _gallery().find(flow)
    return GalleryFiles(text=found.text, stories=found.stories, tools=found.tools)
