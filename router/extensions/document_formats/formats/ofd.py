"""OFD (GB/T 33190), China's own format of fixed pages: a zip of XML.

`OFD.xml` names documents, `Document.xml` their pages, templates, resources and attachments, and a
page's `Content.xml` holds text with its place in millimetres. Members are looked up by name in the
archive; nothing is written, so that a name leads nowhere else.
"""

import math
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from router.documents.file_format import (
    FileFormat,
    FileReading,
    UnreadableFile,
    only_first,
    registered,
)
from router.documents.likeness import likeness
from router.documents.page import Material, Page, PageCode
from router.documents.xml_tree import Element, fields
from router.documents.zip_archive import ZipArchive
from router.domain.documents import Place
from router.domain.file_types import type_of
from router.extensions.document_formats.layout import Edges, Piece, Sheet, is_cjk, lines_of
from router.extensions.document_formats.pictures import can_see, codes_of, opened, picture_page

if TYPE_CHECKING:
    from PIL import Image

A4 = Edges(0, 0, 210, 297)
"""Millimetres, where a page doesn't say how large it is."""
ASCENT = 0.88
"""Of a letter's size: what is above its baseline."""
NARROW = 0.5
"""Of its size: how wide a letter is that isn't Chinese, where the file doesn't say."""
FEW = 12
"""Characters: a page that has fewer, and a picture, is a scan."""
PICTURES, ATTACHMENTS = 16, 16
"""So many are looked at, of a page and of a document."""
_KINDS = {"image/png": "PNG", "image/jpeg": "JPEG"}
_NUMBER = re.compile(r"[-+]?(?:\d{1,9}(?:\.\d{0,12})?|\.\d{1,12})")


@registered
class OfdFormat(FileFormat):
    """Lines with places, codes on pictures, and as data what it says of itself and attaches."""

    media_types = ("application/ofd",)

    def read(self, content: bytes, reading: FileReading) -> Material:
        """Its first pages; raises `UnreadableFile` where it is encrypted, damaged, or a bomb."""
        archive = ZipArchive(content, reading)
        root = archive.xml("OFD.xml")
        documents = [_Document(archive, loc) for loc in _doc_roots(root)]
        if not documents:
            raise UnreadableFile("damaged")
        attached = {k: v for document in documents for k, v in document.attached(reading)}
        data = dict(_information(root, reading)) | attached
        every = [(document, page) for document in documents for page in document.pages]
        most = min(len(every), reading.limits.pages)
        pages: list[Page] = []
        look: str | None = None
        while len(pages) < most and (not pages or reading.has_time):
            reading.tell(len(pages), most)
            document, element = every[len(pages)]
            page, picture = document.page(element, len(pages), reading)
            look = likeness(picture) if not pages and picture is not None else look
            pages.append(page)
        reading.tell(most, most)
        if not pages and not attached:
            raise UnreadableFile("damaged")
        more = len(every) > len(pages)
        problems = (only_first(len(pages), len(every)),) if more else ()
        return Material(tuple(pages), data, look, problems=problems)


def _path(base: str, location: str) -> str:
    """The member that a location means, which is written in the file `base`."""
    if location.startswith("/"):
        return posixpath.normpath(location).lstrip("/")
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), location)).lstrip("/")


def _doc_roots(root: Element) -> list[str]:
    found = (body.first("DocRoot") for body in root.all("DocBody"))
    return [_path("OFD.xml", one.text) for one in found if one is not None and one.text]


def _information(root: Element, reading: FileReading) -> Iterator[tuple[str, str]]:
    """What it says of itself: `DocInfo/Author`, and by their own names what generators add."""
    for body in root.all("DocBody"):
        info = body.first("DocInfo")
        for element in info.within() if info is not None else ():
            name = element.attributes.get("Name") if element.tag == "CustomData" else None
            text = reading.room_for(element.text)
            if text:
                yield f"DocInfo/{'CustomData/' + name if name else element.tag}", text


