"""What happens in a turn, as events: told live, and whole at its end."""

import functools
import operator
from copy import deepcopy
from typing import Any

import pytest
from ag_ui.core import EventType, ResumeEntry, RunStartedEvent
from hypothesis import given
from hypothesis import strategies as st

from router.domain.errors import InvalidInput
from router.domain.messages import Route, TextReply, ToolCallView, Turn, Usage
from router.domain.progress import Progress
from router.extensions.ag_ui.events import TurnEvents
from router.extensions.ag_ui.input import read_answers
from router.extensions.ag_ui.routes import ended, patch
from tests.table import each_row
from tests.unit.extensions.ag_ui.client import Told, balanced


def heard(type_: Any, message_id: str = "m1", **data: Any) -> Progress:
    place = {"tenant": "default", "conversation": "c1", "message_id": message_id}
    return Progress.model_validate({**place, "type": type_, "data": data})


def delta(text: str, attempt: int = 1) -> Progress:
    return heard("text_delta", text=text, attempt=attempt)


def thinking(status: str, task: str = "decide", skill: str | None = None) -> Progress:
    return heard("thinking", status=status, task=task, skill=skill, step=1, attempt=1)


def turn(*texts: str, calls: tuple[ToolCallView, ...] = (), **more: Any) -> Turn:
    return Turn(
        message_id="m1",
        turn=1,
        route=Route(kind="reply", by="llm"),
        replies=[TextReply(text=text) for text in texts],
        tool_calls=list(calls),
        **more,
    )


def told(*happened: Progress, then: Turn, **more: Any) -> tuple[Told, TurnEvents]:
    telling = TurnEvents("m1", "en", **more)
    events: list[Any] = []
    for one in happened:
        events += telling.progress(one)
    events += telling.turn(then)
    return Told(events), telling


def texts(said: Told) -> dict[str, str]:
    """Each text message as a front end puts it together."""
    whole: dict[str, str] = {}
    for event in said.events:
        if event.type == EventType.TEXT_MESSAGE_CONTENT:
            whole[event.message_id] = whole.get(event.message_id, "") + event.delta
    return whole


def test_a_text_that_was_heard_while_it_was_written_is_not_said_again() -> None:
    said, telling = told(delta("Hel"), delta("lo"), then=turn("Hello"))
    parts = ["START", "CONTENT", "CONTENT", "END"]
    assert said.types == [*(f"TEXT_MESSAGE_{part}" for part in parts), "CUSTOM"]
    assert texts(said) == {"m1.draft1": "Hello"}
    assert not telling.texts.thrown_away


def test_a_text_begun_anew_is_another_message_and_the_first_one_is_thrown_away() -> None:
    said, telling = told(delta("Bro"), delta("Hello", attempt=2), then=turn("Hello"))
    assert texts(said) == {"m1.draft1": "Bro", "m1.draft2": "Hello"}
    assert telling.texts.thrown_away
    assert [(m.id, m.content) for m in telling.history] == [("m1.draft2", "Hello")]
    otherwise, telling = told(delta("Hello"), then=turn("Good day"))
    assert texts(otherwise) == {"m1.draft1": "Hello", "m1.reply0": "Good day"}
    assert telling.texts.thrown_away


def test_a_call_begins_when_it_begins_and_has_its_result_from_the_turn() -> None:
    call = ToolCallView.of("c0", "look", {"at": "天"}, {"blue": True})
    said, telling = told(
        heard("tool_started", id="c0", name="look"),
        heard("tool_started", id="c0", name="look", progress="half"),
        heard("tool_finished", id="c0", name="look", status="done", milliseconds=3),
        then=turn("blue", calls=(call,)),
    )
    begun, ended = ["TOOL_CALL_START", "CUSTOM", "CUSTOM", "CUSTOM"], ("ARGS", "END", "RESULT")
    assert said.types[:7] == [*begun, *(f"TOOL_CALL_{part}" for part in ended)]
    assert said.one(EventType.TOOL_CALL_ARGS).delta == '{"at": "天"}'
    assert said.one(EventType.TOOL_CALL_RESULT).content == '{"blue": true}'
    assert said.custom("tool_finished")[0]["id"] == "m1.c0"
    assert [m.id for m in telling.history] == ["m1.c0", "m1.c0.result", "m1.reply0"]
    unknown, _ = told(heard("tool_started", id="c0", name="look"), then=turn("stopped"))
    assert unknown.one(EventType.TOOL_CALL_RESULT).content == "skipped"


