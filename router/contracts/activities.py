"""Every activity that workflows know, with what it takes and gives.

The code is in `activities/`; a test holds the two together.
"""

from datetime import datetime, timedelta

from pydantic import JsonValue

from router.contracts.conversation import ConversationState, News
from router.contracts.flow import CallLimits, FlowAnswer, Told
from router.contracts.payload import ActivityStub, In, Out, Payload
from router.domain.commands import Command
from router.domain.file_types import SkillFile
from router.domain.locale import Locale
from router.domain.messages import Message, Route, SpokenLine, Usage
from router.domain.principals import Principal
from router.domain.records import Amendment, ApprovalRecord, LogEntry, RecordedTurn, RunRecord
from router.flow.engine.run import Done
from router.flow.paused import Situation
from router.llm.types import Message as ChatMessage
from router.routing.planner import Planned, Reflected
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask, Thought
from router.skill.skill import Skill
from router.understanding.reading import Reading


class Understand(Payload):
    """A message and where it was said; `caller` where rules alone may answer it."""

    message: Message
    situation: Situation
    caller: Principal | None = None


class Understood(Reading):
    """What a message means by rules, and how the tools may be called; `plainly` without a model."""

    tools: dict[str, CallLimits] = {}
    plainly: bool = False


class Account(Payload):
    """On whose account a model is asked, and in which turn; none outside a conversation.

    `now` is in the caller's time zone; `seconds` are left of the turn, which has `spent` so much.
    """

    caller: Principal
    now: datetime
    conversation: str = ""
    message_id: str = ""
    seconds: float = 60.0
    spent: Usage = Usage()


class Decide(Payload):
    """A message that no rule took; `earlier` has a line for each that came before `history`."""

    message: Message
    situation: Situation
    account: Account
    history: list[SpokenLine] = []
    earlier: list[str] = []


class RoutingDecision(Payload):
    """What to do with it, and why: the first command's route, and those of the others.

    `tools` says how those that are called, by a skill too, may be; `skills` has those that are to
    be run. `notice` is said first; what is found `plainly` where no model puts it into words.
    """

    route: Route
    others: list[Route] = []
    commands: list[Command]
    usage: Usage = Usage()
    tools: dict[str, CallLimits] = {}
    skills: dict[str, Skill] = {}
    notice: str = ""
    plainly: bool = False


class ToolFinding(Payload):
    """What a tool came to; `asks_back` where it first wants to know more from the person."""

    tool: str
    result: JsonValue = None
    error: str | None = None
    asks_back: bool = False
    usage: Usage = Usage()


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


class SkillQuestion(Payload):
    """What a skill's model is asked, with what in its memory; `step` counts from 1."""

    task: SkillTask
    memory: AgentMemory
    step: int = 1
    locale: Locale
    account: Account


class Think(SkillQuestion):
    """One step of a skill. The `last` one has no tools: it is for saying what was found."""

    last: bool = False


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
    """A memory whose plan's steps came to something. The `last` one is for an answer alone."""

    last: bool = False


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


class TellAnswer(Payload):
    """The run's answer; None where the run is over, or the flow no longer exists."""

    answer: FlowAnswer | None


class Recall(Payload):
    """Whose past is asked for: a conversation's, or one message's in it."""

    tenant: str
    conversation: str
    message_id: str | None = None


class Recalled(Payload):
    """The turn or the snapshot that was found."""

    turn: RecordedTurn | None = None
    state: ConversationState | None = None


class Keep(Payload):
    """A closed conversation's state, to be kept."""

    tenant: str
    conversation: str
    state: ConversationState


class Write(Payload):
    """Rows for the event log."""

    tenant: str
    entries: list[LogEntry]


class LookUp(Payload):
    """A lookup that an expression needs, with its arguments in order."""

    name: str
    arguments: list[JsonValue]
    requester: Principal
    now: datetime


class LookupAnswer(Payload):
    """A JSON value, wrapped so that null is one too, and what a model behind the tool cost."""

    value: JsonValue
    usage: Usage = Usage()


class ToolCall(Payload):
    """One call of a tool, as the gate sees it.

    `flow_run` is the workflow id of the run on whose authority the call is made, if any; `key` the
    idempotency key, empty for reads; `undoes` that of the call that this one takes back.
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
    form: bool = False
    conversation: str | None = None
    message_id: str = ""
    call_id: str = ""
    answers: dict[str, JsonValue] = {}
    spent: Usage = Usage()
    skill_files: tuple[SkillFile, ...] = ()
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
    amends: Amendment | None = None
    """What this says of another run: the one that it takes back."""
    definition: str | None = None
    """With a run that can be taken back: the definition that its remedy names, as JSON."""


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


TRIES = 5
"""Tries of an activity that a turn waits for, before the turn says that it failed."""
SOON = timedelta(seconds=5)

UNDERSTAND = ActivityStub("understand", Understand, Understood, SOON, local=True, attempts=TRIES)


def _asking(name: str, takes: type[In], gives: type[Out]) -> ActivityStub[In, Out]:
    """One that asks a model: by its heartbeats a cancelled turn stops paying."""
    minute, beat = timedelta(seconds=60), timedelta(seconds=10)
    return ActivityStub(name, takes, gives, minute, attempts=TRIES, heartbeat=beat)


DECIDE = _asking("decide", Decide, RoutingDecision)
PHRASE = _asking("phrase", Phrase, Phrased)
PHRASE_PLAINLY = ActivityStub("phrase_plainly", Phrase, Phrased, SOON, local=True, attempts=TRIES)
"""`PHRASE` where there is no model: what Temporal would write down of it costs more than it."""
THINK = _asking("think", Think, Thought)
TOO_LONG = "ContextTooLong"
"""The type of a failure for which a shorter question may help."""

CONDENSE = _asking("condense", Condense, Condensed)
PLAN = _asking("plan", Draw, Planned)
REFLECT = _asking("reflect", Reflect, Reflected)
TELL_FLOW = ActivityStub(
    "tell_flow",
    TellFlow,
    TellAnswer,
    timedelta(seconds=10),
    attempts=TRIES,
    heartbeat=timedelta(seconds=1.5),
)
RECALL = ActivityStub("recall", Recall, Recalled, SOON, local=True)
KEEP = ActivityStub("keep", Keep, type(None), SOON, local=True)
WRITE = ActivityStub("write", Write, type(None), SOON, local=True)
LOOK_UP = ActivityStub("look_up", LookUp, LookupAnswer, SOON, local=True)
PUBLISH = ActivityStub("publish", Publish, type(None), SOON, local=True)
NOTIFY = ActivityStub("notify", Notify, type(None), timedelta(seconds=10))

CLERICAL = frozenset(stub.name for stub in (TELL_FLOW, RECALL, KEEP, WRITE, PUBLISH, NOTIFY))
"""What writes down and passes on. It is never set aside: what was said would be lost by that; and
one that waits for another's work is no suspect where that ends a process."""
