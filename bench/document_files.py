"""Sheets as files: PDF, OFD, XML and pictures, and what happens to pictures before they arrive.

Fonts are Debian's: Noto CJK (OFL), WenQuanYi Micro Hei (Apache 2.0 or GPL 3 with its exception for
fonts), AR PL UMing and UKai (Arphic Public License), DejaVu and Liberation (free, OFL). One that
isn't there is left out, which changes what is drawn: `missing_fonts` names it.
"""

import functools
import io
import math
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from document_set import Example
from document_sheets import Sheet, Text
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from router.documents.page import Material, Page, PageCode, TextLine
from router.domain.documents import Place

_FONTS = Path("/usr/share/fonts")
CHINESE = (
    "opentype/noto/NotoSansCJK-Regular.ttc:2",
    "opentype/noto/NotoSerifCJK-Regular.ttc:2",
    "truetype/wqy/wqy-microhei.ttc:0",
    "truetype/arphic/uming.ttc:0",
    "truetype/arphic/ukai.ttc:0",
)
ENGLISH = (
    "truetype/dejavu/DejaVuSansMono.ttf:0",
    "truetype/dejavu/DejaVuSans.ttf:0",
    "truetype/liberation/LiberationMono-Regular.ttf:0",
    "truetype/liberation/LiberationSerif-Regular.ttf:0",
    "truetype/liberation/LiberationSans-Regular.ttf:0",
)
IN_PDF = ("truetype/wqy/wqy-microhei.ttc:0", "truetype/arphic/uming.ttc:0")
"""Those of TrueType outlines, which the PDF writer can embed."""
SCALE = 3.0
"""Pixels of a point: 216 dots an inch, as telephones and scanners give more or less."""
WIDEST = 1_700


def missing_fonts() -> list[str]:
    return [one for one in (*CHINESE, *ENGLISH) if not _path(one)[0].exists()]


def _path(font: str) -> tuple[Path, int]:
    name, _, index = font.partition(":")
    return _FONTS / name, int(index)


@functools.cache
def _font(name: str, size: int) -> Any:
    path, index = _path(name)
    return ImageFont.truetype(str(path), size, index=index)


# Files with text


def pdf(sheet: Sheet, seed: int) -> bytes:
    """A PDF of one page, its texts in an order of their own."""
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas

    rng = random.Random(seed)
    path, index = _path(rng.choice([font for font in IN_PDF if _path(font)[0].exists()]))
    if path.stem not in pdfmetrics.getRegisteredFontNames():
        pdfmetrics.registerFont(TTFont(path.stem, str(path), subfontIndex=index))
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(sheet.width, sheet.height), invariant=True)
    for left, top, right, bottom in sheet.rules:
        canvas.line(left, sheet.height - top, right, sheet.height - bottom)
    texts = list(sheet.texts)
    if rng.random() < 0.5:  # values after all labels, as some programs write them
        texts.sort(key=lambda text: (any(c.isdigit() for c in text.text), text.y))
    for text in texts:
        canvas.setFont(path.stem, text.size)
        draw = canvas.drawRightString if text.right else canvas.drawString
        draw(text.x, sheet.height - text.y - text.size, text.text)
    if sheet.code:
        x, y, side = sheet.code_at
        canvas.drawImage(ImageReader(_code(sheet.code)), x, sheet.height - y - side, side, side)
    canvas.save()
    return out.getvalue()


def _width(text: str, size: float) -> float:
    return sum(size if ord(c) > 0x2E7F else size * 0.5 for c in text)


_MILLIMETRES = 25.4 / 72
_SPACE = 'xmlns:ofd="http://www.ofdspec.org/2016"'


def _text_object(number: int, text: Text) -> str:
    width, size = _width(text.text, text.size), text.size
    edges = (text.x - width if text.right else text.x, text.y, width, size * 1.2)
    box = " ".join(f"{edge * _MILLIMETRES:.2f}" for edge in edges)
    steps = " ".join(f"{_width(c, size) * _MILLIMETRES:.2f}" for c in text.text[:-1])
    delta = f' DeltaX="{steps}"' if steps else ""
    height = f"{size * _MILLIMETRES:.2f}"
    return (
        f'<ofd:TextObject ID="{number}" Boundary="{box}" Font="3" Size="{height}">'
        f'<ofd:TextCode X="0" Y="{height}"{delta}>{escape(text.text)}</ofd:TextCode>'
        "</ofd:TextObject>"
    )


