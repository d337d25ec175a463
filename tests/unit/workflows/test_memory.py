from datetime import UTC, datetime

from router.contracts.conversation import (
    ActiveSkill,
    ConversationState,
    HeldTurn,
    OpenSkill,
)
from router.contracts.flow import AT_FRONT_END, CallLimits
from router.domain.locale import Localised
from router.domain.messages import FlowStatus, Route, TextReply, Turn
from router.flow.view import FlowView
from router.routing.front_end_tools import FrontEndTool
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from router.skill.skill import Skill
from tests.table import each_row
from workflows import carrying, memory

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


@each_row("asking", [True, False])
def test_a_skill_is_told_with_whether_it_waits_for_an_answer(asking: bool) -> None:
    assert memory.status(ConversationState(), running=[]).active_skill is None
    title = Localised(zh="顾问", en="Adviser")
    skill = Skill(name="adviser", title=title, description=title, instructions="Advise.")
    task = SkillTask(skill=skill, request="?", history=[], now=datetime(2026, 11, 22, tzinfo=UTC))
    state = ConversationState(skill=OpenSkill(task=task, memory=AgentMemory(), asking=asking))
    told = memory.status(state, running=[]).active_skill
    assert told == ActiveSkill(name="adviser", title=title, asking=asking)


def told(number: int) -> HeldTurn:
    turn = Turn(message_id=f"m{number}", turn=number, route=REPLY, replies=[TextReply(text="好的")])
    return HeldTurn(message_id=f"m{number}", digest=f"{number:016x}", turn=turn)


def after(turns: int) -> ConversationState:
    state = ConversationState()
    for number in range(turns):
        state = memory.with_turn(state, told(number))
    return state


def test_the_last_few_answers_are_held_and_of_two_hundred_messages_what_they_were() -> None:
    state = after(500)
    held = {n for n in range(500) if memory.held(state, f"m{n}")}
    known = {n for n in range(500) if memory.digest_of(state, f"m{n}") == f"{n:016x}"}
    assert held == set(range(500 - memory.ANSWERS, 500))
    assert known == set(range(500 - memory.IDS, 500))
    assert (state.turns, state.older) == (500, True)


@each_row("turns", [0, 1, 8, 9, 199, 200, 201])
def test_what_is_carried_into_a_new_run_knows_the_same_messages(turns: int) -> None:
    state = after(turns)
    carried = ConversationState.model_validate_json(
        carrying.fit_state(state).state.model_dump_json()
    )
    assert carried == state
    assert carried.older == (turns > memory.IDS)
    assert len(carried.taken) + len(carried.known) == min(turns, memory.IDS)
    further = memory.with_turn(carried, told(turns))
    assert memory.digest_of(further, f"m{turns}") == f"{turns:016x}"


def test_what_is_carried_is_as_small_after_many_turns_as_after_some() -> None:
    some, many = (len(after(turns).model_dump_json()) for turns in (200, 2_000))
    assert many < some + 2_000
    assert many < 20_000


@each_row("client", [False, True], ids=["called here", "called at the front end"])
def test_a_tool_of_the_house_keeps_its_limits_however_often_the_front_end_brings_its_name(
    client: bool,
) -> None:
    title = Localised(zh="顾问", en="Adviser")
    skill = Skill(name="adviser", title=title, description=title, instructions="Advise.")
    task = SkillTask(skill=skill, request="?", now=datetime(2026, 11, 22, tzinfo=UTC))
    house = CallLimits(client=client, title=Localised(zh="天气", en="Weather"))
    begun = OpenSkill(task=task, memory=AgentMemory(), tools={"get_sky": house})
    brought = [FrontEndTool(name=name, description="Mine.") for name in ("get_sky", "show_map")]
    once = begun.at_front_end(brought)
    for each in (once, once.at_front_end(brought)):
        assert each.tools == {"get_sky": house, "show_map": AT_FRONT_END}
        assert [tool.name for tool in each.task.front_end] == ["show_map"]
    assert once.at_front_end([]).tools == {"get_sky": house}


def test_news_from_before_an_answer_of_the_run_change_nothing() -> None:
    def view(events: int, status: FlowStatus) -> FlowView:
        about = {"title": Localised(zh="请假", en="Leave"), "version": 1, "state": "details"}
        return FlowView.model_validate(
            {"id": "r1", "flow": "leave", "question": "", "status": status, "events": events}
            | about
        )

    asked, answered = view(4, "collecting"), view(7, "waiting_approval")
    state = memory.with_news(ConversationState(), asked)

    state = memory.answered(memory.having_heard(state, answered), answered)
    late = memory.with_news(state, view(6, "collecting"))
    newer = memory.with_news(state, view(8, "completed"))

    assert late == state
    assert ([run.id for run in late.handed_in], late.active) == (["r1"], None)
    assert newer.handed_in == []
