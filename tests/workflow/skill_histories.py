"""What Temporal wrote down of skills: which activities ran, and whether it all replays."""

import asyncio
from typing import Any

from temporalio.client import WorkflowHandle, WorkflowHistoryEventFilterType
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from router.runtime.sandbox import sandbox
from tests.waiting import HANGS_AFTER_S
from tests.workflow.desk import Talk
from workflows.skill import SkillWorkflow


async def runs(talk: Talk) -> list[WorkflowHandle[Any, Any]]:
    """All runs of the conversation's skills, those that went on in new ones each on its own.

    Behind each are those of the skills that it handed a part to.
    """
    return await _runs_of(talk, talk.handle)


async def _runs_of(talk: Talk, parent: WorkflowHandle[Any, Any]) -> list[WorkflowHandle[Any, Any]]:
    found = []
    async for event in parent.fetch_history_events():
        begun = event.child_workflow_execution_started_event_attributes.workflow_execution
        run = begun.run_id
        while run:
            one = talk.client.get_workflow_handle(begun.workflow_id, run_id=run)
            found += [one, *await _runs_of(talk, one)]
            run = await _next_of(one)
    return found


async def _next_of(run: WorkflowHandle[Any, Any]) -> str:
    async for event in run.fetch_history_events():
        on = event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
        if on:
            return on
    return ""


async def replays(talk: Talk) -> None:
    """What was lived through replays: nothing in it hung on chance."""
    replayer = Replayer(
        workflows=[SkillWorkflow],
        data_converter=pydantic_data_converter,
        workflow_runner=sandbox(),
        debug_mode=True,  # a busy machine isn't a deadlock
    )
    for run in await runs(talk):
        await replayer.replay_workflow(await run.fetch_history())


async def activities(talk: Talk) -> list[str]:
    """The names of the activities of the skill's runs, in the order they were scheduled in."""
    names = []
    for run in await runs(talk):
        async for event in run.fetch_history_events():
            name = event.activity_task_scheduled_event_attributes.activity_type.name
            names += [name] if name else []
    return names


async def ended(run: WorkflowHandle[Any, Any]) -> None:
    """Return once the run is over, however it ended."""
    closing = run.fetch_history_events(
        wait_new_event=True, event_filter_type=WorkflowHistoryEventFilterType.CLOSE_EVENT
    )
    async with asyncio.timeout(HANGS_AFTER_S):
        async for _ in closing:
            return


async def finished(talk: Talk, name: str, count: int) -> None:
    """Return once so many activities of this name are done in the sub-agent at work."""
    scheduled: dict[int, str] = {}
    async with asyncio.timeout(HANGS_AFTER_S):
        async for event in (await at_work(talk)).fetch_history_events(wait_new_event=True):
            begun = event.activity_task_scheduled_event_attributes.activity_type.name
            scheduled |= {event.event_id: begun} if begun else {}
            done = event.activity_task_completed_event_attributes.scheduled_event_id
            count -= scheduled.get(done) == name
            if count == 0:
                return


async def signalled(talk: Talk) -> None:
    """Return once the sub-agent at work was told something."""
    async with asyncio.timeout(HANGS_AFTER_S):
        async for event in (await at_work(talk)).fetch_history_events(wait_new_event=True):
            if event.workflow_execution_signaled_event_attributes.signal_name:
                return


async def at_work(talk: Talk) -> WorkflowHandle[Any, Any]:
    """The one sub-agent that works for this conversation now."""
    described = (await talk.handle.describe()).raw_description
    (child,) = [info.workflow_id for info in described.pending_children]
    return talk.client.get_workflow_handle(child)
