"""Pictures of files as models are shown them: scaled, few, and small enough for every server.

Whatever a stranger made is decoded in a process of its own, with an end to its memory and time: a
file that breaks a decoder breaks that process. This module is its program too, run by its path,
and so it imports nothing of this project. Without Pillow only what is small already is shown, as
it is; without pypdfium2 no page of a PDF.
"""

import asyncio
import json
import sys
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_EDGE = 1568
"""Pixels: what is larger is made smaller by the providers themselves."""
MOST_BYTES = 1024 * 1024
"""Of one picture as it is sent."""
MOST_PIXELS = 60_000_000
"""Of one that is decoded: more than any telephone takes."""
SECONDS = 8.0
"""For all pictures of one file: a turn waits for them."""
MEMORY = 1024**3
"""Bytes of the process."""
AT_ONCE = 2
"""Files that are looked at side by side: their decoders fill cores."""
KEPT = 16
"""Files whose pictures are kept in memory: a skill is shown them at every step."""
PDF = "application/pdf"
_QUALITIES = (85, 70, 50, 35)


class RenderedPicture(NamedTuple):
    """A picture that may be shown: PNG or JPEG."""

    media_type: str
    content: bytes


class PictureReader:
    """Makes pictures of files, each once while it is remembered."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._free = asyncio.Semaphore(AT_ONCE)
        self._made: OrderedDict[tuple[str, int], list[RenderedPicture]] = OrderedDict()

    async def pictures_of(
        self, content: bytes, media_type: str, most: int
    ) -> list[RenderedPicture]:
        """Its first pages, or the one picture that it is, at most so many; none where it fails."""
        key = (sha256(content).hexdigest(), most)
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key]
        if find_spec("pypdfium2" if media_type == PDF else "PIL") is None:
            return [] if media_type == PDF else _as_it_is(content, media_type)
        async with self._free:
            made = await self._rendered(content, media_type, most)
        self._made[key] = made
        while len(self._made) > KEPT:
            self._made.popitem(last=False)
        return made

    async def _rendered(self, content: bytes, media_type: str, most: int) -> list[RenderedPicture]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-E", "-P", __file__, media_type, str(most)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
        try:
            async with asyncio.timeout(self._seconds):
                written, _ = await process.communicate(content)
            return [RenderedPicture(kind, b64decode(one)) for kind, one in json.loads(written)]
        except (TimeoutError, ValueError, OSError):
            return []  # it broke off, or took too long: it is told in words then
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def _as_it_is(content: bytes, media_type: str) -> list[RenderedPicture]:
    """A picture that needs no scaling; none of one that does, or that doesn't say how large."""
    size = {"image/png": _png_size, "image/jpeg": _jpeg_size}.get(media_type, lambda _: None)
    edges = size(content) if len(content) <= MOST_BYTES else None
    if edges is None or not 0 < min(edges) <= max(edges) <= LONGEST_EDGE:
        return []
    return [RenderedPicture(media_type, content)]


def _png_size(content: bytes) -> tuple[int, int] | None:
    head = content[12:24]
    if head[:4] != b"IHDR" or len(head) < 12:  # noqa: PLR2004 - its name, and two numbers
        return None
    return int.from_bytes(head[4:8]), int.from_bytes(head[8:12])


def _jpeg_size(content: bytes) -> tuple[int, int] | None:
    """The edges in the first frame header, behind segments that each say how long they are."""
    at = 2
    while content[at : at + 1] == b"\xff" and at + 9 <= len(content):
        marker, length = content[at + 1], int.from_bytes(content[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:  # noqa: PLR2004
            height, width = content[at + 5 : at + 7], content[at + 7 : at + 9]
            return int.from_bytes(width), int.from_bytes(height)
        at += 2 + length
    return None


# What follows runs in the process that looks at the file.


def _bound() -> None:
    """Let this process have no more memory and time than is meant for it."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _pages(content: bytes, most: int) -> "Iterator[Image]":
    import pypdfium2

    document: Any = pypdfium2.PdfDocument(content)
    for number in range(min(most, len(document))):
        page = document[number]
        width, height = page.get_size()
        # A page may be a stamp, or say that it is a mile wide.
        scale = min(LONGEST_EDGE / max(width, height, 1.0), 4.0)
        yield page.render(scale=scale).to_pil()


def _decoded(content: bytes) -> "Iterator[Image]":
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    with Image.open(BytesIO(content), formats=("PNG", "JPEG", "WEBP", "GIF")) as opened:
        if opened.width * opened.height > MOST_PIXELS:
            raise ValueError("it has too many pixels")
        opened.draft("RGB", (LONGEST_EDGE, LONGEST_EDGE))
        yield ImageOps.exif_transpose(opened)


def _written(image: "Image") -> tuple[str, bytes]:
    """The picture, scaled and anew, so that nothing goes along that its file says of its owner."""
    from PIL import Image

    image.thumbnail((LONGEST_EDGE, LONGEST_EDGE), Image.Resampling.LANCZOS)
    flat = Image.new("RGB", image.size, "white")
    clear = image.convert("RGBA")
    flat.paste(clear, mask=clear.getchannel("A"))
    for quality in _QUALITIES:
        out = BytesIO()
        flat.save(out, "JPEG", quality=quality, optimize=True)
        if len(out.getvalue()) <= MOST_BYTES:
            return "image/jpeg", out.getvalue()
    raise ValueError("it stays too large")


def _main(media_type: str, most: int) -> None:
    _bound()
    content = sys.stdin.buffer.read()
    images = _pages(content, most) if media_type == PDF else _decoded(content)
    made: list[tuple[str, str]] = []
    try:
        for image in images:
            kind, written = _written(image)
            made.append((kind, b64encode(written).decode()))
    except Exception:  # noqa: BLE001 - of a file that breaks off, what came before is shown
        made = made if media_type == PDF else []
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
