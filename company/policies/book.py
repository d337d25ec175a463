"""The company's policies, passage by passage, and the search for the one that answers.

A policy is a pair of files such as `leave.zh.md` and `leave.en.md`: a `#` title, and passages under
`##`. Words and meaning are searched side by side; words count for as much as they cover of the
question, and where it shares next to none the vectors decide alone.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from activities import provided
from router.domain.errors import MisconfiguredError, RouterError
from router.domain.locale import LOCALES, Locale
from router.domain.value import Value
from router.retrieval.encoders import Encoder, Vectors
from router.retrieval.lexical import LexicalIndex, terms
from router.retrieval.statistics import Background, encoded_background, standardised
from router.retrieval.vector_cache import VectorMemory, remembering
from router.settings import Settings
from router.tool.context import Depends, provider

SHIPPED = Path(__file__).parent
"""Next to this module, so that they travel wherever the package does."""

LONGEST = 1500
"""Characters of a passage; a longer section is cut between two of its paragraphs."""

_SECTION = re.compile(r"^## +", re.MULTILINE)


class Passage(Value):
    """A part of a policy, quoted word for word."""

    file: str
    policy: str
    heading: str
    text: str


def read_policies(folder: Path) -> dict[Locale, list[Passage]]:
    """The passages of the policies in `folder`, by language; raises `MisconfiguredError`."""
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


STRANGERS = 92.5
"""Percent of messages that no policy is about have no passage as near as this, in each language.
Measured on questions of both sides: at 90 small talk begins to be answered with policies, at 95
a tenth of what is found beyond the words is lost."""


class Meaning:
    """The vectors of some passages, and how near to them messages are that aren't for them."""

    def __init__(self, headings: Vectors, wholes: Vectors, background: Background) -> None:
        self._headings = headings
        self._wholes = wholes
        self._strange = {
            "zh": self._usual(background, background.chinese),
            "en": self._usual(background, ~background.chinese),
        }

    @classmethod
    async def of(
        cls, passages: Sequence[Passage], encoder: Encoder, background: Background
    ) -> "Meaning":
        """Encode the passages, each as a whole and by its heading; raises as the encoder does."""
        headings = await encoder.documents([f"{p.policy}: {p.heading}" for p in passages])
        wholes = [f"{p.policy}\n{p.heading}\n{p.text}" for p in passages]
        return cls(headings, await encoder.documents(wholes), background)

    def nearness(self, question: Vectors) -> NDArray[np.float32]:
        """By passage, how near it is to a question's vector: a mean of two cosines."""
        both = (self._headings @ question + self._wholes @ question) / 2
        return np.asarray(both, np.float32)

    def is_meant(self, near: NDArray[np.float32], asked: Locale) -> bool:
        """True where a passage is nearer than strangers' messages in that language come."""
        return bool(near.max() >= self._strange[asked])

    def _usual(self, background: Background, spoken: NDArray[np.bool_]) -> float:
        strangers = background.queries[spoken & ~background.needs_tool]
        nearest = [float(self.nearness(message).max()) for message in strangers]
        return float(np.percentile(nearest, STRANGERS)) if nearest else 1.0


_LEAST_COVERED = 0.25
"""The share of a question's weight that a passage has to have. Below it passages share a word
with the question by chance: `test_policies.py` has questions on both sides."""

_HEADING_COUNTS = 3
"""Times that a word in a heading counts: a heading says what its passage is about."""

_MEANING = 0.5
"""The weight of the meaning beside words that cover all of the question. Anything from 0.2 to
1.0 finds the same within two questions of a hundred."""

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


_log = logging.getLogger(__name__)


class PolicyBook:
    """All passages, in both languages.

    Words alone are searched without an encoder, until `learn` is through, and where it fails.
    """

    def __init__(
        self, passages: Mapping[Locale, Sequence[Passage]], encoder: Encoder | None = None
    ) -> None:
        self._encoder = encoder
        self._learning = asyncio.Lock()
        self._shelves = {locale: _Shelf(passages.get(locale, ())) for locale in LOCALES}
        said = [p.model_dump_json() for locale in LOCALES for p in passages.get(locale, ())]
        self.version = hashlib.sha256("\n".join(said).encode()).hexdigest()[:16]
        """Another one where any passage is."""

    @classmethod
    def load(cls, folder: Path | None = None, encoder: Encoder | None = None) -> Self:
        """The policies in `folder`, or those that ship; raises as `read_policies` does."""
        return cls(read_policies(folder or SHIPPED), encoder)

    async def learn(self, memory: VectorMemory) -> None:
        """Encode the passages, once; what `memory` holds already isn't encoded again."""
        if self._encoder is None:
            return
        encoder = remembering(self._encoder, memory)
        async with self._learning:
            unread = [s for s in self._shelves.values() if s.passages and s.meaning is None]
            if not unread:
                return
            try:
                background = await encoded_background(encoder)
                for shelf in unread:
                    shelf.meaning = await Meaning.of(shelf.passages, encoder, background)
            except RouterError as error:
                _log.warning("policies can't be encoded, words alone are searched: %s", error)

    async def search(self, question: str, top: int) -> list[Passage]:
        """The passages that fit best, best first, in the question's language where it can be."""
        asked: Locale = "zh" if _HAN.search(question) else "en"
        other: Locale = "en" if asked == "zh" else "zh"
        vector = await self._vector(question)
        wanted = terms(_ASKING.sub(" ", question))
        found = self._shelves[asked].search(wanted, vector, asked)
        if not found:
            # The meaning was looked for already, where there is anything in that language.
            known = None if self._shelves[asked].passages else vector
            found = self._shelves[other].search(wanted, known, asked)
        return found[:top]

    async def _vector(self, question: str) -> Vectors | None:
        if self._encoder is None or not any(shelf.meaning for shelf in self._shelves.values()):
            return None
        try:
            vector: Vectors = (await self._encoder.queries([question]))[0]
        except RouterError as error:
            _log.warning("a question can't be encoded, words alone are searched: %s", error)
            return None
        return vector


@provider()
async def policy_book(
    settings: Annotated[Settings, Depends(provided.settings)],
    encoder: Annotated[Encoder | None, Depends(provided.encoder)],
) -> AsyncIterator[PolicyBook]:
    """The policies of the settings' folder: `Annotated[PolicyBook, Depends(policy_book)]`."""
    yield PolicyBook.load(settings.policies, encoder)


class _Shelf:
    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages
        self.meaning: Meaning | None = None
        self._index = LexicalIndex()
        for slot, passage in enumerate(passages):
            heading = terms(passage.heading) * _HEADING_COUNTS
            self._index.put(slot, [*terms(passage.policy), *heading, *terms(passage.text)])

    def search(self, wanted: Sequence[str], vector: Vectors | None, asked: Locale) -> list[Passage]:
        words = self._index.search(wanted, len(self.passages))
        scores, fits = words.scores, words.covered >= _LEAST_COVERED
        if vector is not None and self.meaning is not None:
            near = self.meaning.nearness(vector)
            fits = np.full(len(near), bool(fits.any()) or self.meaning.is_meant(near, asked))
            covered = float(words.covered.max())
            every = np.full(len(scores), fill_value=True)
            both = covered**2 * standardised(scores, every) + _MEANING * standardised(near, every)
            scores = np.asarray(both, np.float32)
        order = np.argsort(-scores, kind="stable")
        return [self.passages[slot] for slot in order if fits[slot]]
