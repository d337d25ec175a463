"""Multinomial logistic regression as anybody would do it: what the index has to be better than.

The objective of scikit-learn's `LogisticRegression(C=30)`, whose figures it has to within three
tenths of a point (C of 1, 10, 30 and 100 were tried on CLINC150's validation rows). In numpy, so
that nothing has to be installed; the scores are logits, `(requests, names)`.
"""

import zlib
from collections import Counter
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from public_sets import Split

from router.retrieval.encoders import Encoder

Scores = NDArray[np.float32]

C = 30.0
STEPS = 200
BUCKETS = 2048
SHORTEST, LONGEST = 1, 4


async def of_vectors(split: Split, encoder: Encoder) -> Scores:
    """On the embeddings of the examples, about their mean."""
    examples = await encoder.queries(_examples(split))
    asked = await encoder.queries(_asked(split))
    centre = examples.mean(axis=0)
    return _fitted(examples - centre, _owners(split), asked - centre)


def of_characters(split: Split) -> Scores:
    """On TF-IDF of runs of one to four characters, hashed; no model at all."""
    examples = _examples(split)
    counts = [_runs(text) for text in examples]
    having = Counter(run for runs in counts for run in runs)
    rarity = {run: 1 + np.log((1 + len(counts)) / (1 + n)) for run, n in having.items()}
    asked = [_runs(text) for text in _asked(split)]
    return _fitted(_hashed(counts, rarity), _owners(split), _hashed(asked, rarity))


def _examples(split: Split) -> list[str]:
    return list(chain.from_iterable(known.examples for known in split.known))


def _owners(split: Split) -> NDArray[np.intp]:
    return np.repeat(np.arange(len(split.known)), [len(known.examples) for known in split.known])


def _asked(split: Split) -> list[str]:
    return [text for text, _ in split.requests] + list(split.strange)


def _runs(text: str) -> Counter[str]:
    padded = f" {text.lower()} "
    lengths = range(SHORTEST, LONGEST + 1)
    return Counter(padded[i : i + n] for n in lengths for i in range(len(padded) - n + 1))


def _hashed(counts: list[Counter[str]], rarity: dict[str, float]) -> Scores:
    rows = np.zeros((len(counts), BUCKETS), np.float32)
    for row, runs in zip(rows, counts, strict=True):
        for run, count in runs.items():
            digest = zlib.crc32(run.encode())
            row[digest % BUCKETS] += (1 if digest >> 31 else -1) * (
                rarity.get(run, 0) * (1 + np.log(count))
            )
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _fitted(points: Scores, owners: NDArray[np.intp], asked: Scores) -> Scores:
    """Nesterov's accelerated descent, the intercepts as one more column."""
    count, names = len(points), int(owners.max()) + 1
    points, asked = (
        np.hstack([p, np.ones((len(p), 1))]).astype(np.float32) for p in (points, asked)
    )
    held = np.full(points.shape[1], 1 / (C * count), np.float32)
    held[-1] = 0
    # Each column's own step: the intercepts' is far shorter than the others'.
    lengths = np.append(np.full(points.shape[1] - 1, _largest(points[:, :-1])), count)
    step = (1 / (lengths / (2 * count) + held)).astype(np.float32)
    rows = ahead = np.zeros((names, points.shape[1]), np.float32)
    speed = 1.0
    for _ in range(STEPS):
        logits = points @ ahead.T
        wrong = np.exp(logits - logits.max(axis=1, keepdims=True))
        wrong /= wrong.sum(axis=1, keepdims=True)
        wrong[np.arange(count), owners] -= 1
        following = ahead - step * (wrong.T @ points / count + held * ahead)
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        ahead = (following + (speed - 1) / faster * (following - rows)).astype(np.float32)
        rows, speed = following, faster
    return asked @ rows.T


def _largest(points: Scores) -> float:
    direction = np.ones(points.shape[1], np.float32)
    for _ in range(30):
        direction = points.T @ (points @ direction)
        length = float(np.linalg.norm(direction))
        direction /= length
    return 1.05 * length
