"""The jobs of prompts as `intent-router prompts eval` has them done: what a case gives, and how.

Each job is a class: the fields are what `given` holds in a case file, and `observed` has the model
asked by the same code as in a conversation. A further job is a further class with `@of_job`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, JsonValue

from activities.capabilities import Capabilities
from activities.decide import Decider
from activities.models import ModelQuestions, Models
from activities.think import Condenser, Planner, Thinker
from activities.writer import Writer
from router.api.explanation import values_of
from router.cli.examples import parameters_of
from router.contracts import activities
from router.contracts.activities import Account, RoutingDecision
from router.documents.renditions import PDF, PictureReader
from router.domain.commands import CancelFlow, Clarify, FillSlots, HandOff, ReplyText
from router.domain.documents import OTHER, Document
from router.domain.errors import InvalidInput, PermanentToolError
from router.domain.locale import Locale
from router.domain.messages import Message, SpokenLine, TextReply
from router.domain.principals import Principal
from router.evaluation.assertions import Observed
from router.examples import question
from router.examples.nearness import Neighbourhood
from router.flow.paused import Situation
from router.flow.view import FlowView
from router.formats.validation import Entry
from router.llm.fallback import ChainAnswer, FallbackChain, FallbackChains, LedRole
from router.llm.types import (
    AssistantMessage,
    ChatAnswer,
    ChatRequest,
    FunctionCall,
    OnText,
    ShownPicture,
    ToolMessage,
    UserMessage,
)
from router.retrieval.index import CapabilityIndex
from router.routing import judgement, paper_question, replies
from router.routing.decider import DecisionPolicy
from router.routing.faithfulness import Doubt
from router.routing.planner import Reflected
from router.routing.prompts import Job, Prompts
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from router.skill.plan import Plan, PlanStep, StepBrief, StepResult
from router.skill.skill import Skill
from router.tool.context import ToolContext, ToolLogger

_log = logging.getLogger("router.prompts")

SECONDS = 600.0
"""For one question: nobody waits, and a small model on a busy machine takes its time."""
UNUSABLE = "unusable"
"""The route of an answer that the desk could do nothing with."""
HOME = ZoneInfo("Asia/Shanghai")
SAID = "said"
"""The route of words that are shown to the person."""


class HeardChain(FallbackChain):
    """A chain whose answers are kept, for what they say and cost."""

    def __init__(self, chain: FallbackChain, heard: list[ChatAnswer]) -> None:
        self.__dict__.update(chain.__dict__)
        self.heard = heard

    async def answer(
        self, request: ChatRequest, seconds: float, on_text: OnText | None = None
    ) -> ChainAnswer:
        """As the chain answers; it is kept."""
        found = await super().answer(request, seconds, on_text)
        self.heard.append(found.answer)
        return found


class HeardChains(FallbackChains):
    """The chains of a house, whose answers are kept; none is a stronger one to fall back on."""

    def __init__(self, chains: FallbackChains, heard: list[ChatAnswer]) -> None:
        self._chains, self.heard = chains, heard
        self.usual = HeardChain(chains.usual, heard) if chains.usual else None

    def of(self, role: LedRole, model: str | None = None) -> FallbackChain | None:
        """The chain of a role, as the house has it."""
        chain = self._chains.of(role, model)
        return HeardChain(chain, self.heard) if chain else None


@dataclass
class Bench:
    """What one run of a case is done with: one version's prompts, over what the house has."""

    offered: Capabilities
    index: CapabilityIndex
    chains: HeardChains
    prompts: Prompts
    people: Mapping[str, Principal]
    policy: DecisionPolicy
    locale: Locale
    folder: Path
    """Where files are that the case names."""
    models: Models = field(default_factory=Models)

    def person(self, user: str) -> Principal:
        """Who speaks, in the case's language; `InvalidInput` where the directory has no such."""
        if user not in self.people:
            known = ", ".join(sorted(self.people))
            raise InvalidInput(f"user {user!r} isn't in the directory: it has {known}")
        return self.people[user].model_copy(update={"locale": self.locale})

    def account(self, user: str, now: datetime) -> Account:
        """On whose account a question is asked."""
        return Account(caller=self.person(user), now=now, seconds=SECONDS)

    def asking(self, role: LedRole | None, account: Account) -> ModelQuestions:
        """What questions go through; without a role to the usual model."""
        chain = self.chains.of(role) if role else self.chains.usual
        return self.models.asking(chain, account)

    def skill(self, name: str) -> Skill:
        """The skill of this name; `InvalidInput` where there is none."""
        found = next((one for one in self.offered.skills if one.name == name), None)
        if found is None:
            raise InvalidInput(f"skill {name!r} isn't there: {_names(self.offered.skills)}")
        return found


