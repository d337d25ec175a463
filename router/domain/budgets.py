"""How much may be spent on models: counting, and nothing else."""

from typing import Literal

from pydantic import Field

from router.domain.messages import Usage, Value

Scope = Literal["turn", "user", "day"]
"""One message, one person's day, or everybody's day."""


class Budget(Value):
    """What may be spent; None is no limit.

    >>> Budget(calls=3, tokens=8000).why_spent(Usage(llm_calls=3, prompt_tokens=500))
    '3 of 3 calls are spent'
    """

    calls: int | None = Field(None, ge=0)
    tokens: int | None = Field(None, ge=0)

    def why_spent(self, spent: Usage, tokens: int = 0) -> str | None:
        """Why one more call, of so many tokens, may not be paid for; None where it may."""
        if self.calls is not None and spent.llm_calls >= self.calls:
            return f"{spent.llm_calls} of {self.calls} calls are spent"
        if self.tokens is not None and spent.tokens + tokens > self.tokens:
            return f"{spent.tokens} of {self.tokens} tokens are spent"
        return None


class Budgets(Value):
    """What each scope may spend.

    A turn has limits unless told otherwise, beyond those of any one skill: whatever goes round
    and round is stopped before anyone has to notice.
    """

    turn: Budget = Budget(calls=100, tokens=2_500_000)
    user: Budget = Budget()
    day: Budget = Budget()

    @property
    def by_the_day(self) -> bool:
        """True where anything depends on what was spent in other turns."""
        return any(
            limit is not None for b in (self.user, self.day) for limit in (b.calls, b.tokens)
        )
