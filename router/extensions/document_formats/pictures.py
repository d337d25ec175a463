"""Pictures: opened within bounds, turned upright, and what is written on them.

Characters are recognised by PP-OCR's models (detection, orientation, recognition), which the
package `rapidocr` brings along and `onnxruntime` runs, on one thread; QR and bar codes by
`zxing-cpp`. Both are imported where they are used: without the extra `[documents]` everything else
of this package works.
"""

import base64
import io
import logging
import math
import os
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from router.documents.file_format import FileReading, UnreadableFile
from router.documents.page import Page, PageCode
from router.extensions.document_formats.layout import Edges, Piece, Sheet, rows

if TYPE_CHECKING:
    from PIL import Image

UNOBSERVED = {"ORT_DISABLE_TELEMETRY": "1"}
"""Keeps onnxruntime, from 1.29 on, from telling Microsoft what it runs, and from writing an id and
a database of that into the home folder. It has to be said before the library is loaded."""
os.environ.update(UNOBSERVED)

Pixels: TypeAlias = NDArray[np.uint8]
Quad: TypeAlias = NDArray[np.float32]
"""Four corners of a piece of text, from its own top left one, clockwise."""

SIGHT = ("PIL", "rapidocr", "onnxruntime", "zxingcpp")
"""The modules that it takes, of the extra `[documents]`."""
LONGEST = 2000
"""Pixels of a side that characters are recognised on: a page of A4 at 170 dots an inch."""
PREVIEW = 1000
"""Pixels that a preview is wide at most."""
CODE_SIDE = 3000
"""Pixels of a side that codes are looked for on: theirs are smaller than letters."""
SLENDER = 2.5
"""From this ratio of its sides on a picture, such as a long screenshot, is read in parts."""
CUT = 300
"""Rows that the end of a part is looked for in."""
DETECTED_ON = 1280
"""Pixels of the longer side of what text is looked for on; it is read from the larger picture."""
LEAST_CONFIDENCE = 0.5
"""What is read with less isn't given: noise that looks like letters."""
VERTICAL = 1.5
"""So much higher than wide: text that runs down the picture."""
LONG = 3.0
"""So much wider than high: its slope tells how askew the picture is."""
LEAST_SKEW, MOST_SKEW = 0.3, 20.0
"""Degrees: less isn't worth turning, more is no skew of a whole page."""
VOTERS = 16
"""So many pieces of text, the longest, say which way is up."""


def opened(content: bytes, kind: str, reading: FileReading) -> "Image.Image":
    """The picture, upright as its EXIF says, in colours on white, no side longer than `CODE_SIDE`.

    Args:
        content: The file.
        kind: What Pillow calls its format; the content is decoded as that and nothing else.
        reading: What binds it.

    Raises:
        UnreadableFile: `too_large_picture` by what it says of itself, before it is decoded, and
            `damaged`.
    """
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # the bound is ours, and no warning
    if kind == "HEIF":
        from pi_heif import register_heif_opener

        register_heif_opener(thumbnails=False)
    try:
        with warnings.catch_warnings(), Image.open(io.BytesIO(content), formats=(kind,)) as picture:
            warnings.simplefilter("ignore")
            reading.picture(*picture.size)
            # A JPEG is decoded at an eighth, a quarter or half of its size where that is enough.
            picture.draft("RGB", (CODE_SIDE, CODE_SIDE))
            picture.load()
            upright = _upright(picture, ImageOps)
            upright.thumbnail((CODE_SIDE, CODE_SIDE * 4))
            return _on_white(upright)
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, Image.DecompressionBombError):
        raise UnreadableFile("damaged") from None


def _upright(picture: "Image.Image", ops: Any) -> "Image.Image":
    try:
        turned = ops.exif_transpose(picture)
    except Exception:  # noqa: BLE001 - EXIF is junk as often as not, the picture is as it is
        turned = None
    return turned if turned is not None else picture


def _on_white(picture: "Image.Image") -> "Image.Image":
    from PIL import Image

    if picture.mode == "RGB":
        return picture
    if picture.mode in {"I", "F", "I;16"}:
        depth = picture.convert("F")
        low, high = depth.getextrema()
        span = max(float(high) - float(low), 1e-6)  # type: ignore[arg-type]
        return depth.point(lambda v: (v - low) * 255 / span).convert("L").convert("RGB")
    clear = picture.convert("RGBA")
    white = Image.new("RGBA", clear.size, "white")
    return Image.alpha_composite(white, clear).convert("RGB")


