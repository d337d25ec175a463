"""What is answered where a message is read, before anything is decided."""

from datetime import UTC, datetime

from activities.capabilities import Capabilities
from activities.understand import Understander
from router.contracts.activities import Understand, Understood
from router.domain.messages import Message
from router.domain.principals import Principal
from router.flow.catalog import Catalog
from router.flow.paused import Situation
from router.skill.skill import SkillCatalog
from router.tool.registry import Registry
from router.understanding.reader import Reader

ALICE = Principal(id="alice", name="Alice")
NOW = datetime(2026, 11, 18, 10, tzinfo=UTC)


async def understood(text: str, *, alone: bool = True) -> Understood:
    offered = Capabilities(Catalog([]), SkillCatalog([]), Registry())
    understander = Understander(Reader([]), offered, alone=alone)
    message, situation = Message(text=text), Situation(now=NOW, locale="zh", roles=ALICE.roles)
    return await understander.understand(
        Understand(message=message, situation=situation, caller=ALICE)
    )


async def test_without_a_model_a_greeting_is_returned_at_once() -> None:
    answer = await understood("你好")
    assert answer.route is not None
    assert (answer.route.kind, answer.route.by) == ("reply", "fallback")
    assert answer.commands


async def test_what_is_no_greeting_is_left_to_the_deciding() -> None:
    assert (await understood("报销上限是多少")).route is None


async def test_a_model_returns_greetings_itself() -> None:
    assert (await understood("你好", alone=False)).route is None
