"""The jobs of prompts that are a skill's work: its steps, plans, reflections and notes."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from activities.think import Condenser, Planner, Thinker
from router.contracts import activities
from router.extensions.evaluation.commands.prompt_bench import (
    SAID,
    Bench,
    BenchInput,
    SaidLine,
    spoken,
)
from router.formats.validation import Entry
from router.llm.types import (
    AssistantMessage,
    FunctionCall,
    ToolMessage,
    UserMessage,
)
from router.routing.planner import Reflected
from router.routing.prompt_cases import UNUSABLE, Observed, ObservedTool
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from router.skill.plan import Plan, PlanStep, StepBrief, StepResult


class PastCall(Entry):
    """A call that was made, and what it came to."""

    tool: str
    arguments: dict[str, JsonValue] = {}
    result: str


class SkillGiven(BenchInput):
    """What a skill was chosen for, and what its sub-agent has done so far."""

    skill: str
    request: str
    summary: str = ""
    history: list[SaidLine] = []
    called: list[PastCall] = []
    notes: dict[str, str] = {}

    def task(self, bench: Bench, part: StepBrief | None = None) -> SkillTask:
        """The task of the run."""
        return SkillTask(
            skill=bench.skill(self.skill),
            request=self.request,
            summary=self.summary,
            history=spoken(self.history),
            now=self.moment,
            part=part,
        )

    @property
    def memory(self) -> AgentMemory:
        """What is in the sub-agent's head."""
        return AgentMemory(notes=self.notes).replace(dialogue=_dialogue(self.called))

    def asked(self, bench: Bench, **more: Any) -> dict[str, Any]:
        """What activities are told of the run."""
        account = bench.account(self.user, self.moment)
        about = {"task": self.task(bench), "memory": self.memory, "locale": bench.locale}
        return {**about, "account": account, "step": 1 + len(self.called), **more}


def _dialogue(called: Sequence[PastCall]) -> tuple[Any, ...]:
    made: list[Any] = []
    for number, one in enumerate(called, 1):
        call = FunctionCall(id=f"c{number}", name=one.tool, arguments=one.arguments)
        made.append(AssistantMessage(calls=(call,)))
        made.append(ToolMessage(call_id=call.id, name=call.name, text=one.result))
    return tuple(made)


def _thinker(bench: Bench) -> Thinker:
    return Thinker(bench.offered, bench.index, bench.chains, bench.prompts, bench.models)


async def _thought(bench: Bench, asked: dict[str, Any]) -> Observed:
    thought = await _thinker(bench).think(activities.Think(**asked))
    calls: list[Any] = [{"name": c.name, "arguments": c.arguments} for c in thought.calls]
    if thought.calls:
        route = " + ".join(call.name for call in thought.calls)
        only: Any = thought.calls[0].arguments if len(calls) == 1 else {"calls": calls}
        made = tuple(ObservedTool(call.name, call.arguments) for call in thought.calls)
        return Observed(route, thought.text or "", only, made)
    if thought.flow is not None:
        return Observed(thought.flow.flow, "", thought.flow.slots)
    if thought.hands_over is not None:
        return Observed(thought.hands_over.skill.name, thought.hands_over.request)
    if thought.text is not None:
        return Observed("ask" if thought.asks else "answer", thought.text)
    if thought.notes:
        return Observed("note", "", dict(thought.notes))
    return Observed("hand_back" if thought.hands_back else UNUSABLE, thought.complaint or "")


class SkillStepGiven(SkillGiven):
    """One step of a skill.

    Routes are the tools called, joined by ` + `, a flow, a skill, `ask`, `answer`, `note`,
    `hand_back` or `unusable`.
    """

    job = "skill"

    last: bool = False

    async def observed(self, bench: Bench) -> Observed:
        """What the sub-agent does next."""
        return await _thought(bench, self.asked(bench, last=self.last))


class PlannedStepGiven(SkillGiven):
    """One step of a plan. Routes are those of `skill`; `ask` is what only the employee knows."""

    job = "step"

    step: str
    """Its task."""
    results: dict[str, str] = {}
    tries: list[str] = []

    async def observed(self, bench: Bench) -> Observed:
        """What the step's sub-agent does next."""
        part = StepBrief(id="it", task=self.step, results=self.results, tries=tuple(self.tries))
        asked = self.asked(bench, task=self.task(bench, part))
        return await _thought(bench, asked)


