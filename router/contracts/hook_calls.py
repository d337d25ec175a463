"""A hook as a workflow knows it, and what crosses the border where it is called."""

from collections.abc import Iterable
from datetime import timedelta

from router.contracts.payload import Payload
from router.domain.hooks import AnyHookEvent, HookPoint, joined
from router.domain.locale import Localised

PREFIX = "hook:"
"""What the names of hooks' activities begin with: no tool's does."""


class HookStub(Payload):
    """A hook that is to be called: known before, so that a replay never differs."""

    name: str
    point: HookPoint
    timeout: timedelta
    required: bool = False

    @property
    def activity(self) -> str:
        """What its activity is called."""
        return f"{PREFIX}{self.name}"


class HookCall(Payload):
    """What one hook is told."""

    event: AnyHookEvent


class HookAnswer(Payload):
    """What hooks answered: one, or all of a point. There is nothing in it that lets through."""

    refused: Localised | None = None
    """Why it isn't to be done, by the first that refuses, in the order of their names."""
    refused_by: str = ""
    not_deployed: bool = False
    """True where it is refused since the hook, which is required, isn't part of this deployment."""
    say: tuple[Localised, ...] = ()
    context: str = ""
    hide: frozenset[str] = frozenset()

    @classmethod
    def of(cls, answers: Iterable["HookAnswer"]) -> "HookAnswer":
        """What they come to together, those of earlier names first."""
        each = [*answers]
        refusing = next((one for one in each if one.refused is not None), cls())
        return cls(
            refused=refusing.refused,
            refused_by=refusing.refused_by,
            not_deployed=refusing.not_deployed,
            say=tuple(words for one in each for words in one.say),
            context=joined(one.context for one in each),
            hide=frozenset[str]().union(*(one.hide for one in each)),
        )


NO_ANSWER = HookAnswer()

UNCHECKED = Localised(
    zh="有一项必须通过的检查现在做不了，所以没有办理。请稍后再试，或告诉管理员。",
    en="A check that this has to pass isn't working just now, so nothing was done. Try again "
    "later, or tell an administrator.",
)
"""What is said where a hook that is required has failed."""
