"""The skill that a conversation has open."""

from datetime import UTC, datetime

from router.contracts.conversation import ActiveSkill
from router.contracts.conversation_state import ConversationState, OpenFlows, OpenSkill
from router.contracts.flow import AT_FRONT_END, CallLimits
from router.domain.locale import Localised
from router.domain.messages import Route, RouteKind
from router.routing.front_end_tools import FrontEndTool
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from router.skill.skill import Skill
from tests.table import each_row
from workflows import open_skills, standing

TITLE = Localised(zh="顾问", en="Adviser")
SKILL = Skill(name="adviser", title=TITLE, description=TITLE, instructions="Advise.")
TASK = SkillTask(skill=SKILL, request="?", now=datetime(2026, 11, 22, tzinfo=UTC))
OPEN = OpenSkill(task=TASK, memory=AgentMemory())


@each_row("asking", [True, False])
def test_a_skill_is_shown_with_whether_it_waits_for_an_answer(asking: bool) -> None:
    assert standing.describe_status(ConversationState(), running=[]).active_skill is None
    state = ConversationState(skill=OPEN.replace(asking=asking))

    shown = standing.describe_status(state, running=[]).active_skill

    assert shown == ActiveSkill(name="adviser", title=TITLE, asking=asking)


@each_row("client", [False, True], ids=["called here", "called at the front end"])
def test_a_tool_of_the_house_keeps_its_limits_however_often_the_front_end_brings_its_name(
    client: bool,
) -> None:
    house = CallLimits(client=client, title=Localised(zh="天气", en="Weather"))
    begun = OPEN.replace(tools={"get_sky": house})
    brought = [FrontEndTool(name=name, description="Mine.") for name in ("get_sky", "show_map")]
    once = begun.at_front_end(brought)
    for each in (once, once.at_front_end(brought)):
        assert each.tools == {"get_sky": house, "show_map": AT_FRONT_END}
        assert [tool.name for tool in each.task.front_end] == ["show_map"]
    assert once.at_front_end([]).tools == {"get_sky": house}


@each_row(
    ("answered", "kind", "target", "kept"),
    [
        (True, "flow", "leave", False),
        (True, "skill", "adviser", True),
        (True, "reply", None, True),
        (False, "flow", "leave", True),
    ],
)
def test_a_skill_that_has_answered_is_over_once_something_else_is_asked_for(
    answered: bool, kind: RouteKind, target: str | None, kept: bool
) -> None:
    skill = OPEN.replace(answered=answered)

    after = open_skills.forget_answered(skill, [Route(kind=kind, target=target, by="llm")])

    assert after == (skill if kept else None)


def test_a_skill_asks_nothing_any_longer_in_a_conversation_that_was_put_away() -> None:
    asking = OPEN.replace(asking=True, question="Which one?")

    away = open_skills.put_away(asking)

    assert away == asking.replace(asking=False)
    assert open_skills.put_away(None) is None


def test_a_form_that_was_never_begun_is_not_open() -> None:
    assert not open_skills.is_form_open(OpenFlows(), "r1")
