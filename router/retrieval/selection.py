"""What a search comes to, how much of it fits a prompt, and when it counts as clear.

When is said by thresholds, fitted to labelled messages of one's own and kept in a JSON file, which
`intent-router eval --fit` writes and ROUTER_THRESHOLDS names:
{"known": 0.43, "known_by_card": 0.21, "needs_tool": 0.08, "margin": 0.61, "places": 3}
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Literal, cast

import numpy as np

from router.domain.errors import MisconfiguredError
from router.domain.locale import Locale
from router.domain.principals import Capability, CapabilityKind

SearchVerdict = Literal["clear", "several", "none"]


@dataclass(frozen=True)
class RetrievedCandidate:
    """A capability that may be meant."""

    capability: Capability
    score: float
    """0 to 1: of the first, the probability that the message is for any capability at all;
    of the others less, the further they are behind."""
    example: str = ""
    """Of its examples the one nearest to the message; empty where it has none."""

    @property
    def kind(self) -> CapabilityKind:
        """Flow, skill or tool."""
        return self.capability.kind

    @property
    def name(self) -> str:
        """The capability's name."""
        return self.capability.name


@dataclass(frozen=True)
class Signs:
    """What the verdict is read from."""

    known: float
    """The probability that the message is for any of the capabilities, 0 to 1."""
    needs_tool: float
    """The probability that it takes a tool and not only words, 0 to 1."""
    margin: float
    """How far the first is ahead of the second, in standard deviations of the scores."""
    by_card: bool = False
    """Whether the first has no examples, and was found by its card's vector, which says less."""
    by_words: bool = False
    """Whether there are no vectors: then `known` is how much of the message stands in the first."""


@dataclass(frozen=True)
class Thresholds:
    """Where the verdicts part. `router.retrieval.selection` finds them for a set of one's own."""

    known: float = 0.4
    """Below this nothing here is meant. By development rows with examples at most 4 in 100 requests
    in the examples' language are turned away, and of errands for nobody here 84 in 100 of
    CLINC150's."""
    needs_tool: float = 0.4
    """Below this words are enough, whatever is nearest. On development rows with examples it turns
    away nine tenths of small talk, and of requests that `known` lets through 2 in 1,000."""
    margin: float = 1.5
    """From this on the first is clearly ahead: the smallest of steps of a quarter that makes 97 in
    100 clear ones right on each of nine development sets; on all but ToolE 1.0 would do."""
    start: float = 1000.0
    """From this margin on what is first is right 99 times in 100, so that a flow may begin without
    a question. No margin is as large as the default: nothing begins so until that was measured."""
    choice: float = 0.01
    """A choice with a score below this is asked about, whoever made it."""
    places: int = 3
    """Behind this place too."""
    reliability: tuple[tuple[float, float], ...] = ()
    """From which score on which share of a model's choices was right, both 0 to 1, in rising
    order; empty where that wasn't measured."""
    probable: float = 0.995
    """`known` from which a model's mere words are doubted, and words of a message count as a wish
    of their own: where a model decides, a question too many costs more than where nobody does."""
    known_by_card: float = 0.02
    """`known` where the first has no examples: next to nothing, as the gate holds it too."""
    needs_tool_by_card: float = 0.014
    """`needs_tool` where the first has none. It loses at most 2 in 100 requests of each of seven
    sets for development, and turns away a third to a half of small talk."""
    margin_by_card: float = 3.0
    """`margin` where the first has none: the smallest that makes 97 in 100 clear ones right on each
    of the five; on all but ToolE, where several tools serve one request, 1.75 would do."""

    known_by_words: float = 0.5
    """`known` without an encoder: at least half of what the message says."""

    def admits(self, signs: Signs) -> bool:
        """Whether something here is meant at all."""
        if signs.by_words:
            return signs.known >= self.known_by_words
        if signs.by_card:
            return signs.known >= self.known_by_card and signs.needs_tool >= self.needs_tool_by_card
        return signs.known >= self.known and signs.needs_tool >= self.needs_tool

    def parts(self, signs: Signs) -> bool:
        """Whether the first is clearly ahead."""
        return signs.margin >= (self.margin_by_card if signs.by_card else self.margin)

    def confidence(self, score: float) -> float | None:
        """How often a choice with such a score was right; None where that wasn't measured."""
        shares = [share for least, share in self.reliability if least <= score]
        return shares[-1] if shares else None


@dataclass(frozen=True)
class Selection:
    """The capabilities that a message may be for, best first, and how sure that is."""

    candidates: tuple[RetrievedCandidate, ...]
    verdict: SearchVerdict
    signs: Signs
    notes: tuple[str, ...] = ()
    """What went otherwise than planned, such as an encoder that failed."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    """What the verdict was read with."""

    @property
    def is_probable(self) -> bool:
        """True where something here is meant so probably that a model's mere words are doubted."""
        measured = not self.signs.by_card and not self.signs.by_words
        sure = not measured or self.signs.known >= self.thresholds.probable
        return sure and self.verdict != "none"

    @property
    def is_certain(self) -> bool:
        """True where the first is so far ahead that it may begin without a question."""
        return self.verdict != "none" and self.signs.margin >= self.thresholds.start