def _names(skills: Any) -> str:
    return ", ".join(sorted(one.name for one in skills)) or "there is none"


class Line(Entry):
    """Something that was said before."""

    role: Literal["user", "assistant"]
    text: str


class Given(Entry):
    """What every job's case may say: who speaks, and when."""

    job: ClassVar[Job]

    user: str = "alice"
    """A user id of the directory."""
    now: datetime = datetime(2026, 11, 18, 10, tzinfo=HOME)
    """The moment, with its zone; a Wednesday morning where nothing is said."""

    async def observed(self, bench: Bench) -> Observed:
        """What the model's answer comes to."""
        raise NotImplementedError

    @property
    def moment(self) -> datetime:
        """The moment, in the house's zone where none is written."""
        return self.now if self.now.tzinfo else self.now.replace(tzinfo=HOME)


JOB_INPUTS: dict[str, type[Given]] = {}
"""What each job is given, by its name."""


def of_job(job: Job) -> Callable[[type[Given]], type[Given]]:
    """Make the class what cases of this job are read into."""

    def known(kind: type[Given]) -> type[Given]:
        kind.job = job
        JOB_INPUTS[job] = kind
        return kind

    return known


def _spoken(history: Sequence[Line]) -> list[SpokenLine]:
    return [SpokenLine(role=line.role, text=line.text) for line in history]


class ActiveFlow(Entry):
    """A flow that asks something while the message is said."""

    flow: str
    asks: str = ""
    """The question that was shown last."""
    awaiting: list[str] = []
    """The slots that it asks for; of none it asks to be confirmed."""
    known: dict[str, JsonValue] = {}

    def view(self, offered: Capabilities) -> FlowView:
        """The flow as its conversation sees it."""
        definition = offered.definition(self.flow)
        if definition is None:
            raise InvalidInput(f"flow {self.flow!r} isn't there")
        return FlowView(
            id="case",
            flow=self.flow,
            title=definition.title,
            version=definition.version,
            status="collecting" if self.awaiting else "confirming",
            state=definition.start,
            question="case",
            awaiting=self.awaiting,
            slots=self.known,
            fillable=offered.slots(self.flow),
            replies=[TextReply(text=self.asks)] if self.asks else [],
        )


@of_job("router")
class RouterGiven(Given):
    """A message that no rule took.

    Routes are capabilities, several joined by ` + `; else `reply`, `clarify`, `handoff`, `answer`
    to the flow that asks, `cancel`, or `unusable`.
    """

    message: str
    history: list[Line] = []
    earlier: list[str] = []
    active: ActiveFlow | None = None
    answered: str = ""
    """The skill that has just answered."""

    async def observed(self, bench: Bench) -> Observed:
        """The decision, checked as the desk checks it."""
        person = bench.person(self.user)
        situation = Situation(
            now=self.moment,
            locale=bench.locale,
            roles=person.roles,
            active=self.active.view(bench.offered) if self.active else None,
            answered=self.answered,
        )
        given = activities.Decide(
            message=Message(text=self.message),
            situation=situation,
            account=bench.account(self.user, self.moment),
            history=_spoken(self.history),
            earlier=self.earlier,
        )
        chain = bench.chains.of("router")
        decider = Decider(bench.offered, bench.index, chain, bench.prompts, policy=bench.policy)
        return _decided(await decider.decided(given, _insist))


def _insist(error: Exception) -> None:
    raise error


def _decided(decided: RoutingDecision) -> Observed:
    if decided.route.by != "llm":
        return Observed(UNUSABLE)
    routes = []
    for route, command in zip([decided.route, *decided.others], decided.commands, strict=True):
        if isinstance(command, FillSlots | CancelFlow):
            routes.append("answer" if isinstance(command, FillSlots) else "cancel")
        else:
            asks = isinstance(command, Clarify)
            routes.append(route.kind if asks else route.target or route.kind)
    words = [_words(command) for command in decided.commands]
    text = "\n".join(filter(None, words))
    return Observed(" + ".join(routes), text, values_of(decided.commands))


def _words(command: object) -> str:
    match command:
        case ReplyText(text=text) | Clarify(text=text) | HandOff(reason=text):
            return text
    return ""


class Finding(Entry):
    """What a tool found, or why it found nothing."""

    tool: str
    result: JsonValue = None
    error: str | None = None


