"""One picture is the same, scaled or compressed anew; two forms that differ a little are alike."""

import pytest
from PIL import Image, ImageEnhance, ImageFilter

from router.documents.likeness import likeness, likeness_distance, nearness
from tests.document_files import DATA, LATIN, picture, saved
from tests.table import each_row


@pytest.fixture(scope="module")
def receipt() -> Image.Image:
    return Image.open(DATA / "receipt.png").convert("RGB")


def compressed(image: Image.Image, quality: int) -> Image.Image:
    import io

    return Image.open(io.BytesIO(saved(image, "JPEG", quality=quality)))


@each_row("change", ["half", "twice", "compressed", "blurred", "darker"])
def test_one_picture_is_the_same(receipt: Image.Image, change: str) -> None:
    width, height = receipt.size
    other = {
        "half": lambda: receipt.resize((width // 2, height // 2)),
        "twice": lambda: receipt.resize((width * 2, height * 2)),
        "compressed": lambda: compressed(receipt, 30),
        "blurred": lambda: receipt.filter(ImageFilter.GaussianBlur(1.5)),
        "darker": lambda: ImageEnhance.Brightness(receipt).enhance(0.7),
    }[change]()
    assert nearness(likeness(receipt), likeness(other)) == "same"


def test_two_pictures_are_different(receipt: Image.Image) -> None:
    assert nearness(likeness(receipt), likeness(picture())) == "different"


def test_a_form_filled_in_another_way_is_not_taken_for_the_same() -> None:
    other = [*LATIN[:2], "Total amount 1234.50", "Date 2025-01-02", LATIN[4]]
    assert nearness(likeness(picture()), likeness(picture(other))) == "alike"


def test_a_blank_page_has_a_digest() -> None:
    blank = likeness(Image.new("RGB", (100, 100), "white"))
    assert likeness_distance(blank, blank) == 0


@each_row("other", ["", "zz", "0f", "0f" * 40])
def test_what_is_no_digest_is_like_nothing(other: str) -> None:
    assert nearness("0f" * 32, other) == "different"
