"""Sets of tools that come as an API does: with descriptions and parameters, without examples.

They are read out of packages of the Python index, as they are, and nothing of them is kept here:

* Tencent Cloud's command line (`tccli`, Apache 2.0) describes some 14,000 actions of 262 services
  in Chinese, with their parameters, and says in a sentence what each example of a call does.
  Those sentences are the requests: "购买付费模式为包年包月的CDH实例，指定位置在广州六区". Its
  international edition (`tccli-intl-en`) has many of the same actions in English.
* The Berkeley Function Calling Leaderboard (`bfcl-eval`, Apache 2.0; S. Patil et al., 2025) has
  functions with parameters and requests that people made for them.

Services are parted into those that the method was tuned on and those that are measured; so are
the leaderboard's functions, into those written for it and those that its users sent.
"""

import json
import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from zipfile import ZipFile

from public_sets import SEED, Known, Part, Split

from router.retrieval.lexical import tokens

WHEELS = ("tccli-3.1.189.1", "tccli_intl_en-3.1.193.1", "bfcl_eval-2026.3.23")
REMEDY = """\
!!! The tool sets are SKIPPED: their packages aren't here. To have them (25 MB):
!!!   pip download --no-deps -d FOLDER tccli==3.1.189.1 tccli-intl-en==3.1.193.1 \\
!!!       bfcl-eval==2026.3.23
!!! and name the folder in ROUTER_BENCH_WHEELS"""

TOOLS, REQUESTS = 450, 1000
HALF = 0.5
LONGEST = 300
"""Characters of a description, and of all parameters' together twice that."""
_HAN = re.compile("[\u4e00-\u9fff]")
_MARKUP = re.compile(r"<[^>]*>|\[([^\]]*)\]\([^)]*\)|[*`#]+")
_NAMING = re.compile(r"^本接口\s*[(（][^)）]*[)）]\s*|^This API is used to\s*|示例[一二三\d]*$")
_ABOUT_A_REPLY = re.compile("示例|响应|返回|接口|出参|入参|(?i:example|sample|response|this api)")


@dataclass(frozen=True)
class Action:
    """One action of a cloud, in one language."""

    service: str
    name: str
    title: str
    description: str
    parameters: dict[str, Any]
    requests: tuple[str, ...]


def wheel(folder: Path, number: int) -> ZipFile:
    """The package of that number among `WHEELS`."""
    return ZipFile(next(folder.glob(f"{WHEELS[number]}-*.whl")))


def folder() -> Path | None:
    """Where the packages are: ROUTER_BENCH_WHEELS; None where one is missing."""
    named = os.environ.get("ROUTER_BENCH_WHEELS")
    wheels = Path(named) if named else None
    complete = wheels and all(any(wheels.glob(f"{name}-*.whl")) for name in WHEELS)
    return wheels if complete else None


def chinese(folder: Path, part: Part) -> Split:
    """450 actions in Chinese with their parameters, up to 1,000 requests in Chinese."""
    mine = [one for one in actions(folder, 0) if part_of(one.service) == part and one.requests]
    drawn = sorted(random.Random(SEED).sample(_apart(mine), TOOLS), key=lambda one: one.name)
    known = tuple(_known(one, one.title, one.description, one.parameters) for one in drawn)
    return Split(known, _requests(drawn, drawn))


def plenty(folder: Path, count: int) -> Split:
    """So many actions in Chinese of whatever service, and 200 requests: for measuring time."""
    drawn = random.Random(SEED).sample(list(actions(folder, 0)), count)
    known = tuple(_known(one, one.title, one.description, one.parameters) for one in drawn)
    return Split(known, _requests(drawn, drawn)[:200])


def otherwise(split: Split) -> Split:
    """Those requests at most half of whose tokens are in the title or description they are for."""
    cards = {one.name: f"{one.titles['zh']} {one.descriptions['zh']}" for one in split.known}
    own = {name: frozenset(tokens(text)) for name, text in cards.items()}

    def shared(text: str, label: str) -> float:
        said = set(tokens(text))
        return len(said & own[label]) / max(len(said), 1)

    return Split(split.known, tuple(row for row in split.requests if shared(*row) <= HALF))


def across(folder: Path, part: Part, cards: Literal["zh", "en"]) -> Split:
    """Up to 300 actions that are described in both languages, with cards in the one given.

    Requests are in the other language.
    """
    editions = [{(a.service, a.name): a for a in actions(folder, n)} for n in (0, 1)]
    both = [key for key in editions[0] if key in editions[1] and part_of(key[0]) == part]
    asked = [key for key in both if all(edition[key].requests for edition in editions)]
    chosen = _apart([editions[0][key] for key in asked])
    drawn = random.Random(SEED).sample(chosen, min(len(chosen), 300))
    keys = sorted((one.service, one.name) for one in drawn)
    of = editions[1] if cards == "en" else editions[0]
    asking = editions[0] if cards == "en" else editions[1]
    shown = [of[key] for key in keys]
    known = tuple(_known(one, one.title, one.description, one.parameters) for one in shown)
    return Split(known, _requests([asking[key] for key in keys], shown))


