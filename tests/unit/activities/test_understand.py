"""What is answered where a message is read, before anything is decided."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from activities.capabilities import Capabilities
from activities.understand import Understander
from router.contracts.activities import Understand, Understood
from router.domain.commands import RunSkill
from router.domain.locale import Localised
from router.domain.messages import Message, Route
from router.domain.principals import Principal
from router.extension import Extension
from router.flow.catalog import Catalog
from router.flow.paused import Situation
from router.skill.skill import Skill, SkillCatalog
from router.tool.registry import Registry
from router.understanding.heard import ParsedMessage
from router.understanding.reader import Reader
from tests.badges import installed

ALICE = Principal(id="alice", name="Alice")
NOW = datetime(2026, 11, 18, 10, tzinfo=UTC)


async def understood(text: str, *, alone: bool = True, skills: Iterable[Skill] = ()) -> Understood:
    offered = Capabilities(Catalog([]), SkillCatalog(skills), Registry())
    understander = Understander(Reader([]), offered, alone=alone)
    message, situation = Message(text=text), Situation(now=NOW, locale="zh", roles=ALICE.roles)
    return await understander.understand(
        Understand(message=message, situation=situation, caller=ALICE)
    )


async def test_a_skill_that_a_policy_of_an_extension_calls_comes_with_its_instructions() -> None:
    about = Localised(zh="门卫", en="Gatekeeper")
    gatekeeper = Skill(name="gatekeeper", title=about, description=about, instructions="Ask why.")

    def call_gatekeeper(message: ParsedMessage) -> tuple[Route, RunSkill]:
        route = Route(kind="skill", target="gatekeeper", by="pattern")
        return route, RunSkill(skill="gatekeeper", request=message.text)

    class Gates(Extension):
        name = "gates"

        def policies(self) -> list[Any]:
            return [call_gatekeeper]

    with installed(Gates):
        answer = await understood("开门", skills=[gatekeeper])
    assert answer.skills == {"gatekeeper": gatekeeper}


async def test_without_a_model_a_greeting_is_returned_at_once() -> None:
    answer = await understood("你好")
    assert answer.route is not None
    assert (answer.route.kind, answer.route.by) == ("reply", "fallback")
    assert answer.commands


async def test_what_is_no_greeting_is_left_to_the_deciding() -> None:
    assert (await understood("报销上限是多少")).route is None


async def test_a_model_returns_greetings_itself() -> None:
    assert (await understood("你好", alone=False)).route is None