@of_job("phrase")
class PhraseGiven(Given):
    """Findings for a message. The route is `said`, or `not_shown: ` and the check that failed."""

    message: str
    findings: Annotated[list[Finding], Field(min_length=1)]
    history: list[Line] = []

    async def observed(self, bench: Bench) -> Observed:
        """The model's words, and whether they hold."""
        findings = [(one.tool, one.result, one.error) for one in self.findings]
        history = _spoken(self.history)
        prompt = bench.prompts.of("phrase", "", bench.locale)
        asking = bench.asking("phrase", bench.account(self.user, self.moment))
        answer = await asking(replies.request(prompt, self.message, findings, history))
        held = replies.judged(
            answer, replies.evidence(self.message, findings, history, self.moment)
        )
        if isinstance(held, Doubt):
            return Observed(f"not_shown: {held.check}", answer.text)
        return Observed(SAID, replies.completed(held, findings, bench.locale))


class Called(Entry):
    """A call that was made, and what it came to."""

    tool: str
    arguments: dict[str, JsonValue] = {}
    result: str


class SkillGiven(Given):
    """What a skill was chosen for, and what its sub-agent has done so far."""

    skill: str
    request: str
    summary: str = ""
    history: list[Line] = []
    called: list[Called] = []
    notes: dict[str, str] = {}

    def task(self, bench: Bench, part: StepBrief | None = None) -> SkillTask:
        """The task of the run."""
        return SkillTask(
            skill=bench.skill(self.skill),
            request=self.request,
            summary=self.summary,
            history=_spoken(self.history),
            now=self.moment,
            part=part,
        )

    @property
    def memory(self) -> AgentMemory:
        """What is in the sub-agent's head."""
        return AgentMemory(notes=self.notes).model_copy(update={"dialogue": _dialogue(self.called)})

    def asked(self, bench: Bench, **more: Any) -> dict[str, Any]:
        """What activities are told of the run."""
        account = bench.account(self.user, self.moment)
        about = {"task": self.task(bench), "memory": self.memory, "locale": bench.locale}
        return {**about, "account": account, "step": 1 + len(self.called), **more}


def _dialogue(called: Sequence[Called]) -> tuple[Any, ...]:
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
        return Observed(route, thought.text or "", only)
    if thought.flow is not None:
        return Observed(thought.flow.flow, "", thought.flow.slots)
    if thought.hands_over is not None:
        return Observed(thought.hands_over.skill.name, thought.hands_over.request)
    if thought.text is not None:
        return Observed("ask" if thought.asks else "answer", thought.text)
    if thought.notes:
        return Observed("note", "", dict(thought.notes))
    return Observed("hand_back" if thought.hands_back else UNUSABLE, thought.complaint or "")


@of_job("skill")
class SkillStepGiven(SkillGiven):
    """One step of a skill.

    Routes are the tools called, joined by ` + `, a flow, a skill, `ask`, `answer`, `note`,
    `hand_back` or `unusable`.
    """

    last: bool = False

    async def observed(self, bench: Bench) -> Observed:
        """What the sub-agent does next."""
        return await _thought(bench, self.asked(bench, last=self.last))


@of_job("step")
class PlannedStepGiven(SkillGiven):
    """One step of a plan. Routes are those of `skill`; `ask` is what only the employee knows."""

    step: str
    """Its task."""
    results: dict[str, str] = {}
    tries: list[str] = []

    async def observed(self, bench: Bench) -> Observed:
        """What the step's sub-agent does next."""
        part = StepBrief(id="it", task=self.step, results=self.results, tries=tuple(self.tries))
        asked = self.asked(bench, task=self.task(bench, part))
        return await _thought(bench, asked)


@of_job("plan")
class PlanGiven(SkillGiven):
    """What is to be planned. The route is `plan`, with `steps` in the value, or `unusable`."""

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


@of_job("reflect")
class ReflectGiven(Reflection):
    """The results of a plan. Routes: `accept`, `retry`, `replan`, `ask`, `unusable`."""

    steps: Annotated[list[DoneStep], Field(min_length=1)]

    async def observed(self, bench: Bench) -> Observed:
        """What is to be done with the results."""
        steps = tuple(
            PlanStep(id=s.id, task=s.task, depends_on=tuple(s.depends_on)) for s in self.steps
        )
        results = {
            s.id: StepResult(fate=s.fate, text=s.result) for s in self.steps if s.result is not None
        }
        memory = self.memory.model_copy(update={"plan": Plan(steps=steps, results=results)})
        given = activities.Reflect(**self.asked(bench, memory=memory))
        return self.reflected(await Planner(_thinker(bench)).reflect(given))


@of_job("review")
class ReviewGiven(Reflection):
    """An answer that stands last, not given yet. Routes: `accept`, `go_on`."""

    draft: str

    async def observed(self, bench: Bench) -> Observed:
        """Whether the draft does."""
        said = (*self.memory.dialogue, AssistantMessage(text=self.draft))
        memory = self.memory.model_copy(update={"dialogue": said})
        given = activities.Reflect(**self.asked(bench, memory=memory, draft=self.draft))
        found = self.reflected(await Planner(_thinker(bench)).reflect(given))
        # One that is no verdict leaves the draft as it is; here that is told from accepting it.
        called = any(answer.calls for answer in bench.chains.heard)
        return found if called else Observed(UNUSABLE, found.text)