def picture_page(
    picture: "Image.Image", number: int, reading: FileReading
) -> tuple[Page, "Image.Image"]:
    """What is written on a picture, as page `number`, and the picture straight, as it was read."""
    parts = _parts(picture)
    if len(parts) > 1:
        seen = _Recognised(tuple(_stacked(parts)), 0, 0.0)
        width, height = parts[0].width, sum(part.height for part in parts)
    else:
        seen = _recognised(_pixels(parts[0]))
        width, height = parts[0].size[:: -1 if seen.quarters % 2 else 1]
    sheet = Sheet(number, width, height)
    upright = picture.transpose(_TURNS[seen.quarters]) if seen.quarters else picture
    kept = [one for row in rows(seen.pieces) for one in row if one.confidence >= LEAST_CONFIDENCE]
    lines = tuple(sheet.line(one, "picture") for one in kept if reading.room_for(one.text))
    codes = codes_of(upright, number, reading)
    return Page(width, height, lines, codes), _straight(upright, seen.skew)


def _straight(picture: "Image.Image", skew: float) -> "Image.Image":
    from PIL import Image

    if not skew:
        return picture
    return picture.rotate(skew, Image.Resampling.BICUBIC, fillcolor="white")


def preview_of(picture: "Image.Image") -> str:
    """A small JPEG of the page as it was read, in Base64: where fields stand is said of that."""
    small = picture.convert("RGB")
    small.thumbnail((PREVIEW, 3 * PREVIEW))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=72, optimize=True)
    return base64.b64encode(out.getvalue()).decode("ascii")


_TURNS: dict[int, Any] = {1: 2, 2: 3, 3: 4}
"""Quarters, counter-clockwise, as Pillow's `Transpose` numbers them."""


def _parts(picture: "Image.Image") -> "list[Image.Image]":
    """The picture scaled to be read, in parts from the top where it is long and slender."""
    if picture.height < SLENDER * picture.width:
        small = picture.copy()
        small.thumbnail((LONGEST, LONGEST))
        return [small]
    small = picture.copy()
    small.thumbnail((LONGEST // 2, LONGEST * 6))
    edges = [0, *_gaps(np.asarray(small.convert("L"), np.float32).std(axis=1)), small.height]
    return [small.crop((0, top, small.width, end)) for top, end in pairwise(edges)]


def _gaps(ink: NDArray[np.float32]) -> Iterator[int]:
    """Rows to cut a picture at, where there is the least on them: not through a line of text."""
    top = 0
    while len(ink) - top > LONGEST:
        most = top + LONGEST
        top = most - 1 - int(np.argmin(ink[most - CUT : most][::-1]))
        yield top


def _stacked(parts: "Sequence[Image.Image]") -> list[Piece]:
    found: list[Piece] = []
    above = 0
    for part in parts:
        for one in _recognised(_pixels(part), turns=False).pieces:
            left, top, right, bottom = one.box
            box = Edges(left, top + above, right, bottom + above)
            found.append(Piece(one.text, box, one.confidence))
        above += part.height
    return found


def codes_of(picture: "Image.Image", number: int, reading: FileReading) -> tuple[PageCode, ...]:
    """The QR and bar codes on a picture; none where nothing is installed that finds them."""
    try:
        import zxingcpp
    except ImportError:
        return ()
    grey = np.asarray(picture.convert("L"))
    sheet = Sheet(number, picture.width, picture.height)
    found = []
    for code in zxingcpp.read_barcodes(grey)[: reading.limits.codes]:
        at = code.position
        corners = (at.top_left, at.top_right, at.bottom_right, at.bottom_left)
        across, down = [one.x for one in corners], [one.y for one in corners]
        box = Edges(min(across), min(down), max(across), max(down))
        text = reading.room_for(code.text)
        if text:
            found.append(PageCode(text, sheet.place(box)))
    return tuple(found)


def _pixels(picture: "Image.Image") -> Pixels:
    """As OpenCV has it: rows of blue, green and red."""
    return np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1])


class _Recognised(NamedTuple):
    pieces: tuple[Piece, ...]
    quarters: int
    """How often it was turned, counter-clockwise, until its text was upright."""
    skew: float
    """Degrees by which its text falls to the right, after that; places are without it."""


class _Found(NamedTuple):
    """Pieces of text on a picture that aren't read yet: where, and cut out of it."""

    quads: NDArray[np.float32]
    crops: list[Pixels]

    @property
    def sizes(self) -> NDArray[np.float32]:
        """Width and height of each, along its own edges."""
        across = np.linalg.norm(self.quads[:, 1] - self.quads[:, 0], axis=1)
        down = np.linalg.norm(self.quads[:, 3] - self.quads[:, 0], axis=1)
        return np.stack([across, down], axis=1).astype(np.float32)


