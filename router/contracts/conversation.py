"""The conversation workflow's own interface: what the API sends it, what it answers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self

from pydantic import JsonValue

from router.contracts.flow import AT_FRONT_END, CallLimits
from router.contracts.hook_calls import HookStub
from router.contracts.payload import Payload
from router.contracts.start_options import CONTINUE_AFTER
from router.contracts.tool_rounds import AwaitedRounds
from router.domain.hand_offs import (
    DeedKind,
    HandOffEvent,
    HandOffRecord,
    NamedPerson,
    OngoingHandOff,
)
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    ConfirmReply,
    FlowSummary,
    Message,
    Option,
    RecalledCall,
    Reply,
    SpokenLine,
    Turn,
    Usage,
    digest_of,
)
from router.domain.principals import Principal
from router.domain.records import RecordedTurn
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView
from router.routing.front_end_tools import FrontEndTool
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from router.skill.loop import LoopProgress

WORKFLOW = "Conversation"
SUBMIT = "submit"
CANCEL = "cancel_turn"
NEWS = "news"
STATUS = "status"
STATE = "state"
"""The query for all that a conversation knows: for one whose workflow was ended from outside."""
ATTEND = "attend"
FORGET = "forget"
"""The signal by which the owner's deletion reaches the turns that wait or run."""

MAX_OPEN_TURNS = 6
"""Turns of one conversation that wait or run; ten updates in flight are Temporal's limit."""


class HeldTurn(Payload):
    """A message that was taken in: its id, its body's digest and its answer, while that is held."""

    message_id: str
    digest: str
    turn: Turn | None = None


class News(Payload):
    """Something happened to a run without its conversation asking."""

    view: FlowView
    replies: list[Reply]
    at: datetime


class HandOffDeed(Payload):
    """What somebody does with the conversation that was handed over; `word` makes it one."""

    hand_off: str
    kind: DeedKind
    by: NamedPerson
    text: str = ""
    word: str
    any_agent: bool = False
    """True of an operator, who may end what somebody else has."""
    has_key: bool = True
    """False where its sender gave no key: then nothing but its text tells a repeat from a deed."""


class HandOffStanding(Payload):
    """How it stands after that."""

    record: HandOffRecord


class HandOffNews(Payload):
    """What of a hand-off nobody outside its conversation has heard yet, and who is to."""

    record: HandOffRecord
    event: HandOffEvent
    people: tuple[str, ...]
    at: datetime
    message_id: str | None = None
    """The message by whose turn it happened, if it did by one."""


class WaitingCall(Payload):
    """A call that the front end makes for a message, and what came of it once that is `heard`.

    It was asked for by the router, or by the `skill` of this name. Those of one message are waited
    for together, by each of them.
    """

    id: str
    tool: str
    arguments: dict[str, JsonValue] = {}
    message_id: str
    skill: str = ""
    text: str
    """What the message said."""
    heard: bool = False
    result: JsonValue = None
    error: str | None = None

    @property
    def group(self) -> tuple[str, str]:
        """What those have in common that are waited for together."""
        return self.message_id, self.skill


