"""The skill that a conversation has open: what it continues from, and when it is over."""

from collections.abc import Sequence

from router.contracts.conversation_state import OpenFlows, OpenSkill
from router.contracts.skill_run import SkillOutcome, SkillStart
from router.domain.messages import Route

_REQUESTS = {"flow", "skill", "tool", "cancel"}
"""The kinds of routes by which a person asks for something."""


def keep_open(start: SkillStart, outcome: SkillOutcome) -> OpenSkill:
    """Return what a sub-agent continues from, whether it has answered, asked, or was stopped."""
    known = OpenSkill(
        task=start.task, memory=outcome.memory, tools=start.tools, inner=outcome.inner
    )
    if outcome.ending == "awaits":
        return known.replace(progress=outcome.progress)
    if outcome.ending == "asked":
        return known.replace(question=outcome.text, card=outcome.card, asking=True)
    return known.replace(answered=outcome.ending == "answered")


def put_away(skill: OpenSkill | None) -> OpenSkill | None:
    """Return the skill of a conversation that is resumed another day: it asks nothing then."""
    return skill.replace(asking=False) if skill is not None and skill.asking else skill


def forget_answered(skill: OpenSkill | None, routes: Sequence[Route]) -> OpenSkill | None:
    """Return the skill; `None` if it has answered and a message asked for something else."""
    targets = {route.target for route in routes if route.kind in _REQUESTS}
    if skill is None or not skill.answered or not targets or skill.name in targets:
        return skill
    return None


def name_plan(skill: OpenSkill | None) -> str:
    """Return the name of the question by which a skill shows its plan; "" if none does."""
    card = skill.plan_shown if skill else None
    return card.question or "" if card else ""


def is_form_open(flows: OpenFlows, run: str) -> bool:
    """Return whether that run still asks the employee something, now or after another one."""
    return any(view.id == run for view in (flows.active, *flows.paused) if view is not None)
