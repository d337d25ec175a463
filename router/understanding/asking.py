"""Whether a message asks for what it names, or only speaks of it.

`能帮我请个假吗` asks, `年假能结转吗` doesn't, and both name leave. What tells them apart is the
rest of the sentence, whatever it is about: so the words of the topic are blotted out, and the
pieces that are left are weighed, in either language. The weights are those of a logistic
regression over labelled messages about leave, claims and forty other things people ask a front
desk for (`bench/requests.jsonl`, learned and measured by `bench/asking.py`). They ship with the
package: the same answer every time, in microseconds, and nobody is asked.
"""

import gzip
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, sqrt

BLOT = "◆"
"""What stands where the topic stood."""

WEIGHTS = "asking.json.gz"

_LONGEST = 400
"""Characters of a message that are looked at: who asks does so before then."""

_TRAILING = re.compile(r"[!.~\s]+$")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WORD = re.compile(rf"[a-z']+|[{BLOT}^$?]")
_CHARACTERS, _WORDS = 4, 3


def blotted(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A normalised text with the spans blotted out, touching ones as one.

    >>> blotted("我要请年假", [(2, 5)])
    '我要◆'
    """
    pieces: list[str] = []
    reached = 0
    for start, end in sorted(spans):
        if start > reached or not pieces:
            pieces.append(text[reached:start])
        reached = max(reached, end)
    return BLOT.join([*pieces, text[reached:]])


def pieces(text: str) -> set[str]:
    """What a blotted text is weighed by: runs of up to four characters and of up to three words.

    Which number it is makes no difference, and where the text begins and ends does.
    """
    plain = _NUMBER.sub("0", f"^{_TRAILING.sub('', text[:_LONGEST])}$")
    found = {
        plain[at : at + length]
        for length in range(1, _CHARACTERS + 1)
        for at in range(len(plain) - length + 1)
    }
    words = _WORD.findall(plain)
    for length in range(1, _WORDS + 1):
        found.update(
            " ".join(["", *words[at : at + length]]) for at in range(len(words) - length + 1)
        )
    return found


@dataclass(frozen=True)
class Asking:
    """Weights by piece, and what is added to their sum."""

    weights: Mapping[str, float]
    bias: float

    def likelihood(self, text: str) -> float:
        """How likely a blotted text asks for what is blotted out, from 0 to 1."""
        known = [self.weights[piece] for piece in pieces(text) if piece in self.weights]
        return 1 / (1 + exp(-self.bias - sum(known) / sqrt(len(known) or 1)))


@cache
def learned() -> Asking:
    """What was learned, read once: some ten milliseconds."""
    packed = files("router.understanding").joinpath(WEIGHTS).read_bytes()
    held = json.loads(gzip.decompress(packed))
    return Asking(held["weights"], held["bias"])
