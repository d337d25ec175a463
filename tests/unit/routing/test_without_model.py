from datetime import UTC, datetime

import pytest

from router.domain.commands import Clarify, Misunderstood, ReplyText
from router.domain.locale import Localised
from router.domain.messages import Message, Option
from router.domain.principals import Capability, CapabilityKind
from router.flow.paused import PausedRun, Situation, which
from router.flow.view import FlowView
from router.routing.decider import MOST_OPTIONS, Verdict, decide_without_model
from tests.unit.routing.samples import ACTIVE

NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


def situation(active: FlowView | None = None) -> Situation:
    return Situation(now=NOW, locale="en", roles=frozenset({"employee"}), active=active)


def capability(name: str, kind: CapabilityKind = "tool") -> Capability:
    words = Localised(zh=name, en=name)
    return Capability(kind=kind, name=name, title=words, description=words)


RANKED = [*(capability(f"tool_{n}") for n in range(8)), capability("leave", "flow")]


def offered(verdict: Verdict) -> list[object]:
    _, (command,) = decide_without_model(Message(text="x"), situation(), RANKED, verdict)
    assert isinstance(command, Clarify)
    return [option.value for option in command.options]


def test_what_is_near_comes_first_and_flows_are_always_there() -> None:
    assert offered("clear") == ["tool_0", "tool_1", "tool_2", "leave"]


def test_where_nothing_is_near_there_is_a_list_that_is_read_at_a_glance() -> None:
    assert len(offered("none")) == MOST_OPTIONS


@pytest.mark.parametrize(("verdict", "by"), [("clear", "retrieval"), ("none", "fallback")])
def test_the_route_says_by_what_it_was_found(verdict: Verdict, by: str) -> None:
    route, _ = decide_without_model(Message(text="x"), situation(), RANKED, verdict)
    assert (route.kind, route.by) == ("clarify", by)


def test_a_flow_that_asks_gets_what_was_said_as_not_understood() -> None:
    route, commands = decide_without_model(Message(text="x"), situation(ACTIVE), RANKED, "clear")
    assert (route.target, commands) == ("leave", [Misunderstood()])


def test_asked_which_open_flow_to_go_on_with_those_can_still_be_chosen() -> None:
    leave = PausedRun(run="r1", flow="leave", title=Localised(zh="请假", en="Leave"))
    asked = which([leave, leave.model_copy(update={"run": "r2"})], "en").options
    waiting = situation().model_copy(update={"offered": [*asked, Option(label="x", value="x")]})
    _, (command,) = decide_without_model(Message(text="invoice number 12345"), waiting, RANKED)
    assert isinstance(command, Clarify)
    assert command.options[: len(asked)] == asked
    assert [option.value for option in command.options[len(asked) :]] == offered("none")


def test_where_nothing_may_be_used_it_says_so() -> None:
    route, (command,) = decide_without_model(Message(text="x"), situation(), [])
    assert route.kind == "handoff"
    assert isinstance(command, ReplyText)
