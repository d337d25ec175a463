"""A skill as a Temporal workflow: a sub-agent that thinks, calls tools, and ends with an answer.

Every model call and every tool call is an activity of its own, so that a crash goes on from the
last that finished, and none is paid for twice.
"""

import asyncio
from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from router.contracts import activities
    from router.contracts.activities import Finding
    from router.contracts.skill import WORKFLOW, Ending, SkillOutcome, SkillStart
    from router.deciding.thinking import Thought
    from router.domain.messages import ToolCallView, Usage
    from router.flow.wording import readable
    from router.llm.chat import FunctionCall, Message, UserMessage
    from router.skill.loop import STOPPED, Progress, why_stop
    from workflows import dialogue
    from workflows.activity import perform
    from workflows.tool_calls import Caller, call_tool, shown


@workflow.defn(name=WORKFLOW)
class SkillWorkflow:
    """One run of a skill, as a child of the conversation that it works for."""

    @workflow.init
    def __init__(self, start: SkillStart) -> None:
        self._start = start
        self._dialogue: list[Message] = []
        self._calls: list[ToolCallView] = []
        self._progress = Progress()
        self._ephemeral = {name: limits.ephemeral for name, limits in start.tools.items()}
        self._ends: datetime = workflow.now() + timedelta(seconds=start.account.seconds)

    @workflow.run
    async def run(self, start: SkillStart) -> SkillOutcome:
        """Think and call until there is an answer, a question, or a limit."""
        while True:
            stop = why_stop(start.task.skill, self._progress, self._seconds_left)
            if stop is not None:
                return self._outcome(STOPPED[stop].within(start.locale), stop)
            thought = await self._think()
            if thought is None:
                continue
            if thought.text is not None:
                return self._outcome(thought.text, "asked" if thought.asks else "answered")
            direct = await self._act(thought)
            if direct is not None:
                return self._outcome(direct, "answered")

    @property
    def _seconds_left(self) -> float:
        return (self._ends - workflow.now()).total_seconds()

    async def _think(self) -> Thought | None:
        """The next step; None where no model could be had for it."""
        account = self._start.account.model_copy(
            update={
                "seconds": self._seconds_left,
                "spent": self._start.account.spent + self._progress.usage,
            }
        )
        try:
            thought = await perform(
                activities.THINK,
                activities.Think(
                    task=self._start.task,
                    dialogue=dialogue.bounded(self._dialogue, self._ephemeral),
                    locale=self._start.locale,
                    account=account,
                ),
                summary=f"step {self._progress.steps + 1}",
            )
        except ActivityError as failure:
            if is_cancelled_exception(failure):
                raise
            workflow.logger.warning("step %s failed: %s", self._progress.steps + 1, failure.cause)
            self._progress = self._progress.after(Usage(), fruitless=True)
            return None
        fruitless = thought.text is None and not thought.calls
        self._progress = self._progress.after(thought.usage, fruitless=fruitless)
        return thought

    async def _act(self, thought: Thought) -> str | None:
        """Make the calls at once, and put what they came to into the dialogue in their order.

        Where a tool's result is the answer as it is, that ends the run: it is given back.
        """
        if thought.complaint is not None:
            self._dialogue.append(UserMessage(text=thought.complaint))
            return None
        found = await asyncio.gather(*(self._call(call) for call in thought.calls))
        made = list(zip(thought.calls, found, strict=True))
        self._calls += [
            shown(self._id_of(call), call.name, call.arguments, what) for call, what in made
        ]
        results = {call.id: dialogue.result(call, what) for call, what in made}
        results |= {message.call_id: message for message in thought.refused}
        self._dialogue.append(thought.said)
        self._dialogue += [results[call.id] for call in thought.said.calls]
        return next((self._directly(what) for _, what in made if self._is_direct(what)), None)

    def _is_direct(self, found: Finding) -> bool:
        limits = self._start.tools.get(found.tool)
        return found.error is None and limits is not None and limits.return_direct

    def _directly(self, found: Finding) -> str:
        return readable(found.result, self._start.locale)

    async def _call(self, call: FunctionCall) -> Finding:
        account = self._start.account
        caller = Caller(account.caller, account.conversation, account.message_id, self._start.tools)
        return await call_tool(caller, self._id_of(call), call.name, call.arguments)

    def _id_of(self, call: FunctionCall) -> str:
        """A model's ids are unique within one answer alone, those of a turn's calls in it."""
        return f"{self._progress.steps}.{call.id}"

    def _outcome(self, text: str, ending: Ending) -> SkillOutcome:
        return SkillOutcome(text=text, ending=ending, calls=self._calls, usage=self._progress.usage)
