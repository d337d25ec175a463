"""What a conversation knows: the state that its workflow carries and that is kept when it closes.

It has parts, each of which one module of `workflows/` reads and changes: what was said
(`workflows.transcript`), the runs of flows (`workflows.open_flows`), the open skill
(`workflows.open_skills`), the person's front end (`workflows.front_end_calls`) and the person who
helps (`workflows.hand_offs`). Each list has its bound next to it, and `workflows.carrying` bounds
the bytes of each part and of all of them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import JsonValue

from router.contracts.bounds import KeepNewest, MadeRoomBy
from router.contracts.flow import AT_FRONT_END, CallLimits
from router.contracts.hook_calls import HookStub
from router.contracts.payload import Payload
from router.contracts.tool_rounds import AwaitedRounds
from router.domain.file_types import MOST_FILES
from router.domain.hand_offs import HandOffEvent, HandOffRecord, OngoingHandOff
from router.domain.locale import Locale, Localised
from router.domain.messages import (
    ConfirmReply,
    Option,
    RecalledCall,
    Reply,
    SpokenLine,
    Turn,
    Usage,
)
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView
from router.routing.front_end_tools import MOST_TOOLS, FrontEndTool
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from router.skill.loop import LoopProgress

MAX_HELD_TURNS = 8
"""As many as may be sent again by whoever didn't hear the end of them, and some more: the log has
the others, and each that is held is some kilobytes, in memory and in what is carried."""
MAX_KNOWN_MESSAGES = 200
"""Messages whose digest is known, those included whose turn is held."""
MAX_HISTORY_LINES = 12
"""Of what was said, a model is told the last few lines."""
MAX_GISTS = 30
"""Of what was said before those lines it is told what each message asked for, in a short line."""
MAX_TURN_CALLS = 100
MAX_TURN_HOOKS = 100
MAX_PAUSED = 20
"""Requests that wait in a conversation for another one to end."""
MAX_LAPSED = 3
MAX_HANDED_IN = 4
"""Runs that wait for approval, and that what is said may change."""
MAX_OFFERED = 100
MAX_EVENT_COUNTS = 50
MAX_UNHEARD = 20
"""News of runs that are carried before anybody heard them; others are heard first."""
MAX_SLOT_SETS = MAX_PAUSED + MAX_HANDED_IN + MAX_UNHEARD + 2
"""One for each run that a conversation knows, though runs of one flow have the same."""
MAX_WAITING_CALLS = 16
MAX_UNPUBLISHED = 50
MAX_SKILL_TOOLS = 500


class HeldTurn(Payload):
    """A message that was taken in: its id, its body's digest and its answer, while that is held."""

    message_id: str
    digest: str
    turn: Turn | None = None


