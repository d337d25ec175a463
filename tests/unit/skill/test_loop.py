import pytest

from router.domain.locale import Localised
from router.domain.messages import Usage
from router.skill.loop import STOPPED, LoopProgress, Stop, why_stop
from router.skill.skill import Skill

WORDS = Localised(zh="行程", en="trip")
SKILL = Skill(
    name="trip",
    title=WORDS,
    description=WORDS,
    instructions="Plan.",
    max_turns=3,
    token_budget=1000,
)


def spent(tokens: int) -> Usage:
    return Usage(llm_calls=1, prompt_tokens=tokens)


@pytest.mark.parametrize(
    ("progress", "seconds", "stop"),
    [
        (LoopProgress(), 10.0, None),
        (LoopProgress(steps=2, usage=spent(999), errors=2), 0.1, None),
        (LoopProgress(steps=3), 10.0, "turns"),
        (LoopProgress(steps=1, usage=spent(1000)), 10.0, "tokens"),
        (LoopProgress(), 0.0, "seconds"),
        (LoopProgress(errors=3), 10.0, "errors"),
    ],
)
def test_a_run_stops_at_its_limits(
    progress: LoopProgress, seconds: float, stop: Stop | None
) -> None:
    assert why_stop(SKILL, progress, seconds) == stop


def test_only_errors_in_a_row_count() -> None:
    progress = LoopProgress()
    for fruitless in (True, True, False, True):
        progress = progress.after(spent(10), fruitless=fruitless)
    assert progress == LoopProgress(steps=4, usage=Usage(llm_calls=4, prompt_tokens=40), errors=1)


def test_every_stop_has_words_in_both_languages() -> None:
    assert all(words.zh != words.en for words in STOPPED.values())
