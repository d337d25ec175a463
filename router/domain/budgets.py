"""How much may be spent on models: counting, and nothing else."""

from typing import Literal, NamedTuple

from pydantic import Field

from router.domain.messages import Usage, ValueObject

Scope = Literal["turn", "user", "tenant", "day"]
"""One message, one person's day, one tenant's day, or the whole house's day."""


class Budget(ValueObject):
    """What may be spent on questions and on tokens sent and received; None is no limit."""

    calls: int | None = Field(None, ge=0)
    """Questions to a model; None is no limit."""
    tokens: int | None = Field(None, ge=0)
    """Tokens sent and received; None is no limit."""

    def why_spent(self, spent: Usage, tokens: int = 0) -> str | None:
        """Why one more call, of so many tokens, may not be paid for; None where it may."""
        if self.calls is not None and spent.llm_calls >= self.calls:
            return f"{spent.llm_calls} of {self.calls} calls are spent"
        if self.tokens is not None and spent.tokens + tokens > self.tokens:
            return f"{spent.tokens} of {self.tokens} tokens are spent"
        return None


class Spent(NamedTuple):
    """What a day has cost so far: for one person, for their tenant, and for all tenants."""

    user: Usage = Usage()
    tenant: Usage = Usage()
    day: Usage = Usage()

    def with_ahead(self, usage: Usage) -> "Spent":
        """The same with this spent on top, by that person."""
        return Spent(*(each + usage for each in self))


class Budgets(ValueObject):
    """What each scope may spend; a turn has limits unless told otherwise."""

    turn: Budget = Budget(calls=100, tokens=2_500_000)
    """For one message."""
    user: Budget = Budget()
    """For one person, by the day."""
    tenant: Budget = Budget()
    """For everybody of one tenant, by the day."""
    day: Budget = Budget()
    """For everybody together, by the day."""

    @property
    def by_the_day(self) -> bool:
        """True where anything depends on what was spent in other turns."""
        daily = (self.user, self.tenant, self.day)
        return any(limit is not None for b in daily for limit in (b.calls, b.tokens))

    def why_spent(self, spent: Spent, tokens: int = 0) -> tuple[Scope, str] | None:
        """Whose day, and why, can't pay for one more call of so many tokens; None where all can."""
        daily: tuple[tuple[Scope, Budget, Usage], ...] = (
            ("user", self.user, spent.user),
            ("tenant", self.tenant, spent.tenant),
            ("day", self.day, spent.day),
        )
        for scope, budget, so_far in daily:
            if why := budget.why_spent(so_far, tokens):
                return scope, why
        return None
