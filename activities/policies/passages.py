"""Policies as files: Markdown, once in each language, in passages that can be quoted.

A policy is a pair such as `leave.zh.md` and `leave.en.md`. Its title is the `#` line; every
`##` heading begins a passage.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from router.domain.errors import MisconfiguredError
from router.domain.texts import LOCALES, Locale

SHIPPED = Path(__file__).parent
"""Next to this module, so that they travel wherever the package does."""

LONGEST = 1500
"""Characters of a passage; a longer section is cut between two of its paragraphs."""

_SECTION = re.compile(r"^## +", re.MULTILINE)


class Passage(BaseModel):
    """A part of a policy, quoted word for word."""

    model_config = ConfigDict(frozen=True)

    file: str
    policy: str
    heading: str
    text: str


def read_policies(folder: Path) -> dict[Locale, list[Passage]]:
    """The passages of the policies in `folder`, by language.

    Raises `MisconfiguredError` where there is none, or one can't be used.
    """
    files = {locale: sorted(folder.glob(f"*.{locale}.md")) for locale in LOCALES}
    if not any(files.values()):
        raise MisconfiguredError(f"{folder}: no policy in it; add files such as leave.zh.md")
    return {
        locale: [passage for file in found for passage in _passages(file)]
        for locale, found in files.items()
    }


def _passages(file: Path) -> Iterator[Passage]:
    try:
        first, *sections = _SECTION.split(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise MisconfiguredError(f"{file}: the policy can't be read: {error}") from error
    title, _, _ = first.strip().partition("\n")
    if not title.startswith("# ") or not sections:
        raise MisconfiguredError(f"{file}: write a line `# Title` and sections under `## Heading`")
    for section in sections:
        heading, _, text = section.partition("\n")
        for piece in _pieces(text.strip()):
            yield Passage(
                file=file.name, policy=title[2:].strip(), heading=heading.strip(), text=piece
            )


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces of whole paragraphs, none longer than `LONGEST`."""
    piece = ""
    for paragraph in text.split("\n\n"):
        if piece and len(piece) + len(paragraph) + 2 > LONGEST:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{paragraph}" if piece else paragraph
        while len(piece) > LONGEST:
            yield piece[:LONGEST]
            piece = piece[LONGEST:]
    if piece:
        yield piece
