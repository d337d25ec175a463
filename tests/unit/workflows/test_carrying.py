"""What a conversation carries fits, whatever has grown in it, and nothing is gone unsaid."""

from datetime import UTC, datetime
from typing import Any

from router.contracts.conversation_state import (
    MAX_UNHEARD,
    ConversationState,
    FrontEnd,
    HandOffNews,
    HeldTurn,
    KnownHandOffs,
    LapsedFlow,
    News,
    OpenFlows,
    OpenSkill,
    Transcript,
    WaitingCall,
)
from router.contracts.limits import MAX_CARRIED_BYTES
from router.domain.hand_offs import HandOffRecord
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
from workflows import carrying
from workflows.carrying import MAX_PART_BYTES, Part, fit_state

LIMIT = 2 * 1024 * 1024
"""Bytes of a payload that Temporal refuses."""
NOW = datetime(2026, 11, 28, tzinfo=UTC)
LEAVE = Localised(zh="请假", en="Leave")
HUGE = "长" * 580_000
SLOTS = {f"s{n}": Slot(type="text", ask=Localised(zh="什么？" * 9, en="What?")) for n in range(60)}


def view(number: int = 0, **more: Any) -> FlowView:
    about = {"flow": "leave", "title": LEAVE, "version": 1, "status": "collecting"}
    asked = {"state": "details", "question": "details:1:start", "slot_set": "leave"}
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


def skill_of(instructions: str, request: str = "?") -> OpenSkill:
    about = Skill(name="adviser", title=LEAVE, description=LEAVE, instructions=instructions)
    return OpenSkill(task=SkillTask(skill=about, request=request, now=NOW), memory=AgentMemory())


KNOWN = {"turn_count": 7, "earlier_digests": {"m0": "0" * 16}}
TRANSCRIPT = Transcript.model_validate(KNOWN)
UNPUBLISHED = HandOffNews(
    record=HandOffRecord(
        id="h1",
        tenant="default",
        conversation="c1",
        requester="alice",
        cause="asked",
        reason=HUGE,
        state="open",
        agent=None,
        since=NOW,
        waiting_since=None,
        due=None,
        version=1,
    ),
    event="said",
    people=(),
    at=NOW,
)
PAUSED = [view(n, slots={"reason": "长" * 3_000}) for n in range(300)]
OTHER_SLOTS = {"day": Slot(type="date")}
HUGE_VIEW = view(slots={"reason": HUGE})
LAPSED = LapsedFlow(run="r1", flow="leave", title=LEAVE, slots={"reason": HUGE})
WAITING = WaitingCall(id="c", tool="t", arguments={"a": HUGE}, message_id="m", text="?")
CALL = RecalledCall(id="c1", name="find", arguments={}, result=HUGE)


@each_row(
    ("part", "field", "value", "said"),
    [
        ("transcript", "last_turns", [huge_turn()], None),
        ("transcript", "history", [SpokenLine(role="user", text=HUGE)], "I no longer remember"),
        ("transcript", "gists", [HUGE], "I no longer remember"),
        ("transcript", "turn_calls", [CALL], None),
        ("flows", "lapsed", [LAPSED], "to keep what you had given for “Leave”"),
        ("flows", "handed_in", [HUGE_VIEW], "it can't be changed from here any more"),
        ("flows", "paused", PAUSED, "and 295 more"),
        ("flows", "offered", [Option(label=HUGE, value=1)], None),
        ("flows", "active", HUGE_VIEW, "to go on with “Leave” here"),
        ("flows", "at_work", HUGE_VIEW, "to go on with “Leave” here"),
        ("front_end", "tools", [FrontEndTool(name="show", description=HUGE)], None),
        ("front_end", "calls", [WAITING], "what your device was asked to do"),
        ("front_end", "left_files", {"f1": HUGE}, None),
        ("hand_offs", "unpublished", (UNPUBLISHED,), None),
    ],
)
def test_each_part_of_a_conversation_is_carried_in_what_fits(
    part: str, field: str, value: Any, said: str | None
) -> None:
    parts = {"transcript": KNOWN, part: {**(KNOWN if part == "transcript" else {}), field: value}}
    carried = fit_state(ConversationState.model_validate(parts))
    assert_fits(carried.state)
    assert len(carried.said) == (0 if said is None else 1)
    assert all((said or "") in text.en and text.zh for text in carried.said)


