"""What of an answer is sent when: nothing twice, nothing lost, nothing taken back unsaid."""

from hypothesis import given
from hypothesis import strategies as st

from router.domain.messages import Reply, TextReply, as_plain_text
from router.domain.progress import Progress
from router.extensions.openai.response import AnswerText
from tests.table import each_row


def delta(text: str, attempt: int = 1) -> Progress:
    return Progress(
        tenant="default",
        conversation="c",
        message_id="m",
        type="text_delta",
        data={"text": text, "attempt": attempt},
    )


def replies(*texts: str) -> list[Reply]:
    return [TextReply(text=text) for text in texts]


def told(deltas: list[tuple[str, int]], *texts: str) -> str:
    text = AnswerText("en")
    return "".join(text.written(delta(*one)) for one in deltas) + text.rest(replies(*texts))


@each_row(
    ("deltas", "texts", "expected"),
    [
        ([], ["All of it."], "All of it."),
        ([("You", 1), (" have 8", 1)], ["You have 8 days."], "You have 8 days."),
        ([("Done.", 1)], ["Done."], "Done."),
        ([("\n Done. \n", 1)], ["Done."], "Done. \n"),
        ([("Budget is", 1)], ["Note.", "Budget is 8."], "Budget is 8.\n\nNote."),
        ([("A.", 1)], ["A.", "B?"], "A.\n\nB?"),
        ([("First", 1), ("Second", 2)], ["First and last."], "First and last."),
        ([("First", 1), ("Sec", 2)], ["Second."], "First\n\n---\n\nNot that; instead:\n\nSecond."),
        ([("late", 3), ("old", 2)], ["late."], "late."),
    ],
)
def test_an_answer_is_whole(deltas: list[tuple[str, int]], texts: list[str], expected: str) -> None:
    assert told(deltas, *texts) == expected


@given(st.text(max_size=20), st.lists(st.text(min_size=1, max_size=5)), st.text(max_size=20))
def test_whatever_streams_the_answer_is_in_it(said: str, pieces: list[str], other: str) -> None:
    sent = [(piece, 1) for piece in pieces]
    whole = as_plain_text(replies(said, other), "en")
    got = told(sent, said, other)
    assert got.startswith("".join(pieces).lstrip())
    for reply in filter(None, (said.strip(), other.strip())):
        assert reply in got or not whole