def verdict(signs: Signs, thresholds: Thresholds) -> SearchVerdict:
    """`none` where nothing here is meant, `clear` where one thing is, else `several`."""
    if not thresholds.admits(signs):
        return "none"
    return "clear" if thresholds.parts(signs) else "several"


WRAPPING = 12
"""Tokens around a function's name, description and schema in the protocol."""


def prompt_tokens(capability: Capability, locale: Locale = "zh") -> int:
    """About how many tokens a model reads to be offered this.

    Counted without a model's own tokenizer, and rather too many than too few: one for an East
    Asian character, one for three and a half others.
    """
    schema = json.dumps(capability.parameters, ensure_ascii=False, separators=(",", ":"))
    text = capability.name + capability.description.within(locale) + schema
    # An East Asian character is three bytes of UTF-8, nearly all others here are one.
    wide = (len(text.encode("utf-8", "replace")) - len(text)) // 2
    return WRAPPING + wide + round((len(text) - wide) / 3.5)


def within_budget(ranked: Iterable[Capability], tokens: int | None, most: int) -> list[Capability]:
    """The first of them that fit into so many tokens, at most `most`, at least one.

    None is no end of tokens. One that is too large doesn't keep smaller ones behind it out.
    """
    chosen: list[Capability] = []
    left = tokens
    for capability in ranked:
        if len(chosen) == most:
            break
        cost = prompt_tokens(capability) if left is not None else 0
        if left is None or cost <= left or not chosen:
            chosen.append(capability)
            left = None if left is None else left - cost
    return chosen


PRECISION = 0.95
"""How often what is called clear should be right."""
CERTAIN, LEAST_CERTAIN = 0.99, 100
"""How often what begins without a question should be right, of so many messages at least."""
LOST = 0.01
"""The share of messages for a capability that the gate may turn away."""


@dataclass(frozen=True)
class Judged:
    """A labelled message and what the search came to."""

    signs: Signs
    wanted: bool
    """Whether the label is any capability."""
    right: bool
    """Whether it is the first candidate."""
    place: int | None = None
    """The label's place among the candidates, from 0; None where it isn't there."""
    score: float = 0.0
    """The label's score."""


def fitted_thresholds(rows: Sequence[Judged], default: Thresholds | None = None) -> Thresholds:
    """The thresholds that part these rows best; the default's where they can't tell.

    `known` balances wanted messages let through against unwanted ones kept out; `needs_tool`
    turns away as many as it may without losing more than `LOST` of the wanted; `margin` is the
    smallest that makes `PRECISION` of what is clear right, and `start` the one for `CERTAIN`.
    Each but `start` is fitted to messages whose first has examples, and anew to all others.
    """
    default = default or Thresholds()
    if not any(row.wanted for row in rows):
        return default
    exemplified = [row for row in rows if not row.signs.by_card]
    bare = [row for row in rows if row.signs.by_card]
    admitting = replace(
        default,
        known=_parting(exemplified, default.known),
        needs_tool=_gate(exemplified, default.needs_tool),
        known_by_card=_parting(bare, default.known_by_card),
        needs_tool_by_card=_gate(bare, default.needs_tool_by_card),
    )
    passed = [row for row in rows if admitting.admits(row.signs)]
    places, choice = _place(rows, default)
    return replace(
        admitting,
        margin=_margin([one for one in passed if not one.signs.by_card], default.margin),
        margin_by_card=_margin(
            [one for one in passed if one.signs.by_card], default.margin_by_card
        ),
        start=_margin(passed, default.start, CERTAIN, LEAST_CERTAIN),
        places=places,
        choice=choice,
    )


MOST_PLACES = 8
DOUBTED = 0.02
"""The share of right choices that may be asked about, by their place and by their score each."""


def _place(rows: Sequence[Judged], default: Thresholds) -> tuple[int, float]:
    """Within how many places nearly every label is, and which score nearly every one reaches."""
    wanted = [row for row in rows if row.wanted]
    places = [MOST_PLACES if row.place is None else row.place + 1 for row in wanted]
    scores = [row.score for row in wanted if row.place is not None]
    if not scores:
        return default.places, default.choice
    place = int(np.quantile(places, 1 - DOUBTED, method="higher"))
    return min(MOST_PLACES, place), min(default.known, float(np.quantile(scores, DOUBTED)))


LEAST_ROWS = 30
"""Fewer choices say nothing of how often such a one is right."""
LEAST_OF_A_STEP = 10


