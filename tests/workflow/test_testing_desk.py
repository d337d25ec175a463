"""The desk of a project's tests: given flows and tools, a scripted model, a clock that skips."""

from typing import Annotated

import pytest

from router.domain.errors import DefinitionError, InvalidInput
from router.sdk import Depends, PermanentToolError, tool
from router.testing import Desk, DeskFactory, make_caller
from router.testing.fixtures import desk, desk_server, make_desk  # noqa: F401 - they are fixtures
from tests.table import each_row

pytestmark = pytest.mark.slow  # it loads the sample company, and runs a server in a thread

FLOW = """
flow: badge
version: 1
title: {zh: "工牌", en: "Badge"}
description: {zh: "申请工牌，由经理审批。", en: "Ask for a badge; your manager decides."}
triggers:
  topics: ['\\bbadges?\\b']
  examples: ["I need a badge"]
slots:
  floor: {type: integer, label: {zh: "楼层", en: "Floor"}, ask: {zh: "几楼？", en: "Which floor?"}}
start: details
states:
  details: {collect: [floor], next: manager}
  manager:
    approve:
      by: "manager(requester)"
      title: {zh: "工牌", en: "Badge"}
      expire_after: P14D
    approved: issue
    rejected: refused
    returned: details
    expired: refused
  issue:
    {call: issue_badge, with: {floor: "slots.floor"}, save: number, next: done, on_error: refused}
  done:
    say: {zh: "编号 {{ results.number }}", en: "It has the number {{ results.number }}."}
    end: completed
  refused: {say: {zh: "没有批准", en: "There will be no badge."}, end: rejected}
"""
PEOPLE = [make_caller("ann", manager="ben"), make_caller("ben")]


def get_printer() -> str:
    raise PermanentToolError("there is no printer in tests")


@tool("Issues a badge.", permission="write", roles=["flow"])
def issue_badge(floor: int, printer: Annotated[str, Depends(get_printer)]) -> str:
    return f"{printer}-{floor}"


def badge_desk(make: DeskFactory, **options: object) -> Desk:
    given = {"flows": [FLOW], "tools": [issue_badge], "people": PEOPLE, **options}
    return make(**given)  # type: ignore[arg-type]


def test_a_request_goes_through_its_approval_and_calls_the_tool(make_desk: DeskFactory) -> None:  # noqa: F811
    asked = badge_desk(make_desk, overrides={get_printer: lambda: "A"})
    assert asked.say("I need a badge") == ["Which floor?"]
    asked.say("3")
    assert (asked.flow.status, asked.flow.approvers) == ("waiting_approval", ("ben",))
    assert asked.approve("ben") == ["It has the number A-3."]
    assert asked.flow.status == "completed"
    (call,) = asked.calls
    assert (call.tool, call.arguments, call.result) == ("issue_badge", {"floor": 3}, "A-3")


def test_time_passes_at_once_and_what_is_due_in_it_happens(make_desk: DeskFactory) -> None:  # noqa: F811
    asked = badge_desk(make_desk)
    asked.say("I need a badge")
    asked.say("3")
    assert asked.skip(days=15) == ["There will be no badge."]
    assert asked.flow.status == "rejected"


def test_tools_answer_or_fail_as_they_are_told(make_desk: DeskFactory) -> None:  # noqa: F811
    answered, failed = badge_desk(make_desk), badge_desk(make_desk)
    answered.answer_tools(issue_badge="B-9")
    failed.fail_tools(issue_badge="permanent")
    for each in (answered, failed):
        each.say("I need a badge")
        each.say("3")
        each.approve("ben")
    assert answered.replies == ["It has the number B-9."]
    assert failed.replies == ["There will be no badge."]


def test_a_model_answers_as_it_is_scripted(make_desk: DeskFactory) -> None:  # noqa: F811
    asked = badge_desk(make_desk, model=True)
    hello = [{"call": {"respond_message": {"text": "Good morning."}}}]
    assert asked.say("hello to all of you", model=hello) == ["Good morning."]
    with pytest.raises(AssertionError, match="question 1: router-1"):
        asked.say("how do the others do")


def test_a_desk_has_what_the_project_has_unless_told(desk: Desk) -> None:  # noqa: F811
    assert desk.user.id == "alice"
    desk.answer_tools(calculate=7)
    with pytest.raises(AssertionError, match="no flow was started"):
        _ = desk.flow


@each_row(
    ("options", "said"),
    [
        ({"user": "zoe"}, "nobody is called 'zoe'; there are: ann, ben"),
        ({"people": []}, "there are: none"),
    ],
)
def test_a_desk_that_can_t_be_made_says_why(
    make_desk: DeskFactory,  # noqa: F811
    options: dict[str, object],
    said: str,
) -> None:
    with pytest.raises(InvalidInput, match=said):
        badge_desk(make_desk, **options)


def test_a_flow_that_is_wrong_is_told_with_its_line(make_desk: DeskFactory) -> None:  # noqa: F811
    with pytest.raises(DefinitionError, match=r"badge\.yaml:\d+: .*no tool"):
        badge_desk(make_desk, tools=[])


@each_row(
    ("step", "said"),
    [
        ({"approver": {"zoe": "approve"}}, "'zoe' is no user of the directory"),
        ({"user": "hi", "model": [{}]}, "it answers nothing"),
        ({"shout": "hi"}, "no step has shout"),
    ],
)
def test_a_step_that_is_none_says_why(
    make_desk: DeskFactory,  # noqa: F811
    step: dict[str, object],
    said: str,
) -> None:
    with pytest.raises(InvalidInput, match=said):
        badge_desk(make_desk).step(step)


def test_a_script_without_a_model_and_a_decision_that_nobody_waits_for_are_told(
    make_desk: DeskFactory,  # noqa: F811
) -> None:
    asked = badge_desk(make_desk)
    with pytest.raises(InvalidInput, match=r"write make_desk\(model=True\)"):
        asked.say("hi", model=[{"says": "hi"}])
    with pytest.raises(AssertionError, match="nothing waits for ben"):
        asked.approve("ben")