_NOTHING = _Recognised((), 0, 0.0)


def _recognised(pixels: Pixels, *, turns: bool = True) -> _Recognised:
    """What is written there; it is turned until text is upright, unless it has to stay."""
    found, quarters = _detected(pixels), 0
    if found is not None and turns and _runs_down(found):
        pixels, quarters = np.ascontiguousarray(np.rot90(pixels)), 1
        found = _detected(pixels)
    if found is None:
        return _NOTHING
    if turns and _is_upside_down(found):
        found, quarters = _turned_over(found, pixels), quarters + 2
    texts = _engine().recognize_txt(found.crops)
    skew = _skew(found)
    boxes = _straightened(found.quads, skew, pixels.shape[1] / 2, pixels.shape[0] / 2)
    read = zip(texts.txts, boxes, texts.scores, strict=True)
    return _Recognised(
        tuple(Piece(text, box, float(score)) for text, box, score in read if text.strip()),
        quarters,
        skew,
    )


def _detected(pixels: Pixels) -> _Found | None:
    from rapidocr.main import RapidOCRError

    try:
        crops, found = _engine().detect_and_crop(pixels, {})
    except RapidOCRError:
        return None
    return _Found(np.asarray(found.boxes, np.float32), crops)


def _runs_down(found: _Found) -> bool:
    across, down = found.sizes.T
    vertical = down >= VERTICAL * across
    return bool(down[vertical].sum() > across[~vertical].sum())


def _is_upside_down(found: _Found) -> bool:
    """What most of the longest pieces say; where they don't agree, what reads better."""
    longest = np.argsort(-found.sizes[:, 0])[:VOTERS]
    crops = [found.crops[i] for i in longest]
    _, said = _engine().cls_and_rotate([crop.copy() for crop in crops])
    over = float(sum(label == "180" for label, _ in said.cls_res) / len(crops))
    if not 0.2 < over < 0.8:  # noqa: PLR2004 - nearly all of one mind
        return over > 0.5  # noqa: PLR2004
    few = crops[:6]
    return _confidence([crop[::-1, ::-1] for crop in few]) > _confidence(few)


def _confidence(crops: list[Pixels]) -> float:
    return sum(map(float, _engine().recognize_txt(crops).scores)) / len(crops)


def _turned_over(found: _Found, pixels: Pixels) -> _Found:
    corner = np.array([pixels.shape[1] - 1, pixels.shape[0] - 1], np.float32)
    # What was the bottom right corner is the top left one.
    quads = corner - found.quads[:, [2, 3, 0, 1]]
    crops = [np.ascontiguousarray(crop[::-1, ::-1]) for crop in found.crops]
    return _Found(quads[::-1], crops[::-1])


def _skew(found: _Found) -> float:
    across, down = found.sizes.T
    long_ones = found.quads[across > LONG * down]
    if not len(long_ones):
        return 0.0
    right, fall = (long_ones[:, 1] - long_ones[:, 0]).T
    angle = float(np.median(np.degrees(np.arctan2(fall, right))))
    return angle if LEAST_SKEW < abs(angle) < MOST_SKEW else 0.0


def _straightened(quads: Quad, skew: float, x: float, y: float) -> list[Edges]:
    """The boxes of the quads, all turned back by the skew around a point."""
    cos, sin = math.cos(math.radians(skew)), math.sin(math.radians(skew))
    across, down = quads[:, :, 0] - x, quads[:, :, 1] - y
    straight = np.stack([x + across * cos + down * sin, y + down * cos - across * sin], axis=2)
    left, top = straight.min(axis=1).T
    right, bottom = straight.max(axis=1).T
    return [Edges(*map(float, edges)) for edges in zip(left, top, right, bottom, strict=True)]


@cache
def _engine() -> Any:
    """The models of character recognition, loaded once."""
    import cv2
    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").disabled = True
    cv2.setNumThreads(1)
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return RapidOCR(
        params={
            **threads,
            "Global.log_level": "critical",
            "Global.use_vertical_padding": False,
            "Det.limit_type": "max",
            "Det.limit_side_len": DETECTED_ON,
        }
    )


@cache
def can_see() -> bool:
    """True where pictures can be opened and what is written on them be read."""
    return all(find_spec(module) is not None for module in SIGHT)


def load_recognition() -> None:
    """Load all models now, which takes a second or two, so that no reading has to wait for it."""
    blank = np.full((64, 64, 3), 255, np.uint8)
    _detected(blank)
    _engine().cls_and_rotate([blank])
    _engine().recognize_txt([blank])
