"""Faults planted in the product, one at a time: a promise that none breaks is worth nothing.

A mutant replaces functions of the product's own by name, for as long as it is looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from activities import tool_caller
from router.flow.engine import amendment, compensation, decisions
from tests.model import promises, run
from workflows import flow as workflow


@dataclass(frozen=True)
class Mutant:
    """A fault: what is planted where, and which promise it breaks in which scenario."""

    name: str
    place: Any
    attribute: str
    fault: Callable[..., Any]
    """Makes of what is there what is there instead."""
    breaks: str
    scenario: str


def planted(mutant: Mutant, patch: Callable[[Any, str, Any], None]) -> None:
    """Plant it, by a `patch` that takes it out again."""
    patch(mutant.place, mutant.attribute, mutant.fault(getattr(mutant.place, mutant.attribute)))


def _gives(value: Any) -> Callable[..., Any]:
    return lambda _real: lambda *_, **__: value


def _sent_again(_real: Any) -> Any:
    async def once(_kept: Any, _tool: Any, _call: Any, send: Any) -> Any:
        return await send()

    return once


def _takes_what_was_begun(real: Any) -> Any:
    async def once(kept: Any, tool: Any, call: Any, send: Any) -> Any:
        return await real(kept, replace(tool, idempotent=True), call, send)

    return once


def _approves_the_change(_real: Any) -> Any:
    def make(context: Any) -> None:
        wanted = context.run.amendment
        context.run.slots = dict(wanted.after)
        context.run.amendment = None
        amendment.judge(context, wanted)

    return make


TWO_CRASHES = "two crashes"
NO_KEYS = "two crashes, tools that honour no keys"
WITHDRAWAL = "a withdrawal meets a call"
DECISIONS = "three decisions at once, twice and late"
CHANGE = "a change meets a decision"

MUTANTS = (
    Mutant("no ledger", tool_caller, "once", _sent_again, promises.ONCE, NO_KEYS),
    Mutant(
        "a try that vanished is sent again whatever the tool honours",
        tool_caller,
        "once",
        _takes_what_was_begun,
        promises.ONCE,
        NO_KEYS,
    ),
    Mutant("nothing is taken back", compensation, "due", _gives([]), promises.CLEAN, DECISIONS),
    Mutant(
        "answers aren't carried on",
        workflow,
        "with_answer",
        _gives({}),
        run.SAME,
        WITHDRAWAL,
    ),
    Mutant(
        "a decision counts again",
        decisions,
        "_used",
        _gives(None),
        promises.ONE_DECISION,
        DECISIONS,
    ),
    Mutant(
        "a change needs no approval anew",
        amendment,
        "_make",
        _approves_the_change,
        promises.AGREED,
        CHANGE,
    ),
    Mutant(
        "what was sent while it was taken back isn't mentioned",
        compensation,
        "called_off",
        _gives(None),
        run.TOLD,
        WITHDRAWAL,
    ),
)
