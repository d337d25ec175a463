"""A model's choice held against what is near, and why it is what it is."""

from dataclasses import replace

from router.domain.commands import (
    CallTool,
    Clarify,
    Command,
    FillSlots,
    HandOff,
    ReplyText,
    StartFlow,
)
from router.domain.messages import Option
from router.domain.principals import CapabilityKind
from router.retrieval.selection import (
    RetrievedCandidate,
    SearchVerdict,
    Selection,
    Signs,
    Thresholds,
    fitted_reliability,
)
from router.routing.choice import ChoiceExplanation, Nearness, chosen
from router.routing.decider import ModelDecision, checked
from router.routing.offer import Offer
from tests.table import each_row
from tests.unit.retrieval.capabilities import capability
from tests.unit.routing.samples import FLOWS, TOOLS

SCORES = {"leave": 0.9, "claim": 0.6, "trip": 0.3, "get_balance": 0.2, "far": 0.004}


def found(verdict: SearchVerdict = "several", **scores: float) -> Selection:
    near = (
        RetrievedCandidate(capability(name, name), score, f"{name}?")
        for name, score in (scores or SCORES).items()
    )
    return Selection(tuple(near), verdict, Signs(0.999, 1.0, 0.1))


@each_row(("name", "doubted"), [("leave", False), ("trip", False), ("far", True)])
def test_what_is_behind_the_third_place_is_doubted(name: str, doubted: bool) -> None:
    assert Nearness([found()]).doubts(name) is doubted
    assert Nearness([found()]).doubts("never heard of")


def test_a_flow_has_to_be_nearer_than_what_is_only_looked_up() -> None:
    near = Nearness([found(leave=0.015)])
    assert (near.doubts("leave"), near.doubts("leave", starts=True)) == (False, True)


def test_a_flow_has_to_be_the_nearest_of_all_one_for_each_wish() -> None:
    assert not Nearness([found()]).doubts("leave", starts=True)
    assert Nearness([found()]).doubts("claim", starts=True)
    assert not Nearness([found()], wishes=2).doubts("claim", starts=True)


@each_row(
    ("kind", "wishes", "doubted"), [("flow", 1, True), ("flow", 2, False), ("tool", 1, False)]
)
def test_a_question_alone_begins_no_flow_but_a_tools_form(
    kind: CapabilityKind, wishes: int, doubted: bool
) -> None:
    (first, *_) = found().candidates
    named = first.capability.model_copy(update={"kind": kind})
    asked = replace(found(), candidates=(replace(first, capability=named),))
    near = Nearness([asked], asks=True, wishes=wishes)
    assert near.doubts("leave", starts=True) is doubted
    assert not near.doubts("leave")


def test_each_wish_of_several_has_places_of_its_own() -> None:
    assert Nearness([found()]).doubts("get_balance")
    assert not Nearness([found()], wishes=2).doubts("get_balance")


def test_a_flow_may_be_the_nearest_of_one_clause_instead() -> None:
    near = Nearness([found()], parts=[found(trip=0.5, leave=0.1)])
    assert not near.doubts("trip", starts=True)
    assert near.doubts("claim", starts=True)


def test_where_nothing_is_near_even_the_nearest_is_doubted() -> None:
    assert Nearness([found(leave=0.004)]).doubts("leave")


@each_row(("answering", "doubted"), [("leave", False), ("claim", True), (None, False)])
def test_a_question_about_something_else_answers_no_flow(
    answering: str | None, doubted: bool
) -> None:
    near = Nearness([found()], answering=answering)
    assert near.contradicts(FillSlots(slots={"reason": "x"})) is doubted


def test_what_was_searched_for_and_what_is_in_play_is_near_too() -> None:
    assert not Nearness([found(leave=0.9), found(far=0.8)]).doubts("far")
    assert not Nearness([found()], in_play=frozenset({"far"})).doubts("far")


def test_where_words_alone_were_searched_nothing_is_doubted() -> None:
    assert not Nearness([replace(found(), notes=("lexical only",))]).doubts("far")


OFFER = Offer(flows=FLOWS, tools=TOOLS)
BALANCE = CallTool(id="c1", tool="get_balance", arguments={})
LEAVE = StartFlow(flow="leave")


def commands(*decided: Command, near: Nearness, active: str | None = None) -> list[Command]:
    return checked(ModelDecision(list(decided)), near, active, OFFER)