def test_a_call_that_waits_is_the_front_ends_and_has_no_result() -> None:
    call = ToolCallView(id="9f", name="locate", arguments={}, status="waiting")
    then = turn("One moment.", calls=(call,))
    said, _ = told(then=then)
    assert said.one(EventType.TOOL_CALL_START).tool_call_id == "9f"
    assert "TOOL_CALL_RESULT" not in said.types
    end: Any = ended("t", "r", [then], [])
    assert end.outcome.pending_tool_call_ids == ["9f"]


def test_a_call_that_the_front_end_answers_with_this_run_is_not_made_again() -> None:
    call = ToolCallView.of("9f", "locate", {}, {"at": "home"})
    said, _ = told(then=turn("At home.", calls=(call,)), answered=frozenset({"9f"}))
    assert not [name for name in said.types if name.startswith("TOOL_CALL")]


def test_steps_are_closed_before_the_run_is_and_never_opened_twice() -> None:
    twice = [thinking(status) for status in ("started", "started", "finished", "finished")]
    skill = thinking("started", "think", "policy-advisor")
    said, _ = told(*twice, skill, then=turn("done"))
    assert [(e.type.value, e.step_name) for e in said.events if "STEP" in e.type.value] == [
        (status, step)
        for step in ("decide", "policy-advisor 1: think")
        for status in ("STEP_STARTED", "STEP_FINISHED")
    ]


def test_the_steps_of_a_plan_are_steps_of_the_run() -> None:
    of_all = {"skill": "trip-planner", "number": 1, "steps": 2, "title": "Find a train"}
    both: Any = [{**of_all, "status": status} for status in ("started", "finished")]
    said, _ = told(*(heard("plan", **data) for data in both), then=turn("done"))
    assert [(e.type.value, e.step_name) for e in said.events if "STEP" in e.type.value] == [
        ("STEP_STARTED", "trip-planner 1/2: Find a train"),
        ("STEP_FINISHED", "trip-planner 1/2: Find a train"),
    ]


def test_what_a_flow_does_by_itself_is_in_nobodys_turn() -> None:
    said, _ = told(heard("tool_started", "", id="x", name="book"), then=turn("hi"))
    assert said.custom("flow_tool_started") == [{"id": "x", "name": "book"}]
    assert "TOOL_CALL_START" not in said.types


HAPPENED = st.lists(
    st.one_of(
        st.builds(delta, st.text(max_size=3), st.integers(1, 3)),
        st.builds(thinking, st.sampled_from(["started", "finished"]), st.sampled_from("ab")),
        st.builds(
            lambda kind, id_: heard(kind, id=id_, name="look", status="done"),
            st.sampled_from(["tool_started", "tool_finished"]),
            st.sampled_from(["c0", "c1"]),
        ),
    ),
    max_size=12,
)


@given(happened=HAPPENED, said=st.lists(st.text(max_size=3), max_size=3))
def test_whatever_is_begun_is_ended(happened: list[Progress], said: list[str]) -> None:
    calls = (ToolCallView.of("c0", "look", {}, 1),)
    events, _ = told(*happened, then=turn(*said, calls=calls))
    begin = RunStartedEvent(thread_id="t", run_id="r")
    balanced([begin, *events.events, ended("t", "r", [turn()], [])])


def test_a_failed_turn_is_an_error_a_stopped_one_is_cancelled_and_both_say_what_they_cost() -> None:
    cost = Usage(llm_calls=1, prompt_tokens=5, completion_tokens=2)
    failed: Any = ended("t", "r", [turn("It broke.", status="failed", usage=cost)], [])
    stopped: Any = ended("t", "r", [turn("Stopped.", status="cancelled", usage=cost)], [])
    assert (failed.type, failed.message) == (EventType.RUN_ERROR, "It broke.")
    assert (stopped.outcome.type, stopped.result) == ("cancelled", None)
    assert [u.total_tokens for u in (failed.usage[0], stopped.usage[0])] == [7, 7]


