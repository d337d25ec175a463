"""The jobs of prompts as `intent-router prompts eval` has them done: what a case gives, and how.

Each job is a class: the fields are what `given` holds in a case file, and `observed` has the model
asked by the same code as in a conversation. Extensions have jobs in addition, `prompt_jobs()`.
"""

import logging
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

from pydantic import Field, JsonValue

from activities.capabilities import Capabilities
from activities.decide import Decider
from activities.writer import Writer
from router.api.explanation import values_of
from router.contracts import activities
from router.contracts.activities import RoutingDecision
from router.documents.renditions import PDF, PictureReader
from router.domain.commands import CancelFlow, Clarify, FillSlots, HandOff, ReplyText
from router.domain.documents import OTHER, Document
from router.domain.errors import InvalidInput, PermanentToolError
from router.domain.messages import Message, Route, TextReply
from router.domain.principals import DEFAULT_TENANT
from router.extension import PromptJob
from router.extensions.evaluation import judgement
from router.extensions.evaluation.commands.examples import parameters_of
from router.extensions.evaluation.commands.prompt_bench import (
    SAID,
    Bench,
    BenchInput,
    SaidLine,
    spoken,
)
from router.extensions.evaluation.commands.skill_prompt_jobs import SKILL_JOBS
from router.extensions.evaluation.examples import question
from router.extensions.evaluation.examples.nearness import Neighbourhood
from router.flow.paused import Situation
from router.flow.view import FormView
from router.formats.validation import Entry
from router.llm.types import (
    ShownPicture,
)
from router.routing import paper_question, replies, structured
from router.routing.faithfulness import Doubt
from router.routing.prompt_cases import UNUSABLE, Observed
from router.routing.response_schema import ResponseSchema
from router.routing.structured import AnsweredTurn
from router.tool.context import ToolContext, ToolLogger

_log = logging.getLogger("router.prompts")


class ActiveFlow(Entry):
    """A flow that asks something while the message is said."""

    flow: str
    asks: str = ""
    """The question that was shown last."""
    awaiting: list[str] = []
    """The slots that it asks for; of none it asks to be confirmed."""
    known: dict[str, JsonValue] = {}

    def view(self, offered: Capabilities) -> FormView:
        """The flow as its conversation sees it."""
        definition = offered.definition(self.flow)
        if definition is None:
            raise InvalidInput(f"flow {self.flow!r} isn't there")
        return FormView(
            id="case",
            flow=self.flow,
            title=definition.title,
            version=definition.version,
            status="collecting" if self.awaiting else "confirming",
            state=definition.start,
            question="case",
            awaiting=self.awaiting,
            slots=self.known,
            slot_set=self.flow,
            fillable=dict(offered.slots(self.flow)),
            replies=[TextReply(text=self.asks)] if self.asks else [],
        )


class RouterGiven(BenchInput):
    """A message that no rule took.

    Routes are capabilities, several joined by ` + `; else `reply`, `clarify`, `handoff`, `answer`
    to the flow that asks, `cancel`, or `unusable`.
    """

    job = "router"

    message: str
    history: list[SaidLine] = []
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
            answered=self.answered,
        ).showing(self.active.view(bench.offered) if self.active else None)
        given = activities.Decide(
            message=Message(text=self.message),
            situation=situation,
            account=bench.account(self.user, self.moment),
            history=spoken(self.history),
            earlier=self.earlier,
        )
        known = (bench.offered, bench.index, bench.chains, bench.prompts)
        decider = Decider(*known, policy=bench.policy)
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


class PhraseGiven(BenchInput):
    """Findings for a message. The route is `said`, or `not_shown: ` and the check that failed."""

    job = "phrase"

    message: str
    findings: Annotated[list[Finding], Field(min_length=1)]
    history: list[SaidLine] = []

    async def observed(self, bench: Bench) -> Observed:
        """The model's words, and whether they hold."""
        findings = [(one.tool, one.result, one.error) for one in self.findings]
        history = spoken(self.history)
        prompt = bench.prompts.of("phrase", "", bench.locale, DEFAULT_TENANT)
        asking = bench.asking("phrase", bench.account(self.user, self.moment))
        answer = await asking(replies.request(prompt, self.message, findings, history))
        held = replies.judged(
            answer, replies.evidence(self.message, findings, history, self.moment)
        )
        if isinstance(held, Doubt):
            return Observed(f"not_shown: {held.check}", answer.text)
        return Observed(SAID, replies.completed(held, findings, bench.locale))


