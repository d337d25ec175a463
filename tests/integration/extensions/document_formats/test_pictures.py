"""What is written on pictures, however they lie, as their models read it."""

import base64
import io

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter

from router.documents.file_format import FileReading, load_formats, read_here
from router.documents.likeness import nearness
from router.documents.page import Material
from router.extensions.document_formats import DocumentFormatsExtension
from tests.data.documents.receipts import LINES
from tests.document_files import DATA, INVOICE, LATIN, ofd, pdf, picture, qr, saved
from tests.samples import one_in

load_formats(DocumentFormatsExtension().file_formats())


@pytest.fixture(scope="module")
def receipt() -> Image.Image:
    return Image.open(DATA / "receipt.png").convert("RGB")


def read(image: Image.Image, kind: str = "JPEG", **options: object) -> Material:
    return read_here(saved(image, kind, **options), FileReading())


def said(material: Material) -> list[str]:
    return [line.text.replace(" ", "") for line in material.lines]


EXPECTED = [line.replace(" ", "") for line in LINES]


@pytest.mark.slow
@pytest.mark.parametrize("angle", one_in(3, (90, 0, 180, 6, 270, -9, 95)))
def test_text_is_read_however_the_picture_was_turned(receipt: Image.Image, angle: int) -> None:
    turned = receipt.rotate(angle, expand=True, fillcolor="white")
    material = read(turned)
    assert said(material) == EXPECTED
    assert {line.source for line in material.lines} == {"picture"}
    # Where a line is said to be on the preview, there is ink.
    place = material.pages[0].lines[0].place
    with Image.open(io.BytesIO(base64.b64decode(material.preview))) as preview:
        grey = np.asarray(preview.convert("L"))
    (height, width), (left, right) = grey.shape, (place.left, place.right)
    rows = slice(int(place.top * height), int(place.bottom * height))
    assert grey[rows, int(left * width) : int(right * width)].min() < 90


@pytest.mark.slow
@pytest.mark.parametrize("damage", one_in(4, ("blurred", "dark", "small", "compressed")))
def test_text_is_read_from_poor_pictures(receipt: Image.Image, damage: str) -> None:
    poor = {
        "blurred": lambda: receipt.filter(ImageFilter.GaussianBlur(2)),
        "dark": lambda: ImageEnhance.Brightness(receipt).enhance(0.35),
        "small": lambda: receipt.resize((320, 260)),
        "compressed": lambda: receipt,
    }[damage]()
    assert said(read(poor, quality=15 if damage == "compressed" else 85)) == EXPECTED


@pytest.mark.slow
def test_a_picture_is_turned_as_its_camera_says(receipt: Image.Image) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    material = read(receipt.rotate(90, expand=True), exif=exif)
    assert said(material) == EXPECTED


@pytest.mark.parametrize("kind", one_in(3, ("PNG", "WEBP", "GIF", "HEIF")))
def test_every_kind_of_picture_is_read(receipt: Image.Image, kind: str) -> None:
    from pillow_heif import register_heif_opener

    register_heif_opener()
    assert said(read(receipt, kind)) == EXPECTED


@pytest.mark.slow
def test_a_long_screenshot_is_read_in_parts_that_cut_no_line(receipt: Image.Image) -> None:
    width, height = receipt.size
    long = Image.new("RGB", (width, height * 6), "white")
    for at in range(6):
        long.paste(receipt, (0, height * at))
    assert said(read(long)) == EXPECTED * 6


@pytest.mark.slow
def test_codes_and_places_of_a_picture_are_given(receipt: Image.Image) -> None:
    receipt = receipt.copy()
    receipt.paste(qr("https://example.org/1").resize((120, 120)), (500, 380))
    (code,) = read(receipt).codes
    assert code.text == "https://example.org/1"
    assert 500 / 640 < code.place.left < code.place.right < 620 / 640


@pytest.mark.slow
def test_a_blank_picture_says_nothing() -> None:
    material = read(Image.new("RGB", (300, 200), "white"))
    assert (material.text, material.codes) == ("", ())


@pytest.mark.slow
def test_a_page_that_is_a_picture_is_read_as_one() -> None:
    scanned = read_here(pdf(((30, 30, "1/1"),), picture=picture()), FileReading())
    assert {line.source for line in scanned.lines} == {"picture"}
    assert [line.text for line in scanned.lines][1:] == list(LATIN)


@pytest.mark.slow
def test_an_ofd_that_is_a_picture_is_read_as_one() -> None:
    parts = ofd(pages=((),), picture=saved(picture()))
    material = read_here(parts, FileReading())
    assert [line.text for line in material.lines] == list(LATIN)
    assert material.likeness is not None


@pytest.mark.slow
def test_a_rendered_page_looks_like_itself_only() -> None:
    one = read_here(pdf(INVOICE), FileReading()).likeness
    other = read_here(pdf(INVOICE[:2]), FileReading()).likeness
    assert one is not None
    assert other is not None
    assert nearness(one, one) == "same"
    assert nearness(one, other) != "same"
