"""What finds out that somebody on a chat platform wasn't told, or was told otherwise."""

from typing import Any

from tests.e2e.chaos.checker import Records, Row
from tests.e2e.chaos.entrances import Shown, bare
from tests.e2e.chaos.posts import Card, Word, lines_of, of_cards, of_posts, of_words
from tests.table import each_row


def row(kind: str, message: str | None, **data: Any) -> Row:
    return {"kind": kind, "conversation": "c1", "message_id": message, "data": data}


def answer(message: str, *texts: str) -> Row:
    return row("turn", message, turn={"replies": [{"text": text} for text in texts]})


def user(message: str, text: str) -> Row:
    return row("message", message, role="user", text=text)


LOG = [
    user("m1", "年假还剩几天"),
    answer("m1", "还剩 7 天。"),
    user("m2", "hello"),
    answer("m2", "Hi there,\nwhat is it?", "Choose one."),
    row("message", None, role="assistant", replies=[{"text": "Good news: approved."}]),
]
SAID = ["还剩 7 天。", "Hi there,\nwhat is it? Choose one.", "Good news: approved."]


def shown(*texts: str) -> list[Shown]:
    return [Shown("alice", bare(text)) for text in texts]


def kinds(found: Any) -> list[str]:
    return [finding.kind for finding in found]


def test_what_is_posted_as_it_was_said_is_fine_also_in_several_posts() -> None:
    lines = lines_of(LOG, "c1")
    whole = of_posts("alice", lines, shown(*SAID))
    apart = of_posts(
        "alice", lines, shown(SAID[0], "Hi there", "what is it", "Choose one", SAID[2])
    )
    assert [whole.again, whole.findings, apart.again, apart.findings] == [0, [], 0, []]


def test_what_says_nothing_is_not_waited_for() -> None:
    log = [*LOG, user("m3", "?"), answer("m3", "…")]
    assert of_posts("alice", lines_of(log, "c1"), shown(*SAID, "…")).findings == []


POSTED = {
    "one is missing": ([SAID[0], SAID[2]], ["wrong", "lost"]),
    "the last is missing": (SAID[:2], ["lost"]),
    "half of one is missing": ([SAID[0], "Choose one.", SAID[2]], ["wrong", "lost"]),
    "two in another order": ([SAID[1], SAID[0], SAID[2]], ["wrong", "lost"]),
    "something that nobody said": ([*SAID, "Bad news: rejected."], ["wrong"]),
    "nothing": ([], ["lost"]),
}


@each_row(("texts", "found"), POSTED.values(), ids=POSTED.keys())
def test_what_is_posted_otherwise_is_found(texts: list[str], found: list[str]) -> None:
    posted = of_posts("alice", lines_of(LOG, "c1"), shown(*texts))
    assert kinds(posted.findings)[-1:] == found[-1:]
    assert {*kinds(posted.findings)} <= {*found}


def test_what_a_model_that_was_cut_short_says_keeps_nothing_else_from_being_read() -> None:
    log = [*LOG[:2], user("m3", "?"), answer("m3", "…"), *LOG[2:]]
    posted = of_posts("alice", lines_of(log, "c1"), shown(SAID[0], "…", *SAID[1:]))
    assert (posted.again, posted.findings) == (0, [])


def test_what_comes_once_more_and_what_only_says_that_something_failed_are_counted() -> None:
    failed = "This message couldn't be dealt with; please send it again."
    posted = of_posts("alice", lines_of(LOG, "c1"), shown(SAID[0], SAID[0], failed, *SAID[1:]))
    assert (posted.again, posted.asides, posted.findings) == (1, 1, [])
    named = [Shown("alice", bare(text), key=text) for text in (SAID[0], *SAID)]
    assert of_posts("alice", lines_of(LOG, "c1"), named).again == 1


def test_a_word_that_was_taken_in_is_there_once_and_in_its_order() -> None:
    first, second = Word("年假还剩几天", 1, taken=True), Word("hello", 2, taken=True)
    assert not [*of_words("alice", [first, second], LOG)]
    assert not [*of_words("alice", [first, second, Word("not taken", 3)], LOG)]
    lost = Word("where is it", 3, taken=True)
    assert kinds(of_words("alice", [first, second, lost], LOG)) == ["lost"]
    assert kinds(of_words("alice", [first, second], [*LOG, *LOG[2:4]])) == [
        "doubled",
        "lost",
        "lost",
    ]
    first.moment = 3
    assert kinds(of_words("alice", [first, second], LOG)) == ["wrong"]


def test_a_word_without_an_answer_and_a_press_that_was_taken_for_nothing_are_lost() -> None:
    words = [Word("年假还剩几天", 1, taken=True), Word("hello", 2, taken=True)]
    assert kinds(of_words("alice", words, [*LOG[:3], *LOG[4:]])) == ["lost"]
    assert kinds(of_words("alice", [*words, Word("", 3, taken=True)], LOG)) == ["lost"]


def test_a_card_says_at_last_what_is_on_record() -> None:
    records = Records(approvals=[{"id": "a1", "run": "r1", "verdict": "approve"}])
    assert not [*of_cards([Card("a1", "slack", bare("✅ 已同意"))], records)]
    assert kinds(of_cards([Card("a1", "slack", "")], records)) == ["lost"]
    assert kinds(of_cards([Card("a1", "mail", bare("❌ rejected"))], records)) == ["wrong"]
    assert kinds(of_cards([Card("a2", "mail", "approved")], records)) == ["wrong"]
