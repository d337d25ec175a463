"""What people hand in, read: seconds and memory a page, and how well digests tell pictures apart.

    python bench/document_formats.py

Files are made here with a fixed seed. Each is read `TIMES` times by a warm reader; the baseline is
a reader that is started for each file. Then what `likeness_distance` says of pictures that are one
(scaled, compressed, blurred, brighter), of one form filled in another way, and of others.
"""

import asyncio
import io
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont

sys.path.insert(0, str(Path(__file__).parents[1]))

from router.documents.likeness import ALIKE, SAME, likeness, likeness_distance
from router.documents.reader import DocumentReader
from router.extensions.document_formats import DocumentFormatsExtension
from tests.document_files import DATA, EINVOICE, INVOICE, ofd, pdf, qr, saved

TIMES, FORMS, FILLINGS = 3, 12, 6
WORDS = [
    "invoice",
    "total",
    "amount",
    "tax",
    "date",
    "buyer",
    "seller",
    "hotel",
    "room",
    "night",
    "taxi",
    "city",
    "number",
    "service",
]


def page(seed: int, lines: int, size: tuple[int, int]) -> Image.Image:
    """A page full of words and numbers."""
    drawn = random.Random(seed)
    picture = Image.new("RGB", size, "white")
    pen, step = ImageDraw.Draw(picture), size[1] // (lines + 2)
    for at in range(lines):
        text = " ".join([*drawn.choices(WORDS, k=5), f"{drawn.uniform(1, 9999):.2f}"])
        pen.text((80, step * (at + 1)), text, "black", ImageFont.load_default(step * 0.6))
    return picture


def photographed(picture: Image.Image) -> Image.Image:
    """As a telephone sees it: askew, on a table, unevenly lit, twelve million pixels."""
    turned = picture.resize((2600, 3600)).rotate(3, expand=True, fillcolor=(120, 100, 80))
    lit = ImageEnhance.Brightness(turned).enhance(0.8).filter(ImageFilter.GaussianBlur(1.2))
    return lit.resize((3000, 4000))


def files() -> Iterator[tuple[str, bytes]]:
    """Name and content of what is read."""
    long_page = [(50, 50 + 18 * at, f"第 {at} 行 餐饮服务 Total {at * 13}.50") for at in range(40)]
    yield "text PDF, an invoice", pdf(INVOICE, picture=None)
    yield "text PDF, 20 full pages", pdf(*[long_page] * 20)
    yield "scanned PDF, a full page", pdf((), picture=page(1, 40, (1240, 1754)))
    yield "OFD, an invoice with its code", ofd(picture=saved(qr("01,32,,251170,58.00,20261119,,A")))
    yield "XML of an invoice", EINVOICE.encode()
    yield (
        "receipt, 6 lines, 0.3 Mpx",
        saved(Image.open(DATA / "receipt.png").convert("RGB"), "JPEG"),
    )
    yield "photograph, 20 lines, 12 Mpx", saved(photographed(page(2, 20, (1300, 1800))), "JPEG")
    yield "photograph, 40 lines, 12 Mpx", saved(photographed(page(3, 40, (1300, 1800))), "JPEG")
    yield (
        "the same, lying on its side",
        saved(photographed(page(3, 40, (1300, 1800))).rotate(90, expand=True), "JPEG"),
    )
    yield "long screenshot, 80 lines", saved(page(4, 80, (1080, 7000)))


