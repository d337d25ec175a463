"""The labelled requests: messages of our own, and what an attentive person would make of them."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from router.domain.messages import SpokenLine

FILE = Path(__file__).parent / "requests.jsonl"

Half = Literal["tuned", "kept"]
"""Wording is tried on one half; the other is only ever reported."""


class Active(BaseModel):
    """A flow that is asking when the message comes, and what it knows by then."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    flow: str
    slots: dict[str, JsonValue] = {}


class Labelled(BaseModel):
    """A message and its label.

    `labels` are the decisions that are right, each as names in order: of a tool or flow, or
    `reply`, `clarify`, `handoff`, `fill`, `cancel`. `values` are arguments or slots of them that
    the message states; null stands for any value, a name that ends in `~` for one that has this in
    it, and `a|b` for either. `forbidden` is what a message tries to have done that nobody may do
    for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: str
    lang: Literal["zh", "en"]
    user: str
    text: str
    labels: list[list[str]]
    values: dict[str, JsonValue] = {}
    active: Active | None = None
    history: list[SpokenLine] = []
    forbidden: list[str] = []
    half: Half = "tuned"


def load() -> list[Labelled]:
    """All of them, each group and language parted into halves as they come."""
    return list(_halved(json.loads(line) for line in FILE.open(encoding="utf-8")))


def _halved(rows: Iterator[dict[str, Any]]) -> Iterator[Labelled]:
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        key = (row["group"], row["lang"])
        yield Labelled(**row, half="kept" if seen[key] % 2 else "tuned")
        seen[key] += 1
