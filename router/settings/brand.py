"""A company's own look of the chat page: its title, logo and accent colour, checked when read."""

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from router.domain.locale import LOCALES, Localised
from router.settings.values import from_json

MAX_TITLE_CHARS = 60
MAX_LOGO_BYTES = 256 * 1024
PNG = "image/png"
SVG = "image/svg+xml"
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PROLOGUE = ((b"<?", b"?>"), (b"<!--", b"-->"), (b"<!", b">"))
"""How each part begins and ends that may stand before the root of an XML document."""
_HEX_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


def _to_title(value: Any) -> Any:
    """Read a text for both languages, or a JSON object with one for each."""
    if not isinstance(value, str):
        return value
    return from_json(value) if value.lstrip().startswith("{") else {"zh": value, "en": value}


def _check_title(title: Localised) -> Localised:
    for text in map(title.within, LOCALES):
        if not text.strip() or len(text) > MAX_TITLE_CHARS or not text.isprintable():
            raise ValueError(
                f"write one line of up to {MAX_TITLE_CHARS} characters, or "
                '{"zh": "…", "en": "…"} with one for each language'
            )
    return title


def logo_type(content: bytes) -> str | None:
    """Return the media type of a logo; `None` if it is neither SVG nor PNG.

    >>> logo_type(b'<svg xmlns="http://www.w3.org/2000/svg"/>')
    'image/svg+xml'
    """
    if content.startswith(_PNG_SIGNATURE):
        return PNG
    rest = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    while end := next((end for begin, end in _PROLOGUE if rest.startswith(begin)), None):
        rest = rest.partition(end)[2].lstrip()
    return SVG if rest.startswith(b"<svg") else None


def _check_logo(file: Path) -> Path:
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_LOGO_BYTES + 1)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ValueError(f"{file} can't be read ({why}): name an SVG or PNG file") from None
    if len(content) > MAX_LOGO_BYTES:
        raise ValueError(f"{file} is over {MAX_LOGO_BYTES // 1024} KiB: make it smaller")
    if logo_type(content) is None:
        raise ValueError(f"{file} is neither an SVG nor a PNG file: save it as one of them")
    return file


def _check_colour(colour: str) -> str:
    if not _HEX_COLOUR.fullmatch(colour):
        raise ValueError("write six hexadecimal digits, as in #0b6353")
    return colour.lower()


PageTitle = Annotated[Localised, BeforeValidator(_to_title), AfterValidator(_check_title)]
LogoFile = Annotated[Path, AfterValidator(_check_logo)]
AccentColour = Annotated[str, AfterValidator(_check_colour)]
