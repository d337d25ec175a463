"""aurelio-labs' semantic-router on vectors that are handed to it, in an interpreter that has it.

    python semantic_router_peer.py VECTORS.npz ANSWERS.json

The first file has `texts`, `vectors`, `routes` (names), `examples` (one row of indices of
texts per route) and `requests` (indices). The second gets, per request, the ten best routes
with their scores.
"""

import json
import sys
from pathlib import Path

import numpy as np
from semantic_router import IndexedRouter, Route
from semantic_router.encoders.base import DenseEncoder

BEST = 10
NEIGHBOURS = 200
"""Enough examples for ten routes to be among them."""

given = np.load(sys.argv[1])
texts = [str(text) for text in given["texts"]]
vector_of = dict(zip(texts, given["vectors"].tolist(), strict=True))


class Handed(DenseEncoder):
    """Looks vectors up."""

    def __call__(self, docs):
        return [vector_of[doc] for doc in docs]

    async def acall(self, docs):
        return self(docs)


routes = [
    Route(name=str(name), utterances=[texts[i] for i in row])
    for name, row in zip(given["routes"], given["examples"], strict=True)
]
router = IndexedRouter(
    encoder=Handed(name="handed"), routes=routes, top_k=NEIGHBOURS, aggregation="max"
)
answers = [
    [(choice.name, choice.confidence) for choice in router(texts[i], limit=BEST)]
    for i in given["requests"]
]
Path(sys.argv[2]).write_text(json.dumps(answers))
