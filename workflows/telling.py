"""Telling flows what a message means to them, each word once."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError, is_cancelled_exception

from router.contracts import activities
from router.contracts.flow import STOP, FlowAnswer, Told, workflow_id
from router.domain.commands import (
    CancelFlow,
    Command,
    Confirm,
    Explain,
    FillSlots,
    Misunderstood,
    Repeat,
    Skip,
    StartOver,
)
from router.flow.events import (
    Answered,
    Began,
    Cancelled,
    Confirmed,
    Puzzled,
    Skipped,
    StartedOver,
    Unclear,
)
from router.flow.view import FlowView
from workflows.activity import perform
from workflows.at_hand import AtHand
from workflows.identifiers import fresh_id

STOPS_UNHEARD = "stops a run that began unheard"
"""Conversations in whose history such a run was left standing are replayed as they were."""


class Teller:
    """Tells runs what one message means to them."""

    def __init__(self, message: AtHand) -> None:
        self.stopped = False
        """True once the turn was stopped while a flow was told something."""
        self.told_at = message.began
        """When the last was told."""
        self._message = message
        self._told = 0

    async def begin(self, flow: str, event: Began) -> FlowAnswer | None:
        """Start a run; None where there is no such flow (any more)."""
        id_ = workflow_id(flow, self._message.caller.tenant, fresh_id())
        return await self._tell(id_, flow, event, first=True)

    async def tell(self, run: FlowView, event: Told) -> FlowAnswer | None:
        """What the run says to it; None where it is over."""
        id_ = workflow_id(run.flow, self._message.caller.tenant, run.id)
        return await self._tell(id_, run.flow, event, first=False)

    async def ask_again(self, run: FlowView) -> FlowAnswer | None:
        """What the run asks, once more, as after something else; None where it is over."""
        return await self.tell(run, Unclear(by=self._message.caller.id, count=False))

    async def _tell(self, id_: str, flow: str, event: Told, *, first: bool) -> FlowAnswer | None:
        self._told, self.told_at = self._told + 1, workflow.now()
        message = self._message
        telling = perform(
            activities.TELL_FLOW,
            activities.TellFlow(
                workflow_id=id_,
                flow=flow,
                event=event,
                caller=message.caller,
                locale=message.locale,
                conversation=message.conversation,
                first=first,
                update_id=f"{message.conversation}:{message.id}:{self._told}",
            ),
            summary=f"{event.type} ▸ {flow}",
        )
        try:
            return (await self._heard_out(telling)).answer
        except ActivityError as error:
            if first and not is_cancelled_exception(error) and workflow.patched(STOPS_UNHEARD):
                await _stop(id_)
            raise

    async def _heard_out(self, telling: Awaitable[activities.TellAnswer]) -> activities.TellAnswer:
        """What a flow says. Nothing untells it what it was told, and it says each thing once.

        So who stops the turn meanwhile still hears it, within the seconds that a flow takes to
        answer; only who stops it a second time doesn't.
        """
        answering = asyncio.ensure_future(telling)
        try:
            return await asyncio.shield(answering)
        except asyncio.CancelledError:
            if answering.cancelled():
                raise
            self.stopped = True
            return await answering


async def _stop(id_: str) -> None:
    """Stop a run that nobody heard begin: the turn will say that nothing was done."""
    with suppress(FailureError):  # it may never have begun
        await workflow.get_external_workflow_handle(id_).signal(STOP)


def event_of(command: Command, active: FlowView, message: AtHand) -> Told:
    """What a command means to the run that is being talked about.

    An answer may come ahead of its question. A yes may not: it is to what was seen, and what
    has changed since, by a message before it or in the same one, is asked anew.
    """
    by, seen = message.caller.id, message.seen
    match command:
        case FillSlots(slots=slots, question=answered):
            return Answered(by=by, slots=slots, question=answered or active.question)
        case Confirm(value=value, slots=slots, question=answered):
            return Confirmed(by=by, value=value, slots=slots, question=answered or seen)
        case StartOver():
            return StartedOver(by=by, question=active.question)
        case Skip():
            return Skipped(by=by, question=seen)
    plain: dict[type, Told] = {
        CancelFlow: Cancelled(by=by),
        Explain: Puzzled(by=by),
        Repeat: Unclear(by=by, count=False),
        Misunderstood: Unclear(by=by),
    }
    if type(command) in plain:
        return plain[type(command)]
    raise TypeError(f"{command.type} isn't told to a flow")
