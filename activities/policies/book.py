"""The company's policies, passage by passage, and the search for the one that answers.

A policy is a Markdown file in this folder, once in each language: `leave.zh.md` and
`leave.en.md`. Its title is the `#` line; every `##` heading begins a passage. The files lie
next to this module, so that they travel wherever the package does.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

from router.domain.errors import MisconfiguredError
from router.domain.texts import LOCALES, Locale
from router.selection.lexical import LexicalIndex
from router.selection.tokens import tokens
from router.tool.dependencies import Provider

SHIPPED = Path(__file__).parent

LONGEST = 1500
"""Characters of a passage; a longer section is cut between two of its paragraphs."""

_LEAST_COVERED = 0.25
"""The share of a question's weight that a passage has to have. Below it passages share a word
with the question by chance: `test_policies.py` has questions on both sides."""

_HEADING_COUNTS = 3
"""Times that a word in a heading counts: a heading says what its passage is about."""

_SECTION = re.compile(r"^## +", re.MULTILINE)
_HAN = re.compile(r"[\u4e00-\u9fff]")

_ASKING = re.compile(
    "请问|多少|什么时候|什么|怎么样?|怎样|如何|哪[些个]|多久|是不是|能不能|可不可以|可以|需要|应该|公司|规定"
    "|[吗呢吧啊呀的了我你您们几能会要想有是在和跟给把被]"
    r"|\b(?:a|about|allowed|am|an|and|any|are|at|be|by|can|company|could|did|do|does|for|get|had|has"
    r"|have|how|i|if|in|is|it|long|many|may|me|much|must|my|need|of|on|or|our|please|policy|should"
    r"|take|tell|that|the|there|this|to|was|we|what|when|where|which|who|will|with|would|you|your)\b",
    re.IGNORECASE,
)
"""What asks, and not what is asked about: it would meet every passage."""


class Passage(BaseModel):
    """A part of a policy, quoted word for word."""

    model_config = ConfigDict(frozen=True)

    file: str
    policy: str
    heading: str
    text: str


class PolicyBook:
    """All passages, in both languages.

    >>> book = PolicyBook.load()
    >>> book.search("一年有几天年假？", 1)[0].heading
    '各种假每年有多少天'
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._shelves = {
            locale: _Shelf([p for p in passages if p.file.endswith(f".{locale}.md")])
            for locale in LOCALES
        }

    @classmethod
    def load(cls, folder: Path = SHIPPED) -> Self:
        """The policies in `folder`; raises `MisconfiguredError` where one can't be used."""
        files = [file for locale in LOCALES for file in sorted(folder.glob(f"*.{locale}.md"))]
        if not files:
            raise MisconfiguredError(f"{folder}: no policy in it; add files such as leave.zh.md")
        return cls([passage for file in files for passage in _passages(file)])

    def search(self, question: str, top: int) -> list[Passage]:
        """The passages that fit best, best first, in the question's language where it can be.

        Empty where none is about it.
        """
        asked: Locale = "zh" if _HAN.search(question) else "en"
        wanted = _tokens(_ASKING.sub(" ", question))
        for locale in sorted(LOCALES, key=lambda locale: locale != asked):
            if found := self._shelves[locale].search(wanted, top):
                return found
        return []


policy_book: Provider[PolicyBook] = Provider("policy_book")
"""What tools name it by: `Annotated[PolicyBook, Depends(policy_book)]`."""


class _Shelf:
    """The passages of one language, and the words in them."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._index = LexicalIndex()
        for slot, passage in enumerate(passages):
            self._index.put(slot, _words(passage))

    def search(self, wanted: Sequence[str], top: int) -> list[Passage]:
        found = self._index.search(wanted, len(self._passages))
        order = sorted(range(len(self._passages)), key=lambda slot: -found.scores[slot])
        fitting = [slot for slot in order if found.covered[slot] >= _LEAST_COVERED]
        return [self._passages[slot] for slot in fitting[:top]]


def _words(passage: Passage) -> list[str]:
    return [
        *_tokens(passage.policy),
        *_tokens(passage.heading) * _HEADING_COUNTS,
        *_tokens(passage.text),
    ]


def _tokens(text: str) -> list[str]:
    """Single characters too: a question shares few pairs with a passage that answers it."""
    return [*tokens(text), *_HAN.findall(text)]


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
