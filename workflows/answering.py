"""Answering one message: what it means is decided and done, twice if its flow turns out to be over.

Nothing here changes the conversation's state: the outcome has the state after the message.
"""

from dataclasses import dataclass

from temporalio import workflow

from router.contracts.activities import RoutingDecision
from router.contracts.conversation_state import ConversationState, News
from router.domain.messages import ToolResultAction, Usage
from workflows import turns
from workflows.command_runner import CommandRunner
from workflows.skill import SkillRuns
from workflows.transcript import before_calls
from workflows.turns import TurnContext, TurnOutcome


@dataclass(frozen=True)
class Answerer:
    """Answers a message; its turn may take some of the `unheard` news as its own."""

    message: TurnContext
    skills: SkillRuns
    unheard: list[News]

    async def answer(self, state: ConversationState) -> tuple[RoutingDecision, TurnOutcome]:
        """Return what is decided about the message, and the outcome of doing it."""
        action = self.message.submission.message.action
        if isinstance(action, ToolResultAction) and state.hand_offs.ongoing is None:
            return await self._receive_result(state, action)
        return await self._decide_and_run(state)

    async def _receive_result(
        self, state: ConversationState, action: ToolResultAction
    ) -> tuple[RoutingDecision, TurnOutcome]:
        route, outcome = await self._runner(state).hear(action)
        if outcome.void and not outcome.stopped:
            about = turns.about_call(self.message, state, action.tool_call_id)
            again = Answerer(about, self.skills, self.unheard)
            return await again._decide_again(outcome, outcome.usage)
        return RoutingDecision(route=route, commands=[]), outcome

    async def _decide_and_run(
        self, state: ConversationState
    ) -> tuple[RoutingDecision, TurnOutcome]:
        message, is_for_person = self.message, state.hand_offs.ongoing is not None
        forgotten = None if is_for_person else turns.forgotten(state, workflow.now())
        decided = await turns.decide(message, state)
        if forgotten is not None:
            decided = turns.without_miss(decided)
        outcome = await self._runner(state).carry_out(decided)
        if outcome.void and not outcome.stopped:
            return await self._decide_again(outcome, decided.usage + outcome.usage)
        if forgotten is not None:
            active, replies = outcome.state.flows.active, outcome.replies
            said = turns.reminder(forgotten, decided, active, replies, message.locale)
            outcome.replies.insert(0, message.says(said, notice=True))
        return decided, outcome

    async def _decide_again(
        self, before: TurnOutcome, spent: Usage
    ) -> tuple[RoutingDecision, TurnOutcome]:
        """Answer without what the message was meant for, which has ended or has declined it."""
        past, calls = before.state.transcript, {call.id for call in before.tool_calls}
        told = past.replace(history=before_calls(past.history, calls))
        decided = await turns.decide(self.message, before.state.replace(transcript=told))
        outcome = await self._runner(before.state).carry_out(decided)
        outcome.usage = spent + outcome.usage
        outcome.tool_calls = before.tool_calls + outcome.tool_calls
        outcome.heard = before.heard + outcome.heard
        return decided, outcome

    def _runner(self, state: ConversationState) -> CommandRunner:
        return CommandRunner(self.message, state, self.skills, self.unheard)
