"""What can go wrong between this process and a model, as a branch of the project's tree.

RouterError
├── Unavailable
│   └── ModelUnavailable     try again, after `retry_after` seconds where it is known
│       ├── NoModelAnswered  the model and every fallback failed; lists them
│       ├── Crowded          too much is asked there from here; the server was left alone
│       └── TurnTimeOver     they may answer, but not within this turn
├── BudgetSpent              no model is asked, for nobody would pay for it
└── ModelRefused             the request won't do; sending it again can't help
    ├── ContextTooLong       it is longer than the model can read: shorten and send again
    └── AccessRefused        the key is missing, wrong, or not good for this model
"""

from dataclasses import dataclass

from router.domain.budgets import Scope
from router.domain.errors import RouterError, Unavailable
from router.domain.texts import Localised


class ModelUnavailable(Unavailable):
    """The model server can't answer now: busy, broken, too slow, or out of reach.

    `retry_after` is the wait in seconds that the server asked for; None where it asked for none.
    """

    def __init__(self, detail: str | Localised, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Crowded(ModelUnavailable):
    """Too many questions of this process are under way there: it wasn't asked at all."""


class TurnTimeOver(ModelUnavailable):
    """A turn has so much time, and it is over: what comes next is done without a model."""


class BudgetSpent(RouterError):
    """Models may be asked no more in `scope` (a turn; a user's, a tenant's or everybody's day)."""

    def __init__(self, scope: Scope, detail: str) -> None:
        super().__init__(f"budget of the {scope}: {detail}")
        self.scope = scope


class ModelRefused(RouterError):
    """The server won't answer this request, however often it is sent."""


class ContextTooLong(ModelRefused):
    """The messages and functions are longer than the model's context."""


class AccessRefused(ModelRefused):
    """The server refuses the key, or refuses it this model: an operator has to act."""


@dataclass(frozen=True)
class Failure:
    """One provider that was asked and didn't answer."""

    provider: str
    error: ModelUnavailable | ModelRefused

    def __str__(self) -> str:
        return f"{self.provider}: {self.error}"


class NoModelAnswered(ModelUnavailable):
    """The model and all of its fallbacks failed; `failures` has them in the order of asking.

    `retry_after` is the shortest wait that any of them asked for.
    """

    def __init__(self, failures: tuple[Failure, ...]) -> None:
        waits = [
            failure.error.retry_after
            for failure in failures
            if isinstance(failure.error, ModelUnavailable) and failure.error.retry_after is not None
        ]
        told = "; ".join(map(str, failures)) or "none is configured"
        said = Localised(zh=f"没有模型能回答（{told}）", en=f"no model answered: {told}")
        super().__init__(said, min(waits, default=None))
        self.failures = failures

    @property
    def worth_retrying(self) -> bool:
        """True where one of them may answer in a moment; else all refused for good."""
        return any(isinstance(failure.error, ModelUnavailable) for failure in self.failures)