class Transcript(Payload):
    """What was said, and by which model."""

    turn_count: int = 0
    last_turns: Annotated[list[HeldTurn], KeepNewest(MAX_HELD_TURNS)] = []
    """The last few messages with their answers, in order of arrival."""
    earlier_digests: Annotated[dict[str, str], KeepNewest(MAX_KNOWN_MESSAGES - MAX_HELD_TURNS)] = {}
    """The digests of the messages before those, by message id, in order of arrival."""
    has_older: bool = False
    """Whether there were more, which only the event log still knows."""
    history: Annotated[list[SpokenLine], KeepNewest(MAX_HISTORY_LINES)] = []
    """The last things said, as a model is told them."""
    turn_calls: Annotated[list[RecalledCall], KeepNewest(MAX_TURN_CALLS)] = []
    """The calls of the turn that is being answered."""
    gists: Annotated[list[str], KeepNewest(MAX_GISTS + MAX_HISTORY_LINES // 2)] = []
    """What each message asked for, in a short line: of the last few and of some before them."""
    usage: Usage = Usage()
    model: str = ""
    """The model that answered last; empty until one did."""
    is_model_away: bool = False
    """Whether the person was told that no model answers, and none has answered since."""
    locale: Locale | None = None
    """The language that the person wrote last, if that is known."""
    last_word_at: datetime | None = None
    """When the last message was answered, or a flow last asked something by itself."""
    hooks: Annotated[tuple[HookStub, ...], KeepNewest(MAX_TURN_HOOKS)] = ()
    """The hooks of the last message's turn, for a message that nobody understands."""

    @property
    def next_turn(self) -> int:
        """The number of the turn that is being answered, or comes next."""
        return self.turn_count + 1


class News(Payload):
    """Something happened to a run without its conversation asking."""

    view: FlowView
    replies: list[Reply]
    at: datetime
    fillable: dict[str, Slot] = {}
    """The slots that a person may fill, until the conversation has them under `view.slot_set`."""


class LapsedFlow(Payload):
    """What a run was told that expired without a word: another one can go on from there."""

    run: str
    flow: str
    title: Localised
    slots: dict[str, JsonValue]
    skipped: list[str] = []


class OpenFlows(Payload):
    """The runs of flows that a conversation talks about, and the options that it offered."""

    active: FlowView | None = None
    paused: Annotated[list[FlowView], MadeRoomBy(MAX_PAUSED, "find_surplus")] = []
    """The runs that wait for `active` to end, the next one last."""
    lapsed: Annotated[list[LapsedFlow], KeepNewest(MAX_LAPSED)] = []
    """The last few runs that expired without a word, the latest last."""
    at_work: FlowView | None = None
    """The run that was last said to be still at work, as long as it is."""
    handed_in: Annotated[list[FlowView], KeepNewest(MAX_HANDED_IN)] = []
    """The last few runs that wait for approval, the latest last."""
    offered: Annotated[list[Option], KeepNewest(MAX_OFFERED)] = []
    offered_for: str = ""
    """The words of the message that the options were offered for."""
    event_counts: Annotated[dict[str, int], KeepNewest(MAX_EVENT_COUNTS)] = {}
    """The newest event known of each run that is still going, by run id."""
    unheard_news: Annotated[list[News], MadeRoomBy(MAX_UNHEARD, "is_ready")] = []
    """While the state is carried: news that came in and weren't passed on yet."""
    slot_sets: Annotated[
        dict[str, dict[str, Slot]], MadeRoomBy(MAX_SLOT_SETS, "drop_unused_slots")
    ] = {}
    """The slots that a person may fill, once for all runs that have the same `slot_set`."""

    @property
    def asked(self) -> str:
        """The question that the active run asks; "" if none does."""
        return self.active.question if self.active else ""

    @property
    def reads_files(self) -> bool:
        """Whether a run waits for files to be read."""
        return self.at_work is not None and bool(self.at_work.reading)


class OpenSkill(Payload):
    """A sub-agent that isn't done: what it goes on with.

    The next message is its answer where it is `asking`, unless a flow takes it. `question` is what
    it asked last, by a `card` where that is its plan; `flow` is the run of the form that it sent
    the employee to. What it asked may come from `inner`, to which it handed a part. One that has
    `answered` is gone on with by who refers to its answer, until they wish for something else.
    """

    task: SkillTask
    memory: AgentMemory
    tools: Annotated[dict[str, CallLimits], KeepNewest(MAX_SKILL_TOOLS)] = {}
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


class FrontEnd(Payload):
    """What the person's front end can do, is asked to do, and has sent along."""

    tools: Annotated[list[FrontEndTool], KeepNewest(MOST_TOOLS)] = []
    """The tools that came with the last message: its front end makes their calls."""
    calls: Annotated[list[WaitingCall], MadeRoomBy(MAX_WAITING_CALLS, "add_calls")] = []
    """The calls that the front end is to make, or has made while others are still out."""
    rounds: Annotated[list[AwaitedRounds], MadeRoomBy(MAX_WAITING_CALLS, "add_calls")] = []
    """What the router continues from once those calls that it asked for have their results."""
    left_files: Annotated[dict[str, str], KeepNewest(MOST_FILES)] = {}
    """The names of the last message's files that nothing took, by their ids."""


class HandOffNews(Payload):
    """What of a hand-off nobody outside its conversation has heard yet, and who is to."""

    record: HandOffRecord
    event: HandOffEvent
    people: tuple[str, ...]
    at: datetime
    message_id: str | None = None
    """The message by whose turn it happened, if it did by one."""


class KnownHandOffs(Payload):
    """The hand-offs that a conversation knows: the one that is open, and the one before."""

    ongoing: OngoingHandOff | None = None
    """The person who is wanted, or has it; the model hears nothing meanwhile."""
    unpublished: Annotated[tuple[HandOffNews, ...], KeepNewest(MAX_UNPUBLISHED)] = ()
    """What of hand-offs couldn't be made known, and is tried again."""
    last_record: HandOffRecord | None = None
    """The hand-off before, as it ended: a deed that is sent again finds its result."""
    last_closing: str = ""
    """The digest of what the last hand-off was closed with; "" if nothing was said."""


class ConversationState(Payload):
    """What a conversation carries into its next run and, as a snapshot, across being closed."""

    transcript: Transcript = Transcript()
    flows: OpenFlows = OpenFlows()
    skill: OpenSkill | None = None
    front_end: FrontEnd = FrontEnd()
    hand_offs: KnownHandOffs = KnownHandOffs()