def assert_fits(state: ConversationState) -> None:
    sent = ConversationState.model_validate_json(state.model_dump_json())
    assert len(sent.model_dump_json().encode()) <= MAX_CARRIED_BYTES < LIMIT
    for part, most in MAX_PART_BYTES.items():
        assert measure_bytes(getattr(sent, part)) <= most, part
    known = sent.transcript
    assert (known.turn_count, known.earlier_digests) == (7, {"m0": "0" * 16})


def test_a_skill_and_news_that_are_too_large_are_named() -> None:
    state = ConversationState(transcript=TRANSCRIPT, skill=skill_of(HUGE))
    carried = fit_state(state, [news(n) for n in range(40)])
    assert_fits(carried.state)
    words = [said.en for said in carried.said]
    assert "for “Leave” to go on from where it was" in words[0]
    assert "There is news of “Leave”, “Leave”" in words[1]


def test_all_of_it_at_once_still_fits_and_everything_that_is_gone_is_named() -> None:
    state = ConversationState(
        transcript=TRANSCRIPT.replace(
            last_turns=[huge_turn()], history=[SpokenLine(role="user", text=HUGE)]
        ),
        flows=OpenFlows(
            lapsed=[LAPSED], handed_in=[HUGE_VIEW], paused=[HUGE_VIEW], active=HUGE_VIEW
        ),
        skill=skill_of(HUGE),
    )
    carried = fit_state(state, [news(n) for n in range(40)])
    assert_fits(carried.state)
    assert len(carried.said) == 7


@each_row("part", MAX_PART_BYTES)
def test_a_part_gives_way_that_is_too_large_though_the_whole_would_fit(part: Part) -> None:
    text = "x" * (MAX_PART_BYTES[part] + 1_000)
    parts = {
        "transcript": TRANSCRIPT.replace(gists=[text]),
        "flows": OpenFlows(active=view(slots={"reason": text})),
        "skill": skill_of("Advise.", text),
        "front_end": FrontEnd(left_files={"f1": text}),
        "hand_offs": KnownHandOffs(
            unpublished=(UNPUBLISHED.replace(record=UNPUBLISHED.record.replace(reason=text)),)
        ),
    }
    state = ConversationState.model_validate({"transcript": TRANSCRIPT, part: parts[part]})
    assert measure_bytes(state) <= MAX_CARRIED_BYTES
    assert_fits(fit_state(state).state)


def test_parts_that_fit_each_give_way_where_little_room_is_left_for_all() -> None:
    history = [SpokenLine(role="user", text="x" * 50_000)]
    state = ConversationState(
        transcript=TRANSCRIPT.replace(history=history), flows=OpenFlows(active=view(1))
    )
    carried = fit_state(state, max_bytes=20_000)
    assert carried.state.transcript.history == []
    assert carried.state.flows == state.flows
    assert measure_bytes(carried.state) <= 20_000


def test_what_fits_is_carried_whole() -> None:
    flows = OpenFlows(
        active=view(1),
        paused=[view(2), view(3)],
        handed_in=[view(4)],
        slot_sets={"leave": SLOTS},
    )
    heard = news(5).replace(fillable=OTHER_SLOTS, view=view(5, slot_set="other"))
    carried = fit_state(ConversationState(flows=flows), [heard])
    sent = ConversationState.model_validate_json(carried.state.model_dump_json())
    unheard = [heard.replace(fillable={})]
    known = {"leave": SLOTS, "other": OTHER_SLOTS}
    assert sent.flows == flows.replace(unheard_news=unheard, slot_sets=known)
    assert carried.said == []


def test_runs_of_one_flow_carry_its_slots_once() -> None:
    def carried(number: int) -> int:
        paused = [view(n) for n in range(number)]
        flows = OpenFlows(paused=paused, slot_sets={"leave": SLOTS})
        return measure_bytes(fit_state(ConversationState(flows=flows)).state)

    one, ten, many = carried(1), carried(10), carried(200)
    assert (ten - one) / 9 < 500
    assert (many - one) / 199 < 500
    assert one > 10_000


def test_news_that_would_be_too_many_to_carry_are_heard_first() -> None:
    assert carrying.is_ready([news(n) for n in range(MAX_UNHEARD)])
    assert not carrying.is_ready([news(n) for n in range(MAX_UNHEARD + 1)])
