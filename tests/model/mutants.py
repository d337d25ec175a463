"""Faults planted in the product, one at a time: a promise that none breaks is worth nothing.

A mutant replaces functions of the product's own by name, for as long as it is looked at.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from activities import tool_caller
from router.contracts.failures import to_json
from router.domain.errors import PermanentToolError
from router.domain.messages import ENDED
from router.extensions.channels.outbox import Outbox
from router.extensions.notifications.store import LEASE
from router.flow.engine import amendment, compensation, decisions, events, machine
from router.flow.engine.run_parts.approvals import Approval, Approvals
from router.store import flow_runs
from tests.model import conversation, ledger, outbox, promises, run
from workflows import flow as workflow
from workflows import open_flows, publication, tasks


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
        wanted = context.run.approvals.amendment
        context.run.form.slots = dict(wanted.after)
        context.run.approvals.amendment = None
        amendment.judge(context, wanted)

    return make


def _never_done(real: Any) -> Any:
    async def finish(self: Any, key: str, result: Any) -> None:
        await self.fail(key, to_json(PermanentToolError("no")))

    return finish


def _finds_it_refused(real: Any) -> Any:
    def came(task: Any, *about: Any) -> Any:
        return real(task, *about).model_copy(update={"kind": "permanent"})

    return came


def _keeps_the_task(real: Any) -> Any:
    def called(context: Any, event: Any) -> None:
        task = context.run.work.tasks.get(event.task)
        real(context, event)
        if task is not None and task.name == "hold":
            context.run.work.tasks[task.id] = task

    return called


def _goes_on_anyway(real: Any) -> Any:
    def settle(context: Any, decided: Any) -> None:
        real(context, decided.model_copy(update={"verdict": "approve"}))

    return settle


def _takes_no_side(real: Any) -> Any:
    def decide(context: Any, decided: Any) -> None:
        context.note(decided.verdict, decided.by)

    return decide


def _opens_for_nobody(real: Any) -> Any:
    def waiting_for(self: Any) -> list[Any]:
        return []

    return waiting_for


def _shows_too_many(real: Any) -> Any:
    def rows(definition: Any, of: Any, id_: str) -> Any:
        return [row.model_copy(update={"active": True}) for row in real(definition, of, id_)]

    return rows


def _forgets_the_yes(real: Any) -> Any:
    def make(context: Any) -> None:
        wanted = context.run.approvals.amendment
        context.run.approvals.amendment = None
        amendment.judge(context, wanted)

    return make


def _without_cancelling(real: Any) -> Any:
    def cancelled(context: Any, event: Any) -> None:
        if context.run.approvals.current is None:
            real[events.Cancelled](context, event)

    return {**real, events.Cancelled: cancelled}


def _goes_on(real: Any) -> Any:
    def step(definition: Any, of: Any, event: Any, now: Any) -> Any:
        if of.status in ENDED:
            return of.model_copy(update={"status": "running"}), []
        return real(definition, of, event, now)

    return step


def _changes_nothing(_real: Any) -> Any:
    return lambda state, _view: state


def _forgets_answers(real: Any) -> Any:
    def heard(state: Any, view: Any) -> Any:
        return real(state, view.model_copy(update={"events": -1}))

    return heard


def _notes_first(_real: Any) -> Any:
    async def delivered(self: Any, mailbox: Any) -> None:
        boxes = self._services.store.mailboxes
        rows = await boxes.unread(mailbox, 50)
        held = await boxes.advance(mailbox, rows[-1].sequence, datetime.now(UTC) + LEASE)
        for row in rows:
            await self._post(mailbox, row)
        await boxes.advance(held, rows[-1].sequence, datetime.now(UTC))

    return delivered


def _agrees(enough: Callable[[Iterable[bool]], bool]) -> Callable[..., Any]:
    def agreed(self: Approval) -> bool:
        return enough(one.verdict == "approve" for one in self.assignees)

    return lambda _real: property(agreed)


TWO_CRASHES = "two crashes"
NO_KEYS = "two crashes, tools that honour no keys"
WITHDRAWAL = "a withdrawal meets a call"
DECISION = "a withdrawal meets a decision"
DECISIONS = "three decisions at once, twice and late"
CHANGE = "a change meets a decision"

NEWS = "news meet answers"
ERASURE = "an erasure meets what is under way"
LAPSE = "Temporal is made to forget"
POSTS = "posts, and processes that die"
ALL, ANY = "two have to agree", "either may agree"

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
    Mutant(
        "what is done is noted as refused",
        ledger.KeptLedger,
        "finish",
        _never_done,
        promises.CLEAN,
        TWO_CRASHES,
    ),
    Mutant(
        "a try that vanished counts as refused",
        tasks,
        "came_to_nothing",
        _finds_it_refused,
        promises.CLEAN,
        NO_KEYS,
    ),
    Mutant("nothing is taken back", compensation, "due", _gives([]), promises.CLEAN, DECISIONS),
    Mutant("answers aren't carried on", workflow, "with_answer", _gives({}), run.SAME, WITHDRAWAL),
    Mutant(
        "a decision counts again",
        decisions,
        "_used",
        _gives(None),
        promises.ONE_DECISION,
        DECISIONS,
    ),
    Mutant(
        "every verdict is a yes", decisions, "settle", _goes_on_anyway, promises.AGREED, DECISIONS
    ),
    Mutant(
        "a verdict is only noted", decisions, "decide", _takes_no_side, promises.KEPT, DECISIONS
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
        "a change is forgotten once it is told",
        amendment,
        "_make",
        _forgets_the_yes,
        promises.KEPT,
        CHANGE,
    ),
    Mutant(
        "a withdrawal is forgotten while others decide",
        machine,
        "HANDLERS",
        _without_cancelling,
        promises.KEPT,
        DECISION,
    ),
    Mutant(
        "an approval waits for nobody",
        Approval,
        "waiting_for",
        _opens_for_nobody,
        promises.NAMED,
        TWO_CRASHES,
    ),
    Mutant("one yes is enough for two", Approval, "agreed", _agrees(any), promises.AGREED, ALL),
    Mutant("any one yes isn't enough", Approval, "agreed", _agrees(all), promises.NAMED, ANY),
    Mutant(
        "an approval is never closed",
        Approvals,
        "close",
        _gives(None),
        promises.NAMED,
        DECISIONS,
    ),
    Mutant(
        "rows show approvals that are over",
        publication,
        "approvals_of",
        _shows_too_many,
        promises.ONE_TRUTH,
        DECISIONS,
    ),
    Mutant(
        "older rows replace newer ones",
        run,
        "published_over",
        _gives(True),
        promises.ONE_TRUTH,
        DECISION,
    ),
    Mutant("what ended goes on", machine, "step", _goes_on, promises.FINAL, DECISIONS),
    Mutant(
        "what was sent while it was taken back isn't mentioned",
        compensation,
        "called_off",
        _gives(None),
        run.TOLD,
        WITHDRAWAL,
    ),
    Mutant(
        "news of before replace the answer",
        open_flows,
        "note_events",
        _forgets_answers,
        conversation.ONE_TRUTH,
        NEWS,
    ),
    Mutant(
        "what waits for approval isn't known to",
        open_flows,
        "note_approval",
        _changes_nothing,
        conversation.ONE_TRUTH,
        NEWS,
    ),
    Mutant(
        "what was erased is as new as any other",
        run,
        "LAST_EVENT",
        lambda _real: 0,
        promises.FORGOTTEN,
        ERASURE,
    ),
    Mutant(
        "what Temporal was made to forget is nobody's business",
        flow_runs,
        "_ahead",
        _gives(None),
        promises.ONE_TRUTH,
        LAPSE,
    ),
    Mutant(
        "it is noted before it is posted", Outbox, "_delivered", _notes_first, outbox.REACHES, POSTS
    ),
    Mutant(
        "whoever was held up notes all the same",
        outbox,
        "is_taken",
        _gives(True),
        outbox.SAID_ONCE,
        POSTS,
    ),
)
FAR_ENOUGH = 14
"""Moves within which every one of them is caught."""
