"""Tools found by description and parameters alone, beside simpler ways on the same requests.

Each table names the share of requests whose tool is among the first, what is behind ours by how
much among the first five, and what verdicts came to: legitimate requests turned away, how often
what is called clear is right, and small talk turned away.
"""

from pathlib import Path

import intervals
import numpy as np
import peers
import public_sets
import tool_sets
from numpy.typing import NDArray
from public_sets import Split
from selections import found_ranks, ranks, selections

from router.retrieval.lexical import terms, tokens
from router.retrieval.selection import Selection
from router.retrieval.vector_cache import RememberedEncoder

RANKS = (1, 3, 5)
Places = NDArray[np.float64]


async def tool_tables(sets: Path, wheels: Path, encoder: RememberedEncoder) -> None:
    """Print a table for every set: the measured part of it, whatever was tuned on the other."""
    toole = public_sets.toole(sets)
    small_talk = public_sets.small_talk(sets)
    splits = {
        "a cloud in Chinese, 450 actions with parameters": tool_sets.chinese(wheels, "measured"),
        "  of it, worded otherwise": tool_sets.otherwise(tool_sets.chinese(wheels, "measured")),
        "a cloud, Chinese requests, English cards": tool_sets.across(wheels, "measured", "en"),
        "a cloud, English requests, Chinese cards": tool_sets.across(wheels, "measured", "zh"),
        "Berkeley's leaderboard, 515 functions": tool_sets.leaderboard(wheels, "measured"),
        "a desk in Chinese, 30 things": public_sets.desk("zh", ()),
        "a desk in English, 30 things": public_sets.desk("en", ()),
        "ToolE, 199 tools": public_sets.without_examples(toole),
    }
    print("\nby description alone: recall, %; ours less theirs @5, points")
    for title, split in splits.items():
        await tool_table(title, split, small_talk, encoder)


async def tool_table(
    title: str, split: Split, small_talk: tuple[str, ...], encoder: RememberedEncoder
) -> None:
    """One set's rows, with paired intervals beside each baseline, and its verdicts."""
    asked = Split(split.known, split.requests, small_talk)
    answers = await selections(asked, encoder)
    ours = found_ranks(split, answers)
    print(f"\n{title}: {len(split.requests)} requests")
    print(f"{'':28}" + "".join(f"{f'@{rank}':>8}" for rank in RANKS) + f"{'ours less it @5':>26}")
    for name, places in (await baselines(split, encoder)).items():
        print(f"{name:28}{recalls(places)}{intervals.shown(ours < 5, places < 5):>26}")
    print(f"{'ours':28}{recalls(ours)}")
    print(verdicts(ours, answers[: len(ours)], answers[len(ours) :]))


async def baselines(split: Split, encoder: RememberedEncoder) -> dict[str, Places]:
    """Places of the right tool by words, by vectors, and by the plain sum of both."""
    pairs = peers.words(split, examples=False, tokens=tokens)
    characters = peers.words(split, examples=False, tokens=terms)
    cards = await peers.nearness(split, encoder)
    return {
        "BM25, pairs": ranks(split, pairs),
        "BM25, pairs and characters": ranks(split, characters),
        "embedding, max-cosine": ranks(split, cards),
        "sum of BM25 and embedding": ranks(split, peers.summed(pairs, cards)),
    }


def recalls(places: Places) -> str:
    """The shares of places among the first, in columns."""
    return "".join(f"{100 * (places < rank).mean():8.1f}" for rank in RANKS)


def verdicts(ours: Places, wanted: list[Selection], talk: list[Selection]) -> str:
    """What the verdicts came to, in a line."""
    clear = np.array([answer.verdict == "clear" for answer in wanted])
    refused = np.array([answer.verdict == "none" for answer in wanted])
    talked = np.array([answer.verdict == "none" for answer in talk])
    right = f"{100 * (ours[clear] == 0).mean():.1f}" if clear.any() else "-"
    return (
        f"turned away {100 * refused.mean():.1f}, clear {100 * clear.mean():.1f} and of it right "
        f"{right}, small talk turned away {100 * talked.mean():.1f}"
    )