class OpenSkill(Payload):
    """A sub-agent that isn't done: what it goes on with.

    The next message is its answer where it is `asking`, unless a flow takes it. `question` is what
    it asked last, by a `card` where that is its plan; `flow` is the run of the form that it sent
    the employee to. What it asked may come from `inner`, to which it handed a part. One that has
    `answered` is gone on with by who refers to its answer, until they wish for something else.
    """

    task: SkillTask
    memory: AgentMemory
    tools: dict[str, CallLimits] = {}
    question: str = ""
    asking: bool = False
    card: ConfirmReply | None = None
    answered: bool = False
    flow: str = ""
    inner: "OpenSkill | None" = None
    progress: LoopProgress = LoopProgress()
    """How far it is with this message, where it goes on once the front end has called."""

    def having_heard(self, memory: AgentMemory) -> "OpenSkill":
        """With this memory of whoever is at work: the one that a part was handed to, if any."""
        if self.inner is not None:
            return self.replace(inner=self.inner.having_heard(memory))
        return self.replace(memory=memory)

    def at_front_end(self, tools: Sequence[FrontEndTool]) -> "OpenSkill":
        """With these tools of the front end, of those that the skill may use, and no others.

        What the house has of a name stays as it is, whatever the front end calls so.
        """
        house = {name: limits for name, limits in self.tools.items() if limits != AT_FRONT_END}
        may_use = self.task.skill.may_use
        own = [tool for tool in tools if may_use(tool.name) and tool.name not in house]
        return self.replace(
            task=self.task.replace(front_end=own),
            tools={**{tool.name: AT_FRONT_END for tool in own}, **house},
            inner=self.inner.at_front_end(tools) if self.inner else None,
        )

    @property
    def at_work(self) -> "OpenSkill":
        """Whoever asks: this one, or that which a part was handed to."""
        return self.inner.at_work if self.inner else self

    @property
    def plan_shown(self) -> ConfirmReply | None:
        """The plan that the next message may agree to, where there is one."""
        return self.card if self.asking else None

    @property
    def name(self) -> str:
        """The skill's."""
        return self.task.skill.name


class LapsedFlow(Payload):
    """What a run was told that expired without a word: another one can go on from there."""

    run: str
    flow: str
    title: Localised
    slots: dict[str, JsonValue]
    skipped: list[str] = []


class ConversationState(Payload):
    """What a conversation carries across continue-as-new and, as a snapshot, across being closed.

    `taken` are the last few messages with their answers, and `known` the digests of those before
    them by message id, both in order of arrival; `older` says that there were more, which only the
    event log still knows.
    """

    turns: int = 0
    taken: list[HeldTurn] = []
    known: dict[str, str] = {}
    older: bool = False
    active: FlowView | None = None
    paused: list[FlowView] = []
    lapsed: list[LapsedFlow] = []
    """The last few runs that expired without a word, the latest last."""
    heard_at: datetime | None = None
    """When the last message was answered, or a flow last came to ask something by itself."""
    at_work: FlowView | None = None
    """The run that was last said to be still at work, as long as it is."""
    handed_in: list[FlowView] = []
    """The last few runs that wait for approval, the latest last."""
    offered: list[Option] = []
    offered_for: str = ""
    """The words of the message that the options were offered for."""
    waiting: list[WaitingCall] = []
    awaited: list[AwaitedRounds] = []
    """What is gone on from once those calls have their results that the router asked for."""
    front_end: list[FrontEndTool] = []
    """The tools that came with the last message: its front end makes their calls."""
    skill: OpenSkill | None = None
    unheard: list[News] = []
    """News that came in and wasn't passed on yet."""
    shared_slots: dict[str, dict[str, Slot]] = {}
    """While the state is carried: the slots of its runs' flows, by their views' `shared_slots`."""
    news: dict[str, int] = {}
    """The newest event heard of each run that is still going, by run id."""
    history: list[SpokenLine] = []
    """The last things said, as a model is told them."""
    called: list[RecalledCall] = []
    """The calls of the turn that is being answered."""
    gists: list[str] = []
    """What each message wanted, in a short line: of the last few and of some before them."""
    left: dict[str, str] = {}
    """What the files of the last message are called that nothing took, by their ids."""
    model_away: bool = False
    """Whether its person was told that no model answers, and none has answered since."""
    usage: Usage = Usage()
    model: str = ""
    """The model that answered last; empty until one did."""
    locale: Locale | None = None
    """The language that its person wrote last, where that is known."""
    hooks: tuple[HookStub, ...] = ()
    """Those that were to look on at the last message's turn, for one that nobody understands."""
    hand_off: OngoingHandOff | None = None
    """The person who is wanted, or has it; the model hears nothing meanwhile."""
    owed: tuple[HandOffNews, ...] = ()
    """What of hand-offs couldn't be made known, and is tried again."""
    last_hand_off: HandOffRecord | None = None
    last_closing: str = ""
    """The digest of what the last hand-off was closed with; "" if nothing was said."""
    """The one before, as it ended: a deed that is sent again finds what it came to."""


