"""Every activity that workflows know; the code is in `activities/`, held to it by a test."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal, TypeVar

from pydantic import JsonValue

from router.contracts.conversation import Written
from router.contracts.conversation_state import ConversationState, News
from router.contracts.document import DocumentKept, DocumentsOf, DocumentsRead, ReadFile
from router.contracts.flow import CallLimits, FlowAnswer, Told
from router.contracts.hook_calls import HookStub
from router.contracts.payload import ActivityStub, Out, Payload
from router.contracts.tool_rounds import ToolFinding, ToolRound
from router.domain.commands import (
    CallTool,
    Clarify,
    Command,
    MemoryCommand,
    Misunderstood,
    RunSkill,
    StartFlow,
    in_order,
)
from router.domain.file_types import SkillFile
from router.domain.hand_offs import Duty, HandOffRecord, NamedPerson
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    FlowSummary,
    Message,
    Option,
    Reply,
    Route,
    SpokenLine,
    StructuredRefusal,
    Usage,
)
from router.domain.principals import Principal
from router.domain.records import (
    ApprovalRecord,
    AuditRecord,
    LogEntry,
    RecordedTurn,
    RunRecord,
    WithdrawalNote,
)
from router.domain.run_approvals import RunApproval
from router.flow.definition import FlowDefinition
from router.flow.engine.events import AnyEvent, Effect
from router.flow.engine.run import Run
from router.flow.engine.run_parts.recovery import Done
from router.flow.paused import Situation
from router.llm.types import NO_REASONING, ChatMessage, KeptReasoning
from router.routing.front_end_tools import FrontEndTool
from router.routing.planner import Planned, Reflected
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask, Thought
from router.skill.plan import Fate
from router.skill.skill import TOKEN_BUDGET, Skill
from router.understanding.reading import Reading


class Understand(Payload):
    """A message, where it was said and by whom.

    `papers` are the types of the documents that its files are, as far as they were read.
    """

    message: Message
    situation: Situation
    caller: Principal
    papers: dict[str, str] = {}


class Understood(Reading):
    """What a message means by rules, and how the tools may be called; `plainly` without a model.

    `hooks` are those that are to hear of it, of its turn and of what breaks in it.
    """

    tools: dict[str, CallLimits] = {}
    skills: dict[str, Skill] = {}
    plainly: bool = False
    hooks: tuple[HookStub, ...] = ()


class Account(Payload):
    """On whose account a model is asked, and in which turn; none outside a conversation.

    `now` is in the caller's time zone; `seconds` are left of the turn, which has `spent` so much.
    `files` are the ids of those that came with its message: what is in them no payload carries.
    """

    caller: Principal
    now: datetime
    conversation: str = ""
    message_id: str = ""
    seconds: float = 60.0
    spent: Usage = Usage()
    files: list[str] = []


class Decide(Payload):
    """A message that no rule took; `earlier` has a line for each that came before `history`.

    `beside`: rules took another part of it, and this is the rest. In its `rounds` tools were
    called for it already: what is decided next goes by what they found.
    """

    message: Message
    beside: bool = False
    situation: Situation
    account: Account
    history: list[SpokenLine] = []
    earlier: list[str] = []
    rounds: list[ToolRound] = []
    front_end: list[FrontEndTool] = []
    """What the front end that it came from can be called for besides."""
    scope: str = ""
    """What an answer to it depends on besides the question, where it is the same for everyone."""
    context: str = ""
    """What hooks tell a model about it."""


class StepFlow(Payload):
    """A run of a flow that needs code of extensions, and what happens to it."""

    definition: FlowDefinition
    run: Run
    event: AnyEvent
    now: datetime


class FlowStepped(Payload):
    """The run after the step, and what is to be said of it."""

    run: Run
    effects: list[Effect]


class RoutingDecision(Payload):
    """What to do with it, and why: the first command's route, and those of the others.

    `tools` says how those that are called, by a skill too, may be; `skills` has those that are to
    be run. `notice` is said first; what is found `plainly` where no model puts it into words.
    `model_answered` is None where none was asked.
    In `steps` rounds at most the model may call tools, each with what the ones before found; it is
    asked as it was about the `rest`, where rules took another part of the message.
    """

    route: Route
    others: list[Route] = []
    commands: list[Command]
    usage: Usage = Usage()
    tools: dict[str, CallLimits] = {}
    skills: dict[str, Skill] = {}
    notice: str = ""
    plainly: bool = False
    model_answered: bool | None = None
    steps: int = 1
    rest: Decide | None = None
    reasoning: KeptReasoning = NO_REASONING
    """What the model thought, where it is to go on from here."""
    scope: str = ""
    """As `Decide` has it in the rounds that come."""
    unread: str = ""
    """Where the message goes on that wasn't read to its end."""

    @classmethod
    def of(cls, understood: Understood) -> "RoutingDecision":
        """What rules decided; raises `ValueError` where they didn't."""
        if understood.route is None:
            raise ValueError("rules decided nothing")
        same = ("route", "others", "commands", "tools", "skills", "plainly", "unread")
        return cls(**{name: getattr(understood, name) for name in same})

    @property
    def shown_files(self) -> bool:
        """True where a model answers, which was shown the files of the message: they have served.

        Where it asks back, or begins a flow, they may be wanted yet.
        """
        routes = [self.route, *self.others]
        return all(r.kind == "skill" or (r.by == "llm" and r.kind in _ANSWERS) for r in routes)

    def with_rest(self, decided: "RoutingDecision", rest: Decide) -> "RoutingDecision":
        """This, and what was decided of the rest: nothing is begun twice."""
        words = rest.message.text or ""
        new = [_about(words, command) for command in self.not_begun(decided.commands)]
        # What rules call is put into words at once, and what is called beside it with it.
        rounds = not any(isinstance(command, CallTool) for command in self.commands)
        return self.replace(
            others=[*self.others, decided.route, *decided.others] if new else self.others,
            commands=in_order([*self.commands, *new]),
            usage=self.usage + decided.usage,
            tools=self.tools | decided.tools,
            skills=self.skills | decided.skills,
            notice=decided.notice,
            model_answered=decided.model_answered,
            steps=decided.steps if rounds else 1,
            rest=rest,
        )

    def not_begun(self, new: Iterable[Command]) -> list[Command]:
        """Of what a model wants done beside this, what isn't: no answer is missed in a rest."""
        begun = {c.flow for c in self.commands if isinstance(c, StartFlow)}
        return [
            command
            for command in new
            if not isinstance(command, Misunderstood)
            if not (isinstance(command, StartFlow) and command.flow in begun)
        ]


