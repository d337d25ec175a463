from datetime import UTC, datetime

import pytest

from router.contracts.conversation import ActiveSkill, ConversationState, OpenSkill
from router.domain.locale import Localised
from router.domain.messages import Route
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from router.skill.skill import Skill
from workflows import memory

FLOW = Route(kind="flow", target="leave_request", by="pattern")
REPLY = Route(kind="reply", by="llm")


def talked(*said: str, route: Route = REPLY) -> ConversationState:
    state = ConversationState()
    for text in said:
        state = memory.remembering(state, text, f"answer to {text}", [route])
    return state


def test_the_last_few_exchanges_are_kept_whole_and_those_before_in_short_lines() -> None:
    state = talked(*(f"m{n}" for n in range(20)), route=FLOW)
    whole = [line.text for line in state.history if line.role == "user"]
    assert whole == [f"m{n}" for n in range(14, 20)]
    assert memory.earlier(state) == [f"m{n} ▸ flow leave_request" for n in range(14)]
    for few in (talked("one", "two"), ConversationState()):
        assert memory.earlier(few) == []


def test_however_long_a_conversation_is_the_memory_is_bounded() -> None:
    state = talked(*("x " * 5000 for _ in range(300)))
    assert len(state.history) == memory.LINES
    assert len(memory.earlier(state)) == memory.GISTS
    assert len(state.model_dump_json()) < 20_000


def test_what_is_cut_again_tells_the_length_that_it_had_at_first() -> None:
    once = memory._cut("x" * 50_000, 800)
    assert memory._cut(once, 200) == f"{'x' * 200}… (50000 characters in all)"
    assert memory._cut(once, 800) == once


@pytest.mark.parametrize("asking", [True, False])
def test_a_skill_is_told_with_whether_it_waits_for_an_answer(asking: bool) -> None:
    assert memory.status(ConversationState(), running=[]).active_skill is None
    title = Localised(zh="顾问", en="Adviser")
    skill = Skill(name="adviser", title=title, description=title, instructions="Advise.")
    task = SkillTask(skill=skill, request="?", history=[], now=datetime(2026, 11, 22, tzinfo=UTC))
    state = ConversationState(skill=OpenSkill(task=task, memory=AgentMemory(), asking=asking))
    told = memory.status(state, running=[]).active_skill
    assert told == ActiveSkill(name="adviser", title=title, asking=asking)
