"""What a conversation carries fits, whatever has grown in it, and nothing is gone unsaid."""

from datetime import UTC, datetime
from typing import Any

from router.contracts.conversation import (
    ConversationState,
    HeldTurn,
    LapsedFlow,
    News,
    OpenSkill,
    WaitingCall,
)
from router.contracts.limits import MAX_CARRIED_BYTES
from router.domain.locale import Localised
from router.domain.messages import (
    Option,
    RecalledCall,
    Route,
    SpokenLine,
    TextReply,
    Turn,
)
from router.domain.sizes import measure_bytes
from router.flow.slot_types.slot import Slot
from router.flow.view import FlowView
from router.routing.front_end_tools import FrontEndTool
from router.routing.skill_memory import AgentMemory
from router.routing.skill_step import SkillTask
from router.skill.skill import Skill
from tests.table import each_row
from workflows import carrying, open_requests
from workflows.carrying import fit_state, restore_slots, share_slots
from workflows.open_requests import MAX_PAUSED, find_surplus, without_surplus

LIMIT = 2 * 1024 * 1024
"""Bytes of a payload that Temporal refuses."""
NOW = datetime(2026, 11, 28, tzinfo=UTC)
LEAVE = Localised(zh="请假", en="Leave")
HUGE = "长" * 580_000
SLOTS = {f"s{n}": Slot(type="text", ask=Localised(zh="什么？" * 9, en="What?")) for n in range(60)}


def view(number: int = 0, **more: Any) -> FlowView:
    about = {"flow": "leave", "title": LEAVE, "version": 1, "status": "collecting"}
    asked = {"state": "details", "question": "details:1:start", "fillable": SLOTS}
    return FlowView.model_validate({"id": f"r{number}", **about, **asked, **more})


def news(number: int) -> News:
    return News(view=view(number), replies=[TextReply(text="长" * 30_000)], at=NOW)


def huge_turn() -> HeldTurn:
    turn = Turn(
        message_id="m1",
        turn=1,
        route=Route(kind="reply", by="llm"),
        replies=[TextReply(text=HUGE)],
    )
    return HeldTurn(message_id="m1", digest="0" * 16, turn=turn)


def huge_skill() -> OpenSkill:
    about = Skill(name="adviser", title=LEAVE, description=LEAVE, instructions=HUGE)
    return OpenSkill(task=SkillTask(skill=about, request="?", now=NOW), memory=AgentMemory())


HUGE_VIEW = view(slots={"reason": HUGE})
LAPSED = LapsedFlow(run="r1", flow="leave", title=LEAVE, slots={"reason": HUGE})
WAITING = WaitingCall(id="c", tool="t", arguments={"a": HUGE}, message_id="m", text="?")
CALL = RecalledCall(id="c1", name="find", arguments={}, result=HUGE)


@each_row(
    ("field", "value", "said"),
    [
        ("taken", [huge_turn()], None),
        ("lapsed", [LAPSED], "to keep what you had given for “Leave”"),
        ("skill", huge_skill(), "for “Leave” to go on from where it was"),
        ("history", [SpokenLine(role="user", text=HUGE)], "I no longer remember"),
        ("gists", [HUGE], "I no longer remember"),
        ("called", [CALL], None),
        ("left", {"f1": HUGE}, None),
        ("handed_in", [HUGE_VIEW], "it can't be changed from here any more"),
        ("paused", [view(n, slots={"reason": "长" * 3_000}) for n in range(300)], "and 295 more"),
        ("offered", [Option(label=HUGE, value=1)], None),
        ("active", HUGE_VIEW, "to go on with “Leave” here"),
        ("at_work", HUGE_VIEW, "to go on with “Leave” here"),
        ("unheard", [news(n) for n in range(40)], "There is news of “Leave”, “Leave”"),
        ("front_end", [FrontEndTool(name="show", description=HUGE)], None),
        ("waiting", [WAITING], "what your device was asked to do"),
    ],
)
def test_each_part_of_a_conversation_is_carried_in_what_fits(
    field: str, value: Any, said: str | None
) -> None:
    state = ConversationState(turns=7, known={"m0": "0" * 16}, **{field: value})
    carried = fit_state(state)
    sent = ConversationState.model_validate_json(carried.state.model_dump_json())
    assert len(sent.model_dump_json().encode()) <= MAX_CARRIED_BYTES < LIMIT
    assert (sent.turns, sent.known) == (7, {"m0": "0" * 16})
    assert len(carried.said) == (0 if said is None else 1)
    assert all((said or "") in text.en and text.zh for text in carried.said)