_ANSWERS = {"reply", "tool"}


def _about(words: str, command: Command) -> Command:
    """The command, with the words that it is for, which aren't the whole message."""
    if isinstance(command, Clarify | RunSkill):
        return command.replace(about=words)
    return command


class Phrase(Payload):
    """What tools found for a message, to be said to whoever asked."""

    text: str
    findings: list[ToolFinding]
    locale: Locale
    account: Account
    history: list[SpokenLine] = []


class Phrased(Payload):
    """What to say, and what saying it cost."""

    text: str
    usage: Usage = Usage()


class Structure(Payload):
    """An answered turn that is to be put into a schema, for whoever said this `text`.

    `findings` are what was called for it, `said` what it answered; it `asks` where that is a
    question. `flow` is the run that it was about.
    """

    response_schema: dict[str, JsonValue]
    text: str
    said: list[Reply]
    asks: bool
    route: Route
    findings: list[ToolFinding] = []
    flow: FlowSummary | None = None
    locale: Locale
    account: Account
    history: list[SpokenLine] = []


class Structured(Payload):
    """The object, or why there is none; and what that cost."""

    value: dict[str, JsonValue] | None = None
    refusal: StructuredRefusal | None = None
    usage: Usage = Usage()


class SkillQuestion(Payload):
    """What a skill's model is asked, with what in its memory; `step` counts from 1.

    The run may take so many `tokens` yet. The `last` question is for an answer alone.
    """

    task: SkillTask
    memory: AgentMemory
    step: int = 1
    locale: Locale
    account: Account
    tokens: int = TOKEN_BUDGET
    last: bool = False


