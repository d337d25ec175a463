"""What others hear of a run: the database, where lists read it, and its conversation.

Both remember what they said last, so that a run is told only where it is different.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

from temporalio import workflow

from router.contracts import activities
from router.contracts.conversation import News
from router.contracts.flow import CallLimits, FlowAnswer
from router.domain.happenings import Call, Place
from router.domain.messages import Reply, TextReply, ToolCallView
from router.domain.progress import ToolStatus
from router.domain.records import LogEntry
from router.flow import inquiring, showing
from router.flow.events import Remind
from router.flow.model import FlowDefinition
from router.flow.run import Errand, Run
from workflows import publication
from workflows.activity import perform

PUBLISHED_AGAIN = "what came while publishing is published"
"""Runs that had gone on unpublished until the next word, or for ever, are replayed as they were."""


class Lists:
    """A run as the database has it, where lists, approvers and whoever watches read it."""

    def __init__(
        self, definition: FlowDefinition, tools: Mapping[str, CallLimits], created_at: datetime
    ) -> None:
        self._definition = definition
        self._tools = tools
        self._created_at = created_at
        self._published: tuple[object, ...] | None = None
        self._reminders: list[Remind] = []
        self._ends: list[LogEntry] = []
        self._one_at_a_time = asyncio.Lock()

    def remind(self, reminder: Remind) -> None:
        """Have people told, with the next publication, that their decision is awaited."""
        self._reminders.append(reminder)

    def note_end(self, run: Run, errand: Errand, status: ToolStatus) -> None:
        """Have it said with the next publication, lest the worker that was to say so has died."""
        if run.conversation is not None:
            place = Place(run.conversation, run=workflow.info().workflow_id)
            self._ends.append(Call(place, errand.id, errand.name).finished(workflow.now(), status))

    def are_behind(self, run: Run) -> bool:
        """True where the run went on while what came before was being published."""
        return self._published != _listed(run) and workflow.patched(PUBLISHED_AGAIN)

    async def publish(self, current: Callable[[], Run]) -> None:
        """Write the run, its approvals and notices to the database.

        Only where something changed that a list shows; slots as they are being filled are
        asked of the run itself.
        """
        async with self._one_at_a_time:
            await self._publish(current())
            # The run may have gone on meanwhile, and nothing else may happen to it for days.
            while self.are_behind(current()):
                await self._publish(current())

    async def _publish(self, run: Run) -> None:
        listed, reminders = _listed(run), self._reminders
        if self._published == listed and not reminders:
            return
        ends, self._reminders, self._ends = self._ends, [], []
        info = workflow.info()
        published = publication.of(
            inquiring.extended(self._definition, run),
            run,
            publication.Whereabouts(info.workflow_id, info.run_id, self._created_at),
            workflow.now(),
            reminders,
            self._tools,
        )
        await perform(
            activities.PUBLISH,
            published.model_copy(update={"entries": [*ends, *published.entries]}),
            summary=f"{run.status} in {run.state}",
        )
        self._published = listed


def _listed(run: Run) -> tuple[object, ...]:
    """What lists show of the run, so far as it changes."""
    return (run.status, run.state, run.visit, len(run.history), run.approval)


class Untold:
    """What a run has to tell its conversation, until that has heard it."""

    def __init__(self, run: Run) -> None:
        self.said: list[str] = []
        self.calls: list[ToolCallView] = []
        self.begun: list[str] = []
        self._events = run.events
        self._told_of = (run.status, run.state)

    def has_news(self, run: Run) -> bool:
        """True where something happened to the run since its conversation last heard of it."""
        return self._events != run.events

    def answer(self, definition: FlowDefinition, run: Run) -> FlowAnswer:
        """The run as it stands, with everything said and not yet told; it is told by this."""
        view = showing.view(definition, run)
        replies: list[Reply] = [TextReply(text=text) for text in self.said]
        asked = [] if run.quiet else view.replies
        calls, begun = self.calls, self.begun
        self.said, self.calls, self.begun = [], [], []
        self._events, self._told_of = run.events, (run.status, run.state)
        return FlowAnswer(view=view, replies=[*replies, *asked], calls=calls, begun=begun)

    async def tell(self, definition: FlowDefinition, run: Run) -> None:
        """Tell the conversation what happened without its asking, if anything did."""
        if not self.has_news(run):
            return
        silent = not self.said and self._told_of == (run.status, run.state)
        if silent or run.conversation is None:
            self._events = run.events
            return
        answer = self.answer(definition, run)
        await perform(
            activities.NOTIFY,
            activities.Notify(
                tenant=run.requester.tenant,
                conversation=run.conversation,
                requester=run.requester,
                news=News(view=answer.view, replies=answer.replies, at=workflow.now()),
            ),
            summary=f"{run.status} in {run.state}",
        )