@of_job("condense")
class CondenseGiven(Given):
    """The oldest of a sub-agent's dialogue, to be told in short. The route is `said`."""

    earlier: str = ""
    called: Annotated[list[Called], Field(min_length=1)]
    said: list[Line] = []
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


class TextGiven(Given):
    """A text of which another one is made. The route is `said`, or `unusable`."""

    text: str

    async def written(self, bench: Bench, **sections: str) -> Observed:
        """What is made of it."""
        caller = bench.person(self.user)
        ctx = ToolContext(
            caller=caller, now=self.moment, logger=ToolLogger(_log), spoken=bench.locale
        )
        writer = Writer(bench.models, bench.chains.usual, bench.prompts)
        try:
            return Observed(SAID, await writer.write(self.job, ctx, **sections, text=self.text))
        except PermanentToolError as error:
            return Observed(UNUSABLE, str(error))


@of_job("translate")
class TranslateGiven(TextGiven):
    """A text to be translated."""

    to: str

    async def observed(self, bench: Bench) -> Observed:
        """The translation."""
        return await self.written(bench, to=self.to)


@of_job("summarise")
class SummariseGiven(TextGiven):
    """A text to be summed up, in so many words."""

    words: Annotated[int, Field(ge=20, le=500)] = 120

    async def observed(self, bench: Bench) -> Observed:
        """The summary."""
        return await self.written(bench, words=str(self.words))


@of_job("suggest")
class SuggestGiven(Given):
    """A capability that lacks examples. The route is `suggested`, sentences by language."""

    capability: str
    count: Annotated[int, Field(ge=2, le=20)] = 4

    async def observed(self, bench: Bench) -> Observed:
        """The sentences, unchecked."""
        everything = bench.offered.everything()
        found = next((one for one in everything if one.name == self.capability), None)
        if found is None:
            raise InvalidInput(f"capability {self.capability!r} isn't there")
        neighbours = await Neighbourhood(bench.index, everything).neighbours(found)
        prompt = bench.prompts.of("suggest", "", bench.locale)
        rules, wanted = (
            question.Rules(prompt.text, prompt.fingerprint),
            question.Wanted.of(self.count),
        )
        asked = question.request(
            found, parameters_of(bench.offered, found), neighbours, wanted, rules
        )
        answer = await bench.asking(None, bench.account(self.user, self.moment))(asked)
        came = question.suggested(answer, wanted)
        if came.trouble:
            return Observed(UNUSABLE, came.trouble)
        sentences: Any = {locale: list(each) for locale, each in came.sentences.items()}
        return Observed(
            "suggested", "\n".join(s for each in sentences.values() for s in each), sentences
        )


@of_job("document")
class DocumentGiven(Given):
    """A paper to look at, for a model that sees. The route is its type; the value its fields."""

    paper: str
    """A picture or a PDF beside the file of cases."""
    type: str = OTHER
    """What rules took it for; `other` where they don't know."""

    async def observed(self, bench: Bench) -> Observed:
        """What is taken of what the model reads."""
        path = bench.folder / self.paper
        kind = _MEDIA.get(path.suffix.lower())
        if (
            kind is None
            or not path.is_file()
            or not path.resolve().is_relative_to(bench.folder.resolve())
        ):
            raise InvalidInput(f"paper {self.paper!r} is no PNG, JPEG or PDF in {bench.folder}")
        made = await PictureReader().pictures_of(path.read_bytes(), kind, 2)
        shown = [
            ShownPicture.model_validate(
                {"name": path.name, "media_type": media, "content": content}
            )
            for media, content in made
        ]
        prompt = bench.prompts.of("document", "", bench.locale)
        document = Document(type=self.type)
        asking = bench.asking(None, bench.account(self.user, self.moment))
        answer = await asking(paper_question.request(prompt, document, shown))
        read = paper_question.completed(document, answer, self.moment.date())
        return Observed(read.type, "", {name: each.value for name, each in read.fields.items()})


_MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".pdf": PDF}


@of_job("judge")
class JudgeGiven(Given):
    """An answer, and a question about it. The route is `yes`, `no` or `unusable`."""

    question: str
    answer: str

    async def observed(self, bench: Bench) -> Observed:
        """The verdict."""
        prompt = bench.prompts.of("judge", "", bench.locale)
        asking = bench.asking(None, bench.account(self.user, self.moment))
        verdict = judgement.read(
            await asking(judgement.request(prompt, self.question, self.answer))
        )
        if verdict is None:
            return Observed(UNUSABLE)
        yes, why = verdict
        return Observed("yes" if yes else "no", why)
