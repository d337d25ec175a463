"""What a person reads of a story that went another way."""

from router.domain.messages import Message
from router.story.expectations import Divergence, Mismatch, Standing, StoryOutcome, told
from router.story.story import BotSays, Story, UserActs

STEPS = (
    UserActs(4, "user: a badge", Message(text="a badge")),
    BotSays(5, "bot: Who?", ("Who?",)),
)
STORY = Story("a badge", "badge.yaml", 2, STEPS)


def test_a_story_that_went_as_written_is_one_line() -> None:
    assert list(told(StoryOutcome(STORY, 0.514))) == ["ok       0.51 s  a badge"]


def test_a_story_that_went_another_way_says_where_and_how_it_stands() -> None:
    standing = Standing("badge", "collecting", "details", {"days": 3}, ("name",))
    gone = Divergence(STEPS, Mismatch(["Who?"], ["For whom?"]), ("Hello", "For whom?"), standing)
    assert list(told(StoryOutcome(STORY, 1.0, gone))) == [
        "failed   1.00 s  a badge  badge.yaml:2",
        "    at badge.yaml:5: bot: Who?",
        "      - Who?",
        "      + For whom?",
        "    the bot had said",
        "      | Hello",
        "      | For whom?",
        "    before it",
        "         4  user: a badge",
        "    now badge is collecting in details, asking for name",
        '        {"days": 3}',
    ]


def test_what_was_said_is_not_said_twice_and_nothing_stands_before_a_first_step() -> None:
    gone = Divergence(STEPS[:1], Mismatch(["user: a badge"], ["it was refused"]))
    lines = list(told(StoryOutcome(STORY, 1.0, gone)))
    assert lines[-1] == "    now no flow was started"
    assert not any("before it" in line or "had said" in line for line in lines)
