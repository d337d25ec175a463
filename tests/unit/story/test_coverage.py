"""Which ways of a flow were taken, read from histories."""

from hypothesis import given
from hypothesis import strategies as st

from router.flow.engine.run import Happening
from router.story.coverage import Coverage, TakenTransitions, Transition, coverages, taken_in, told
from router.story.coverage import transitions_of as ways_of
from tests.unit.story.samples import BADGE, history

HAPPY = history(
    "began details", "next review", "confirmed make", "next tell_yes", "completed tell_yes"
)


def test_every_branch_of_every_exit_is_a_transition() -> None:
    assert [str(way) for way in ways_of(BADGE)] == [
        "details.next ▸ review",
        "review.confirmed ▸ make",
        "review.confirmed ▸ tell_no",
        "review.declined ▸ details",
        "make.next ▸ tell_yes",
        "make.on_error ▸ tell_no",
    ]


def test_a_history_says_which_were_taken() -> None:
    taken = taken_in(BADGE, HAPPY)
    assert taken.states == {"details", "review", "make", "tell_yes"}
    assert {str(way) for way in taken.transitions} == {
        "details.next ▸ review",
        "review.confirmed ▸ make",
        "make.next ▸ tell_yes",
    }


def test_lines_that_lead_nowhere_and_corrections_take_no_transition() -> None:
    taken = taken_in(
        BADGE,
        history(
            "began details", "next review", "reminded review", "changed details", "next review"
        ),
    )
    assert taken.transitions == {Transition("details", "next", "review")}


def test_an_end_that_is_named_like_an_exit_is_none() -> None:
    lines = ("began details", "next review", "confirmed tell_no", "rejected tell_no")
    taken = taken_in(BADGE, history(*lines))
    assert Transition("review", "confirmed", "tell_no") in taken.transitions
    assert len(taken.transitions) == 2


def test_coverage_names_what_no_story_took() -> None:
    (found,) = coverages([BADGE], {"badge": taken_in(BADGE, HAPPY)})
    assert found.states == ["tell_no"]
    assert list(told([found])) == [
        " 63 %  badge",
        "       no story comes to tell_no",
        "       no story takes review.confirmed ▸ tell_no",
        "       no story takes review.declined ▸ details",
        "       no story takes make.on_error ▸ tell_no",
    ]


def test_a_flow_that_no_story_has_is_there_with_nothing() -> None:
    (found,) = coverages([BADGE], {})
    assert found.share == 0
    assert len(found.states) + len(found.transitions) == found.parts


def test_only_all_of_it_is_a_hundred_percent() -> None:
    everything = TakenTransitions(frozenset(BADGE.states), frozenset(ways_of(BADGE)))
    assert list(told([Coverage(BADGE, everything)])) == ["100 %  badge"]


EVENTS = st.sampled_from(
    ["began", "next", "confirmed", "declined", "on_error", "changed", "nudged"]
)
LINES = st.lists(st.tuples(EVENTS, st.sampled_from([*BADGE.states, "gone"])), max_size=30)


@given(LINES, LINES)
def test_whatever_a_history_says_only_ways_of_the_flow_are_counted(
    one: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    first, second = (taken_in(BADGE, _history(lines)) for lines in (one, other))
    both = first | second
    assert both.states <= BADGE.states.keys()
    assert both.transitions <= set(ways_of(BADGE))
    assert Coverage(BADGE, both).share >= Coverage(BADGE, first).share


def _history(lines: list[tuple[str, str]]) -> list[Happening]:
    return history(*(f"{event} {state}" for event, state in lines))
