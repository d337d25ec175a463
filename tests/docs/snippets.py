"""The fenced blocks of the documentation, each with where it stands and what it claims to be."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(
    r"(?:^[ ]*<!-- (?P<marker>[^\n]*?) -->\n)?"
    r'^(?P<indent>[ ]*)```(?P<language>\w*)(?:[ ]title="(?P<title>[^"]*)")?[ ]*\n'
    r"(?P<text>.*?)^(?P=indent)```[ ]*$",
    re.DOTALL | re.MULTILINE,
)
_REASON = "not run: "
COMPOSED = "compose: "
"""What the marker of a block begins with that `python -m tests.compose` types, word for word."""
PLAYED = "played"
"""The marker of a block that `test_examples` does with a real desk."""


@dataclass(frozen=True)
class Snippet:
    """One block of a page."""

    page: Path
    line: int
    """Of its first line, from 1."""
    language: str
    """Empty where none is named: a drawing, or what a program says."""
    title: str
    """The file that it is to be saved as; empty where it isn't one."""
    text: str
    marker: str
    """The HTML comment above it, without its arrows."""

    @property
    def why_not(self) -> str:
        """Why it can't be run; empty where it can."""
        return self.marker.removeprefix(_REASON) if self.marker.startswith(_REASON) else ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def snippets_of(page: Path) -> list[Snippet]:
    """Its blocks, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Snippet(
            page=page,
            line=text.count("\n", 0, found.start("text")) + 1,
            language=found["language"],
            title=found["title"] or "",
            text=found["text"],
            marker=found["marker"] or "",
        )
        for found in _FENCE.finditer(text)
    ]


def all_snippets() -> list[Snippet]:
    """Those of every page."""
    return [each for page in PAGES for each in snippets_of(page)]