@dataclass
class _Found:
    """What stands on a page and its templates."""

    pieces: list[Piece] = field(default_factory=list)
    pictures: list[tuple[str, Edges]] = field(default_factory=list)


class _Document:
    """One document of the file."""

    def __init__(self, archive: ZipArchive, path: str) -> None:
        self._archive = archive
        self._path = path
        self._root = archive.xml(path)
        pages = self._root.first("Pages")
        self.pages = pages.all("Page") if pages is not None else []
        common = self._root.first("CommonData") or Element("CommonData")
        self._area = _physical(common.first("PageArea"), A4)
        self._templates = {
            one.attributes.get("ID", ""): one.attributes.get("BaseLoc", "")
            for one in common.all("TemplatePage")
        }
        resources = [*common.all("PublicRes"), *common.all("DocumentRes")]
        self._media = {key: at for one in resources for key, at in self._media_of(one.text)}

    def _media_of(self, location: str) -> Iterator[tuple[str, str]]:
        path = _path(self._path, location)
        try:
            root = self._archive.xml(path)
        except UnreadableFile as error:
            if error.code == "damaged":
                return  # its text may be read without
            raise
        base = posixpath.join(posixpath.dirname(path), root.attributes.get("BaseLoc", ""), "_")
        for one in root.within():
            at = one.first("MediaFile") if one.tag == "MultiMedia" else None
            if at is not None:
                yield one.attributes.get("ID", ""), _path(base, at.text)

    def attached(self, reading: FileReading) -> Iterator[tuple[str, str]]:
        """The fields of attached XML, such as the invoice's own."""
        listed = self._root.first("Attachments")
        if listed is None or not listed.text:
            return
        path = _path(self._path, listed.text)
        with suppress(_Missing):
            for one in _or_missing(self._archive, path).all("Attachment")[:ATTACHMENTS]:
                at = one.first("FileLoc")
                if at is not None and at.text.lower().endswith(".xml"):
                    with suppress(_Missing):
                        yield from fields(_or_missing(self._archive, _path(path, at.text)), reading)

    def page(
        self, element: Element, number: int, reading: FileReading
    ) -> "tuple[Page, Image.Image | None]":
        """A page, and what it looks like where it is a scan."""
        path = _path(self._path, element.attributes.get("BaseLoc", ""))
        content = self._archive.xml(path)
        area = _physical(content.first("Area"), self._area)
        found = _Found()
        for template in content.all("Template"):
            at = self._templates.get(template.attributes.get("TemplateID", ""))
            if at:
                _collect(self._archive.xml(_path(self._path, at)), area, found)
        _collect(content, area, found)
        sheet = Sheet(number, area.right - area.left, area.bottom - area.top)
        lines = tuple(line for line in lines_of(found.pieces, sheet) if reading.room_for(line.text))
        pictures = list(self._pictures(found, reading)) if can_see() else []
        if sum(len(line.text) for line in lines) < FEW and pictures:
            picture, _ = max(pictures, key=lambda one: one[0].width * one[0].height)
            return picture_page(picture, number, reading)
        codes = tuple(c for p, box in pictures for c in _codes(p, box, sheet, reading))
        return Page(sheet.width, sheet.height, lines, codes), None

    def _pictures(
        self, found: _Found, reading: FileReading
    ) -> "Iterator[tuple[Image.Image, Edges]]":
        for resource, box in found.pictures[:PICTURES]:
            at = self._media.get(resource)
            if at is None:
                continue
            try:
                raw = self._archive.bytes(at)
                if type_of(raw) in _KINDS:
                    yield opened(raw, _KINDS[type_of(raw)], reading), box
            except UnreadableFile as error:
                if error.code != "damaged":
                    raise


class _Missing(Exception):
    """A part of the file that isn't there, or is broken, and that it can be read without."""


def _or_missing(archive: ZipArchive, path: str) -> Element:
    try:
        return archive.xml(path)
    except UnreadableFile as error:
        if error.code == "damaged":
            raise _Missing from None
        raise