SCALAR = st.none() | st.booleans() | st.integers(-2, 2) | st.text("a/~", max_size=2)
KEY = st.text("a/~", max_size=2)
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEY, inner, max_size=3),
    max_leaves=8,
)


def applied(document: Any, operations: list[dict[str, Any]]) -> Any:
    """The document after the patch, by RFC 6902 read literally."""
    for operation in operations:
        keys = operation["path"].split("/")
        *parents, last = [key.replace("~1", "/").replace("~0", "~") for key in keys]
        if not parents:
            document = operation["value"]
            continue
        place = functools.reduce(operator.getitem, parents[1:], document)
        assert (last in place) == (operation["op"] != "add")
        if operation["op"] == "remove":
            del place[last]
        else:
            place[last] = operation["value"]
    return document


@pytest.mark.slow
@given(before=JSON, after=JSON)
def test_the_patch_turns_the_one_state_into_the_other(before: Any, after: Any) -> None:
    operations = patch(before, after)
    assert applied(deepcopy(before), operations) == after


GIVEN: dict[str, tuple[str, Any, Any]] = {
    "choice": ("choices/q", {"value": 3}, {"type": "choose", "value": 3, "question": "q"}),
    "confirmed": ("confirm/q", {"approved": True}, {"type": "confirm", "value": True}),
    "declined": ("confirm/q", {"approved": False}, {"type": "confirm", "value": False}),
    "bare yes": ("confirm/q", True, {"type": "confirm", "value": True}),
    "form": ("form/q", {"end": "2026-12-01"}, {"type": "form", "values": {"end": "2026-12-01"}}),
}


def read(id_: str, payload: Any, index: int = 0) -> Any:
    entry = ResumeEntry(interrupt_id=id_, status="resolved", payload=payload)
    return read_answers(entry, index)


@each_row(("id_", "payload", "action"), GIVEN.values(), ids=GIVEN)
def test_an_answer_is_to_its_own_question(id_: str, payload: Any, action: dict[str, Any]) -> None:
    assert read(id_, payload).message.action.model_dump() == {"question": "q", **action}


@each_row("kind", ["choices", "confirm", "form"])
def test_a_string_is_what_the_person_would_have_typed(kind: str) -> None:
    assert read(f"{kind}/q", "下周一").message.text == "下周一"


UNUSABLE: dict[str, tuple[str, Any]] = {
    "nothing chosen": ("choices/q", None),
    "more than a choice": ("choices/q", {"value": 1, "other": 2}),
    "a list": ("choices/q", [1]),
    "nothing confirmed": ("confirm/q", None),
    "a word in the wrong place": ("confirm/q", {"approved": "yes"}),
    "one for yes": ("confirm/q", 1),
    "no form": ("form/q", None),
    "a list for a form": ("form/q", []),
    "a control character": ("form/q", {"reason": "\x1b[2J"}),
    "nothing said": ("form/q", " "),
    "a book": ("form/q", "a" * 8001),
    "no decision": ("approval/a/d", None),
    "a decision in words": ("approval/a/d", "approve"),
    "another decision": ("approval/a/d", {"decision": "maybe"}),
    "nobody to delegate to": ("approval/a/d", {"decision": "delegate"}),
    "a key too many": ("approval/a/d", {"decision": "approve", "by": "carol"}),
}


@each_row(("id_", "payload"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_payload_that_answers_nothing_is_refused_by_name(id_: str, payload: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(id_, payload, 4)
    assert refusal.value.problems[0].field.startswith("resume.4.payload")


@each_row("id_", ["", "/", "form/", "other/q", "approval/a", "approval//d", "q" * 999])
def test_what_is_no_interrupt_of_ours_answers_nothing(id_: str) -> None:
    assert read(id_, {}) is None
