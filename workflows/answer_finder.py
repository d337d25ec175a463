"""Finding out what a message asks for: tools and sub-agents, and what they found, in words.

A model that has called tools sees what they found, and may call others for it, a few rounds at
most; each call is an activity. Nothing is written in any round: what writes is a form.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError

from router.contracts import activities
from router.contracts.activities import RoutingDecision
from router.contracts.conversation_state import ConversationState, OpenSkill, WaitingCall
from router.contracts.flow import CallLimits
from router.contracts.skill_run import SkillOutcome, SkillStart
from router.contracts.tool_rounds import AwaitedRounds, ToolFinding, ToolRound, settled
from router.domain import commands
from router.domain.commands import CallTool
from router.domain.messages import ConfirmReply, RecalledCall, Route, ToolCallView, Usage
from router.flow.prompts.values import in_own_words, readable
from router.routing import skill_context
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import OUTWARD, SkillTask
from workflows import notices, turns
from workflows.activity import ends_turn, fresh_id, perform
from workflows.background import start_awaited_task
from workflows.open_skills import keep_open
from workflows.skill import SkillRuns
from workflows.tool_calls import (
    Caller,
    Limits,
    call_tool,
    came_to,
    completed,
    cost,
    shown,
    told,
)
from workflows.transcript import recall_call, tools_called_lately
from workflows.turns import TurnContext


@dataclass
class FoundAnswer:
    """What to say of it, the calls that were made for it, what it cost, and what is still out.

    `cards` are questions that are more than words; `made` are those calls with what they found, to
    be remembered, and `findings` what was found, whole. `forms` are those tools that asked
    something back: their forms ask for it, and call anew; `then` is what the model wants done
    besides. `skill` is a sub-agent that can be gone on with; it may have `left_for` a form, or
    `handed_back` the message, which wasn't for it.
    """

    said: list[str] = field(default_factory=list)
    cards: list[ConfirmReply] = field(default_factory=list)
    calls: list[ToolCallView] = field(default_factory=list)
    made: list[RecalledCall] = field(default_factory=list)
    findings: list[ToolFinding] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    waiting: list[WaitingCall] = field(default_factory=list)
    awaited: list[AwaitedRounds] = field(default_factory=list)
    forms: list[commands.StartFlow] = field(default_factory=list)
    then: list[commands.Command] = field(default_factory=list)
    skill: OpenSkill | None = None
    left_for: commands.StartFlow | None = None
    handed_back: bool = False

    def beside(self, other: "FoundAnswer") -> None:
        """Take in what another one has."""
        self.said += other.said
        self.cards += other.cards
        self.calls += other.calls
        self.made += other.made
        self.findings += other.findings
        self.usage += other.usage
        self.waiting += other.waiting
        self.awaited += other.awaited
        self.forms += other.forms
        self.then += other.then
        self.skill = other.skill or self.skill
        self.left_for = other.left_for or self.left_for
        self.handed_back = self.handed_back or other.handed_back

    def take(self, made: ToolRound, limits: Limits) -> None:
        """Take in what a round of calls came to, of tools that may be called so."""
        for call, finding in zip(made.calls, made.findings, strict=True):
            given = completed(limits, call.tool, call.arguments)
            view = shown(call.id, call.tool, given, finding)
            self.calls.append(view)
            if finding.asks_back:
                self.forms.append(commands.StartFlow(flow=call.tool, slots=call.arguments))
            else:
                self.made.append(recall_call(view, told(finding)))
        self.usage += cost(made.findings)


@dataclass(frozen=True)
class AnswerFinder:
    """Finds out, for one message of a conversation, which is in this `state` before it."""

    message: TurnContext
    state: ConversationState
    skills: SkillRuns

    async def find(self, decided: RoutingDecision) -> FoundAnswer:
        """What the decided tools and skills come to, all at once; said in their order."""
        calls = [c for c in decided.commands if isinstance(c, CallTool)]
        runs = [c for c in decided.commands if isinstance(c, commands.RunSkill)]
        whole = FoundAnswer()
        tasks = [start_awaited_task("rounds of calls", self._in_rounds, calls, decided)]
        for run in runs:
            tasks += [start_awaited_task(f"skill {run.skill}", self._worked_on, run, decided)]
        for one in await asyncio.gather(*tasks):
            whole.beside(one)
        return whole

    async def say(self, text: str, found: Sequence[ToolFinding], spent: Usage) -> FoundAnswer:
        """What was found for these words, in words; the tools' own where no model answers."""
        phrase = activities.Phrase(
            text=text,
            findings=list(found),
            locale=self.message.locale,
            account=self.message.account(spent),
            history=self.state.transcript.history,
        )
        summary = ", ".join(finding.tool for finding in found)
        said = await perform(activities.PHRASE, phrase, summary=summary)
        return FoundAnswer(said=[said.text], usage=said.usage)

    async def go_on_from(self, awaited: AwaitedRounds) -> FoundAnswer:
        """What comes of the calls of which the front end's have their results by now."""
        alone = turns.question(self.message, self.state, Usage()).replace(beside=True)
        decided = RoutingDecision(
            route=Route(kind="tool", by="action"),
            commands=[],
            tools=awaited.tools,
            steps=awaited.steps,
            plainly=awaited.plainly,
            scope=awaited.scope,
            rest=alone if awaited.beside else None,
        )
        return await self._in_rounds([], decided, awaited.rounds)

    async def _in_rounds(
        self, calls: list[CallTool], decided: RoutingDecision, before: Sequence[ToolRound] = ()
    ) -> FoundAnswer:
        """What the calls come to, and what the model wants found for it then, in words.

        A turn that is stopped meanwhile, or breaks, is left what was called by then.
        """
        rounds, whole = [*before], FoundAnswer()
        try:
            if calls and await self._made(calls, decided, rounds, whole):
                return whole
            return await self._on_from(rounds, decided, whole) if rounds else whole
        except (asyncio.CancelledError, ActivityError):
            self.skills.leave(whole.calls, decided.tools)
            raise

    async def _on_from(
        self, rounds: list[ToolRound], decided: RoutingDecision, whole: FoundAnswer
    ) -> FoundAnswer:
        """What comes of these rounds and of those that the model wants made behind them."""
        while _goes_on(rounds, decided):
            asked = self._asked(decided, rounds, decided.usage + whole.usage)
            after = await perform(activities.DECIDE, asked, summary=f"round {len(rounds) + 1}")
            whole.usage += after.usage
            tools, plainly = decided.tools | after.tools, decided.plainly or after.plainly
            decided = decided.replace(tools=tools, plainly=plainly, reasoning=after.reasoning)
            calls = _new_calls(after, rounds)
            done = [c for c in after.commands if not isinstance(c, READS)]
            if calls and await self._made(calls, decided, rounds, whole):
                return whole
            if not calls and done:
                words = [c for c in done if isinstance(c, commands.ReplyText)]
                whole.said += [command.text for command in words]
                whole.then += [c for c in decided.not_begun(done) if c not in words]
                whole.findings = settled(rounds)
                return whole
            if not calls:
                break
        whole.findings = settled(rounds)
        if whole.findings:
            whole.beside(await self._told(whole.findings, decided, whole.usage))
        return whole

    async def _made(
        self,
        calls: list[CallTool],
        decided: RoutingDecision,
        rounds: list[ToolRound],
        whole: FoundAnswer,
    ) -> bool:
        """Make the calls, as one more round; True where the front end is to make some of them.

        Then the model hears of none of them before it can hear of all.
        """
        calls = [self._placed(call, decided) for call in calls]
        findings = await self._all(calls, decided, rounds, decided.usage + whole.usage)
        made = ToolRound(calls=calls, findings=findings, reasoning=decided.reasoning)
        rounds.append(made)
        whole.take(made, decided.tools)
        m, rest = self.message, decided.rest if decided.steps > 1 else None
        whole.waiting += [
            WaitingCall(id=c.id, tool=c.tool, arguments=c.arguments, message_id=m.id, text=m.text)
            for c in made.awaited
        ]
        if made.awaited:
            kept = AwaitedRounds(
                message_id=m.id,
                about=rest.message if rest else m.submission.message,
                beside=rest is not None,
                rounds=rounds,
                tools=decided.tools,
                steps=decided.steps,
                plainly=decided.plainly,
                scope=decided.scope,
            )
            whole.awaited.append(kept)
        return bool(made.awaited)

    def _placed(self, call: CallTool, decided: RoutingDecision) -> CallTool:
        """The call, where the front end makes it with all that is to be known there."""
        if not _limits(decided, call.tool).client:
            return call
        given = completed(decided.tools, call.tool, call.arguments)
        # A model's own ids are unique within one answer alone; these are waited for beyond it.
        return call.replace(id=fresh_id(), arguments=given)

    def _asked(
        self, decided: RoutingDecision, rounds: list[ToolRound], spent: Usage
    ) -> activities.Decide:
        """The question of the next round: about the rest, where rules took the others' part."""
        whole = turns.question(self.message, self.state, spent)
        about = whole if decided.rest is None else decided.rest.replace(account=whole.account)
        return about.replace(rounds=rounds, scope=decided.scope)

    async def _all(
        self,
        calls: list[CallTool],
        decided: RoutingDecision,
        before: Sequence[ToolRound],
        spent: Usage,
    ) -> list[ToolFinding]:
        """What each found, all at once; a turn that is stopped meanwhile is left their names.

        Once a stranger's words were read, nothing is called that carries its arguments outwards:
        to the person's own front end alone.
        """
        m = self.message
        caller = Caller(m.caller, m.conversation, m.id, decided.tools, spent, m.locale)
        outward = {name for name, limits in decided.tools.items() if limits.outward}
        guarded = any(call.tool in outward for made in before for call in made.calls)

        async def called(call: CallTool) -> ToolFinding:
            if _limits(decided, call.tool).client:
                return ToolFinding(tool=call.tool, awaited=True)
            if guarded and call.tool in outward:
                return ToolFinding(tool=call.tool, error=OUTWARD.format(tool=call.tool))
            return await call_tool(caller, call.id, call.tool, call.arguments)

        tasks = [start_awaited_task(call.tool, called, call) for call in calls]
        try:
            return await asyncio.gather(*tasks)
        except (asyncio.CancelledError, ActivityError):
            left = [_left(c, task) for c, task in zip(calls, tasks, strict=True)]
            self.skills.leave(left, decided.tools)
            raise

    async def _told(
        self, found: Sequence[ToolFinding], decided: RoutingDecision, cost_of_them: Usage
    ) -> FoundAnswer:
        """In the tools' own form, where all of them answer by themselves; else in words."""
        if all(f.error is None and decided.tools[f.tool].return_direct for f in found):
            return FoundAnswer(said=[readable(f.result, self.message.locale) for f in found])
        if decided.plainly:
            # No activity of its own, which would be a tenth of the turn.
            said = in_own_words(((f.result, f.error) for f in found), self.message.locale)
            return FoundAnswer(said=[said])
        return await self.say(self.message.text, found, decided.usage + cost_of_them)

    async def _worked_on(self, run: commands.RunSkill, decided: RoutingDecision) -> FoundAnswer:
        said, open_skill = run.about or self.message.text or run.request, self.state.skill
        # In the turns to come a name is all that is left of a file.
        names = self.message.named(self.message.files)
        text = "\n".join(filter(None, [said, f"[{', '.join(names)}]" if names else ""]))
        ours = open_skill is not None and open_skill.name == run.skill
        if open_skill is not None and ours and not _is_edited(open_skill, decided):
            return await self.go_on(open_skill, None if run.agreed else text)
        skill = decided.skills.get(run.skill)
        if skill is None:
            return FoundAnswer(said=[notices.SKILL_GONE.within(self.message.locale)])
        account = self.message.account(decided.usage)
        # What is wanted stands in the person's own words, with all that they pasted.
        summary = "" if run.request == said else run.request
        task = SkillTask(
            skill=skill,
            request=text,
            summary=summary,
            history=self.state.transcript.history,
            now=account.now,
        )
        tools = {name: limit for name, limit in decided.tools.items() if skill.may_use(name)}
        called = tools_called_lately(self.state.transcript)
        exposed = any(tools[name].outward for name in tools.keys() & called)
        begun = OpenSkill(task=task, memory=AgentMemory(exposed=exposed), tools=tools)
        return await self._run(begun, account)

    async def go_on_with(self, skill: OpenSkill, results: Mapping[str, ToolFinding]) -> FoundAnswer:
        """What a sub-agent comes to whose calls at the front end have come to these, by id."""
        known = skill.at_work.memory
        longest = skill_context.longest_result(known, len(results))
        heard = [
            skill_context.result(known.awaited[id_], told(found), longest)
            for id_, found in results.items()
        ]
        return await self._run(
            skill.having_heard(known.receiving(heard)), self.message.account(Usage())
        )

    async def go_on(
        self, skill: OpenSkill, heard: str | None, spent: Usage | None = None
    ) -> FoundAnswer:
        """What a sub-agent comes to that has now heard this; None is consent to its plan."""
        known, again = skill.at_work.memory, skill.answered
        wiser = known.agreeing() if heard is None else known.hearing(heard, again=again)
        again_at_work = skill.having_heard(wiser).replace(progress=skill.progress.hearing())
        return await self._run(again_at_work, self.message.account(spent or Usage()))

    async def _run(self, skill: OpenSkill, account: activities.Account) -> FoundAnswer:
        own = skill.task.skill
        if not self.message.caller.may_use("skill", own.name, own.roles):
            return FoundAnswer(said=[notices.SKILL_GONE.within(self.message.locale)])
        skill = skill.at_front_end(self.state.front_end.tools)
        start = SkillStart(
            task=skill.task,
            account=account,
            locale=self.message.locale,
            tools=skill.tools,
            memory=skill.memory,
            inner=skill.inner,
            progress=skill.progress,
            accounted=skill.progress.usage,
            keeps_results=self.message.submission.response_schema is not None,
        )
        try:
            outcome = await self.skills.run(start, self.message.locale)
        except ChildWorkflowError as failure:
            if ends_turn(failure):
                raise
            workflow.logger.exception("skill %s failed", skill.name)
            stuck = notices.stuck(skill.task.skill.title)
            return FoundAnswer(said=[stuck.within(self.message.locale)])
        return self._found_by_skill(start, outcome)

    def _found_by_skill(self, start: SkillStart, outcome: SkillOutcome) -> FoundAnswer:
        after, m = keep_open(start, outcome), self.message
        out = {call.id: call for call in outcome.calls if call.status == "waiting"}
        about = {"message_id": m.id, "skill": start.task.skill.name, "text": m.text}
        return FoundAnswer(
            said=[outcome.text] if outcome.text and not outcome.card else [],
            cards=[outcome.card] if outcome.card else [],
            calls=outcome.calls,
            made=[recall_call(call, came_to(call)) for call in outcome.calls],
            findings=outcome.results,
            usage=outcome.usage,
            waiting=[
                WaitingCall(id=id_, tool=c.name, arguments=c.arguments, **about)
                for id_, c in out.items()
                if id_ in after.at_work.memory.awaited
            ],
            skill=after,
            left_for=outcome.flow,
            handed_back=outcome.ending == "handed_back",
        )


