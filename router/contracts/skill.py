"""The skill workflow's own interface: what starts a sub-agent, and what it comes back with."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from router.contracts.activities import Account
from router.contracts.flow import CallLimits
from router.deciding.thinking import Task
from router.domain.messages import ToolCallView, Usage
from router.domain.texts import Locale
from router.skill.loop import Stop

WORKFLOW = "Skill"

Ending = Literal["answered", "asked"] | Stop
"""With an answer, with a question to the employee, or at a limit."""


class Payload(BaseModel):
    """Base of what crosses the workflow's border."""

    model_config = ConfigDict(frozen=True)


class SkillStart(Payload):
    """The workflow's input: the skill whole, and how the tools that it may call may be called."""

    task: Task
    account: Account
    locale: Locale
    tools: dict[str, CallLimits] = {}


class SkillOutcome(Payload):
    """What to tell the employee, how the run ended, what it called and what it cost."""

    text: str
    ending: Ending
    calls: list[ToolCallView] = []
    usage: Usage = Usage()


def workflow_id(skill: str, tenant: str, run: str) -> str:
    """The Temporal id of a run.

    >>> workflow_id("policy-advisor", "default", "7h2k")
    'skill/policy-advisor/default/7h2k'
    """
    return f"skill/{skill}/{tenant}/{run}"
