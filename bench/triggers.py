"""What patterns, topics and examples each do for pre-match, over the shipped flow files.

    python bench/triggers.py

Every row is the shipped files with only some of their triggers: precision and recall by language,
on the sentences that rules and weights were made with, and on such as nothing was fitted to.
Examples start no flow by themselves; taken as patterns, word for word, they say what a list of
sentences would do.

The second table is the gallery's, all its flows beside the shipped ones: on the requests that were
held out for them, and on what strangers said of a thing that a flow has among its `names`, which
the weights were made with and no pattern was.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from understanding import ROLES, ROOT, TESTS, language, rows_of

import company.lookups
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


def held_out(gallery: Iterable[FlowDefinition]) -> list[dict]:
    """The requests that were imagined for the gallery's flows before their patterns."""
    folder = TESTS / "understanding" / "data" / "gallery"
    return [row for flow in gallery for row in rows_of(folder / f"{flow.flow}.jsonl")]


def of_strangers(gallery: Iterable[FlowDefinition]) -> list[dict]:
    """What strangers said of things that flows of the gallery are called by, asking or not."""
    named = {name: flow.flow for flow in gallery for name in flow.names}
    said = rows_of(ROOT / "bench" / "requests.jsonl")
    return [
        {"text": row["text"], "label": named[row["topic"]] if row["asks"] else "none"}
        for row in said
        if row.get("topic") in named
    ]


def table(flows: list[FlowDefinition], sets: dict[str, list[dict]]) -> None:
    """A row for each way, with two columns for each set of sentences."""
    print(f"| triggers |{''.join(f' {name}, zh | en |' for name in sets)}")
    print("| --- |" + " --- |" * 2 * len(sets))
    for name, way in WAYS.items():
        index = PatternIndex(limited(flow, way) for flow in flows)
        print(f"| {name} |{''.join(figures(index, rows) for rows in sets.values())}")
    print()


def main() -> None:
    Registry().discover(company.lookups)
    flows = list(load_flows(ROOT / "flows"))
    learned = [row for row in rows_of(ROOT / "bench" / "requests.jsonl") if "label" in row]
    unseen = rows_of(TESTS / "understanding" / "data" / "prematch_unseen.jsonl")
    table(flows, {"learned from": learned, "unseen": unseen})
    gallery = [one.definition for one in Gallery()]
    print(f"With the gallery's {len(gallery)} flows:\n")
    held, said = held_out(gallery), of_strangers(gallery)
    table([*flows, *gallery], {"held out": held, "strangers": said})
    for flow in [*flows, *gallery]:
        zh = [p for p in flow.triggers.patterns if language(p) == "zh"]
        print(f"{flow.flow}: {len(zh)} patterns zh, {len(flow.triggers.patterns) - len(zh)} en")


if __name__ == "__main__":
    main()