async def timed() -> None:
    print(f"{'':32}{'pages':>6}{'s/page':>9}{'CPU s/page':>12}{'MiB at most':>13}{'lines':>7}")
    async with DocumentReader(DocumentFormatsExtension().file_formats()) as reader:
        began = time.perf_counter()
        await reader.read(EINVOICE.encode())
        print(f"{'(loading everything, once)':32}{'':6}{time.perf_counter() - began:9.2f}")
        for name, content in files():
            walls, cpus, memory = [], [], 0
            for _ in range(TIMES):
                began = time.perf_counter()
                material = await reader.read(content)
                walls.append(time.perf_counter() - began)
                assert reader.spent
                cpus.append(reader.spent.cpu_seconds)
                memory = max(memory, reader.spent.memory)
            pages = len(material.pages)
            print(
                f"{name:32}{pages:>6}{statistics.median(walls) / pages:>9.3f}"
                f"{statistics.median(cpus) / pages:>12.3f}{memory / 2**20:>13.0f}"
                f"{len(material.lines):>7}"
            )
    walls = []
    for _ in range(TIMES):
        began = time.perf_counter()
        async with DocumentReader(DocumentFormatsExtension().file_formats()) as fresh:
            await fresh.read(pdf(INVOICE))
        walls.append(time.perf_counter() - began)
    print(f"{'baseline: a process a file (PDF)':32}{1:>6}{statistics.median(walls):>9.3f}")


def compressed(picture: Image.Image, quality: int) -> Image.Image:
    whole = io.BytesIO()
    picture.save(whole, "JPEG", quality=quality)
    return Image.open(whole)


CHANGES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "half the size": lambda p: p.resize((p.width // 2, p.height // 2)),
    "a quarter of the size": lambda p: p.resize((p.width // 4, p.height // 4)),
    "twice the size": lambda p: p.resize((p.width * 2, p.height * 2)),
    "JPEG, quality 75": lambda p: compressed(p, 75),
    "JPEG, quality 20": lambda p: compressed(p, 20),
    "blurred a little": lambda p: p.filter(ImageFilter.GaussianBlur(1.5)),
    "brighter": lambda p: ImageEnhance.Brightness(p).enhance(1.15),
    "half, JPEG 40, blurred": lambda p: compressed(p.resize((p.width // 2, p.height // 2)), 40)
    .filter(ImageFilter.GaussianBlur(1)),
    "cropped by 2 %": lambda p: p.crop((p.width // 50, p.height // 50, p.width, p.height)),
    "turned by 1 degree": lambda p: p.rotate(1, fillcolor="white"),
}  # fmt: skip


def form(number: int, filling: int) -> Image.Image:
    """A form of some layout, filled in some way: what differs is a few numbers."""
    layout, values = random.Random(number), random.Random(1000 * number + filling)
    picture = Image.new("RGB", (900, 600 + 100 * (number % 4)), "white")
    pen = ImageDraw.Draw(picture)
    for at in range(12):
        x, y = layout.randint(20, 500), 20 + 45 * at
        label = " ".join(layout.choices(WORDS, k=2))
        pen.text((x, y), f"{label}: {values.randint(100, 99999)}", "black",
                 ImageFont.load_default(layout.randint(18, 34)))  # fmt: skip
        if layout.random() < 0.4:
            pen.rectangle((x - 5, y - 5, x + 380, y + 38), outline="black")
    return picture


def row(name: str, distances: list[int]) -> None:
    distances.sort()
    same = sum(one <= SAME for one in distances) / len(distances)
    alike = sum(one <= ALIKE for one in distances) / len(distances)
    print(
        f"{name:32}{len(distances):>7}{distances[0]:>6}{statistics.median(distances):>8.0f}"
        f"{distances[-1]:>6}{same:>10.1%}{alike:>14.1%}"
    )


def compared() -> None:
    print(f"\nlikeness, 256 bits: same to {SAME}, alike to {ALIKE}")
    print(
        f"{'':32}{'pairs':>7}{'least':>6}{'median':>8}{'most':>6}{'same':>10}{'same or alike':>14}"
    )
    firsts = [form(number, 0) for number in range(FORMS)]
    digests = [likeness(one) for one in firsts]
    for name, change in CHANGES.items():
        row(name, [likeness_distance(d, likeness(change(p)))
                   for d, p in zip(digests, firsts, strict=True)])  # fmt: skip
    filled = [
        likeness_distance(digests[number], likeness(form(number, filling)))
        for number in range(FORMS)
        for filling in range(1, FILLINGS)
    ]
    row("one form, other numbers", filled)
    others = [likeness_distance(a, b) for at, a in enumerate(digests) for b in digests[:at]]
    row("other forms", others)


if __name__ == "__main__":
    compared()
    asyncio.run(timed())