def test_all_of_it_at_once_still_fits_and_everything_that_is_gone_is_named() -> None:
    state = ConversationState(
        taken=[huge_turn()],
        lapsed=[LAPSED],
        skill=huge_skill(),
        history=[SpokenLine(role="user", text=HUGE)],
        handed_in=[HUGE_VIEW],
        paused=[HUGE_VIEW],
        active=HUGE_VIEW,
        unheard=[news(n) for n in range(40)],
    )
    carried = fit_state(state)
    assert measure_bytes(carried.state) <= MAX_CARRIED_BYTES
    assert len(carried.said) == 7


def test_what_fits_is_carried_whole() -> None:
    state = ConversationState(
        active=view(1), paused=[view(2), view(3)], handed_in=[view(4)], unheard=[news(5)]
    )
    carried = fit_state(state)
    sent = ConversationState.model_validate_json(carried.state.model_dump_json())
    assert restore_slots(sent) == state
    assert carried.said == []


def test_runs_of_one_flow_carry_its_slots_once() -> None:
    one, ten, many = (
        measure_bytes(share_slots(ConversationState(paused=[view(n) for n in range(number)])))
        for number in (1, 10, 200)
    )
    assert (ten - one) / 9 < 500
    assert (many - one) / 199 < 500
    assert measure_bytes(ConversationState(paused=[view()])) > 10_000


def test_slots_that_differ_stay_apart() -> None:
    fewer = dict(list(SLOTS.items())[:30])
    turned = dict(reversed(SLOTS.items()))
    state = ConversationState(
        paused=[view(1), view(2, fillable=fewer), view(3, fillable=turned), view(4, fillable={})]
    )
    restored = restore_slots(share_slots(state))
    assert restored == state
    assert [list(each.fillable) for each in restored.paused] == [
        list(slots) for slots in (SLOTS, fewer, turned, {})
    ]


def test_news_that_would_be_too_many_to_carry_are_heard_first() -> None:
    assert carrying.is_ready([news(n) for n in range(carrying.MAX_UNHEARD)])
    assert not carrying.is_ready([news(n) for n in range(carrying.MAX_UNHEARD + 1)])


@each_row(
    ("number", "size", "closed"),
    [
        (MAX_PAUSED, 10, None),
        (MAX_PAUSED + 1, 10, "r0"),
        (3, 60_000, "r0"),
        (2, 60_000, None),
    ],
)
def test_the_oldest_of_too_many_requests_is_closed(
    number: int, size: int, closed: str | None
) -> None:
    paused = [view(n, slots={"reason": "长" * size}) for n in range(number)]
    surplus = find_surplus(ConversationState(paused=paused))
    assert (surplus.id if surplus else None) == closed


def test_a_request_that_was_just_begun_is_spared() -> None:
    state = ConversationState(paused=[view(n) for n in range(MAX_PAUSED + 1)])
    surplus = find_surplus(state, {"r0", "r1"})
    assert surplus is not None
    assert surplus.id == "r2"
    assert find_surplus(state, {one.id for one in state.paused}) is None


@each_row(
    ("after", "lapsed", "said"),
    [
        (view(status="expired", kept={"s1": "x"}), ["r0"], "What you gave is kept"),
        (view(status="expired", kept={"s1": HUGE}), [], "Please start it again"),
        (view(status="completed"), [], None),
        (None, [], None),
    ],
)
def test_a_closed_request_is_named_and_what_it_was_told_is_kept_if_it_can_be(
    after: FlowView | None, lapsed: list[str], said: str | None
) -> None:
    state = ConversationState(paused=[view(0), view(1)])
    left = without_surplus(state, view(0), after)
    notice = open_requests.say_closed(view(0), after)
    words = notice.en if notice else None
    assert [one.id for one in left.paused] == ["r1"]
    assert [one.run for one in left.lapsed] == lapsed
    assert (said in words) if said and words else (said is words is None)
