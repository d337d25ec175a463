"""Pictures: photographs of receipts, scans, screenshots. PNG, JPEG, WebP, GIF (its first frame)."""

from typing import ClassVar

from router.documents.file_format import FileFormat, FileReading, registered
from router.documents.likeness import likeness
from router.documents.page import Material
from router.domain.file_types import type_of
from router.extensions.document_formats.pictures import (
    SIGHT,
    load_recognition,
    opened,
    picture_page,
    preview_of,
)

KINDS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/webp": "WEBP",
    "image/gif": "GIF",
    "image/heic": "HEIF",
}
"""What Pillow calls them."""


@registered
class PictureFormat(FileFormat):
    """Text is recognised, codes are decoded; the material's one page is upright."""

    media_types: ClassVar[tuple[str, ...]] = ("image/png", "image/jpeg", "image/webp", "image/gif")
    needs: ClassVar[tuple[str, ...]] = SIGHT

    def load(self) -> None:
        """Load the models, too."""
        super().load()
        load_recognition()

    def read(self, content: bytes, reading: FileReading) -> Material:
        """One page with the lines and codes of the picture."""
        reading.tell(0, 1)
        picture = opened(content, KINDS[type_of(content)], reading)
        page, upright = picture_page(picture, 0, reading)
        reading.tell(1, 1)
        return Material((page,), likeness=likeness(upright), preview=preview_of(upright))


@registered
class HeicFormat(PictureFormat):
    """HEIC, as telephones take photographs; its decoder is a library of its own."""

    media_types = ("image/heic",)
    needs = (*PictureFormat.needs, "pi_heif")

    def load(self) -> None:
        """Its decoder alone: the models are loaded for the other pictures."""
        FileFormat.load(self)
