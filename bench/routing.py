"""How often the right capability is among those preselected, beside simpler ways.

    python bench/routing.py

* ToolE: recall of the right tool among 199, five example requests each;
* CLINC150: accuracy over 150 intents, and how well requests for none of them are told apart
  (AUROC), with 10 and 20 examples an intent;
* a desk in Chinese and English: the same requests and examples in both languages;
* small talk of CLINC150 told from its errands by the gate "needs no tool at all";
* tools by description and parameters alone, in Chinese, English and across (`tool_sets`);
* what a search costs among 10,000 capabilities, in time and memory.

Vectors are kept between runs, outside the repository. The first run encodes some 9,000 texts,
which takes minutes.
"""

import asyncio
import multiprocessing
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import linear
import numpy as np
import peers
import public_sets
import tool_sets
from intervals import shown
from public_sets import SMALL_TALK, Known, Split
from selections import capability, found_ranks, ranks, selections
from tool_tables import tool_tables

from router.domain.principals import Capability
from router.retrieval.encoders import EmbeddedEncoder
from router.retrieval.index import CapabilityIndex
from router.retrieval.vector_cache import RememberedEncoder, VectorFile

KEPT = Path(tempfile.gettempdir()) / "intent-router-bench" / "vectors.db"
RANKS = (1, 3, 5, 10)
MANY = 10_000


def recalls(places: np.ndarray) -> str:
    return "".join(f"{100 * (places < rank).mean():8.1f}" for rank in RANKS)


def auroc(above: np.ndarray, below: np.ndarray) -> float:
    """How often one of `above` is larger than one of `below`, in per cent; ties count half."""
    low = np.sort(below)
    under = np.searchsorted(low, above, "left") + np.searchsorted(low, above, "right")
    return 100 * float(under.mean()) / (2 * len(low))


async def toole_table(sets: Path, encoder: RememberedEncoder) -> None:
    split = public_sets.toole(sets)
    plain = await peers.cosines(split, encoder)
    rows = {
        "BM25, cards": ranks(split, peers.words(split, examples=False)),
        "BM25, cards and examples": ranks(split, peers.words(split, examples=True)),
        "embedding, cards": ranks(split, plain["cards"]),
        "sum of BM25 and embedding, cards": ranks(
            split, peers.summed(peers.words(split, examples=False), plain["cards"])
        ),
        "embedding, centroids of examples": ranks(split, plain["centroids"]),
        "max-cosine over examples": ranks(split, plain["best"]),
    }
    if (other := await peers.semantic_router(split, encoder)) is not None:
        rows["semantic-router 1.1.1, max"] = ranks(split, other)
    rows["characters, logistic regression"] = ranks(split, linear.of_characters(split))
    rows["embedding, logistic regression"] = ranks(split, await linear.of_vectors(split, encoder))
    bare = public_sets.without_examples(split)
    rows["ours, no examples"] = found_ranks(bare, await selections(bare, encoder))
    rows["ours"] = found_ranks(split, await selections(split, encoder))
    print(f"\nToolE, 199 tools, {len(split.requests)} requests: recall, %")
    print(f"{'':36}" + "".join(f"{f'@{rank}':>8}" for rank in RANKS) + f"{'ours less it @1':>24}")
    ours = rows["ours"] < 1
    for name, places in rows.items():
        against = "" if name == "ours" else shown(ours, places < 1)
        print(f"{name:36}{recalls(places)}{against:>24}")


async def clinc_table(sets: Path, encoder: RememberedEncoder) -> None:
    print("\nCLINC150, 1,500 requests, 1,000 out of scope: in-scope accuracy and AUROC, %")
    print(f"{'':36}{'10 examples':>16}{'20 examples':>16}{'ours less it, 10 and 20, accuracy':>44}")
    columns = [await clinc_figures(public_sets.clinc(sets, n), encoder) for n in (10, 20)]
    for name in columns[0]:
        figures = "".join(f"{100 * c[name][0].mean():8.1f}{c[name][1]:8.1f}" for c in columns)
        apart = "".join(f"{shown(c['ours'][0], c[name][0]):>22}" for c in columns)
        print(f"{name:36}{figures}" + ("" if name == "ours" else apart))


async def clinc_figures(split: Split, encoder: RememberedEncoder) -> dict[str, tuple]:
    """By way, whether it has each request in scope right, and its AUROC."""
    plain = await peers.cosines(split, encoder)
    scored = {
        "BM25 alone": peers.words(split, examples=True),
        "embedding alone (centroids)": plain["centroids"],
        "max-cosine over examples": plain["best"],
    }
    if (other := await peers.semantic_router(split, encoder)) is not None:
        scored["semantic-router 1.1.1, max"] = other
    scored["characters, logistic regression"] = linear.of_characters(split)
    scored["embedding, logistic regression"] = await linear.of_vectors(split, encoder)
    inside, figures = len(split.requests), {}
    for name, scores in scored.items():
        best = scores.max(axis=1)
        figures[name] = (ranks(split, scores) < 1, auroc(best[:inside], best[inside:]))
    answers = await selections(split, encoder)
    known = np.array([answer.signs.known for answer in answers])
    return figures | {
        "ours": (found_ranks(split, answers) < 1, auroc(known[:inside], known[inside:]))
    }


