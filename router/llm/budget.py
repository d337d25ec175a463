"""How much may be spent on models, and how much was: counting, and nothing else."""

from dataclasses import dataclass

from router.llm.chat import ChatAnswer


@dataclass(frozen=True)
class Spending:
    """What was spent so far: in a turn, or on a user in a day.

    >>> Spending(calls=1, tokens=120) + Spending(calls=1, tokens=80)
    Spending(calls=2, tokens=200)
    """

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(self.calls + other.calls, self.tokens + other.tokens)

    @classmethod
    def on(cls, answer: ChatAnswer) -> "Spending":
        """What an answer cost: every request that it took, and its tokens."""
        return cls(answer.attempts, answer.usage.tokens)


@dataclass(frozen=True)
class Budget:
    """What may be spent; None is no limit.

    >>> Budget(calls=3, tokens=8000).why_spent(Spending(calls=3, tokens=500))
    '3 of 3 calls are spent'
    """

    calls: int | None = None
    tokens: int | None = None

    def why_spent(self, spending: Spending, expected: Spending = Spending()) -> str | None:
        """Why nothing more may be spent, or not what is `expected`; None where it may."""
        after = spending + expected
        for what, limit, spent, wanted in (
            ("calls", self.calls, spending.calls, after.calls),
            ("tokens", self.tokens, spending.tokens, after.tokens),
        ):
            if limit is not None and (spent >= limit or wanted > limit):
                return f"{spent} of {limit} {what} are spent"
        return None

    def left(self, spending: Spending) -> "Budget":
        """What may still be spent; never less than nothing."""
        return Budget(_left(self.calls, spending.calls), _left(self.tokens, spending.tokens))


def _left(limit: int | None, spent: int) -> int | None:
    return None if limit is None else max(0, limit - spent)