def ofd(sheet: Sheet, seed: int) -> bytes:
    """An OFD (GB/T 33190) of one page: a zip of XML, sizes in millimetres."""
    del seed
    objects = "".join(_text_object(10 + n, text) for n, text in enumerate(sheet.texts))
    area = f"0 0 {sheet.width * _MILLIMETRES:.2f} {sheet.height * _MILLIMETRES:.2f}"
    box = f"<ofd:PhysicalBox>{area}</ofd:PhysicalBox>"
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    files = {
        "OFD.xml": f'<ofd:OFD {_SPACE} Version="1.0" DocType="OFD"><ofd:DocBody><ofd:DocInfo>'
        "<ofd:DocID>0</ofd:DocID></ofd:DocInfo><ofd:DocRoot>Doc_0/Document.xml</ofd:DocRoot>"
        "</ofd:DocBody></ofd:OFD>",
        "Doc_0/Document.xml": f"<ofd:Document {_SPACE}><ofd:CommonData><ofd:MaxUnitID>999"
        f"</ofd:MaxUnitID><ofd:PageArea>{box}</ofd:PageArea></ofd:CommonData><ofd:Pages>"
        '<ofd:Page ID="1" BaseLoc="Pages/Page_0/Content.xml"/></ofd:Pages></ofd:Document>',
        "Doc_0/Pages/Page_0/Content.xml": f"<ofd:Page {_SPACE}><ofd:Area>{box}</ofd:Area>"
        f'<ofd:Content><ofd:Layer ID="2">{objects}</ofd:Layer></ofd:Content></ofd:Page>',
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), head + text)
    return out.getvalue()


def xml(sheet: Sheet, seed: int) -> bytes:
    """The XML of a digital invoice, from its data."""
    del seed
    tree: dict[str, Any] = {}
    for path, value in sheet.data.items():
        node = tree
        *above, last = path.split("/")
        for tag in above:
            node = node.setdefault(tag, {})
        node[last] = value

    def written(node: dict[str, Any]) -> str:
        return "".join(
            f"<{tag}>{written(of) if isinstance(of, dict) else escape(of)}</{tag}>"
            for tag, of in node.items()
        )

    return f'<?xml version="1.0" encoding="UTF-8"?>\n{written(tree)}'.encode()


def material(sheet: Sheet) -> Material:
    """What a perfect reader of files would give for a sheet."""
    lines = []
    for text in sheet.texts:
        width = _width(text.text, text.size)
        left = text.x - width if text.right else text.x
        place = Place(
            left=left / sheet.width,
            right=(left + width) / sheet.width,
            top=text.y / sheet.height,
            bottom=(text.y + text.size) / sheet.height,
        )
        lines.append(TextLine(text.text, place))
    at = Place(left=0, top=0, right=0.1, bottom=0.1)
    codes = (PageCode(sheet.code, at),) if sheet.code else ()
    return Material((Page(sheet.width, sheet.height, tuple(lines), codes),))


# Pictures


def _code(text: str) -> Image.Image:
    import zxingcpp

    made = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode)
    return Image.fromarray(np.array(zxingcpp.write_barcode_to_image(made, scale=4)))


def drawn(sheet: Sheet, rng: random.Random) -> Image.Image:
    """The sheet as a picture, in one font of those that are there."""
    scale = min(SCALE, WIDEST / sheet.width)
    size = (round(sheet.width * scale), round(sheet.height * scale))
    picture = Image.new("RGB", size, (255, 255, 255) if rng.random() < 0.6 else (252, 248, 240))
    draw = ImageDraw.Draw(picture)
    fonts = [
        font for font in (CHINESE if sheet.locale == "zh" else ENGLISH) if _path(font)[0].exists()
    ]
    font = rng.choice(fonts)
    ink = rng.choice(((0, 0, 0), (20, 20, 60), (40, 40, 40)))
    for left, top, right, bottom in sheet.rules:
        draw.line([left * scale, top * scale, right * scale, bottom * scale], (120, 60, 30), 2)
    for text in sheet.texts:
        anchor = "ra" if text.right else "la"
        draw.text(
            (text.x * scale, text.y * scale),
            text.text,
            ink,
            _font(font, round(text.size * scale)),
            anchor,
        )
    if sheet.code:
        x, y, side = sheet.code_at
        code = (
            _code(sheet.code)
            .convert("RGB")
            .resize((round(side * scale),) * 2, Image.Resampling.NEAREST)
        )
        picture.paste(code, (round(x * scale), round(y * scale)))
    return picture


Damage = Callable[[Image.Image, random.Random], Image.Image]


def _as_it_is(picture: Image.Image, rng: random.Random) -> Image.Image:
    del rng
    return picture


def _rotated(picture: Image.Image, rng: random.Random) -> Image.Image:
    degrees = rng.choice((-1, 1)) * rng.uniform(2, 12)
    return picture.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=(225, 222, 215))


def _turned(picture: Image.Image, rng: random.Random) -> Image.Image:
    return picture.rotate(rng.choice((90, 180, 270)), expand=True)


def _blurred(picture: Image.Image, rng: random.Random) -> Image.Image:
    return picture.filter(ImageFilter.GaussianBlur(rng.uniform(2.5, 4.6)))