class StructureGiven(BenchInput):
    """An answered turn, and the schema that its caller wants it in.

    The route is `fits`, or the code of why what came isn't taken; the value is the object.
    """

    job = "structure"

    message: str
    answer: str
    findings: list[Finding] = []
    response_schema: dict[str, JsonValue]

    async def observed(self, bench: Bench) -> Observed:
        """What a model makes of it at its first try."""
        schema = ResponseSchema(self.response_schema)
        turn = AnsweredTurn(
            text=self.message,
            said=[TextReply(text=self.answer)],
            asks=False,
            route=Route(kind="tool", by="llm", reason=self.message),
            findings=[(one.tool, one.result, one.error) for one in self.findings],
            flow=None,
            history=[],
            locale=bench.locale,
        )
        prompt = bench.prompts.of("structure", "", bench.locale, DEFAULT_TENANT)
        asking = bench.asking("phrase", bench.account(self.user, self.moment))
        answer = await asking(structured.request(prompt, schema, turn))
        made = structured.judged(answer, schema, turn.evidence(self.moment))
        if isinstance(made, structured.Rejection):
            return Observed(made.code, made.words)
        return Observed("fits", "", made)


class TextGiven(BenchInput):
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


class TranslateGiven(TextGiven):
    """A text to be translated."""

    job = "translate"

    to: str

    async def observed(self, bench: Bench) -> Observed:
        """The translation."""
        return await self.written(bench, to=self.to)


class SummariseGiven(TextGiven):
    """A text to be summed up, in so many words."""

    job = "summarise"

    words: Annotated[int, Field(ge=20, le=500)] = 120

    async def observed(self, bench: Bench) -> Observed:
        """The summary."""
        return await self.written(bench, words=str(self.words))


class SuggestGiven(BenchInput):
    """A capability that lacks examples. The route is `suggested`, sentences by language."""

    job = "suggest"

    capability: str
    count: Annotated[int, Field(ge=2, le=20)] = 4

    async def observed(self, bench: Bench) -> Observed:
        """The sentences, unchecked."""
        everything = bench.offered.everything()
        found = next((one for one in everything if one.name == self.capability), None)
        if found is None:
            raise InvalidInput(f"capability {self.capability!r} isn't there")
        neighbours = await Neighbourhood(bench.index, everything).neighbours(found)
        prompt = bench.prompts.of("suggest", "", bench.locale, DEFAULT_TENANT)
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


class DocumentGiven(BenchInput):
    """A paper to look at, for a model that sees. The route is its type; the value its fields."""

    job = "document"

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
        prompt = bench.prompts.of("document", "", bench.locale, DEFAULT_TENANT)
        document = Document(type=self.type)
        asking = bench.asking(None, bench.account(self.user, self.moment))
        answer = await asking(paper_question.request(prompt, document, shown))
        read = paper_question.completed(document, answer, self.moment.date())
        return Observed(read.type, "", {name: each.value for name, each in read.fields.items()})


_MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".pdf": PDF}


class JudgeGiven(BenchInput):
    """An answer, and a question about it. The route is `yes`, `no` or `unusable`."""

    job = "judge"

    question: str
    answer: str

    async def observed(self, bench: Bench) -> Observed:
        """The verdict."""
        prompt = bench.prompts.of("judge", "", bench.locale, DEFAULT_TENANT)
        asking = bench.asking(None, bench.account(self.user, self.moment))
        verdict = judgement.read(
            await asking(judgement.request(prompt, self.question, self.answer))
        )
        if verdict is None:
            return Observed(UNUSABLE)
        yes, why = verdict
        return Observed("yes" if yes else "no", why)


_JOBS: tuple[type[BenchInput], ...] = (
    RouterGiven,
    PhraseGiven,
    StructureGiven,
    *SKILL_JOBS,
    TranslateGiven,
    SummariseGiven,
    DocumentGiven,
)


def job_inputs(jobs: Iterable[PromptJob]) -> dict[str, type[Entry]]:
    """Return what a case of each job gives, by the job's name: of the core and of `jobs`."""
    return {
        **{kind.job: kind for kind in _JOBS},
        **{job.name: _imported(job.case_input) for job in jobs},
    }


def _imported(case_input: str) -> type[Entry]:
    module, _, name = case_input.partition(":")
    found: type[Entry] = getattr(import_module(module), name)
    return found