class Think(SkillQuestion):
    """One step of a skill. The `last` one has no tools: it is for saying what was found.

    Of a plan, it is worked on `beside` others, of which so many began `before` it.
    """

    beside: int = 0
    before: int = 0


class SkillThought(Thought):
    """The same, with how the tools may be called of a skill that a part is handed to."""

    tools: dict[str, CallLimits] = {}


class Condense(Payload):
    """The oldest of a sub-agent's dialogue, and what was told in short of what came before it."""

    skill: str = ""
    step: int = 1
    earlier: str
    gone: list[ChatMessage]
    locale: Locale
    account: Account


class Condensed(Payload):
    """All of it in short, and what that cost."""

    text: str
    usage: Usage = Usage()


class Draw(SkillQuestion):
    """A plan that is to be made, or made anew."""


class Reflect(SkillQuestion):
    """A memory whose plan's steps came to something; without a plan, one that ends by a `draft`."""

    draft: str = ""


class NoteStep(Payload):
    """A step of a plan that begins, or has ended by this `fate`; `attempt` is one of a kind."""

    account: Account
    attempt: str
    skill: str
    id: str
    title: str
    number: int
    steps: int
    fate: Fate | None = None


class TellFlow(Payload):
    """Something to tell a run, new where `first`; `update_id` makes retries tell it once."""

    workflow_id: str
    flow: str
    event: Told
    caller: Principal
    locale: Locale
    conversation: str | None
    first: bool
    update_id: str
    known_slot_sets: list[str] = []
    """The slot sets that the conversation has: the answer leaves their slots out."""


class TellAnswer(Payload):
    """The run's answer; None where the run is over, or the flow no longer exists."""

    answer: FlowAnswer | None


class Recall(Payload):
    """Whose past is asked for: a conversation's, or one message's in it."""

    tenant: str
    conversation: str
    message_id: str | None = None


class Recalled(Payload):
    """The turn or the snapshot that was found; `gone` where the conversation was forgotten."""

    turn: RecordedTurn | None = None
    state: ConversationState | None = None
    gone: bool = False


class Keep(Payload):
    """A closed conversation's state, to be kept."""

    tenant: str
    conversation: str
    state: ConversationState


class Write(Payload):
    """Rows for the event log."""

    tenant: str
    entries: list[LogEntry]


class MemoryRequest(Payload):
    """What the caller wants remembered or forgotten, or listed, at this moment."""

    command: MemoryCommand
    caller: Principal
    locale: Locale
    now: datetime


class MemoryAnswer(Payload):
    """What is said to it, with what can be chosen then."""

    text: str
    options: list[Option] = []


class LookUp(Payload):
    """A lookup that an expression needs, with its arguments in order.

    `related_runs` are the workflow ids of the runs whose branch the asking run is, and of its own
    branches.
    """

    name: str
    arguments: list[JsonValue]
    requester: Principal
    now: datetime
    related_runs: tuple[str, ...] = ()


class LookupAnswer(Payload):
    """A JSON value, wrapped so that null is one too, and what a model behind the tool cost.

    `attempts` is how many tries it took.
    """

    value: JsonValue
    usage: Usage = Usage()
    attempts: int = 1


class CallOutcome(Payload):
    """How a tool's call ended, as far as it couldn't be recorded: the database was away.

    `result` is the tool's, or `failure` says why there is none. `ledger` is what the effects ledger
    is to be told of the call's key; `audit` is the row of the attempt.
    """

    result: JsonValue = None
    failure: dict[str, JsonValue] | None = None
    ledger: Literal["done", "failed", "released", ""] = ""
    audit: AuditRecord | None = None
    usage: Usage = Usage()


class CallProgress(Payload):
    """What an attempt of a call leaves to the next one when the database is away.

    `claims` are the moments under which the key may stand in the effects ledger, of attempts that
    then sent nothing. `ended` is there when the tool has answered: only its records are left to be
    written.
    """

    claims: tuple[datetime, ...] = ()
    ended: CallOutcome | None = None