def actions(folder: Path, number: int) -> Iterator[Action]:
    """The actions of a package, each service's newest version alone."""
    package = wheel(folder, number)
    versions: dict[str, str] = {}
    for name in package.namelist():
        if match := re.fullmatch(r"tccli/services/(\w+)/(v\d+)/api\.json", name):
            service, version = match.groups()
            versions[service] = max(versions.get(service, ""), version)
    for service, version in sorted(versions.items()):
        place = f"tccli/services/{service}/{version}"
        api = json.loads(package.read(f"{place}/api.json"))
        examples = json.loads(package.read(f"{place}/examples.json"))["actions"]
        for name, action in sorted(api["actions"].items()):
            yield _action(service, name, action, api["objects"], examples.get(name, []))


def _action(
    service: str, name: str, action: dict[str, Any], objects: Any, examples: list[dict[str, str]]
) -> Action:
    title, text = _plain(action["name"]), _plain(action["document"])
    members = objects.get(action["input"], {}).get("members", [])
    properties = {
        one["name"]: {"type": one["type"], "description": _plain(one["document"])[:LONGEST]}
        for one in members
    }
    said = dict.fromkeys(_plain(e[key]) for e in examples for key in ("document", "title"))
    asked = tuple(s for s in said if _is_request(s, title, text, name))
    return Action(service, name, title, text[:LONGEST], {"properties": properties}, asked)


def _plain(text: str) -> str:
    text = _MARKUP.sub(lambda match: match[1] or "", text)
    return _NAMING.sub("", re.sub(r"\s+", " ", text).strip()).strip()


def _is_request(said: str, title: str, text: str, name: str) -> bool:
    """Whether it says what is wanted, in words that aren't simply the card's own."""
    wide = 2 if _HAN.search(said) else 5
    if not 5 * wide <= len(said) <= 60 * wide or _ABOUT_A_REPLY.search(said):
        return False
    low = said.casefold()
    return not any(own and own.casefold() in low for own in (title, name)) and (
        low not in text.casefold()
    )


def part_of(service: str) -> Part:
    """Services are parted by a draw of their names."""
    return "development" if random.Random(f"{SEED} {service}").random() < 0.5 else "measured"


def _apart(drawn: list[Action]) -> list[Action]:
    """Without those that share their title with another: nothing could tell them apart."""
    titles = Counter(one.title for one in drawn)
    return [one for one in drawn if titles[one.title] == 1]


def _requests(asking: list[Action], shown: list[Action]) -> tuple[tuple[str, str], ...]:
    """Requests of the actions, each labelled with the card that it is for, in a drawn order."""
    labels: dict[str, list[str]] = defaultdict(list)
    for one, card in zip(asking, shown, strict=True):
        for text in one.requests:
            labels[text].append(f"{card.service}_{card.name}")
    rows = [(text, of[0]) for text, of in sorted(labels.items()) if len(of) == 1]
    random.Random(SEED).shuffle(rows)
    return tuple(rows[:REQUESTS])


def _known(one: Action, title: str, description: str, parameters: dict[str, Any]) -> Known:
    return Known(
        f"{one.service}_{one.name}",
        dict.fromkeys(("zh", "en"), description),
        dict.fromkeys(("zh", "en"), title),
        (),
        parameters,
    )


_UNTITLED = {"zh": "", "en": ""}
_LEADERBOARD: dict[Part, tuple[str, ...]] = {
    "development": ("simple_python", "multiple"),
    "measured": ("live_simple", "live_multiple"),
}


def leaderboard(folder: Path, part: Part) -> Split:
    """The leaderboard's functions of one part and 700 of its requests, nearly all in English."""
    package = wheel(folder, 2)
    functions: dict[str, dict[str, Any]] = {}
    rows: dict[str, str] = {}
    for name in _LEADERBOARD[part]:
        questions = _lines(package, f"BFCL_v4_{name}.json")
        answers = {
            row["id"]: row for row in _lines(package, f"possible_answer/BFCL_v4_{name}.json")
        }
        for row in questions:
            for function in row["function"]:
                functions.setdefault(function["name"], function)
            asked = row["question"][0][-1]["content"]
            rows.setdefault(asked, next(iter(answers[row["id"]]["ground_truth"][0])))
    requests = sorted((asked, label) for asked, label in rows.items() if label in functions)
    random.Random(SEED).shuffle(requests)
    known = tuple(
        Known(name, dict.fromkeys(("zh", "en"), f["description"]), _UNTITLED, (), f["parameters"])
        for name, f in sorted(functions.items())
    )
    return Split(known, tuple(requests[:700]))


def _lines(package: ZipFile, name: str) -> list[dict[str, Any]]:
    text = package.read(f"bfcl_eval/data/{name}").decode()
    return [json.loads(line) for line in text.splitlines()]
