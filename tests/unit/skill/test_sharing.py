from hypothesis import given
from hypothesis import strategies as st

from router.domain.locale import Localised
from router.domain.messages import Usage
from router.skill.loop import LEAST_TURNS, LoopProgress, Share, left, share, why_no_room
from router.skill.skill import Skill


def skill(turns: int, tokens: int) -> Skill:
    words = Localised(zh="行程", en="trip")
    return Skill(
        name="trip",
        title=words,
        description=words,
        instructions="Plan.",
        max_turns=turns,
        token_budget=tokens,
    )


def test_what_is_left_is_shared_and_the_reflection_keeps_its_turn() -> None:
    progress = LoopProgress(steps=1, usage=Usage(prompt_tokens=1000))
    room = left(skill(8, 10_000), progress, Share(turns=2, tokens=1000))
    assert room == Share(turns=4, tokens=6000)
    assert share(room, 2) == Share(turns=2, tokens=3000)


def test_no_step_begins_with_less_than_it_takes_to_call_and_to_answer() -> None:
    assert share(Share(turns=1, tokens=9000), 1) is None
    assert why_no_room(Share(turns=1, tokens=9000)) == "turns"
    assert why_no_room(Share(turns=9, tokens=10)) == "tokens"
    assert share(Share(turns=3, tokens=9000), 3) == Share(turns=LEAST_TURNS, tokens=3000)


@given(st.integers(1, 60), st.integers(1, 200_000), st.integers(0, 60), st.integers(1, 8))
def test_steps_side_by_side_are_never_promised_more_than_there_is(
    turns: int, tokens: int, taken: int, steps: int
) -> None:
    progress, promised = LoopProgress(steps=taken), Share()
    for waiting in range(steps, 0, -1):
        one = share(left(skill(turns, tokens), progress, promised), waiting)
        promised += one or Share()
    assert promised == Share() or taken + promised.turns + 1 <= turns
    assert promised.tokens <= tokens