class ToolCall(Payload):
    """One call of a tool, as the gate sees it.

    `flow_run` is the workflow id of the run on whose authority the call is made, if any; `key` the
    idempotency key, empty for reads; `undoes` that of the call that this one takes back.
    `approvals` are those of that run that are in force, and `slots_digest` is of the slots that the
    arguments come from. `related_runs` are the workflow ids of the runs whose branch that run is,
    and of its own branches.
    `checking` asks only whether it would be refused. The turn of `message_id`, which has `spent` so
    much, shows it under `call_id`. `answers` are to what the tool asked back, by question;
    `skill_files` the calling skill's, as the workflow says and never a model. A run that is the
    tool's own `form` only shows the result to a person, page by page.
    """

    tool: str
    arguments: dict[str, JsonValue]
    caller: Principal
    locale: Locale | None = None
    key: str = ""
    undoes: str = ""
    checking: bool = False
    flow_run: str | None = None
    related_runs: tuple[str, ...] = ()
    approvals: tuple[RunApproval, ...] = ()
    slots_digest: str = ""
    form: bool = False
    conversation: str | None = None
    message_id: str = ""
    call_id: str = ""
    answers: dict[str, JsonValue] = {}
    spent: Usage = Usage()
    skill_files: tuple[SkillFile, ...] = ()
    passed: tuple[str, ...] = ()
    """The hooks that have let it pass; whichever other stands before it is asked with it."""
    refused: Localised | None = None
    """Why a hook won't have it made: it fails with that, and is audited as refused."""
    lacks_hook: str = ""
    """The hook that has to let it pass and isn't deployed any more: it fails with that."""
    progress: CallProgress | None = None
    """What an earlier activity of the same call came to, which an outage of the database ended."""
    now: datetime

    @property
    def spoken(self) -> Locale:
        """The language that what becomes of it is told in."""
        return self.locale or self.caller.locale


class Publish(Payload):
    """A run as it stands, its approvals, and news for people's own streams."""

    run: RunRecord
    approvals: list[ApprovalRecord]
    entries: list[LogEntry]
    withdrawal_note: WithdrawalNote | None = None
    """What this says of another run: the one that it takes back."""
    definition: str | None = None
    """With a run that can be taken back: the definition that its remedy names, as JSON."""


class Published(Payload):
    """The hooks that hear of approvals and of what breaks, and those that stand before verdicts."""

    hooks: tuple[HookStub, ...] = ()
    ahead: int | None = None
    """The number of what is on record instead, where that isn't of this run's past."""


class AskDuty(Payload):
    """Who can take a hand-off of this person's at that moment; with an `agent`, when they could."""

    tenant: str
    requester: str
    now: datetime
    agent: NamedPerson | None = None


class PublishHandOff(Payload):
    """How a hand-off stands, with the news of it."""

    record: HandOffRecord
    entries: list[LogEntry]


PROJECTION = "projection"
"""The query of a run for what it would publish now."""


class Projection(Payload):
    """What a run would publish now, and the calls that it made and could undo."""

    published: Publish
    done: list[Done] = []


class Notify(Payload):
    """News of a run for the conversation it came from."""

    tenant: str
    conversation: str
    requester: Principal
    news: News


MAX_CODE_ERRORS = 5
"""Tries of an activity whose code fails each time, before the turn says that it failed."""
TOTAL = timedelta(minutes=5)
"""What an activity that a turn waits for has for all its tries. A machine that is so busy that
none of them ends within this time answers nobody; the person can cancel the turn before."""
SOON = timedelta(seconds=15)
"""What a try of a local activity has. It takes milliseconds, unless the event loop is late or the
database's connections are all in use, which the pool says after ten seconds."""
UNDERSTAND = ActivityStub("understand", Understand, Understood, SOON, local=True, total=TOTAL)

Asking = TypeVar("Asking", bound=Decide | Phrase | Structure | SkillQuestion | Condense)
OUTAGE_WINDOW = timedelta(seconds=120)
"""How long one attempt of an activity waits while the router's own database is away, in addition to
what its work may take: longer than a managed PostgreSQL takes to fail over, which is 10 to 60
seconds."""
BEYOND = timedelta(seconds=20)
"""What an activity that asks a model has beyond the turn's time: to answer without one."""
SILENT = (timedelta(seconds=5), timedelta(seconds=10))
"""Its worker counts as dead after a sixth of that time without a word, within these bounds."""


