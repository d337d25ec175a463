"""How much may be spent on models: counting, and nothing else."""

from decimal import Decimal
from typing import Literal, NamedTuple, get_args

from pydantic import Field

from router.domain.messages import Usage, ValueObject, plain_decimal

Scope = Literal["turn", "user", "tenant", "day"]
"""One message, one person's day, one tenant's day, or the whole house's day."""


QUESTION = Usage(llm_calls=1)
"""The next one, where nothing more is known of it."""


class Budget(ValueObject):
    """What may be spent on models: in questions, in tokens, in money; None is no limit."""

    calls: int | None = Field(None, ge=0)
    """Questions to a model; None is no limit."""
    tokens: int | None = Field(None, ge=0)
    """Tokens sent and received; None is no limit."""

    cost: Decimal | None = Field(None, ge=0, max_digits=18, decimal_places=9)
    """Money, in the currency of the prices; every model that is configured has to have one."""

    def why_spent(self, spent: Usage, ahead: Usage = QUESTION) -> str | None:
        """Why one more call, which takes so much `ahead`, may not be paid for; None: it may."""
        if self.calls is not None and spent.llm_calls >= self.calls:
            return f"{spent.llm_calls} of {self.calls} calls are spent"
        if self.tokens is not None and spent.tokens + ahead.tokens > self.tokens:
            return f"{spent.tokens} of {self.tokens} tokens are spent"
        return None if self.cost is None else self._why_money_is_spent(self.cost, spent, ahead)

    def _why_money_is_spent(self, most: Decimal, spent: Usage, ahead: Usage) -> str | None:
        costs = [each.amount if each else Decimal() for each in (spent.cost, ahead.cost)]
        if sum(costs) <= most:
            return None
        known = spent.cost or ahead.cost
        currency = known.currency if known else ""
        return f"{plain_decimal(costs[0])} of {plain_decimal(most)} {currency} are spent"

    def left(self, spent: Usage) -> float:
        """Which share of it is left, from 0 to 1: of what there is least of.

        >>> Budget(calls=10, tokens=1000).left(Usage(llm_calls=2, prompt_tokens=700))
        0.3
        """
        money = spent.cost.amount if spent.cost else Decimal()
        used = (Decimal(spent.llm_calls), Decimal(spent.tokens), money)
        shares = [
            1 - so_far / most if most else Decimal()
            for most, so_far in zip((self.calls, self.tokens, self.cost), used, strict=True)
            if most is not None
        ]
        return float(max(Decimal(), min(shares, default=Decimal(1))))

    @property
    def limits(self) -> tuple[int | Decimal | None, ...]:
        """All of them."""
        return self.calls, self.tokens, self.cost


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
        return any(limit is not None for budget in daily for limit in budget.limits)

    def left(self, turn: Usage, spent: Spent) -> float:
        """Which share is left of the budget of which there is least, from 0 to 1."""
        pairs = ((self.turn, turn), (self.user, spent.user), (self.tenant, spent.tenant))
        return min(budget.left(so_far) for budget, so_far in (*pairs, (self.day, spent.day)))

    @property
    def in_money(self) -> list[Scope]:
        """Those that say how much money may be spent."""
        scopes: tuple[Scope, ...] = get_args(Scope)
        return [scope for scope in scopes if getattr(self, scope).cost is not None]

    def why_spent(self, spent: Spent, ahead: Usage = QUESTION) -> tuple[Scope, str] | None:
        """Whose day, and why, can't pay for one more call that takes so much; None: all can."""
        daily: tuple[tuple[Scope, Budget, Usage], ...] = (
            ("user", self.user, spent.user),
            ("tenant", self.tenant, spent.tenant),
            ("day", self.day, spent.day),
        )
        for scope, budget, so_far in daily:
            if why := budget.why_spent(so_far, ahead):
                return scope, why
        return None
