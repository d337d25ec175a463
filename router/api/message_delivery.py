"""One message on its way into the workflow of its conversation, and its turn on the way back.

A delivery knows whether the workflow has accepted the message. Until then the message is sent again
and again under the same update id, which does nothing twice. From then on the turn goes on in
Temporal whatever happens here, and only its answer is asked for.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowUpdateFailedError,
    WorkflowUpdateStage,
)
from temporalio.service import RPCError, RPCStatusCode

from router.contracts.conversation import SUBMIT, Submission
from router.contracts.failures import ended_meanwhile
from router.domain.errors import RouterError
from router.domain.messages import Turn
from router.gateway.retries import AT_HAND, TRANSIENT, persistently, watched

ANSWER_WINDOW_S = 600.0
"""How long the answer to a message is asked for; the longest turn is over before that."""

_CLOSING = TRANSIENT | {RPCStatusCode.NOT_FOUND}
"""NOT_FOUND is a conversation that was closed while the message was on its way."""


@dataclass(eq=False)
class Delivery:
    """Delivers one message until its turn is known.

    `start` makes the operation that starts the conversation's workflow if it doesn't run; each
    attempt needs one of its own. `on_accepted` is called once, when the message is accepted.
    """

    temporal: Client
    submission: Submission
    update_id: str
    start: Callable[[], WithStartWorkflowOperation[Any, Any]]
    on_accepted: Callable[[], None]
    accepted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the workflow has accepted the message, or anything else proves that it has."""
    waiting: int = 0
    """Requests that wait for this message to be accepted."""
    _is_settled: bool = False
    _is_first: bool = True
    _began: float = field(default_factory=monotonic)

    def note_accepted(self) -> None:
        """Note that the workflow has accepted the message."""
        if not self.accepted.is_set():
            self.accepted.set()
            self.on_accepted()

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Count a request that waits for the acceptance."""
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1

    async def turn(self) -> Turn | None:
        """Deliver the message and return its turn.

        Returns `None` for a message that was accepted and whose turn couldn't be asked for. Raises
        `RouterError`: the conversation's refusal or, before the acceptance, why it isn't reached.
        """
        try:
            return await persistently(self._attempt, _CLOSING, self._keep_trying)
        except (RouterError, RPCError):
            if self._is_settled or not self.accepted.is_set():
                raise
            return None

    def _keep_trying(self, _: int) -> bool:
        return monotonic() - self._began < ANSWER_WINDOW_S

    async def _attempt(self) -> Turn:
        operation, submission = self.start(), self.submission
        if not self._is_first:
            # An earlier attempt may have been answered, and its answer lost on the way.
            submission = submission.replace(fresh=False)
        self._is_first = False
        starting = self.temporal.start_update_with_start_workflow(
            SUBMIT,
            submission,
            start_workflow_operation=operation,
            wait_for_stage=WorkflowUpdateStage.ACCEPTED,
            id=self.update_id,
            result_type=Turn,
        )
        handle = await watched(operation, starting)
        asking = asyncio.create_task(handle.result())
        asking.add_done_callback(_retrieved)
        try:
            # A refusal is an outcome too, and has come along: nothing was accepted then.
            await asyncio.wait({asking}, timeout=AT_HAND)
            if not asking.done():
                self.note_accepted()
            turn: Turn = await asking
        except WorkflowUpdateFailedError as failed:
            self._is_settled = not ended_meanwhile(failed.cause)
            raise
        finally:
            asking.cancel()
        self.note_accepted()
        return turn


def _retrieved(asking: "asyncio.Task[Turn]") -> None:
    """Keep the error of a task that nobody awaits any more out of the log."""
    if not asking.cancelled():
        asking.exception()