def test_a_doubted_choice_becomes_a_question_with_what_is_nearest_and_with_itself() -> None:
    (asked,) = commands(BALANCE, near=Nearness([found()]))
    assert isinstance(asked, Clarify)
    assert [option.value for option in asked.options] == ["leave", "claim", "get_balance"]


def test_what_is_not_doubted_is_done_beside_the_question() -> None:
    near = Nearness([found(leave=0.9, claim=0.5, get_balance=0.001)], wishes=1)
    done, asked = commands(LEAVE, BALANCE, near=near)
    assert (done, type(asked)) == (LEAVE, Clarify)


def test_the_flow_that_asks_is_never_doubted() -> None:
    assert chosen(LEAVE, "leave") is None
    assert commands(LEAVE, near=Nearness([found(claim=0.9)]), active="leave") == [LEAVE]


@each_row(
    ("command", "verdict", "asked"),
    [
        (HandOff(reason="?"), "clear", True),
        (HandOff(reason="?"), "several", True),
        (ReplyText(text="hi"), "clear", True),
        (ReplyText(text="hi"), "several", True),
    ],
)
def test_giving_up_where_something_is_near_is_a_question(
    command: Command, verdict: SearchVerdict, asked: bool
) -> None:
    (done,) = commands(command, near=Nearness([found(verdict)]))
    assert isinstance(done, Clarify) is asked


def test_a_model_that_gives_up_is_believed_where_something_is_half_near_alone() -> None:
    """Nearly every request is some way near to something: that is no ground for a question."""
    for score in (0.05, 0.5, 0.89):
        near = Nearness([found("clear", leave=score)])
        assert commands(HandOff(reason="?"), near=near) == [HandOff(reason="?")]


@each_row("command", [HandOff(reason="?"), ReplyText(text="hi")])
def test_where_nothing_is_near_words_are_enough(command: Command) -> None:
    assert commands(command, near=Nearness([found("none", leave=0.001)])) == [command]


WHY = {
    "leave": (
        "“leave” is nearest to what was said (others said “leave?”), before “claim”; m chose it"
    ),
    "claim": "m chose “claim” (others said “claim?”) rather than “leave”, which is nearer",
    "far": "m chose “far”, which isn't among the nearest; the nearest is “leave”",
    None: "m took it for nothing to be done; “leave” would be the nearest",
}


@each_row(("name", "why"), WHY.items())
def test_a_reason_says_why_this_and_not_the_runner_up(name: str | None, why: str) -> None:
    told = ChoiceExplanation("m", "router-1@0", Nearness([found()])).of(name)
    assert told == f"{why} (asked by router-1@0)"


def test_a_confidence_is_measured_or_absent() -> None:
    assert Nearness([found()]).confidence("leave") is None
    measured = Thresholds(reliability=((0.0, 0.2), (0.5, 0.9)))
    near = Nearness([replace(found(), thresholds=measured)])
    assert [near.confidence(name) for name in ("leave", "trip", None)] == [0.9, 0.2, None]


def test_reliability_rises_with_the_score_and_is_never_certain() -> None:
    choices = [(n / 100, n > 50 or n % 3 == 0) for n in range(100)]
    steps = fitted_reliability(choices)
    shares = [share for _, share in steps]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.5 < shares[-1] < 1
    assert fitted_reliability(choices[:20]) == ()


def test_who_takes_something_back_begins_nothing() -> None:
    near = Nearness([found()], unwanted=frozenset({"leave"}))
    assert near.doubts("leave", starts=True)
    assert not near.doubts("claim", starts=True)


@each_row(
    "made_up",
    [
        ReplyText(text="90 days"),
        HandOff(reason="90 days are left, so ask HR"),
        Clarify(text="90 days are left: all of them?", options=[]),
        Clarify(text="Which?", options=[Option(label="the 90 days", value="the 90 days")]),
    ],
    ids=lambda made_up: made_up.type,
)
def test_words_that_do_not_hold_are_neither_said_nor_asked_with(made_up: Command) -> None:
    near = Nearness([found("none")])
    (asked,) = checked(ModelDecision([made_up]), near, None, OFFER, lambda said: "90" not in said)
    assert isinstance(asked, Clarify)
    assert "90" not in asked.model_dump_json()
    both = ModelDecision([LEAVE, made_up])
    assert checked(both, near, None, OFFER, lambda said: "90" not in said) == [LEAVE]
