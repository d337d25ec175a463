"""Public sets that routing is measured on, and how they are split; nothing of them is kept here.

Splits are made once, with a fixed seed. What the method was tuned on (ToolE's second draw of
requests and examples, CLINC150's validation rows) is disjoint from what is measured here.
"""

import csv
import json
import os
import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

Part = Literal["development", "measured"]
SEED = 20261122
EXAMPLES, HELD_OUT = 5, 700
CLINC_REQUESTS = 10

SMALL_TALK = frozenset(
    {
        *("greeting", "goodbye", "thank_you", "tell_joke", "fun_fact", "meaning_of_life"),
        *("are_you_a_bot", "what_is_your_name", "how_old_are_you", "who_made_you"),
        *("where_are_you_from", "do_you_have_pets", "what_are_your_hobbies"),
        *("who_do_you_work_for", "what_can_i_ask_you"),
    }
)

HERE = Path(__file__).parent
REMEDY = """\
!!! bench/routing.py was SKIPPED: the public sets aren't here.
!!! Put these into one folder and name it in ROUTER_BENCH_DATA:
!!!   clinc150/data_full.json                       clinc/oos-eval on GitHub (CC BY 3.0)
!!!   toole/all_clean_data.csv, toole/plugin_des.json  HowieHwong/MetaTool on GitHub (MIT)"""


@dataclass(frozen=True)
class Known:
    """Something that requests are for."""

    name: str
    descriptions: dict[str, str]
    titles: dict[str, str]
    examples: tuple[str, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    """A JSON schema."""


@dataclass(frozen=True)
class Split:
    """What is indexed, and labelled requests that aren't in it."""

    known: tuple[Known, ...]
    requests: tuple[tuple[str, str], ...]
    strange: tuple[str, ...] = ()


def folder() -> Path | None:
    """Where the sets are: ROUTER_BENCH_DATA, else `shared/data/public` beside the checkout."""
    named = os.environ.get("ROUTER_BENCH_DATA")
    found = Path(named) if named else HERE.parent.parent / "shared/data/public"
    needed = ("clinc150/data_full.json", "toole/all_clean_data.csv", "toole/plugin_des.json")
    return found if all((found / file).is_file() for file in needed) else None


def toole(sets: Path, part: Part = "measured") -> Split:
    """199 tools with 5 examples each, 700 requests; for development others of both."""
    first = EXAMPLES if part == "development" else 0
    by_tool: dict[str, list[str]] = defaultdict(list)
    with (sets / "toole/all_clean_data.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            by_tool[row["Tool"]].append(row["Query"])
    shuffle, examples, rest = random.Random(SEED), {}, []
    for tool in sorted(by_tool):
        requests = sorted(set(by_tool[tool]))
        shuffle.shuffle(requests)
        examples[tool] = tuple(requests[first : first + EXAMPLES])
        rest += [(request, tool) for request in requests[2 * EXAMPLES :]]
    shuffle.shuffle(rest)
    cards = json.loads((sets / "toole/plugin_des.json").read_text(encoding="utf-8"))
    known = tuple(_in_english(name, text, examples[name]) for name, text in cards.items())
    drawn = rest[HELD_OUT : 2 * HELD_OUT] if part == "development" else rest[:HELD_OUT]
    return Split(known, tuple(drawn))


def clinc(sets: Path, examples: int, part: Part = "measured") -> Split:
    """150 intents with `examples` each; 1,500 requests of the test rows, 1,000 out of scope.

    For development 1,500 of the validation rows, and 200 out of scope.
    """
    data = json.loads((sets / "clinc150/data_full.json").read_text(encoding="utf-8"))
    shuffle = random.Random(SEED)
    train = _drawn(shuffle, data["train"], 20)
    validation = _drawn(shuffle, data["val"], CLINC_REQUESTS)
    test = _drawn(shuffle, data["test"], CLINC_REQUESTS)
    if part == "development":
        test = validation
    return Split(
        tuple(_in_english(name, "", tuple(train[name][:examples])) for name in sorted(train)),
        tuple((text, name) for name in sorted(test) for text in test[name]),
        strange_errands(sets, part),
    )


def strange_errands(sets: Path, part: Part = "measured") -> tuple[str, ...]:
    """What CLINC150 has of requests for none of its intents: 1,000; 200 others for development."""
    data = json.loads((sets / "clinc150/data_full.json").read_text(encoding="utf-8"))
    drawn = data["oos_val"] + data["oos_train"] if part == "development" else data["oos_test"]
    return tuple(text for text, _ in drawn)


def small_talk(sets: Path, part: Part = "measured") -> tuple[str, ...]:
    """What CLINC150's test rows have of small talk: 450 messages that words alone answer.

    For development 300, of the validation rows.
    """
    data = json.loads((sets / "clinc150/data_full.json").read_text(encoding="utf-8"))
    rows = data["val" if part == "development" else "test"]
    return tuple(text for text, intent in rows if intent in SMALL_TALK)


def without_examples(split: Split) -> Split:
    """The same requests for what is known by its description alone."""
    bare = tuple(replace(known, examples=()) for known in split.known)
    return Split(bare, split.requests, split.strange)


def desk_of_examples(locale: str, examples: Iterable[str]) -> Split:
    """For development: two of ten of the desk's examples are the requests, in one language.

    Of the other eight each has those in the languages given.
    """
    lines = (HERE / "desk_requests.jsonl").read_text(encoding="utf-8").splitlines()
    rows, place = [json.loads(line) for line in lines], {"zh": 0, "en": 1}
    known = tuple(
        Known(
            row["name"],
            row["description"],
            row["title"],
            tuple(pair[place[given]] for given in examples for pair in row["examples"][2:]),
        )
        for row in rows
    )
    asked = ((pair[place[locale]], row["name"]) for row in rows for pair in row["examples"][:2])
    return Split(known, tuple(asked))


def desk(locale: str, examples: Iterable[str]) -> Split:
    """30 things of an office's day, 150 requests in one language; 10 examples in each given.

    Written for this project, and requests and examples are translations of each other, so that
    what differs between the languages is the languages. What the method was tuned on is the
    examples, parted among themselves; never the requests.
    """
    lines = (HERE / "desk_requests.jsonl").read_text(encoding="utf-8").splitlines()
    rows, place = [json.loads(line) for line in lines], {"zh": 0, "en": 1}
    known = tuple(
        Known(
            row["name"],
            row["description"],
            row["title"],
            tuple(pair[place[given]] for given in examples for pair in row["examples"]),
        )
        for row in rows
    )
    requests = ((pair[place[locale]], row["name"]) for row in rows for pair in row["requests"])
    return Split(known, tuple(requests))


def _in_english(name: str, description: str, examples: tuple[str, ...]) -> Known:
    return Known(name, dict.fromkeys(("zh", "en"), description), {"zh": "", "en": ""}, examples)


def _drawn(shuffle: random.Random, rows: list[list[str]], count: int) -> dict[str, list[str]]:
    by_intent: dict[str, list[str]] = defaultdict(list)
    for text, intent in rows:
        by_intent[intent].append(text)
    drawn = {}
    for intent in sorted(by_intent):
        shuffle.shuffle(by_intent[intent])
        drawn[intent] = by_intent[intent][:count]
    return drawn
