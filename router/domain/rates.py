"""Shares of what was counted, with the interval in which the true share probably lies. Pure.

Intervals are at 95 %: Wilson's for a share, and for the difference of two shares of the same cases
Newcombe's, which is made of Wilson's and of how much the two go together (Statistics in Medicine
17, 1998). Both say something where all or nothing of a few was counted, and never leave 0 to 1.
"""

from collections.abc import Sequence
from math import sqrt

from router.domain.value import Value

Z = 1.959964
"""Of the normal distribution, 95 % lie within so many standard deviations."""


class Rate(Value):
    """So many of so many. Without anything to count there is no share, and all is possible.

    >>> found = Rate.of_counts(8, 10)
    >>> found.share, round(found.low, 3), round(found.high, 3)
    (0.8, 0.49, 0.943)
    """

    count: float
    of: int
    share: float | None
    low: float
    high: float

    @classmethod
    def of_counts(cls, count: float, of: int) -> "Rate":
        """The rate; `count` may be broken, where each of those counted is a share itself."""
        low, high = wilson(count, of)
        return cls(count=count, of=of, share=count / of if of else None, low=low, high=high)


def wilson(count: float, of: int) -> tuple[float, float]:
    """The interval, both ends from 0 to 1.

    >>> wilson(0, 0)
    (0.0, 1.0)
    """
    if not of:
        return 0.0, 1.0
    share, spread = count / of, Z * Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread)
    # At the very ends the two terms cancel, but for what a float can't hold.
    low = 0.0 if count <= 0 else max(0.0, middle - half)
    return low, 1.0 if count >= of else min(1.0, middle + half)


class Difference(Value):
    """How much greater the second share is than the first, both of the same cases."""

    value: float
    low: float
    high: float
    better: int
    """Cases of which the second has more."""
    worse: int

    @property
    def is_clear(self) -> bool:
        """True where the interval leaves no room for none at all."""
        return self.low > 0 or self.high < 0

    @classmethod
    def paired(cls, first: Sequence[float], second: Sequence[float]) -> "Difference":
        """Of each case both shares, 0 to 1 each, in the same order; there has to be one.

        >>> found = Difference.paired([0, 0, 1, 1], [1, 0, 1, 1])
        >>> found.value, found.better, found.worse, found.is_clear
        (0.25, 1, 0, False)
        """
        pairs, number = list(zip(first, second, strict=True)), len(first)
        one, two = sum(first) / number, sum(second) / number
        (low_one, high_one), (low_two, high_two) = (
            wilson(sum(first), number),
            wilson(sum(second), number),
        )
        together = _correlation(first, second)
        below, above = (
            sqrt(max(0.0, a * a + b * b - 2 * together * a * b))
            for a, b in ((two - low_two, high_one - one), (high_two - two, one - low_one))
        )
        return cls(
            value=two - one,
            low=max(-1.0, two - one - below),
            high=min(1.0, two - one + above),
            better=sum(b > a for a, b in pairs),
            worse=sum(b < a for a, b in pairs),
        )


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Pearson's, of zeros and ones phi; 0 where one of the two is always the same."""
    number = len(first)
    one, two = sum(first) / number, sum(second) / number
    spread = sum((a - one) ** 2 for a in first) * sum((b - two) ** 2 for b in second)
    if not spread:
        return 0.0
    return sum((a - one) * (b - two) for a, b in zip(first, second, strict=True)) / sqrt(spread)