def fitted_reliability(choices: Sequence[tuple[float, bool]]) -> tuple[tuple[float, float], ...]:
    """Scores of a model's choices, and whether each was right, as `Thresholds.reliability`.

    Isotonic regression by pooling adjacent violators (Ayer et al., "An empirical distribution
    function for sampling with incomplete information", 1955), in steps of ten choices at least,
    each with Laplace's correction: no share is ever 0 or 1.
    """
    if len(choices) < LEAST_ROWS:
        return ()
    ordered = sorted(choices)
    steps: list[tuple[float, int, int]] = []
    for begin in range(0, len(ordered), LEAST_OF_A_STEP):
        part = ordered[begin : begin + LEAST_OF_A_STEP]
        steps.append((part[0][0], sum(right for _, right in part), len(part)))
        while len(steps) > 1 and _share(steps[-2]) >= _share(steps[-1]):
            (least, *before), (_, *last) = steps[-2:]
            steps[-2:] = [(least, before[0] + last[0], before[1] + last[1])]
    return tuple((round(step[0], 4), round(_share(step), 3)) for step in steps)


def _share(step: tuple[float, int, int]) -> float:
    _, right, count = step
    return (right + 1) / (count + 2)


def _gate(rows: Sequence[Judged], default: float) -> float:
    """The `needs_tool` that loses no more than `LOST` of the wanted; the default without any."""
    wanted = [row.signs.needs_tool for row in rows if row.wanted]
    return min(float(np.quantile(wanted, LOST)), 0.5) if wanted else default


def _parting(rows: Sequence[Judged], default: float) -> float:
    """The `known` with the best mean of wanted and unwanted rows' shares on their own side of it.

    The default where there aren't both.
    """
    high = np.sort([row.signs.known for row in rows if row.wanted])
    low = np.sort([row.signs.known for row in rows if not row.wanted])
    if not len(high) or not len(low):
        return default
    cuts = np.unique(np.concatenate([high, low]))
    kept = 1 - np.searchsorted(high, cuts) / len(high)
    refused = np.searchsorted(low, cuts) / len(low)
    return float(cuts[int(np.argmax(kept + refused))])


def _margin(
    rows: Sequence[Judged], default: float, share: float = PRECISION, least: int = 1
) -> float:
    """The smallest margin from which on this share is right, of so many rows at least.

    Where there is none that is the default, or the largest where one row is enough.
    """
    if len(rows) < least:
        return default
    ordered = sorted(rows, key=lambda row: -row.signs.margin)
    margins = np.array([row.signs.margin for row in ordered])
    right = np.cumsum([row.right for row in ordered]) / np.arange(1, len(ordered) + 1)
    last_of_equals = np.append(margins[1:] < margins[:-1], [True])
    enough = np.flatnonzero((right >= share) & last_of_equals)
    enough = enough[enough >= least - 1]
    if len(enough):
        return float(margins[enough[-1]])
    return float(margins[0]) if least == 1 else default


MOST = 1000
"""No probability, and no margin in standard deviations, comes near it."""
_NAMES = tuple(field.name for field in fields(Thresholds))
_REMEDY = "write it anew with `intent-router eval FILE --fit DEV`, or take ROUTER_THRESHOLDS out"


def read_thresholds(path: Path) -> Thresholds:
    """Those in the file, else the default's; raises `MisconfiguredError` for all else in it."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise _unusable(path, f"can't be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise _unusable(path, f"isn't JSON ({error})") from None
    if not isinstance(content, dict):
        raise _unusable(path, f"holds {type(content).__name__}, not an object")
    for name, value in content.items():
        if name not in _NAMES:
            raise _unusable(path, f"has {name!r}, and there are {', '.join(_NAMES)}")
        if wrong := _wrong(name, value):
            raise _unusable(path, f"has {name} = {str(value)[:40]}, which has to be {wrong}")
    content["reliability"] = tuple(map(tuple, content.get("reliability", ())))
    return Thresholds(**content)


def _wrong(name: str, value: object) -> str | None:
    """What it has to be, where it isn't."""
    if name == "reliability":
        steps = value if isinstance(value, list) else [None]
        fine = all(isinstance(s, list) and [*map(_is_number, s)] == [True] * 2 for s in steps)
        return None if fine else "a list of [score, share], each 0 to 1"
    if name == "places":
        fine = value in range(1, MOST_PLACES + 1) and not isinstance(value, bool)
        return None if fine else f"a whole number, 1 to {MOST_PLACES}"
    return None if _is_number(value, MOST) else f"a number, 0 to {MOST}"


def _is_number(value: object, most: float = 1) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= cast("float", value) <= most


def write_thresholds(path: Path, thresholds: Thresholds) -> None:
    """Keep them in the file; raises `MisconfiguredError` where it can't be written."""
    margins = {name: min(getattr(thresholds, name), MOST) for name in ("margin", "margin_by_card")}
    bounded = asdict(replace(thresholds, **margins))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(bounded, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise MisconfiguredError(
            f"{path} can't be written ({error.strerror}): set ROUTER_THRESHOLDS to a file that can"
        ) from None


def _unusable(path: Path, what: str) -> MisconfiguredError:
    return MisconfiguredError(f"ROUTER_THRESHOLDS={path} {what}: {_REMEDY}")
