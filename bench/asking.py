"""Learn what tells a request from talk about the same thing, and measure it on what it hasn't seen.

    python bench/asking.py           cross-validated, by topic and language; writes nothing
    python bench/asking.py --write   learn from every line and put the weights where they ship

`requests.jsonl` has two kinds of lines. `{"text", "label"}`: which sample flow it starts, if any;
what it is about stands in the flow files, as `topics`. `{"text", "topic", "asks"}`: another topic.
Every tenth is held out in turn, whole topics at a time where there are other topics.
"""

import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from router.entities.grammar import compiled
from router.entities.normalisation import normalise
from router.flow.loader import load_flows
from router.understanding.triggers import classifier
from router.understanding.triggers.classifier import RequestClassifier, blotted, pieces

HERE = Path(__file__).parent
LINES = HERE / "requests.jsonl"
FOLDS = 10
STEPS = 600
FREEDOM = 100.0
"""What a unit of loss may cost in squared weight. 30 and 300 are half a point worse."""
SMALLEST = 0.08
"""Weights nearer to zero are left out: four fifths of them, and no line changes sides."""
LIKELY = (0.5, 0.7, 0.8, 0.9)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """A blotted text, whether it asks for what is blotted out, and what it is held out with."""

    text: str
    asks: bool
    fold: int
    language: str


def lines() -> list[Line]:
    """Every line of the file, once for each topic that it names."""
    flows = load_flows(HERE.parent / "flows")
    topics = {flow.flow: [compiled(source) for source in flow.triggers.topics] for flow in flows}
    rows = [json.loads(row) for row in LINES.read_text(encoding="utf-8").splitlines()]
    return [line for number, row in enumerate(rows) for line in _lines(row, number, topics)]


def _lines(row: dict[str, str], number: int, topics: dict[str, list[Any]]) -> Iterator[Line]:
    text = normalise(row["text"]).text
    language = "en" if text.isascii() else "zh"
    if "topic" in row:
        named = _places(text, normalise(row["topic"]).text)
        # Whole topics are held out together: what is measured is a topic never heard of.
        fold = sum(row["topic"].encode()) % FOLDS
        yield Line(blotted(text, named), bool(row["asks"]), fold, language)
        return
    for flow, sources in topics.items():
        spans = [match.span() for source in sources for match in source.finditer(text)]
        if spans:
            yield Line(blotted(text, spans), row["label"] == flow, number % FOLDS, language)


def _places(text: str, part: str) -> list[tuple[int, int]]:
    starts = [at for at in range(len(text)) if text.startswith(part, at)]
    return [(at, at + len(part)) for at in starts]


def learned(rows: Sequence[Line]) -> RequestClassifier:
    """Weights by L2-penalised logistic regression, the small ones left out, the rest refitted."""
    told = [pieces(row.text) for row in rows]
    counts = Counter(piece for one in told for piece in one)
    often = [piece for piece, count in sorted(counts.items()) if count > 1]
    answers = np.array([row.asks for row in rows], dtype=np.float64)
    weights, _ = _fitted(told, often, answers)
    kept = [piece for piece, w in zip(often, weights, strict=True) if abs(w) >= SMALLEST]
    weights, bias = _fitted(told, kept, answers)
    rounded = {piece: round(float(w), 2) for piece, w in zip(kept, weights, strict=True)}
    return RequestClassifier(rounded, round(bias, 3))


def _fitted(
    told: Sequence[Iterable[str]], names: Sequence[str], answers: Floats
) -> tuple[Floats, float]:
    """Accelerated gradient descent (Y. Nesterov, 1983), over the pieces that each line has."""
    place = {name: at for at, name in enumerate(names)}
    known = [[place[piece] for piece in one if piece in place] for one in told]
    owner = np.repeat(np.arange(len(known)), [len(one) for one in known])
    piece = np.array([at for one in known for at in one], dtype=np.intp)
    share = 1 / np.sqrt(np.maximum(1, [len(one) for one in known]))[owner]
    weights = ahead = np.zeros(len(names) + 1)
    for step in range(STEPS):
        reached = np.bincount(owner, share * ahead[piece], len(known)) + ahead[-1]
        wrong = 1 / (1 + np.exp(-reached)) - answers
        slope = np.bincount(piece, share * wrong[owner], len(names))
        pull = np.append(slope + ahead[:-1] / FREEDOM, wrong.sum()) / _bend(len(known))
        after = ahead - pull
        ahead = after + step / (step + 3) * (after - weights)
        weights = after
    return weights[:-1], float(weights[-1])


def _bend(count: int) -> float:
    """How sharply the loss can bend: every line has length one, and one more for the bias."""
    return count / 2 + 1 / FREEDOM


def measured(rows: Sequence[Line]) -> dict[str, list[tuple[float, bool]]]:
    """The likelihood of every line, told by weights that haven't seen its fold; by language."""
    told: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for fold in range(FOLDS):
        judge = learned([row for row in rows if row.fold != fold])
        for row in rows:
            if row.fold == fold:
                told[row.language].append((judge.likelihood(row.text), row.asks))
    return told


def _table(told: dict[str, list[tuple[float, bool]]]) -> str:
    heads = "".join(f"{f'P, R at {least}':>16}" for least in LIKELY)
    out = [f"{'':6}{'lines':>7}{heads}"]
    for language, pairs in sorted(told.items()):
        cells = "".join(f"{_figures(pairs, least):>16}" for least in LIKELY)
        out.append(f"{language:6}{len(pairs):>7}{cells}")
    return "\n".join(out)


def _figures(pairs: Sequence[tuple[float, bool]], least: float) -> str:
    said = [asks for likelihood, asks in pairs if likelihood >= least]
    asking_ones = sum(asks for _, asks in pairs)
    return f"{100 * sum(said) / max(1, len(said)):.1f}, {100 * sum(said) / asking_ones:.1f}"


def main() -> None:
    """Measure, or learn and write."""
    rows = lines()
    if "--write" not in sys.argv[1:]:
        print(_table(measured(rows)))
        return
    judge = learned(rows)
    held = {"bias": judge.bias, "weights": dict(judge.weights)}
    packed = gzip.compress(json.dumps(held, ensure_ascii=False).encode(), mtime=0)
    target = Path(classifier.__file__).parent / classifier.WEIGHTS
    target.write_bytes(packed)
    print(f"{len(judge.weights)} weights from {len(rows)} lines, {len(packed) // 1024} KiB")


if __name__ == "__main__":
    main()
