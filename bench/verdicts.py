"""What verdicts come to: requests turned away, what is called clear, and strangers turned away.

    python bench/verdicts.py

By sets for development, which thresholds were chosen on, and by sets that are measured: with
examples and by cards alone. Small talk is CLINC150's, and so are the strange errands: requests that
are for nothing here. Of CLINC150 itself small talk is among the intents. In brackets 95 %
intervals.
"""

import asyncio
import sys
from pathlib import Path

import numpy as np
import public_sets
import tool_sets
from intervals import share
from public_sets import Part, Split
from routing import KEPT, auroc
from selections import found_ranks, selections

from router.retrieval.encoders import EmbeddedEncoder
from router.retrieval.vector_cache import RememberedEncoder, VectorFile


def with_examples(sets: Path, part: Part) -> dict[str, Split]:
    """Sets whose things have examples."""
    desk = public_sets.desk_of_examples if part == "development" else public_sets.desk
    return {
        "CLINC150, 10 examples": public_sets.clinc(sets, 10, part),
        "CLINC150, 20 examples": public_sets.clinc(sets, 20, part),
        "ToolE, 5 examples": public_sets.toole(sets, part),
        "a desk in Chinese": desk("zh", ["zh"]),
        "a desk in English": desk("en", ["en"]),
        "a desk in Chinese, examples in both": desk("zh", ["zh", "en"]),
        "a desk in English, examples in both": desk("en", ["zh", "en"]),
        "a desk in Chinese, examples in English": desk("zh", ["en"]),
        "a desk in English, examples in Chinese": desk("en", ["zh"]),
    }


def by_cards(sets: Path, wheels: Path, part: Part) -> dict[str, Split]:
    """Sets of which only the cards are known."""
    desk = public_sets.desk_of_examples if part == "development" else public_sets.desk
    return {
        "a cloud in Chinese": tool_sets.chinese(wheels, part),
        "Chinese requests, English cards": tool_sets.across(wheels, part, "en"),
        "English requests, Chinese cards": tool_sets.across(wheels, part, "zh"),
        "Berkeley's leaderboard": tool_sets.leaderboard(wheels, part),
        "ToolE": public_sets.without_examples(public_sets.toole(sets, part)),
        "a desk in Chinese": desk("zh", ()),
        "a desk in English": desk("en", ()),
    }


async def line(split: Split, talk: tuple[str, ...], strange: tuple[str, ...]) -> str:
    """One set's verdicts."""
    answers = await selections(Split(split.known, split.requests, (*talk, *strange)), encoder())
    wanted, rest = answers[: len(split.requests)], answers[len(split.requests) :]
    away = np.array([one.verdict == "none" for one in answers])
    turned, talked, strangers = np.split(away, [len(wanted), len(wanted) + len(talk)])
    clear = np.array([one.verdict == "clear" for one in wanted])
    right = found_ranks(split, wanted) < 1
    needs = [np.array([a.signs.needs_tool for a in some]) for some in (wanted, rest[: len(talk)])]
    return (
        f"{share(turned):>20}{100 * clear.mean():8.0f},{share(right[clear]):>22}"
        f"{100 * talked.mean():12.0f}{100 * strangers.mean():10.0f}{auroc(*needs):10.1f}"
    )


def encoder() -> RememberedEncoder:
    """The embedded one, with the vectors that are kept between runs."""
    return RememberedEncoder(EmbeddedEncoder(), VectorFile(KEPT))


async def main() -> int:
    sets, wheels = public_sets.folder(), tool_sets.folder()
    if sets is None:
        print(public_sets.REMEDY, file=sys.stderr)
        return 0
    if wheels is None:
        print(f"\n{tool_sets.REMEDY}", file=sys.stderr)
    parts: tuple[Part, ...] = ("development", "measured")
    for part in parts:
        talk = public_sets.small_talk(sets, part)
        strange = public_sets.strange_errands(sets, part)
        print(f"\n{part}, %")
        print(
            f"{'':44}{'turned away':>20}{'clear, right':>31}{'small talk':>12}{'strange':>10}"
            f"{'AUROC':>10}"
        )
        tables = {"with examples": with_examples(sets, part)}
        if wheels is not None:
            tables["by cards alone"] = by_cards(sets, wheels, part)
        for title, splits in tables.items():
            print(title)
            for name, split in splits.items():
                print(f"  {name:42}{await line(split, talk, strange)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
