from datetime import UTC, datetime, timedelta
from typing import Any

from router.domain.messages import ChoicesReply, Message, Option, Route, Turn
from router.domain.records import LogEntry
from router.evaluation.dataset import ChoiceReader, LabelledChoice

NOW = datetime(2026, 11, 18, 10, tzinfo=UTC)
ASKS = Route(kind="clarify", by="retrieval")
OPTIONS = ["get_balance", "leave_request"]


def said(
    n: int, text: str, route: Route, *, digest: str | None = None, conversation: str = "c1"
) -> list[LogEntry]:
    """The log's rows of a message and its turn, which offers things where it asks."""
    options = [Option(label=f"«{name}»", value=name) for name in OPTIONS]
    replies = [ChoicesReply(text="?", options=options)] if route.kind == "clarify" else []
    turn = Turn(message_id=f"m{n}", turn=n, route=route, replies=list(replies))
    about: dict[str, Any] = {
        "at": NOW + timedelta(minutes=n),
        "conversation": conversation,
        "message_id": f"m{n}",
    }
    whole = {
        "digest": Message(text=text).digest if digest is None else digest,
        "turn": turn.model_dump(mode="json"),
    }
    return [
        LogEntry(key=f"{n}:user", kind="message", data={"role": "user", "text": text}, **about),
        LogEntry(key=f"{n}:it", kind="message", data={"role": "assistant", "text": "…"}, **about),
        LogEntry(key=f"{n}:turn", kind="turn", data=whole, **about),
    ]


def takes(name: str, by: Any = "action", kind: Any = "flow") -> Route:
    return Route(kind=kind, target=name, by=by)


def choices(*turns: list[LogEntry]) -> list[LabelledChoice]:
    reader = ChoiceReader()
    found = [reader.take(entry) for rows in turns for entry in rows]
    return [choice for choice in found if choice is not None]


def test_what_was_chosen_is_the_label_of_the_message_that_was_asked_about() -> None:
    found = choices(
        said(1, "看看我还能休多久", ASKS),
        said(2, "«get_balance»", takes("get_balance"), digest="of a button"),
    )
    assert found == [
        LabelledChoice("c1", "看看我还能休多久", "get_balance", NOW + timedelta(minutes=1))
    ]


def test_a_choice_may_be_typed_too() -> None:
    assert choices(said(1, "休息", ASKS), said(2, "第二个", takes("leave_request", "slot")))


def test_only_the_message_just_before_the_question_is_certain() -> None:
    found = choices(
        said(1, "first", ASKS), said(2, "second", ASKS), said(3, "…", takes("get_balance"))
    )
    assert [choice.text for choice in found] == ["second"]


def test_what_leaves_it_open_what_was_meant_gives_no_label() -> None:
    chosen = said(3, "…", takes("get_balance"))
    elsewhere = said(2, "…", takes("get_balance"), conversation="c2")
    a_button_was_asked_about = said(1, "«x»", ASKS, digest="of a button")
    assert choices(said(1, "text", ASKS), said(2, "new words", takes("get_balance", "llm"))) == []
    assert choices(said(1, "text", ASKS), said(2, "…", takes("book_room"))) == []
    assert choices(said(1, "text", ASKS), said(2, "no", Route(kind="cancel", by="slot"))) == []
    assert choices(said(1, "text", ASKS), said(2, "x", takes("y", "pattern")), chosen) == []
    assert choices(said(1, "text", ASKS), elsewhere) == []
    assert choices(a_button_was_asked_about, said(2, "…", takes("get_balance"))) == []
    assert choices(chosen) == []
