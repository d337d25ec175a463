"""The policies of the reader: what each is asked for, and in which order.

A policy is a function that is given a message and decides what is done with it, or returns `None`.
`reader` registers those of the core. Policies of extensions are asked after them, and before a
model.
"""

import inspect
import logging
from collections.abc import Callable, Iterator
from functools import update_wrapper
from typing import Literal, get_args

from router.domain.commands import Command
from router.domain.messages import Route
from router.extension import ExtensionConflict
from router.understanding.actions import PolicyDecision
from router.understanding.heard import ParsedMessage

Stage = Literal["asked", "asked_beside", "addressed", "open", "open_beside"]
"""Where a flow asks something, where a message is addressed to a skill, and otherwise. The stages
that end in `beside` are for what is said in addition to something else."""
Policy = Callable[..., PolicyDecision | None]
"""Is given the message, and in the stages `asked` and `asked_beside` the run that asks."""
AddablePolicy = Callable[[ParsedMessage], PolicyDecision | None]
"""A policy of an extension, which is given the message alone."""

POLICIES: dict[Stage, list[Policy]] = {stage: [] for stage in get_args(Stage)}
"""By stage, in the order in which they are asked. The first that decides is named in the route."""
ADDED_STAGES: tuple[Stage, ...] = ("asked", "asked_beside", "open", "open_beside")
"""Where policies of extensions are asked: what is addressed to a skill is for that alone."""
OTHER_NAMES = frozenset({"action", "files_alone", "with_person", "called_skill"})
"""What else may stand in a route as the policy."""

_log = logging.getLogger("router.understanding")


def register_policy(policy: Policy, *stages: Stage) -> None:
    """Ask a policy in these stages, after those that are registered already.

    Registering it again changes nothing.

    Raises:
        ExtensionConflict: Another policy has its name.
    """
    name = policy.__name__
    if name in OTHER_NAMES or any(
        each.__name__ == name and not _is_same(each, policy) for each in _all_policies()
    ):
        raise ExtensionConflict(f"there is a policy {name!r} already; give yours another name")
    for stage in stages:
        if not any(_is_same(each, policy) for each in POLICIES[stage]):
            POLICIES[stage].append(policy)


def _all_policies() -> Iterator[Policy]:
    return (policy for policies in POLICIES.values() for policy in policies)


def _is_same(one: Policy, other: Policy) -> bool:
    return inspect.unwrap(one) is inspect.unwrap(other)


class AddedPolicy:
    """A policy of an extension. If it fails, that is logged, and the message is read without it."""

    __name__: str

    def __init__(self, function: AddablePolicy, owner: str) -> None:
        """Check the function, which the extension called `owner` has.

        Raises:
            ExtensionConflict: It can't be called with a message alone.
        """
        if not inspect.isfunction(function) or inspect.iscoroutinefunction(function):
            raise ExtensionConflict(f"the policy {function!r} is no plain function; write a def")
        if not function.__name__.isidentifier():
            raise ExtensionConflict("a policy is a lambda; give it a name, which routes show")
        try:
            inspect.signature(function).bind(None)
        except TypeError as error:
            raise ExtensionConflict(
                f"the policy {function.__name__} can't be called with one message: {error}"
            ) from error
        self._function = function
        self._owner = owner
        update_wrapper(self, function)

    def __call__(self, message: ParsedMessage, _: object = None) -> PolicyDecision | None:
        """Return its decision, or `None` if it has none, or none that can be used."""
        try:
            decision: object = self._function(message)
        except Exception:  # noqa: BLE001 - it may be anybody's code
            _log.exception("extension %s: the policy %s failed", self._owner, self.__name__)
            return None
        match decision:
            case None:
                return None
            case (Route() as route, command) if isinstance(command, get_args(Command)[0]):
                return route, command
        _log.error(
            "extension %s: the policy %s returned %.200r; return None, or a Route and a command",
            self._owner,
            self.__name__,
            decision,
        )
        return None
