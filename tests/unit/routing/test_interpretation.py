from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.domain.commands import (
    CallTool,
    CancelFlow,
    Clarify,
    FillSlots,
    HandOff,
    ReplyText,
    StartFlow,
)
from router.routing.interpretation import interpret
from tests.unit.routing.samples import ACTIVE, called, offer


def test_a_tool_is_called_with_arguments_that_fit() -> None:
    read = interpret(called(("get_balance", {"kind": "annual"})), offer())
    assert read.commands == [CallTool(id="c0", tool="get_balance", arguments={"kind": "annual"})]
    assert read.is_sound


def test_arguments_that_the_tool_does_not_have_are_dropped() -> None:
    read = interpret(called(("get_balance", {"kind": "sick", "user": "bob"})), offer())
    assert read.commands == [CallTool(id="c0", tool="get_balance", arguments={"kind": "sick"})]


def test_a_flow_starts_with_the_slots_that_it_has_and_that_were_given() -> None:
    slots = {"kind": "annual", "start": None, "end": "", "salary": 5}
    read = interpret(called(("dispatch_to_flow", {"flow_name": "leave", "slots": slots})), offer())
    assert read.commands == [StartFlow(flow="leave", slots={"kind": "annual"})]


def test_a_flow_needs_no_slots() -> None:
    read = interpret(called(("dispatch_to_flow", {"flow_name": "leave"})), offer())
    assert read.commands == [StartFlow(flow="leave")]


def test_plain_content_is_a_reply() -> None:
    assert interpret(called(text=" 你好！ "), offer()).commands == [ReplyText(text="你好！")]


def test_a_refusal_is_said() -> None:
    read = interpret(called(refusal="I can't help with that."), offer())
    assert read.commands == [ReplyText(text="I can't help with that.")]


def test_a_question_is_dropped_beside_a_deed() -> None:
    read = interpret(
        called(
            ("ask_clarification", {"text": "which?", "options": ["a", "b"]}),
            ("get_balance", {"kind": "annual"}),
        ),
        offer(),
    )
    assert [type(c) for c in read.commands] == [CallTool]


def test_a_question_has_distinct_options() -> None:
    options: list[Any] = ["a", "a", " ", 5, "b"]
    read = interpret(called(("ask_clarification", {"text": "which?", "options": options})), offer())
    (question,) = read.commands
    assert isinstance(question, Clarify)
    assert [o.label for o in question.options] == ["a", "b"]


def test_the_active_flow_is_filled_and_cancelled_once_at_most() -> None:
    fill = ("fill_slots", {"slots": {"start": "2026-12-01", "salary": 1}})
    read = interpret(called(fill, fill, ("cancel_flow", {}), ("cancel_flow", {})), offer(ACTIVE))
    assert read.commands == [FillSlots(slots={"start": "2026-12-01"}), CancelFlow()]


def test_a_flow_starts_once_however_often_a_model_that_runs_away_starts_it() -> None:
    starts = [("dispatch_to_flow", {"flow_name": "leave", "slots": {"kind": k}}) for k in "abc"]
    read = interpret(called(*starts), offer())
    assert read.commands == [StartFlow(flow="leave", slots={"kind": "a"})]


def test_giving_up_says_why() -> None:
    read = interpret(called(("hand_off", {"reason": "no such thing here"})), offer())
    assert read.commands == [HandOff(reason="no such thing here")]


def test_searching_is_allowed_once() -> None:
    search = called(("find_capabilities", {"query": "badge"}))
    assert interpret(search, offer()).search == "badge"
    assert interpret(search, offer(may_search=False)).problems


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("delete_everything", {}),
        ("get_balance", {}),
        ("get_balance", {"kind": "lunar"}),
        ("get_balance", {"kind": "annual", "year": 3}),
        ("dispatch_to_flow", {}),
        ("dispatch_to_flow", {"flow_name": ["leave"]}),
        ("dispatch_to_flow", {"flow_name": "world_peace"}),
        ("dispatch_to_flow", {"flow_name": "leave", "slots": "annual"}),
        ("fill_slots", {"slots": {"reason": "x"}}),
        ("cancel_flow", {}),
        ("respond_message", {}),
        ("respond_message", {"text": " "}),
        ("respond_message", {"text": 5}),
        ("hand_off", {"reason": None}),
        ("ask_clarification", {"options": ["a"]}),
        ("find_capabilities", {"query": ""}),
    ],
)
def test_a_call_that_makes_no_sense_is_a_problem_and_no_command(
    name: str, arguments: dict[str, Any]
) -> None:
    read = interpret(called((name, arguments)), offer())
    assert read.commands == []
    assert len(read.problems) == 1
    assert read.problems[0].startswith(f"{name}: ")


def test_silence_is_a_problem() -> None:
    assert interpret(called(), offer()).problems


JSON = st.sampled_from(
    [None, True, 0, -1.5, "", " ", "annual", "leave", "\x00", [], ["a", 1], {}, {"start": "x"}]
) | st.text(max_size=10)
NAMES = st.sampled_from(
    [
        *("get_balance", "dispatch_to_flow", "fill_slots", "cancel_flow", "respond_message"),
        *("ask_clarification", "hand_off", "find_capabilities", "x"),
    ]
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["kind", "flow_name", "slots", "text", "options", "query"]), JSON, max_size=3
)


@given(calls=st.lists(st.tuples(NAMES, ARGUMENTS), max_size=3))
def test_whatever_a_model_says_is_read(calls: list[tuple[str, dict[str, Any]]]) -> None:
    read = interpret(called(*calls), offer(ACTIVE))
    assert read.commands or read.problems or read.search
    assert all(c.tool == "get_balance" for c in read.commands if isinstance(c, CallTool))
    assert all(c.flow in ("leave", "claim") for c in read.commands if isinstance(c, StartFlow))