def _limits(decided: RoutingDecision, tool: str) -> CallLimits:
    return decided.tools.get(tool, CallLimits())


def _is_edited(skill: OpenSkill, decided: RoutingDecision) -> bool:
    """Whether one that has answered was edited since: then it begins anew."""
    now = decided.skills.get(skill.name)
    return skill.answered and now is not None and now != skill.task.skill


READS = (CallTool, commands.RunSkill)
"""What is only looked up."""


def _goes_on(rounds: Sequence[ToolRound], decided: RoutingDecision) -> bool:
    """Whether the model sees what was found: it may have come to something, and rounds are left."""
    found = [finding for finding in rounds[-1].findings if not finding.asks_back]
    direct = all(f.error is None and decided.tools[f.tool].return_direct for f in found)
    of_use = any(finding.error is None or finding.mendable for finding in found)
    return of_use and not direct and len(rounds) < decided.steps


def _new_calls(after: RoutingDecision, rounds: Sequence[ToolRound]) -> list[CallTool]:
    """What is to be called next: nothing that was called before, each under an id of its own."""
    made = [(call.tool, call.arguments) for one in rounds for call in one.calls]
    calls = (c for c in after.commands if isinstance(c, CallTool))
    new = [call for call in calls if (call.tool, call.arguments) not in made]
    return [c.replace(id=f"{len(rounds) + 1}.{c.id}") for c in new]


def _left(call: CallTool, task: "asyncio.Task[ToolFinding]") -> ToolCallView:
    """The call as a stopped turn shows it: what it came to, where it had by then."""
    about = (call.id, call.tool, call.arguments)
    if task.done() and not task.cancelled() and task.exception() is None:
        # The front end is told of its calls with the turn, which never was.
        found = task.result()
        return ToolCallView.skipped(*about) if found.awaited else shown(*about, found)
    return ToolCallView.stopped(*about)
