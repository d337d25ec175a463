"""What patterns, topics and examples each do for pre-match, over the shipped flow files.

    python bench/triggers.py

Every row is the shipped files with only some of their triggers: precision and recall by language,
on the sentences that rules and weights were made with, and on such as nothing was fitted to. Then
the same with the gallery beside them, on the requests that were written for it before its patterns.
Examples start no flow by themselves; taken as patterns, word for word, they say what a list of
sentences would do.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from understanding import ROLES, ROOT, TESTS, language, rows_of

import activities.lookups
from router.entities.normalisation import normalise
from router.flow.definition import FlowDefinition, Triggers
from router.flow.gallery import Gallery
from router.flow.loader import load_flows
from router.tool.registry import Registry
from router.understanding.triggers.patterns import PatternIndex

Way = Callable[[Triggers], dict[str, object]]

WAYS: dict[str, Way] = {
    "shipped": lambda _: {},
    "topics alone": lambda _: {"patterns": ()},
    "patterns alone": lambda _: {"topics": ()},
    "examples alone": lambda t: {"topics": (), "patterns": _word_for_word(t.examples)},
    "without `unless`": lambda _: {"unless": ()},
}


def _word_for_word(examples: Iterable[str]) -> tuple[str, ...]:
    return tuple(re.escape(normalise(each).text).replace("\\ ", " ") for each in examples)


def limited(flow: FlowDefinition, way: Way) -> FlowDefinition:
    """The flow with the triggers that this way leaves it."""
    triggers = flow.triggers.model_copy(update=way(flow.triggers))
    return flow.model_copy(update={"triggers": triggers})


def figures(index: PatternIndex, rows: Iterable[dict]) -> str:
    """Precision and recall, Chinese and English."""
    tally = {"zh": Counter[str](), "en": Counter[str]()}
    for row in rows:
        hits = [match.hit for match in index.find(normalise(row["text"]), ROLES)]
        got, right = {h.flow for h in hits if h.blocked_by is None}, {row["label"]} - {"none"}
        tally[language(row["text"])].update(
            started=len(got), wanted=len(right), right=len(got & right)
        )
    return "".join(
        f" {100 * n['right'] / max(1, n['started']):.1f}, {100 * n['right'] / n['wanted']:.1f} |"
        for n in tally.values()
    )


def of_gallery(flows: Iterable[FlowDefinition]) -> None:
    """The gallery's table, over all flows that ship: each of its sentences is for one or none."""
    together = [*flows, *(one.definition for one in Gallery())]
    sets = sorted((TESTS / "understanding" / "data" / "gallery").glob("*.jsonl"))
    rows = [row for each in sets for row in rows_of(each)]
    print(f"| triggers, {len(together)} flows | gallery, {len(rows)} sentences, zh | en |")
    print("| --- | --- | --- |")
    for name, way in WAYS.items():
        index = PatternIndex(limited(flow, way) for flow in together)
        print(f"| {name} |{figures(index, rows)}")


def main() -> None:
    Registry().discover(activities.lookups)
    flows = list(load_flows(ROOT / "flows"))
    learned = [row for row in rows_of(ROOT / "bench" / "requests.jsonl") if "label" in row]
    unseen = rows_of(TESTS / "understanding" / "data" / "prematch_unseen.jsonl")
    print("| triggers | learned from, zh | en | unseen, zh | en |\n| --- | --- | --- | --- | --- |")
    for name, way in WAYS.items():
        index = PatternIndex(limited(flow, way) for flow in flows)
        print(f"| {name} |{figures(index, learned)}{figures(index, unseen)}")
    for flow in flows:
        zh = [p for p in flow.triggers.patterns if language(p) == "zh"]
        print(f"{flow.flow}: {len(zh)} patterns zh, {len(flow.triggers.patterns) - len(zh)} en")
    of_gallery(flows)


if __name__ == "__main__":
    main()