def _asking(name: str, takes: type[Asking], gives: type[Out]) -> ActivityStub[Asking, Out]:
    """One that asks a model: by its heartbeats a cancelled turn stops paying."""

    def left(given: Asking) -> timedelta:
        return timedelta(seconds=given.account.seconds)

    return ActivityStub(
        name,
        takes,
        gives,
        timeout=lambda given: left(given) + BEYOND + OUTAGE_WINDOW,
        total=lambda given: left(given) + TOTAL,
        heartbeat=lambda given: min(max(left(given) / 6, SILENT[0]), SILENT[1]),
    )


DECIDE = _asking("decide", Decide, RoutingDecision)
PHRASE = _asking("phrase", Phrase, Phrased)
STRUCTURE = _asking("structure", Structure, Structured)
THINK = _asking("think", Think, SkillThought)
TOO_LONG = "ContextTooLong"
"""The type of a failure for which a shorter question may help."""
NO_MODEL = "NoModelAnswered"
"""The type of a failure that is none of the question's: no model answers at all."""

CONDENSE = _asking("condense", Condense, Condensed)
PLAN = _asking("plan", Draw, Planned)
REFLECT = _asking("reflect", Reflect, Reflected)
STEP_FLOW = ActivityStub("step_flow", StepFlow, FlowStepped, SOON, local=True)
NOTE_STEP = ActivityStub("note_step", NoteStep, type(None), SOON, local=True, total=TOTAL)
ONE_RPC = timedelta(minutes=1)
"""For one try of what asks Temporal for something, which may be repeated: a try that is given up
while the server is busy makes it busier. Heartbeats tell of a worker's death."""
TELL_FLOW = ActivityStub(
    "tell_flow",
    TellFlow,
    TellAnswer,
    ONE_RPC,
    heartbeat=timedelta(seconds=5),
    total=TOTAL,
)
RECALL = ActivityStub("recall", Recall, Recalled, SOON, local=True)
KEEP = ActivityStub("keep", Keep, type(None), SOON, local=True)
WRITE = ActivityStub("write", Write, Written, SOON, local=True)
REMEMBER = ActivityStub("remember", MemoryRequest, MemoryAnswer, SOON, local=True, total=TOTAL)
LOOK_UP = ActivityStub("look_up", LookUp, LookupAnswer, SOON, local=True)
WAIT_FOR_DOCUMENT = ActivityStub(
    "wait_for_document",
    LookUp,
    LookupAnswer,
    timedelta(minutes=3),
    heartbeat=timedelta(seconds=10),
)
"""`LOOK_UP` where the answer takes a picture to be read."""
READ_DOCUMENT = ActivityStub(
    "read_document",
    ReadFile,
    DocumentKept,
    timedelta(minutes=2),
    attempts=3,
    heartbeat=timedelta(seconds=10),
)
LOOK_AT_DOCUMENT = ActivityStub(
    "look_at_document",
    ReadFile,
    type(None),
    timedelta(seconds=20),
    attempts=2,
    heartbeat=timedelta(seconds=5),
)
"""Has a model look for what `READ_DOCUMENT` didn't find."""
DOCUMENTS_OF = ActivityStub("documents_of", DocumentsOf, DocumentsRead, SOON, local=True)
ESTIMATE_READING = ActivityStub(
    "documents_of", DocumentsOf, DocumentsRead, timedelta(seconds=1), local=True, attempts=1
)
"""`DOCUMENTS_OF` for a notice: a reply that says less is better than one that comes later."""
PUBLISH = ActivityStub("publish", Publish, Published, SOON, local=True)
WHO_IS_ON_DUTY = ActivityStub("who_is_on_duty", AskDuty, Duty, SOON, local=True)
PUBLISH_HAND_OFF = ActivityStub("publish_hand_off", PublishHandOff, type(None), SOON, local=True)
NOTIFY = ActivityStub("notify", Notify, type(None), ONE_RPC, heartbeat=timedelta(seconds=10))

CLERICAL = frozenset(stub.name for stub in (TELL_FLOW, RECALL, KEEP, WRITE, PUBLISH, NOTIFY))
"""What writes down and passes on. It is never set aside: what was said would be lost by that; and
one that waits for another's work is no suspect where that ends a process."""