class PlanGiven(SkillGiven):
    """What is to be planned. The route is `plan`, with `steps` in the value, or `unusable`."""

    job = "plan"

    async def observed(self, bench: Bench) -> Observed:
        """The plan."""
        planned = await Planner(_thinker(bench)).plan(activities.Draw(**self.asked(bench)))
        if not planned.steps:
            return Observed(UNUSABLE, planned.complaint or planned.text or "")
        steps: Any = [step.model_dump(mode="json") for step in planned.steps]
        return Observed("plan", "\n".join(step.task for step in planned.steps), {"steps": steps})


class DoneStep(Entry):
    """A step of a plan and what it came to; without a result it is open."""

    id: str
    task: str
    depends_on: list[str] = []
    result: str | None = None
    fate: Literal["done", "missing", "stopped"] = "done"


class Reflection(SkillGiven):
    """What a model looks back on."""

    def reflected(self, found: Reflected) -> Observed:
        """The verdict as its route, with what it says."""
        verdict = found.verdict
        if verdict is None:
            return Observed(UNUSABLE, found.complaint or found.text or "")
        about = verdict.model_dump(exclude={"type"})
        text = about.get("result") or about.get("text") or about.get("missing") or ""
        return Observed(verdict.type, text, about)


class ReflectGiven(Reflection):
    """The results of a plan. Routes: `accept`, `retry`, `replan`, `ask`, `unusable`."""

    job = "reflect"

    steps: Annotated[list[DoneStep], Field(min_length=1)]

    async def observed(self, bench: Bench) -> Observed:
        """What is to be done with the results."""
        steps = tuple(
            PlanStep(id=s.id, task=s.task, depends_on=tuple(s.depends_on)) for s in self.steps
        )
        results = {
            s.id: StepResult(fate=s.fate, text=s.result) for s in self.steps if s.result is not None
        }
        memory = self.memory.replace(plan=Plan(steps=steps, results=results))
        given = activities.Reflect(**self.asked(bench, memory=memory))
        return self.reflected(await Planner(_thinker(bench)).reflect(given))


class ReviewGiven(Reflection):
    """An answer that stands last, not given yet. Routes: `accept`, `go_on`."""

    job = "review"

    draft: str

    async def observed(self, bench: Bench) -> Observed:
        """Whether the draft does."""
        said = (*self.memory.dialogue, AssistantMessage(text=self.draft))
        memory = self.memory.replace(dialogue=said)
        given = activities.Reflect(**self.asked(bench, memory=memory, draft=self.draft))
        found = self.reflected(await Planner(_thinker(bench)).reflect(given))
        # One that is no verdict leaves the draft as it is; here that is told from accepting it.
        called = any(answer.calls for answer in bench.chains.heard)
        return found if called else Observed(UNUSABLE, found.text)


class CondenseGiven(BenchInput):
    """The oldest of a sub-agent's dialogue, to be told in short. The route is `said`."""

    job = "condense"

    earlier: str = ""
    called: Annotated[list[PastCall], Field(min_length=1)]
    said: list[SaidLine] = []
    """What was said after that."""

    async def observed(self, bench: Bench) -> Observed:
        """The note."""
        spoken = tuple(
            UserMessage(text=line.text) if line.role == "user" else AssistantMessage(text=line.text)
            for line in self.said
        )
        given = activities.Condense(
            earlier=self.earlier,
            gone=[*_dialogue(self.called), *spoken],
            locale=bench.locale,
            account=bench.account(self.user, self.moment),
        )
        condenser = Condenser(bench.chains.usual, bench.prompts, bench.models)
        return Observed(SAID, (await condenser.condense(given)).text)


SKILL_JOBS: tuple[type[BenchInput], ...] = (
    SkillStepGiven,
    PlannedStepGiven,
    PlanGiven,
    ReflectGiven,
    ReviewGiven,
    CondenseGiven,
)
