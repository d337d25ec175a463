import json

from pydantic import JsonValue

from router.contracts.conversation import ConversationState, WaitingCall
from router.contracts.tool_rounds import AwaitedRounds, ToolFinding, ToolRound
from router.domain.commands import CallTool
from router.domain.messages import Message, RecalledCall, SpokenLine, ToolResultAction
from router.llm.types import NO_REASONING, Reasoning, ReasoningPiece
from workflows import awaited_calls


def out(id_: str, message_id: str = "m1") -> WaitingCall:
    return WaitingCall(id=id_, tool="locate", message_id=message_id, text="where am I")


def result(id_: str, value: JsonValue) -> ToolResultAction:
    return ToolResultAction(type="tool_result", tool_call_id=id_, result=value)


def test_a_result_from_the_front_end_is_kept_with_its_call() -> None:
    state = awaited_calls.waiting_for(ConversationState(), [out("a"), out("b")])
    state = awaited_calls.with_result(state, result("b", {"city": "上海"}))
    assert [(w.id, w.heard, w.result) for w in state.waiting] == [
        ("a", False, None),
        ("b", True, {"city": "上海"}),
    ]
    assert awaited_calls.with_result(state, result("c", 1)) == state


def test_of_a_long_result_from_the_front_end_the_beginning_is_kept_and_how_much_there_is() -> None:
    state = awaited_calls.waiting_for(ConversationState(), [out("a")])
    rows: JsonValue = [{"row": n} for n in range(5_000)]
    (call,) = awaited_calls.with_result(state, result("a", rows)).waiting
    assert isinstance(call.result, list)
    assert call.result[0] == {"row": 0}
    assert str(call.result[-1]).endswith(f"{5_001 - len(call.result)} more of 5000")
    assert len(json.dumps(call.result)) <= awaited_calls.RESULT_LENGTH


def rounds(*calls: str, message_id: str = "m1", found: JsonValue = None) -> AwaitedRounds:
    made = ToolRound(
        calls=[CallTool(id=each, tool="locate", arguments={}) for each in calls],
        findings=[ToolFinding(tool="locate", awaited=not found, result=found) for _ in calls],
    )
    return AwaitedRounds(message_id=message_id, about=Message(text="?"), rounds=[made])


def test_the_oldest_message_is_given_up_whole_where_too_many_calls_are_out() -> None:
    first = [out(f"a{n}") for n in range(9)]
    state = awaited_calls.waiting_for(ConversationState(), first, [rounds("a1")])
    state = awaited_calls.waiting_for(state, [out(f"b{n}", "m2") for n in range(9)])
    assert {call.message_id for call in state.waiting} == {"m2"}
    assert state.awaited == []


def test_what_is_kept_of_results_is_bounded_however_long_they_are() -> None:
    state = ConversationState()
    for number in range(20):
        long = rounds("a", "b", message_id=f"m{number}", found="好" * 50_000)
        state = awaited_calls.waiting_for(state, [out(f"c{number}", f"m{number}")], [long])
    assert len(state.model_dump_json().encode()) < 2 * awaited_calls.AWAITED_BYTES
    assert state.waiting[-1].id == "c19"


def test_the_rounds_are_whole_once_their_calls_have_results() -> None:
    whole = awaited_calls.complete(rounds("a", "b"), {"b": ToolFinding(tool="locate", result=1)})
    assert [call.id for call in whole.rounds[-1].awaited] == ["a"]
    whole = awaited_calls.complete(whole, {"a": ToolFinding(tool="locate", error="refused")})
    assert [finding.error for finding in whole.rounds[-1].findings] == ["refused", None]


def test_the_exchange_that_is_answered_now_is_no_history_of_itself() -> None:
    called = [RecalledCall(id="a", name="locate", result="not there yet")]
    history = [
        SpokenLine(role="user", text="hello"),
        SpokenLine(role="assistant", text="hi"),
        SpokenLine(role="user", text="where am I?"),
        SpokenLine(role="assistant", text="", calls=called),
    ]
    assert [line.text for line in awaited_calls.before_calls(history, {"a"})] == ["hello", "hi"]
    assert awaited_calls.before_calls(history, {"z"}) == history


def thoughts(text: str) -> Reasoning:
    return Reasoning(by="m", pieces=(ReasoningPiece(content={"text": text}),))


def test_calls_just_asked_for_are_kept_and_results_beside_them_shortened() -> None:
    made = ToolRound(
        calls=[CallTool(id="a", tool="locate", arguments={"note": "好" * 1_500})],
        findings=[ToolFinding(tool="locate", awaited=True)],
        reasoning=thoughts("想" * 4_000),
    )
    large = rounds("x", "y", "z", found="好" * 50_000)
    about, told = Message(text="好" * 8_000), [*large.rounds, made]
    kept = awaited_calls.waiting_for(
        awaited_calls.waiting_for(ConversationState(), [out("old", "m0")]),
        [out("a")],
        [large.replace(about=about, rounds=told)],
    )
    assert kept.waiting[-1].id == "a"
    (newest,) = [each for each in kept.awaited if each.message_id == "m1"]
    assert len(newest.model_dump_json().encode()) <= awaited_calls.AWAITED_BYTES
    assert all(str(finding.result).startswith("好") for finding in newest.rounds[0].findings)


def test_thoughts_are_left_out_where_shorter_results_are_not_enough() -> None:
    (thought,) = rounds("a").rounds
    thought = thought.replace(reasoning=thoughts("想" * 30_000))
    large = rounds("a").replace(rounds=[thought])
    state = awaited_calls.waiting_for(ConversationState(), [out("a")], [large])
    assert [call.id for call in state.waiting] == ["a"]
    assert [each.rounds[0].reasoning for each in state.awaited] == [NO_REASONING]


def test_more_calls_of_one_message_than_are_waited_for_stay_all_of_them() -> None:
    calls = [out(f"a{n}") for n in range(awaited_calls.WAITING + 1)]
    state = awaited_calls.waiting_for(ConversationState(), [out("old", "m0")])
    state = awaited_calls.waiting_for(state, calls, [rounds(*(call.id for call in calls))])
    assert state.waiting == calls
    assert len(state.awaited) == 1
