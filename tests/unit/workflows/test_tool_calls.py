"""Tool calls as a model is told of them, and as a turn shows them."""

from router.contracts.tool_rounds import ToolFinding
from router.domain.messages import ToolCallView
from workflows.tool_calls import CALLS_BYTES, CALLS_SHOWN, bounded, told, waiting


def test_what_a_tool_found_is_told_as_json_and_an_error_as_one() -> None:
    assert told(ToolFinding(tool="search_policies", result={"天数": 5})) == '{"天数": 5}'
    assert told(ToolFinding(tool="search_policies", error="closed")) == "error: closed"


def view(number: int, text: str) -> ToolCallView:
    return ToolCallView.of(str(number), "search_policies", {"question": text}, text)


def test_few_calls_are_shown_as_they_are_and_of_many_the_last() -> None:
    calls = [view(n, "年假") for n in range(20)]
    assert bounded(calls) == calls
    ids = [call.id for call in bounded([view(n, "") for n in range(150)])]
    assert ids == [str(n) for n in range(150 - CALLS_SHOWN, 150)]


def test_of_large_ones_the_older_are_shown_by_name_alone() -> None:
    shown = bounded([view(n, "字" * 4000) for n in range(20)])
    first, *_, last = shown
    assert (first.name, first.status) == ("search_policies", "done")
    assert (first.arguments, first.result_preview) == ({}, "")
    assert last == view(19, "字" * 4000)
    bare = 200
    assert sum(len(c.model_dump_json().encode()) for c in shown) <= CALLS_BYTES + 20 * bare


def test_what_the_front_end_is_to_call_stays_whole_however_much_there_is() -> None:
    call = waiting("out", "show_map", {"of": "浦东"})
    shown = bounded([call, *(view(n, "字" * 4000) for n in range(20))])
    assert shown[0] == call