async def gate_line(sets: Path, encoder: RememberedEncoder) -> None:
    """The gate knows errands by examples or by their names alone, and no small talk of CLINC150."""
    split = public_sets.clinc(sets, 10)
    errands = tuple(known for known in split.known if known.name not in SMALL_TALK)
    chat = np.array([name in SMALL_TALK for _, name in split.requests])
    taught = Split(errands, split.requests)
    found = []
    for one in (taught, public_sets.without_examples(taught)):
        answers = await selections(one, encoder)
        needs = np.array([answer.signs.needs_tool for answer in answers])
        found.append(auroc(needs[~chat], needs[chat]))
    print(
        f"\nneeds no tool: CLINC150's errands from its small talk, AUROC {found[0]:.1f} % "
        f"with examples, {found[1]:.1f} % by the errands' names alone"
    )


async def desk_table(encoder: RememberedEncoder) -> None:
    print("\na desk of 30 things, 150 requests in each language: recall, %")
    print(f"{'':36}{'zh @1':>8}{'@3':>8}{'en @1':>8}{'@3':>8}")
    other = {"zh": "en", "en": "zh"}
    columns = [await desk_figures(locale, other[locale], encoder) for locale in ("zh", "en")]
    for name in columns[0]:
        shown = [100 * (c[name] < rank).mean() for c in columns for rank in (1, 3)]
        print(f"{name:36}" + "".join(f"{figure:8.1f}" for figure in shown))


async def desk_figures(
    locale: str, other: str, encoder: RememberedEncoder
) -> dict[str, np.ndarray]:
    own, foreign = public_sets.desk(locale, [locale]), public_sets.desk(locale, [other])
    both, bare = public_sets.desk(locale, ("zh", "en")), public_sets.desk(locale, ())
    plain = await peers.cosines(own, encoder)
    ours = {
        "ours, no examples": bare,
        "ours, 10 in the other language": foreign,
        "ours, 10 in the request's": own,
        "ours, 10 in each": both,
    }
    return {
        "max-cosine, 10 in the request's": ranks(own, plain["best"]),
        "logistic regression on the same": ranks(own, await linear.of_vectors(own, encoder)),
        **{name: found_ranks(s, await selections(s, encoder)) for name, s in ours.items()},
    }


class Noise:
    """Vectors that mean nothing, for measuring time without waiting for a model."""

    name, version, dimensions = "noise", "1", 384

    async def queries(self, texts):
        drawn = np.random.default_rng(len(texts)).standard_normal((len(texts), 384))
        return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)

    documents = queries


async def latency_line(title: str, many: list[Capability], requests: list[str]) -> str:
    """What a search costs among so many, and what they take in memory."""
    index, before = CapabilityIndex(Noise()), resident()
    began = time.perf_counter()
    await index.update(many)
    built, grown = time.perf_counter() - began, resident() - before
    took, cpu = [], []
    for text in requests:
        began, worked = time.perf_counter(), time.process_time()
        await index.select(text, allowed=lambda roles: "nobody" not in roles)
        took.append(1000 * (time.perf_counter() - began))
        cpu.append(1000 * (time.process_time() - worked))
    changed = [c.model_copy(update={"examples": (*c.examples, "one more")}) for c in many[:1]]
    began = time.perf_counter()
    await index.update([*changed, *many[1:]])
    again = time.perf_counter() - began
    return (
        f"\n{len(many):,} {title}, no encoder: search p50 {np.median(took):.1f} ms, "
        f"p95 {np.quantile(took, 0.95):.1f} ms; of CPU {np.median(cpu):.1f} and "
        f"{np.quantile(cpu, 0.95):.1f} ms; built in {built:.1f} s; "
        f"one changed in {1000 * again:.0f} ms; {grown:.0f} MiB more in memory"
    )


def latency_in_english(sets: Path) -> str:
    """Of ToolE's tools many times over, half of them with examples."""
    return asyncio.run(latency_line("capabilities", *_many(sets)))


def latency_in_chinese(wheels: Path) -> str:
    """Of actions of a cloud, without examples."""
    plenty = tool_sets.plenty(wheels, MANY)
    many = [capability(known) for known in plenty.known]
    asked = [text for text, _ in plenty.requests]
    return asyncio.run(latency_line("actions in Chinese", many, asked))


def resident() -> float:
    """MiB of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _many(sets: Path) -> tuple[list[Capability], list[str]]:
    """ToolE's tools over and over, with words of others mixed in; every other without examples."""
    split, shuffle = public_sets.toole(sets), random.Random(public_sets.SEED)
    many = []
    for number in range(MANY):
        known, other = split.known[number % len(split.known)], shuffle.choice(split.known)
        text = f"{known.descriptions['en']} {other.descriptions['en']}"
        renamed = Known(
            f"{known.name}_{number}",
            dict.fromkeys(("zh", "en"), text),
            known.titles,
            known.examples[:3] if number % 2 else (),
            {"properties": {"query": {"description": f"What {known.name} is to find."}}},
        )
        many.append(capability(renamed))
    return many, [text for text, _ in split.requests[:200]]


async def main() -> int:
    sets = public_sets.folder()
    if sets is None:
        print(public_sets.REMEDY, file=sys.stderr)
        return 0
    encoder = RememberedEncoder(EmbeddedEncoder(), VectorFile(KEPT))
    await toole_table(sets, encoder)
    await clinc_table(sets, encoder)
    await gate_line(sets, encoder)
    await desk_table(encoder)
    if (wheels := tool_sets.folder()) is None:
        print(f"\n{tool_sets.REMEDY}", file=sys.stderr)
    else:
        await tool_tables(sets, wheels, encoder)
    # In a process of its own each: what is freed before would hide what is taken.
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawned, max_tasks_per_child=1) as processes:
        print(processes.submit(latency_in_english, sets).result())
        if wheels is not None:
            print(processes.submit(latency_in_chinese, wheels).result())
    if not peers.os.environ.get(peers.PYTHON):
        print(f"\n{peers.HOW_TO}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
