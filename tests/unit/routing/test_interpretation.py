from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from router.domain.commands import (
    CallTool,
    CancelFlow,
    Clarify,
    Command,
    FillSlots,
    HandOff,
    ReplyText,
    StartFlow,
)
from router.llm.types import ChatAnswer
from router.routing.interpretation import interpret
from tests.table import each_row
from tests.unit.routing.samples import ACTIVE, called, offer

BALANCE = ("get_balance", {"kind": "annual"})
LEAVE: dict[str, Any] = {"flow_name": "leave"}
SLOTS = {"kind": "annual", "start": None, "end": "", "salary": 5}
ANNUAL = {"kind": "annual"}
FILL = ("fill_slots", {"slots": {"start": "2026-12-01", "salary": 1}})
STARTS = [("dispatch_to_flow", LEAVE | {"slots": {"kind": kind}}) for kind in "abc"]


@each_row(
    ("answer", "commands"),
    [
        (called(BALANCE), [CallTool(id="c0", tool="get_balance", arguments=ANNUAL)]),
        # Arguments that the tool doesn't have are dropped, and slots that the flow doesn't.
        (
            called(("get_balance", {**ANNUAL, "user": "bob"})),
            [CallTool(id="c0", tool="get_balance", arguments=ANNUAL)],
        ),
        (
            called(("dispatch_to_flow", LEAVE | {"slots": SLOTS})),
            [StartFlow(flow="leave", slots=ANNUAL)],
        ),
        (called(("dispatch_to_flow", LEAVE)), [StartFlow(flow="leave")]),
        # However often a model that runs away starts it.
        (called(*STARTS), [StartFlow(flow="leave", slots={"kind": "a"})]),
        (
            called(FILL, FILL, ("cancel_flow", {}), ("cancel_flow", {})),
            [FillSlots(slots={"start": "2026-12-01"}), CancelFlow()],
        ),
        (called(text=" 你好！ "), [ReplyText(text="你好！")]),
        (called(refusal="I can't help."), [ReplyText(text="I can't help.")]),
        (called(("hand_off", {"reason": "not here"})), [HandOff(reason="not here")]),
    ],
)
def test_an_answer_becomes_what_it_can_mean(answer: ChatAnswer, commands: list[Command]) -> None:
    read = interpret(answer, offer(ACTIVE))
    assert read.commands == commands
    assert read.is_sound


def test_a_question_has_distinct_options_and_is_dropped_beside_a_deed() -> None:
    options: list[Any] = ["a", "a", " ", 5, "b"]
    asks = ("ask_clarification", {"text": "which?", "options": options})
    (question,) = interpret(called(asks), offer()).commands
    assert isinstance(question, Clarify)
    assert [o.label for o in question.options] == ["a", "b"]
    assert [type(c) for c in interpret(called(asks, BALANCE), offer()).commands] == [CallTool]


def test_searching_is_allowed_once() -> None:
    search = called(("find_capabilities", {"query": "badge"}))
    assert interpret(search, offer()).search == "badge"
    assert interpret(search, offer(may_search=False)).problems


@each_row(
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
def test_a_call_that_makes_no_sense_is_a_problem_and_no_command(name: str, arguments: Any) -> None:
    read = interpret(called((name, arguments)), offer())
    (problem,) = read.problems
    assert read.commands == []
    assert problem.startswith(f"{name}: ")


@each_row(
    "said", [called(text="好的，好的，好的"), called(("respond_message", {"text": "好的，好"}))]
)
def test_words_that_were_cut_are_a_problem_and_not_said(said: ChatAnswer) -> None:
    read = interpret(said.model_copy(update={"finish": "length"}), offer())
    assert (read.commands, read.is_sound) == ([], False)


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