MAX_NAMED_FILES = 40
"""Files that are left out and named; of more than these the number is said."""


class FilesLeftOut(Payload):
    """Files that don't go with a message, since it has as many as it may have: the first names."""

    names: list[str] = []
    count: int = 0

    def plus(self, names: Sequence[str]) -> Self:
        """Return these and the files of those names."""
        every = [*self.names, *names]
        return self.replace(names=every[:MAX_NAMED_FILES], count=self.count + len(names))


class Submission(Payload):
    """A message on its way in; no message of long ago can have had a `fresh` id."""

    message_id: str
    message: Message
    file_names: dict[str, str] = {}
    """What the message's files are called, by their ids."""
    files_left_out: FilesLeftOut = FilesLeftOut()
    brings_left: bool = False
    """Files that nothing took before go along: its front end keeps none beside its input."""
    caller: Principal
    on_busy: str = "queue"
    seconds: float = 60.0
    """How long models may be asked in this turn, all in all."""
    fresh: bool = False
    response_schema: dict[str, JsonValue] | None = None
    """What the answer is to be put into besides: as `router.routing.response_schema` reads it."""
    tools: list[FrontEndTool] | None = None
    """What its front end can be called for from now on; None: as before."""

    @property
    def digest(self) -> str:
        """Sixteen hex digits that differ where what was said does, or what came with it."""
        beside: list[JsonValue] = [self.response_schema] if self.response_schema else []
        if self.tools is not None:
            beside.append([tool.model_dump(mode="json") for tool in self.tools])
        return digest_of([self.message.digest, *beside]) if beside else self.message.digest


class Written(Payload):
    """That the rows are there; or the turns that are on record and unknown to who numbered this."""

    unknown: list[RecordedTurn] = []


class ConversationStart(Payload):
    """The workflow's input. `state` is there when it continues as new."""

    tenant: str
    conversation: str
    owner: str
    locale: Locale
    state: ConversationState | None = None
    continue_after: int = CONTINUE_AFTER
    """Events in a run's history after which it continues as new."""
    accepted: list[Submission] = []
    """What was taken in by the run before and not begun, in order: it comes before all else."""


class PausedFlow(Payload):
    """A flow that waits for the active one to end."""

    id: str
    name: str
    state: str


class ActiveSkill(Payload):
    """The sub-agent that isn't done. The next message is its answer where it is `asking`."""

    name: str
    title: Localised
    asking: bool


class WithPerson(Payload):
    """The person whom a conversation was handed to; `name` is empty while nobody has taken it."""

    hand_off: str
    name: str = ""
    opens_at: datetime | None = None
    """When somebody comes on duty, where nobody is."""


class ConversationStatus(Payload):
    """The answer to the `status` query."""

    running: list[str]
    """Message ids whose turns wait or run."""
    turns: int
    active_flow: FlowSummary | None
    paused_flows: list[PausedFlow]
    pending_confirmation: dict[str, JsonValue] | None
    asked: Reply | None = None
    """The question that is open and has a name: with buttons, to be confirmed, or a form."""
    active_skill: ActiveSkill | None = None
    waiting_calls: dict[str, str] = {}
    """Calls that the front end is yet to answer: which tool each is of, by its id."""
    with_person: WithPerson | None = None
    usage: Usage


def workflow_id(tenant: str, conversation: str) -> str:
    """The Temporal id of a conversation: `conversation/default/c1`."""
    return f"{_PREFIX}{tenant}/{conversation}"


def is_conversation(workflow: str) -> bool:
    """Return whether this is the Temporal id of a conversation."""
    return workflow.startswith(_PREFIX)


_PREFIX = "conversation/"


def update_id(message_id: str, digest: str) -> str:
    """The update id of a turn: a message id with another body is another update.

    With the bare message id Temporal would answer another body with the first result and
    never run the validator, which is where it is refused.
    """
    return f"{message_id}:{digest}"
