"""Pictures of files: small, anonymous, and whatever the file does, not this process's trouble."""

import io
import struct
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image

from router.documents import renditions
from router.documents.renditions import LONGEST_EDGE, MOST_BYTES, PDF, PictureReader
from tests.table import each_row


def drawn(width: int, height: int, kind: str = "PNG", **more: Any) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "navy").save(out, kind, **more)
    return out.getvalue()


def noise(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((width, height), 90).convert("RGB").save(out, "JPEG", quality=95)
    return out.getvalue()


def pdf(pages: int, **more: Any) -> bytes:
    out, page = io.BytesIO(), Image.new("RGB", (200, 300), "white")
    page.save(out, "PDF", save_all=True, append_images=[page] * (pages - 1), **more)
    return out.getvalue()


def png_that_says(width: int, height: int) -> bytes:
    """A PNG of a few hundred bytes that claims to be so large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(100_000)))


def sizes(found: list[renditions.RenderedPicture]) -> list[tuple[int, int]]:
    return [Image.open(io.BytesIO(one.content)).size for one in found]


@pytest.mark.slow
@each_row(
    ("make", "kind", "expected"),
    [
        (lambda: drawn(300, 200), "image/png", [(300, 200)]),
        (lambda: drawn(4000, 2000), "image/png", [(LONGEST_EDGE, 784)]),
        (lambda: noise(3000, 3000), "image/jpeg", [(LONGEST_EDGE, LONGEST_EDGE)]),
        (lambda: drawn(300, 200, "WEBP"), "image/webp", [(300, 200)]),
        (lambda: drawn(300, 200, "GIF"), "image/gif", [(300, 200)]),
        (lambda: pdf(6), PDF, [(800, 1200)] * 4),
    ],
)
async def test_what_is_shown_is_scaled_and_bounded(
    make: Callable[[], bytes], kind: str, expected: list[tuple[int, int]]
) -> None:
    found = await PictureReader().pictures_of(make(), kind, 4)
    assert sizes(found) == expected
    assert all(len(one.content) <= MOST_BYTES for one in found)
    assert {one.media_type for one in found} == {"image/jpeg"}


async def test_a_picture_is_upright_and_says_nothing_of_whose_it_is() -> None:
    about = Image.Exif()
    about[0x0112] = 6  # to be turned
    about[0x010F] = "alice's telephone"
    content = drawn(300, 200, "JPEG", exif=about)
    (found,) = await PictureReader().pictures_of(content, "image/jpeg", 1)
    assert sizes([found]) == [(200, 300)]
    assert b"telephone" in content
    assert b"telephone" not in found.content


@pytest.mark.slow
@each_row(
    ("make", "kind"),
    [
        (lambda: b"", "image/png"),
        (lambda: b"\x89PNG\r\n\x1a\n", "image/png"),
        (lambda: png_that_says(30_000, 30_000), "image/png"),
        (lambda: drawn(3000, 3000)[:500], "image/png"),
        (lambda: b"<svg onload='x()'/>", "image/png"),
        (lambda: drawn(10, 10, "TIFF"), "image/png"),
        (lambda: b"\x00\x00\x00\x18ftypheic" + bytes(100), "image/heic"),
        (lambda: b"%PDF-1.7\n" + b"<<" * 100_000, PDF),
        (lambda: b"%PDF-1.7\n%%EOF", PDF),
        (lambda: pdf(1)[:200], PDF),
    ],
)
async def test_what_can_t_be_decoded_is_not_shown(make: Callable[[], bytes], kind: str) -> None:
    assert await PictureReader().pictures_of(make(), kind, 4) == []


async def test_what_takes_too_long_is_left() -> None:
    assert await PictureReader(seconds=0.0).pictures_of(drawn(20, 20), "image/png", 1) == []


async def test_a_picture_is_made_once() -> None:
    reader = PictureReader()
    first = await reader.pictures_of(drawn(20, 20), "image/png", 1)
    assert await reader.pictures_of(drawn(20, 20), "image/png", 1) is first


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """As without the extra `documents`."""
    monkeypatch.setattr(renditions, "find_spec", lambda _: None)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("content", "kind", "is_shown"),
    [
        (drawn(300, 200), "image/png", True),
        (drawn(300, 200, "JPEG"), "image/jpeg", True),
        (drawn(LONGEST_EDGE + 1, 20), "image/png", False),
        (drawn(20, LONGEST_EDGE + 1, "JPEG"), "image/jpeg", False),
        (png_that_says(30_000, 30_000), "image/png", False),
        (drawn(300, 200) + bytes(MOST_BYTES), "image/png", False),
        (drawn(300, 200, "WEBP"), "image/webp", False),
        (b"\xff\xd8\xff\xff", "image/jpeg", False),
        (b"\x89PNG\r\n\x1a\n", "image/png", False),
        (pdf(1), PDF, False),
    ],
)
async def test_without_pillow_what_is_small_is_shown_as_it_is(
    content: bytes, kind: str, is_shown: bool
) -> None:
    found = await PictureReader().pictures_of(content, kind, 4)
    assert [one.content for one in found] == [content] * is_shown
