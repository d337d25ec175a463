"""What the log teaches: by what people chose, confirmed, called off, and got no answer to."""

from collections import Counter
from datetime import UTC, datetime
from itertools import count
from typing import Any

import numpy as np

from router.domain.messages import (
    Candidate,
    ChoicesReply,
    FlowSummary,
    Message,
    Option,
    Route,
    Turn,
)
from router.domain.records import LogEntry
from router.extensions.evaluation.lessons import (
    Confusion,
    LogLessons,
    Misfire,
    NewExamples,
    Topic,
    groups,
    topics,
    unserved_topics,
)
from router.retrieval.index import CapabilityIndex
from tests.fakes.encoder import PairsEncoder

AT = datetime(2026, 11, 25, 9, tzinfo=UTC)
NUMBERS = count()


class Conversation:
    """Somebody's, entry by entry."""

    def __init__(self, lessons: LogLessons) -> None:
        self._lessons = lessons
        self._id = f"c{next(NUMBERS)}"

    def turn(self, said: str, route: dict[str, Any], **more: Any) -> None:
        message_id = f"m{next(NUMBERS)}"
        turn = Turn(message_id=message_id, turn=1, route=Route(**route), **more)
        digest = Message(text=said).digest
        rows = (
            ("message", {"role": "user", "text": said}),
            ("turn", {"digest": digest, "turn": turn.model_dump(mode="json")}),
        )
        for kind, data in rows:
            about = {"conversation": self._id, "message_id": message_id, "data": data}
            self._lessons.take(LogEntry(key=f"{message_id}:{kind}", kind=kind, at=AT, **about))

    def asked_which(self, said: str, *near: str, options: tuple[str, ...] = ()) -> None:
        found = [Candidate(kind="flow", name=name, score=0.5) for name in near]
        offered = [Option(label=name, value=name) for name in options or near]
        route = {"kind": "clarify", "by": "fallback", "candidates": found}
        self.turn(said, route, replies=[ChoicesReply(text="?", options=offered)])

    def chose(self, name: str) -> None:
        self.turn("✓", {"kind": "flow", "target": name, "by": "action"})


def test_what_was_chosen_is_an_example_that_is_missing() -> None:
    lessons = LogLessons()
    for said in ("想歇两天", "想歇两天", "我要请假！"):
        talk = Conversation(lessons)
        talk.asked_which(said, "leave", "trip")
        talk.chose("leave")
    known = {"leave": ["我要请假"], "trip": []}
    assert list(lessons.examples(known)) == [NewExamples("leave", ("想歇两天",))]
    assert list(lessons.examples({"trip": []})) == []


def test_what_was_begun_by_a_model_and_confirmed_is_an_example() -> None:
    lessons = LogLessons()
    for status in ("waiting_approval", "cancelled"):
        talk = Conversation(lessons)
        run = {"id": f"r-{status}", "name": "leave", "state": "s"}
        begun = FlowSummary(**run, status="collecting")
        talk.turn(f"歇一天 {status}", {"kind": "flow", "target": "leave", "by": "llm"}, flow=begun)
        after = FlowSummary(**run, status=status)
        talk.turn("好", {"kind": "flow", "target": "leave", "by": "slot"}, flow=after)
    (found,) = lessons.examples({"leave": []})
    assert found.sentences == ("歇一天 waiting_approval",)


def test_a_form_that_the_next_word_calls_off_was_begun_by_mistake() -> None:
    lessons = LogLessons()
    for said, then in (
        ("报销制度发我", "cancel"),
        ("报销多久到账", "cancel"),
        ("我要报销", "flow"),
    ):
        talk = Conversation(lessons)
        talk.turn(said, {"kind": "flow", "target": "claim", "by": "pattern"})
        talk.turn("算了", {"kind": then, "target": "claim", "by": "slot"})
    assert lessons.misfires() == [Misfire("claim", 2, 3, ("报销制度发我", "报销多久到账"))]


def test_one_that_is_called_off_later_may_be_a_change_of_mind() -> None:
    lessons = LogLessons()
    for _ in range(3):
        talk = Conversation(lessons)
        talk.turn("我要报销", {"kind": "flow", "target": "claim", "by": "pattern"})
        talk.turn("打车", {"kind": "flow", "target": "claim", "by": "slot"})
        talk.turn("算了", {"kind": "cancel", "target": "claim", "by": "slot"})
    assert lessons.misfires() == []


def test_what_was_nearest_and_not_chosen_is_taken_for_what_was() -> None:
    lessons = LogLessons()
    talk = Conversation(lessons)
    talk.asked_which("还剩几天", "leave", "balance")
    talk.chose("balance")
    talk.asked_which("请两天", "leave", "balance")
    talk.chose("leave")
    assert lessons.confusions() == [Confusion("leave", "balance", 1, ("还剩几天",))]


def test_what_came_to_nothing_is_unserved_until_it_is_chosen_after_all() -> None:
    lessons = LogLessons()
    talk = Conversation(lessons)
    talk.turn("停车位怎么办", {"kind": "clarify", "by": "fallback"})
    talk.turn("找个人", {"kind": "handoff", "by": "fallback"})
    talk.asked_which("想歇两天", "leave")
    talk.chose("leave")
    assert lessons.unserved == {"停车位怎么办": 1, "找个人": 1}


def test_words_of_one_conversation_say_nothing_of_another() -> None:
    lessons = LogLessons()
    Conversation(lessons).asked_which("想歇两天", "leave")
    Conversation(lessons).chose("leave")
    one = Conversation(lessons)
    for _ in range(2):
        one.turn("我要报销", {"kind": "flow", "target": "claim", "by": "pattern"})
        one = Conversation(lessons)
        one.turn("算了", {"kind": "cancel", "target": "claim", "by": "slot"})
    assert list(lessons.examples({"leave": []})) == []
    assert lessons.misfires() == []


def test_what_is_alike_is_one_topic_named_by_the_sentence_in_its_middle() -> None:
    said = {"车位": 3, "停车": 1, "月卡": 2, "食堂": 5}
    vectors = np.array([[1, 0, 0], [0.8, 0.6, 0], [0.8, -0.6, 0], [0, 0, 1]])
    found = topics(said, vectors)
    assert found[0] == Topic("车位", 6, ("车位", "停车", "月卡"))
    assert found[1] == Topic("食堂", 5, ("食堂",))


def test_nothing_falls_into_no_group() -> None:
    assert groups(np.zeros((0, 3))) == []
    assert topics({}, np.zeros((0, 3))) == []


async def test_wishes_are_put_together_by_what_the_index_makes_of_them() -> None:
    said = Counter({"停车位怎么申请": 2, "停车位怎么申请呢": 1, "office wifi": 1})
    index = CapabilityIndex(PairsEncoder())
    await index.update(())
    together = await unserved_topics(said, index, 10)
    assert [topic.times for topic in together] == [3, 1]
    alone = await unserved_topics(said, CapabilityIndex(None), 2)
    assert [topic.sentences for topic in alone] == [("停车位怎么申请",), ("停车位怎么申请呢",)]
    assert await unserved_topics(Counter(), index, 10) == []
