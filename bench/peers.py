"""What the index is compared with, each as scores `(requests, names)` on the same vectors."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from public_sets import HERE, Known, Split
from selections import capability

from router.retrieval.encoders import Encoder
from router.retrieval.index import card as card_of
from router.retrieval.index import spoken
from router.retrieval.lexical import LexicalIndex, tokens

Scores = NDArray[np.float64]

PYTHON = "ROUTER_BENCH_SEMANTIC_ROUTER"
HOW_TO = f"""\
!!! semantic-router's column is SKIPPED. To have it (300 MB, no torch), in an environment apart:
!!!   python -m venv /tmp/peer && /tmp/peer/bin/pip install semantic-router==1.1.1
!!!   {PYTHON}=/tmp/peer/bin/python make bench"""


def card_text(known: Known) -> str:
    return f"{spoken(known.name)}: {known.descriptions['en']}"


def words(split: Split, *, examples: bool, tokens: Callable[[str], list[str]] = tokens) -> Scores:
    """BM25 over name, description and parameters, and the examples."""
    index = LexicalIndex()
    for slot, known in enumerate(split.known):
        card = card_of(capability(known))
        shown = (
            known.name,
            *(card.details or card.passages),
            *(known.examples if examples else ()),
        )
        index.put(slot, [token for text in shown for token in tokens(text)])
    asked = [text for text, _ in split.requests] + list(split.strange)
    return np.stack([index.search(tokens(text), len(split.known)).scores for text in asked])


async def nearness(split: Split, encoder: Encoder) -> Scores:
    """The best cosine of a card's passages, with parameters or without: a max-cosine router."""
    asked = await encoder.queries([text for text, _ in split.requests])
    cards = [card_of(capability(known)) for known in split.known]
    texts = [(*card.passages, *card.details) for card in cards]
    rows = asked @ (await encoder.documents([text for own in texts for text in own])).T
    starts = np.cumsum([0, *(len(own) for own in texts[:-1])])
    return np.maximum.reduceat(rows, starts, axis=1)


def summed(one: Scores, other: Scores) -> Scores:
    """Both in standard deviations by request, added up with equal weights."""
    count = min(len(one), len(other))
    return sum(
        (some[:count] - some[:count].mean(axis=1, keepdims=True))
        / np.maximum(some[:count].std(axis=1, keepdims=True), 1e-9)
        for some in (one, other)
    )


async def cosines(split: Split, encoder: Encoder) -> dict[str, Scores]:
    """Of cards, of the centroids of examples, and of the best example."""
    asked = await encoder.queries([text for text, _ in split.requests] + list(split.strange))
    cards = await encoder.documents([card_text(known) for known in split.known])
    examples = np.stack([await encoder.queries(known.examples) for known in split.known])
    centres = examples.mean(axis=1)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    best = np.einsum("qd,ned->qne", asked, examples, optimize=True).max(axis=2)
    return {"cards": asked @ cards.T, "centroids": asked @ centres.T, "best": best}


async def semantic_router(split: Split, encoder: Encoder) -> Scores | None:
    """aurelio-labs' semantic-router, `aggregation="max"`; None where it isn't installed."""
    python = os.environ.get(PYTHON)
    if not python:
        return None
    asked = [text for text, _ in split.requests] + list(split.strange)
    every = list(dict.fromkeys([t for known in split.known for t in known.examples] + asked))
    place = {text: i for i, text in enumerate(every)}
    given = {
        "texts": np.array(every),
        "vectors": await encoder.queries(every),
        "routes": np.array([known.name for known in split.known]),
        "examples": np.array([[place[t] for t in known.examples] for known in split.known]),
        "requests": np.array([place[text] for text in asked]),
    }
    return _as_scores(split, _answers(python, given))


def _answers(python: str, given: dict[str, np.ndarray]) -> list[list[tuple[str, float]]]:
    with tempfile.TemporaryDirectory() as folder:
        question, answers = Path(folder, "question.npz"), Path(folder, "answers.json")
        np.savez(question, **given)
        script = str(HERE / "semantic_router_peer.py")
        subprocess.run([python, script, str(question), str(answers)], check=True)
        return json.loads(answers.read_text())


def _as_scores(split: Split, answers: list[list[tuple[str, float]]]) -> Scores:
    column = {known.name: i for i, known in enumerate(split.known)}
    scores = np.full((len(answers), len(column)), -1.0)
    for row, best in zip(scores, answers, strict=True):
        for name, score in best:
            row[column[name]] = score
    return scores
