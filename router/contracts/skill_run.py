"""The skill workflow's own interface: what starts a sub-agent, and what it comes back with."""

from datetime import datetime
from typing import Literal

from router.contracts.activities import Account
from router.contracts.conversation_state import OpenSkill
from router.contracts.flow import CallLimits
from router.contracts.payload import Payload
from router.contracts.tool_rounds import ToolFinding
from router.domain.commands import StartFlow
from router.domain.locale import Locale
from router.domain.messages import ConfirmReply, ToolCallView, Usage
from router.routing.skill_context import STEP_TOKENS
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from router.skill.loop import LoopProgress, Stop

WORKFLOW = "Skill"
STEER = "steer"

Ending = Literal["answered", "asked", "awaits", "left", "handed_back", "cancelled"] | Stop
"""With an answer; with a question to the employee; with calls that the front end makes; for a form
that the employee is to fill in; since the message was none for it; stopped by the employee; or at a
limit."""


class Steer(Payload):
    """Something that the employee said while the sub-agent was at work."""

    message_id: str
    text: str


class SkillStart(Payload):
    """The workflow's input: the skill whole, and how the tools that it may call may be called.

    `context` is how many tokens a step may be sent. The run goes on in a new one after so many
    steps of `continue_after`, or when its history has become long. `memory` is what it goes on
    with, or the skill that it has handed a part to, `inner`; `progress` is how far it was, of which
    `accounted` stands in turns before. What follows is there where the run itself goes on in a new
    one.
    """

    task: SkillTask
    account: Account
    locale: Locale
    tools: dict[str, CallLimits] = {}
    context: int = STEP_TOKENS
    continue_after: int | None = None
    memory: AgentMemory = AgentMemory()
    progress: LoopProgress = LoopProgress()
    accounted: Usage = Usage()
    calls: list[ToolCallView] = []
    heard: list[str] = []
    ends: datetime | None = None
    inner: OpenSkill | None = None
    keeps_results: bool = False
    """True if the turn needs what was found, not only how it is shown."""
    results: list[ToolFinding] = []

    def account_after(self, progress: LoopProgress, seconds: float) -> Account:
        """On whose account models are asked once the run is so far, with so much time left."""
        spent = self.account.spent + progress.usage - self.accounted
        return self.account.replace(seconds=seconds, spent=spent)


class SkillOutcome(Payload):
    """What to tell the employee, how the run ended, what it called and what it cost.

    `memory` is what it goes on with, its answer included; a `card` is the question as it is shown;
    `flow` is to be started where it left for that; `heard` are the ids of messages that it was
    steered by. `progress` has all that it did for the message, `usage` what of it this run cost.
    """

    text: str
    ending: Ending
    calls: list[ToolCallView] = []
    results: list[ToolFinding] = []
    """What its last calls found; if the start `keeps_results`, as good as whole."""
    usage: Usage = Usage()
    memory: AgentMemory
    flow: StartFlow | None = None
    card: ConfirmReply | None = None
    inner: OpenSkill | None = None
    progress: LoopProgress = LoopProgress()
    heard: list[str] = []


def workflow_id(skill: str, tenant: str, run: str) -> str:
    """The Temporal id of a run: `skill/policy-advisor/default/7h2k`."""
    return f"skill/{skill}/{tenant}/{run}"
