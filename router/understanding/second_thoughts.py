"""Saying one thing and then another instead: `下周一，哦不对，下周二`, `Monday, sorry, Tuesday`."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from router.understanding.grammar import Found, compiled

_INSTEAD = compiled(
    "不对|不是|错了|应该是|[哦啊呃,]不[,是]|不不|更正|改成"
    r"|\b(?:no|sorry|oops|actually|rather|i mean|i meant|scratch that|correction|make (?:it"
    r"|that))\b"
)
# Of what is denied nothing was taken back: 12月1号,不是周末.
_AS_WELL = compiled("是不是|还是不|不是.*而且|不是$")
_NEAR = 24

T = TypeVar("T")


def kept(found: Sequence[Found[T]], text: str) -> list[Found[T]]:
    """Those that weren't taken back: what stands after the last `哦不对` between two of them."""
    first = 0
    for place, (one, other) in enumerate(pairwise(found), 1):
        between = text[one.end : other.start]
        if len(between) <= _NEAR and _INSTEAD.search(between) and not _AS_WELL.search(between):
            first = place
    return list(found[first:])
