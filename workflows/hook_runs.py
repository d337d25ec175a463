"""Calling hooks from a workflow: an activity each, under the hook's own name, all at once.

Those that may refuse are waited for. Those that look on are under way beside everything else, and
no run ends before they have: where there are none, nothing is called and nothing is waited for.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception

from router.contracts.failures import from_failure
from router.contracts.hook_calls import NO_ANSWER, UNCHECKED, HookAnswer, HookCall, HookStub
from router.domain.errors import NotDeployed
from router.domain.hooks import AnyHookEvent, HookPoint
from workflows.background import start_awaited_task, start_task

MARGIN = timedelta(seconds=2)
"""Beyond a hook's own time, which its worker keeps."""
QUEUED = timedelta(seconds=5)
"""For a worker that is busy, or has died with it, so that another takes it up."""
TRIES = 2
"""Of a call whose worker has died; what a hook does wrong itself isn't tried again."""


class HookRuns:
    """The calls of hooks of one workflow.

    `known` are the hooks that it was last told of. What hooks said of the message of this id,
    `advised`, is the `advice`.
    """

    def __init__(self, known: Sequence[HookStub] = ()) -> None:
        self.known = tuple(known)
        self.advised = ""
        self.advice = NO_ANSWER
        self._under_way: set[asyncio.Task[None]] = set()

    def at(self, point: HookPoint) -> list[HookStub]:
        """The hooks that it knows at this point."""
        return at(self.known, point)

    async def asked(self, hooks: Sequence[HookStub], event: AnyHookEvent) -> HookAnswer:
        """What these answer together; one that is required and fails refuses."""
        if not hooks:
            return NO_ANSWER
        tasks = [start_awaited_task(f"hook {hook.name}", _answer, hook, event) for hook in hooks]
        return HookAnswer.of(await asyncio.gather(*tasks))

    def tell(self, hooks: Sequence[HookStub], event: AnyHookEvent) -> None:
        """Have these look on, while everything goes on."""
        for hook in hooks:
            task = start_task(f"hook {hook.name}", _told, hook, event)
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def done(self) -> None:
        """Return once all that look on have ended."""
        if self._under_way:
            await workflow.wait_condition(lambda: not self._under_way)


def at(hooks: Sequence[HookStub], point: HookPoint) -> list[HookStub]:
    """Those of them that stand at this point."""
    return [hook for hook in hooks if hook.point == point]


class Hooked:
    """A workflow that calls hooks."""

    hooks: HookRuns


def hooks_here() -> HookRuns:
    """Those of the workflow that this runs in, however deep within."""
    hooked: Hooked = workflow.instance()
    return hooked.hooks


async def _answer(hook: HookStub, event: AnyHookEvent) -> HookAnswer:
    try:
        return await _called(hook, event)
    except ActivityError as failure:
        if is_cancelled_exception(failure):
            raise
        _log_failure(hook, failure)
        if not hook.required:
            return NO_ANSWER
        gone = isinstance(from_failure(failure), NotDeployed)
        return HookAnswer(refused=UNCHECKED, refused_by=hook.name, not_deployed=gone)


async def _told(hook: HookStub, event: AnyHookEvent) -> None:
    try:
        await _called(hook, event)
    except ActivityError as failure:
        _log_failure(hook, failure)


async def _called(hook: HookStub, event: AnyHookEvent) -> HookAnswer:
    each = hook.timeout + MARGIN
    answer: HookAnswer = await workflow.execute_activity(
        hook.activity,
        HookCall(event=event),
        result_type=HookAnswer,
        start_to_close_timeout=each,
        schedule_to_close_timeout=each * TRIES + QUEUED,
        retry_policy=RetryPolicy(maximum_attempts=TRIES),
        summary=hook.point.replace("_", " "),
    )
    return answer


def _log_failure(hook: HookStub, failure: ActivityError) -> None:
    why = from_failure(failure) or failure.cause
    workflow.logger.warning("%s has no say %s: %s", hook.activity, hook.point, why)
