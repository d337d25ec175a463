"""The conversation as a versioned worker runs it: it moves to the current version at its next word.

A conversation lives for as long as somebody talks, so pinned to its first version it would keep
old workers up for ever. Moving is safe as every change of a workflow is replayed against what
earlier versions recorded (`tests/replays`).

A class of its own, since a workflow that names a behaviour can't run on an unversioned worker.
"""

from temporalio import workflow
from temporalio.common import VersioningBehavior

from workflows.conversation import ConversationWorkflow

with workflow.unsafe.imports_passed_through():
    from router.contracts.conversation import WORKFLOW, ConversationStart


@workflow.defn(name=WORKFLOW, versioning_behavior=VersioningBehavior.AUTO_UPGRADE)
class MovingConversation(ConversationWorkflow):
    """`ConversationWorkflow`, on whichever version of the worker is current."""

    @workflow.init
    def __init__(self, start: ConversationStart) -> None:
        super().__init__(start)

    @workflow.run
    async def run(self, start: ConversationStart) -> None:
        """Live as the conversation does."""
        await super().run(start)
