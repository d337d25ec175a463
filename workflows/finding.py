"""Finding out what a message asks: tools are called and skills are run, which only read."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, is_cancelled_exception

from router.contracts import activities
from router.contracts.activities import Finding
from router.contracts.conversation import OpenSkill, WaitingCall
from router.contracts.skill import SkillStart
from router.deciding.context import STEP_TOKENS
from router.deciding.memory import Memory
from router.deciding.thinking import Task
from router.domain.commands import CallTool, RunSkill, StartFlow
from router.domain.messages import Line, ToolCallView, Usage
from router.flow.wording import readable
from workflows import memory, notices
from workflows.activity import perform
from workflows.at_hand import AtHand
from workflows.identifiers import fresh_id
from workflows.skill_runs import SkillRuns
from workflows.tool_calls import Caller, call_tool, cost, shown, waiting


@dataclass
class Found:
    """What to say of it, the calls that were made for it, what it cost, and what is still out.

    `forms` are those tools that asked something back: their forms ask for it, and call anew.
    `skill` is a sub-agent that isn't done; it may have `left_for` a form, or `handed_back` the
    message, which wasn't for it.
    """

    said: list[str] = field(default_factory=list)
    calls: list[ToolCallView] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    waiting: list[WaitingCall] = field(default_factory=list)
    forms: list[StartFlow] = field(default_factory=list)
    skill: OpenSkill | None = None
    left_for: StartFlow | None = None
    handed_back: bool = False


@dataclass(frozen=True)
class Finder:
    """Finds out, for one message of a conversation."""

    message: AtHand
    history: list[Line]
    skills: SkillRuns
    open_skill: OpenSkill | None = None

    async def find(self, decided: activities.Decided) -> Found:
        """What the decided tools and skills come to, all at once; said in their order."""
        calls = [c for c in decided.commands if isinstance(c, CallTool)]
        runs = [c for c in decided.commands if isinstance(c, RunSkill)]
        every = await asyncio.gather(
            self._called(calls, decided), *(self._worked_on(run, decided) for run in runs)
        )
        whole = Found()
        for one in every:
            whole.said += one.said
            whole.calls += one.calls
            whole.usage += one.usage
            whole.waiting += one.waiting
            whole.forms += one.forms
            whole.skill = one.skill or whole.skill
            whole.left_for = one.left_for or whole.left_for
            whole.handed_back = whole.handed_back or one.handed_back
        return whole

    async def say(
        self, text: str, found: Sequence[Finding], spent: Usage, *, plainly: bool = False
    ) -> Found:
        """What was found for these words, in words; the tools' own where no model is there."""
        said = await perform(
            activities.PHRASE_PLAINLY if plainly else activities.PHRASE,
            activities.Phrase(
                text=text,
                findings=list(found),
                locale=self.message.locale,
                account=self.message.account(spent),
                history=self.history,
            ),
            summary=", ".join(finding.tool for finding in found),
        )
        return Found(said=[said.text], usage=said.usage)

    async def _called(self, calls: list[CallTool], decided: activities.Decided) -> Found:
        """What tools found; those of the front end are only begun."""
        at_front_end = {name for name, limits in decided.tools.items() if limits.client}
        ours = [c for c in calls if c.tool not in at_front_end]
        # A model's own ids are unique within one answer alone; these are waited for beyond it.
        theirs = [c.model_copy(update={"id": fresh_id()}) for c in calls if c.tool in at_front_end]
        caller = self._caller(decided)
        found = await self._all(ours, caller)
        made = list(zip(ours, found, strict=True))
        heard = [finding for finding in found if not finding.asks_back]
        whole = await self._told(heard, decided) if heard else Found()
        whole.forms = [StartFlow(flow=c.tool, slots=c.arguments) for c, f in made if f.asks_back]
        whole.calls = [shown(c.id, c.tool, c.arguments, finding) for c, finding in made]
        whole.calls += [waiting(c.id, c.tool, c.arguments) for c in theirs]
        if theirs:
            whole.said.append(notices.AT_FRONT_END.within(self.message.locale))
            whole.waiting = [self._kept(c) for c in theirs]
        return whole

    async def _all(self, calls: list[CallTool], caller: Caller) -> list[Finding]:
        """What each found, all at once; a turn that is stopped meanwhile is left their names."""
        tasks = [asyncio.create_task(call_tool(caller, c.id, c.tool, c.arguments)) for c in calls]
        try:
            return await asyncio.gather(*tasks)
        except (asyncio.CancelledError, ActivityError):
            self.skills.calls += [_left(c, task) for c, task in zip(calls, tasks, strict=True)]
            raise

    def _caller(self, decided: activities.Decided) -> Caller:
        message = self.message
        return Caller(
            message.caller,
            message.conversation,
            message.id,
            decided.tools,
            decided.usage,
            message.locale,
        )

    async def _told(self, found: Sequence[Finding], decided: activities.Decided) -> Found:
        """In the tools' own form, where all of them answer by themselves; else in words."""
        if all(f.error is None and decided.tools[f.tool].return_direct for f in found):
            said = [readable(finding.result, self.message.locale) for finding in found]
            return Found(said=said, usage=cost(found))
        spent = decided.usage + cost(found)
        whole = await self.say(self.message.text, found, spent, plainly=decided.plainly)
        whole.usage += cost(found)
        return whole

    def _kept(self, call: CallTool) -> WaitingCall:
        return WaitingCall(
            id=call.id,
            tool=call.tool,
            arguments=call.arguments,
            message_id=self.message.id,
            text=self.message.text,
        )

    async def _worked_on(self, run: RunSkill, decided: activities.Decided) -> Found:
        """What a skill's sub-agent came to, anew or from where it stood."""
        if self.open_skill is not None and self.open_skill.name == run.skill:
            return await self.go_on(self.open_skill, run.request)
        skill = decided.skills.get(run.skill)
        if skill is None:
            return Found(said=[notices.SKILL_GONE.within(self.message.locale)])
        account = self.message.account(decided.usage)
        task = Task(skill=skill, request=run.request, history=self._heard_so_far, now=account.now)
        tools = {name: limit for name, limit in decided.tools.items() if skill.may_use(name)}
        return await self._run(OpenSkill(task=task, memory=Memory(), tools=tools), account)

    @property
    def _heard_so_far(self) -> list[Line]:
        """The history with this very message.

        What a model makes of it is a request in few words: what was pasted isn't in it.
        """
        text = self.message.text
        return [*self.history, Line(role="user", text=text)] if text else self.history

    async def go_on(self, skill: OpenSkill, heard: str, spent: Usage | None = None) -> Found:
        """What a sub-agent comes to that has now heard this."""
        if not self.message.caller.may(skill.task.skill.roles):
            return Found(said=[notices.SKILL_GONE.within(self.message.locale)])
        wiser = skill.model_copy(update={"memory": skill.memory.hearing(heard)})
        return await self._run(wiser, self.message.account(spent or Usage()))

    async def _run(self, skill: OpenSkill, account: activities.Account) -> Found:
        start = SkillStart(
            task=skill.task,
            account=account,
            locale=self.message.locale,
            tools=skill.tools,
            context=STEP_TOKENS,
            memory=skill.memory,
        )
        try:
            outcome = await self.skills.run(start, self.message.locale)
        except ChildWorkflowError as failure:
            if is_cancelled_exception(failure):
                raise
            workflow.logger.exception("skill %s failed", skill.name)
            return Found(said=[notices.stuck(skill.task.skill.title).within(self.message.locale)])
        return Found(
            said=[outcome.text] if outcome.text else [],
            calls=outcome.calls,
            usage=outcome.usage,
            skill=memory.open_skill(start, outcome),
            left_for=outcome.flow,
            handed_back=outcome.ending == "handed_back",
        )


def _left(call: CallTool, task: "asyncio.Task[Finding]") -> ToolCallView:
    """The call as a stopped turn shows it: what it came to, where it had by then."""
    about = (call.id, call.tool, call.arguments)
    if task.done() and not task.cancelled() and task.exception() is None:
        return shown(*about, task.result())
    return ToolCallView.skipped(*about)
