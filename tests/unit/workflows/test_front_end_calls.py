import json

from pydantic import JsonValue

from router.contracts.conversation_state import MAX_WAITING_CALLS, FrontEnd, WaitingCall
from router.contracts.tool_rounds import AwaitedRounds, ToolFinding, ToolRound
from router.domain.commands import CallTool
from router.domain.messages import Message, RecalledCall, SpokenLine, ToolResultAction
from router.llm.types import NO_REASONING, Reasoning, ReasoningPiece
from workflows import front_end_calls, transcript


def out(id_: str, message_id: str = "m1") -> WaitingCall:
    return WaitingCall(id=id_, tool="locate", message_id=message_id, text="where am I")


def result(id_: str, value: JsonValue) -> ToolResultAction:
    return ToolResultAction(type="tool_result", tool_call_id=id_, result=value)


def test_a_result_from_the_front_end_is_kept_with_its_call() -> None:
    front_end = front_end_calls.add_calls(FrontEnd(), [out("a"), out("b")])
    front_end = front_end_calls.receive_result(front_end, result("b", {"city": "上海"}))
    assert [(w.id, w.heard, w.result) for w in front_end.calls] == [
        ("a", False, None),
        ("b", True, {"city": "上海"}),
    ]
    assert front_end_calls.receive_result(front_end, result("c", 1)) == front_end


def test_of_a_long_result_from_the_front_end_the_beginning_is_kept_and_how_much_there_is() -> None:
    front_end = front_end_calls.add_calls(FrontEnd(), [out("a")])
    rows: JsonValue = [{"row": n} for n in range(5_000)]
    (call,) = front_end_calls.receive_result(front_end, result("a", rows)).calls
    assert isinstance(call.result, list)
    assert call.result[0] == {"row": 0}
    assert str(call.result[-1]).endswith(f"{5_001 - len(call.result)} more of 5000")
    assert len(json.dumps(call.result)) <= front_end_calls.MAX_RESULT_CHARS


def rounds(*calls: str, message_id: str = "m1", found: JsonValue = None) -> AwaitedRounds:
    made = ToolRound(
        calls=[CallTool(id=each, tool="locate", arguments={}) for each in calls],
        findings=[ToolFinding(tool="locate", awaited=not found, result=found) for _ in calls],
    )
    return AwaitedRounds(message_id=message_id, about=Message(text="?"), rounds=[made])


def test_the_oldest_message_is_given_up_whole_where_too_many_calls_are_out() -> None:
    first = [out(f"a{n}") for n in range(9)]
    front_end = front_end_calls.add_calls(FrontEnd(), first, [rounds("a1")])
    front_end = front_end_calls.add_calls(front_end, [out(f"b{n}", "m2") for n in range(9)])
    assert {call.message_id for call in front_end.calls} == {"m2"}
    assert front_end.rounds == []


def test_what_is_kept_of_results_is_bounded_however_long_they_are() -> None:
    front_end = FrontEnd()
    for number in range(20):
        long = rounds("a", "b", message_id=f"m{number}", found="好" * 50_000)
        front_end = front_end_calls.add_calls(front_end, [out(f"c{number}", f"m{number}")], [long])
    assert len(front_end.model_dump_json().encode()) < 2 * front_end_calls.MAX_ROUNDS_BYTES
    assert front_end.calls[-1].id == "c19"


def test_the_rounds_are_whole_once_their_calls_have_results() -> None:
    whole = front_end_calls.complete(rounds("a", "b"), {"b": ToolFinding(tool="locate", result=1)})
    assert [call.id for call in whole.rounds[-1].awaited] == ["a"]
    whole = front_end_calls.complete(whole, {"a": ToolFinding(tool="locate", error="refused")})
    assert [finding.error for finding in whole.rounds[-1].findings] == ["refused", None]


def test_the_exchange_that_is_answered_now_is_no_history_of_itself() -> None:
    called = [RecalledCall(id="a", name="locate", result="not there yet")]
    history = [
        SpokenLine(role="user", text="hello"),
        SpokenLine(role="assistant", text="hi"),
        SpokenLine(role="user", text="where am I?"),
        SpokenLine(role="assistant", text="", calls=called),
    ]
    assert [line.text for line in transcript.before_calls(history, {"a"})] == ["hello", "hi"]
    assert transcript.before_calls(history, {"z"}) == history


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
    kept = front_end_calls.add_calls(
        front_end_calls.add_calls(FrontEnd(), [out("old", "m0")]),
        [out("a")],
        [large.replace(about=about, rounds=told)],
    )
    assert kept.calls[-1].id == "a"
    (newest,) = [each for each in kept.rounds if each.message_id == "m1"]
    assert len(newest.model_dump_json().encode()) <= front_end_calls.MAX_ROUNDS_BYTES
    assert all(str(finding.result).startswith("好") for finding in newest.rounds[0].findings)


def test_thoughts_are_left_out_where_shorter_results_are_not_enough() -> None:
    (thought,) = rounds("a").rounds
    thought = thought.replace(reasoning=thoughts("想" * 30_000))
    large = rounds("a").replace(rounds=[thought])
    front_end = front_end_calls.add_calls(FrontEnd(), [out("a")], [large])
    assert [call.id for call in front_end.calls] == ["a"]
    assert [each.rounds[0].reasoning for each in front_end.rounds] == [NO_REASONING]


def test_more_calls_of_one_message_than_are_waited_for_stay_all_of_them() -> None:
    calls = [out(f"a{n}") for n in range(MAX_WAITING_CALLS + 1)]
    front_end = front_end_calls.add_calls(FrontEnd(), [out("old", "m0")])
    front_end = front_end_calls.add_calls(front_end, calls, [rounds(*(call.id for call in calls))])
    assert front_end.calls == calls
    assert len(front_end.rounds) == 1
