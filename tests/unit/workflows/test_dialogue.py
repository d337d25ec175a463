import pytest

from router.contracts.activities import Finding
from router.deciding.memory import Memory
from router.llm.chat import AssistantMessage, FunctionCall, Message, ToolMessage
from workflows import dialogue

CALL = FunctionCall(id="1", name="search_policies", arguments={"question": "年假"})


def test_what_a_tool_found_is_told_as_json_and_an_error_as_one() -> None:
    found = dialogue.result(CALL, Finding(tool="search_policies", result={"天数": 5}))
    failed = dialogue.result(CALL, Finding(tool="search_policies", error="closed"))
    assert (found.text, found.call_id) == ('{"天数": 5}', "1")
    assert failed.text == "error: closed"


def test_a_long_result_is_cut_and_says_so() -> None:
    found = dialogue.result(CALL, Finding(tool="search_policies", result="字" * 10_000))
    assert len(found.text) < 6_100
    assert found.text.endswith("(10002 characters)")


@pytest.mark.parametrize("steps", [1, 5, 60])
def test_a_dialogue_stays_small_and_keeps_each_call_with_its_result(steps: int) -> None:
    long = dialogue.result(CALL, Finding(tool="search_policies", result="字" * 10_000))
    told: list[Message] = []
    for _ in range(steps):
        told += [AssistantMessage(calls=(CALL,)), long]
    kept = dialogue.bounded(Memory(dialogue=tuple(told)), {}).dialogue
    assert [type(message) for message in kept] == [type(message) for message in told]
    assert sum(len(m.model_dump_json().encode()) for m in kept) <= dialogue.MOST_BYTES


def test_the_oldest_results_shrink_first() -> None:
    long = dialogue.result(CALL, Finding(tool="search_policies", result="字" * 10_000))
    first, *_, last = dialogue.bounded(Memory(dialogue=(long,) * 10), {}).dialogue
    assert isinstance(first, ToolMessage)
    assert len(first.text) < 250
    assert last == long


def test_of_an_ephemeral_tool_only_the_last_results_stay_whole() -> None:
    found = dialogue.result(CALL, Finding(tool="search_policies", result="字" * 1000))
    other = dialogue.result(
        CALL.model_copy(update={"name": "look"}), Finding(tool="look", result="字" * 1000)
    )
    told = (found, other, found, other, found)
    ephemeral = {"search_policies": 2, "look": 0}
    kept = dialogue.bounded(Memory(dialogue=told), ephemeral).dialogue
    assert [
        message.text == before.text
        for message, before in zip(kept, told, strict=True)
        if isinstance(message, ToolMessage)
    ] == [False, True, True, True, True]