def _folded(picture: Image.Image, rng: random.Random) -> Image.Image:
    """A shadow across, and what is below it sheared."""
    import cv2

    pixels = np.asarray(picture).astype(np.float32)
    height, width = pixels.shape[:2]
    at = int(height * rng.uniform(0.35, 0.65))
    shear = rng.choice((-1, 1)) * rng.uniform(0.04, 0.12)
    matrix = np.float32([[1, shear, -shear * at], [0, 1, 0]])
    below = cv2.warpAffine(pixels, matrix, (width, height), borderValue=(230, 228, 222))
    pixels[at:] = below[at:]
    depth = np.exp(-(((np.arange(height) - at) / (height * 0.03)) ** 2)) * rng.uniform(0.3, 0.5)
    lower = np.where(np.arange(height) > at, 0.12, 0.0)
    shade = 1 - np.maximum(depth, lower)
    return Image.fromarray((pixels * shade[:, None, None]).clip(0, 255).astype(np.uint8))


def _photographed(picture: Image.Image, rng: random.Random) -> Image.Image:
    """On a table, from an angle, with noise and uneven light."""
    import cv2

    pixels = np.asarray(picture)
    height, width = pixels.shape[:2]
    edge = int(max(width, height) * 0.1)
    size = (width + 2 * edge, height + 2 * edge)
    noise = np.random.default_rng(rng.getrandbits(32))
    table = noise.normal(rng.uniform(70, 130), 14, (size[1], size[0], 3)).astype(np.float32)
    corners = np.float32([[0, 0], [width, 0], [width, height], [0, height]])
    shift = [[rng.uniform(0.1, 1.3) * edge for _ in range(2)] for _ in range(4)]
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    outer = np.float32([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]])
    target = np.float32(
        [
            [c[0] + s[0] * d[0], c[1] + s[1] * d[1]]
            for c, s, d in zip(outer, signs, shift, strict=True)
        ]
    )
    matrix = cv2.getPerspectiveTransform(corners, target)
    seen = cv2.warpPerspective(pixels.astype(np.float32), matrix, size, flags=cv2.INTER_AREA)
    mask = cv2.warpPerspective(np.ones((height, width), np.float32), matrix, size)[..., None]
    scene = table * (1 - mask) + seen * mask
    light = np.linspace(1.0, rng.uniform(0.6, 0.85), size[0], dtype=np.float32)[None, :, None]
    scene = scene * light + noise.normal(0, rng.uniform(6, 14), scene.shape)
    return Image.fromarray(scene.clip(0, 255).astype(np.uint8)).filter(
        ImageFilter.GaussianBlur(0.8)
    )


def _small(picture: Image.Image, rng: random.Random) -> Image.Image:
    """As messengers pass pictures on: at a third of the size or less."""
    share = rng.uniform(0.22, 0.34)
    return picture.resize(
        (round(picture.width * share), round(picture.height * share)), Image.Resampling.BILINEAR
    )


def _faded(picture: Image.Image, rng: random.Random) -> Image.Image:
    """Thermal paper after a summer: light grey on yellow, with streaks."""
    pixels = np.asarray(picture.convert("L")).astype(np.float32)
    noise = np.random.default_rng(rng.getrandbits(32))
    paper, ink = np.array([247, 242, 228], np.float32), rng.uniform(0.78, 0.9)
    streaks = 1 - 0.5 * (noise.random(pixels.shape[1]) < 0.02)
    dark = (255 - pixels) / 255 * (1 - ink) * streaks[None, :]
    faded = paper[None, None, :] * (1 - dark[..., None]) + noise.normal(0, 3, (*pixels.shape, 1))
    return Image.fromarray(faded.clip(0, 255).astype(np.uint8))


DAMAGES: dict[str, Damage] = {
    "none": _as_it_is,
    "rotated": _rotated,
    "turned 90/180": _turned,
    "blurred": _blurred,
    "folded": _folded,
    "photographed": _photographed,
    "JPEG 30": _as_it_is,
    "small": _small,
    "faded": _faded,
}


@dataclass(frozen=True)
class DocumentFile:
    """One example as it arrives."""

    example: Example
    content: bytes
    ending: str


def file_of(example: Example) -> DocumentFile:
    """The file of an example; the same each time, as far as libraries draw the same."""
    rng = random.Random(example.seed + 1)
    if example.format != "picture":
        write = {"pdf": pdf, "ofd": ofd, "xml": xml}[example.format]
        return DocumentFile(example, write(example.sheet, example.seed), example.format)
    picture = DAMAGES[example.damage](drawn(example.sheet, rng), rng)
    out = io.BytesIO()
    quality = {"JPEG 30": 30, "photographed": 80, "small": 70}.get(example.damage)
    if quality is None and math.prod(picture.size) < 1_500_000:
        picture.save(out, "PNG")
        return DocumentFile(example, out.getvalue(), "png")
    picture.save(out, "JPEG", quality=quality or 90)
    return DocumentFile(example, out.getvalue(), "jpg")