def _physical(area: Element | None, otherwise: Edges) -> Edges:
    box = area.first("PhysicalBox") if area is not None else None
    numbers = _numbers(box.text) if box is not None else []
    if len(numbers) != 4 or not (0 < numbers[2] < 1e5 and 0 < numbers[3] < 1e5):  # noqa: PLR2004
        return otherwise
    left, top, width, height = numbers
    return Edges(left, top, left + width, top + height)


def _collect(content: Element, area: Edges, found: _Found) -> None:
    for one in content.within():
        if one.tag == "TextObject":
            found.pieces.extend(_pieces(one, area))
        elif one.tag == "ImageObject":
            box = _boundary(one, area)
            found.pictures.append((one.attributes.get("ResourceID", ""), box))


def _boundary(element: Element, area: Edges) -> Edges:
    numbers = _numbers(element.attributes.get("Boundary", ""))
    left, top, width, height = numbers if len(numbers) == 4 else (0.0, 0.0, 0.0, 0.0)  # noqa: PLR2004
    left, top = left - area.left, top - area.top
    return Edges(left, top, left + width, top + height)


def _pieces(element: Element, area: Edges) -> Iterator[Piece]:
    """Each run of text of a `TextObject`: its baseline is told within the boundary."""
    boundary = _boundary(element, area)
    across, slant, lean, down, right, below = _matrix(element.attributes.get("CTM", ""))
    size = (_numbers(element.attributes.get("Size", "")) or [3.5])[0]
    x = y = 0.0
    for code in element.all("TextCode"):
        # One that isn't told is that of the run before.
        x = (_numbers(code.attributes.get("X", "")) or [x])[0]
        y = (_numbers(code.attributes.get("Y", "")) or [y])[0]
        left = boundary.left + across * x + lean * y + right
        baseline = boundary.top + slant * x + down * y + below
        height = abs(size * down) or size
        width = _width(code, size) * (abs(across) or 1.0)
        top = baseline - ASCENT * height
        yield Piece(code.text, Edges(left, top, left + width, top + height))


def _width(code: Element, size: float) -> float:
    text = code.text
    steps = _steps(code.attributes.get("DeltaX", ""), len(text))
    if steps:
        return sum(steps) + size * (1.0 if is_cjk(text[-1:]) else NARROW)
    return sum(size * (1.0 if is_cjk(sign) else NARROW) for sign in text)


def _steps(told: str, most: int) -> list[float]:
    """`DeltaX` in full: `g 3 2.5 4` is three times 2.5, then 4."""
    words = told.split()[: 3 * most]
    found: list[float] = []
    at = 0
    while at < len(words) and len(found) < most:
        if words[at] == "g":
            times, step = [*_numbers(" ".join(words[at + 1 : at + 3])), 0.0, 0.0][:2]
            found.extend([step] * min(max(int(times), 0), most))
            at += 3
        else:
            found.extend(_numbers(words[at])[:1])
            at += 1
    return found[: max(most - 1, 0)]


def _matrix(told: str) -> tuple[float, float, float, float, float, float]:
    numbers = _numbers(told)
    a, b, c, d, e, f = numbers if len(numbers) == 6 else (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)  # noqa: PLR2004
    return a, b, c, d, e, f


def _numbers(told: str) -> list[float]:
    found = [float(one) for one in _NUMBER.findall(told[:400])]
    return [one for one in found if math.isfinite(one)]


def _codes(
    picture: "Image.Image", box: Edges, sheet: Sheet, reading: FileReading
) -> Iterator[PageCode]:
    on = sheet.place(box)
    width, height = on.right - on.left, on.bottom - on.top
    for code in codes_of(picture, sheet.number, reading):
        yield PageCode(
            code.text,
            Place(
                page=sheet.number,
                left=on.left + code.place.left * width,
                right=on.left + code.place.right * width,
                top=on.top + code.place.top * height,
                bottom=on.top + code.place.bottom * height,
            ),
        )
