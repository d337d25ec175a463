"""Labelled messages, from JSON lines."""

import json
from typing import Any

import pytest

from router.domain.errors import DefinitionError, InvalidInput
from router.domain.messages import Route
from router.extensions.evaluation.dataset import (
    LONGEST,
    MOST_PROBLEMS,
    KnownLabels,
    LabelledFile,
    LabelledLine,
    NumberedLine,
    label_of,
    read_labelled,
)
from router.extensions.evaluation.figures import LineResult
from tests.table import each_row


def check_text(text: str) -> None:
    """What a message may be, for these tests: something, and not much."""
    if not text.strip() or len(text) > 100:
        raise InvalidInput("the text can't be a message")


KNOWN = KnownLabels(
    slots={
        "leave_request": frozenset({"start", "end", "items"}),
        "book_room": frozenset({"when"}),
        "get_balance": frozenset(),
    },
    users=frozenset({"alice", "bob"}),
    check_text=check_text,
)


def labelled(label: str | None, number: int, text: str = "我要请假", **more: Any) -> NumberedLine:
    return NumberedLine(number, LabelledLine(text=text, label=label, **more))


def result(label: str | None, got: str, number: int = 1, **more: Any) -> LineResult:
    """What a line with this label came to; keys of a line may be among `more`."""
    line = {key: more.pop(key) for key in ("text", "slots", "entities") if key in more}
    return LineResult(labelled(label, number, **line), got, more.pop("by", "pattern"), **more)


GOOD = b'{"text": "book a room", "label": "book_room"}'


def read(content: bytes) -> LabelledFile:
    return read_labelled(content, "dev.jsonl", KNOWN)


def problems(content: bytes) -> list[str]:
    with pytest.raises(DefinitionError) as refused:
        read(content)
    return str(refused.value).split("\n")


def written(**keys: Any) -> bytes:
    return json.dumps(keys, ensure_ascii=False).encode()


def test_lines_are_read_with_their_numbers() -> None:
    slots = {"start": "2026-11-23", "items.0.amount": None}
    more = {"user": "bob", "now": "2026-11-18T10:00+08:00", "split": "dev", "note": "hotline"}
    content = GOOD + b"\n\n" + written(text="我要", label="leave_request", slots=slots, **more)
    assert read(content).lines == [
        labelled("book_room", 1, "book a room"),
        labelled("leave_request", 3, "我要", slots=slots, **more),
    ]


@each_row("label", ["none", "reply", "clarify", "confirm", "cancel", "handoff"])
def test_a_label_may_be_a_kind_of_route_without_a_target(label: str) -> None:
    assert read(written(text="hello", label=label)).lines[0].line.label == label


def test_a_line_may_list_entities_in_place_of_a_label() -> None:
    content = written(text="明天", entities=[{"type": "date", "value": "2026-11-19"}])
    assert read(content).lines[0].line.entities is not None


@each_row(
    "content", [b"\xef\xbb\xbf" + GOOD, GOOD + b"\r\n", b"\r\n\n" + GOOD, b"  " + GOOD + b"\t\n \n"]
)
def test_marks_and_white_space_of_editors_are_passed_over(content: bytes) -> None:
    assert [one.line.label for one in read(content).lines] == ["book_room"]


def test_a_repeated_line_is_counted_once_and_that_of_another_person_is_another() -> None:
    noted = GOOD[:-1] + b', "note": "again"}'
    another = written(text="book a room", label="none", user="bob")
    file = read(b"\n".join([GOOD, noted, GOOD, another]))
    assert ([one.number for one in file.lines], file.repeated) == ([1, 4], [2, 3])


@each_row(
    ("content", "said"),
    [
        (b"", "has no labelled line; write one object a line"),
        (b"\n \n", "has no labelled line"),
        (b"\xef\xbb\xbf", "has no labelled line"),
        (b"[]", "Input should be an object"),
        (b"null", "Input should be an object"),
        (b"{", "EOF while parsing"),
        (b'{"text": "a", "label": "none"} {}', "trailing characters"),
        (b"[" * 50_000, "recursion limit exceeded"),
        (b'{"text": "a\xff"}', "isn't UTF-8 from byte 12 on; convert the file"),
        ('{"text": "a"}'.encode("utf-16"), "isn't UTF-8 from byte 1 on"),
        (written(text="a" * LONGEST, label="none"), "a line may have 65,536"),
        (written(text="a" * 101, label="none"), "the text can't be a message"),
        (written(text="", label="none"), "the text can't be a message"),
        (
            b'{"text": "\\ud83d", "label": "none"}',
            "unexpected end of hex escape at column 17; write",
        ),
        (written(label="none"), "text: Field required"),
        (written(text=5, label="none"), "text: Input should be a valid string"),
        (written(text="a"), "has neither `label` nor `entities`"),
        (written(text="a", label=""), "label: String should have at least 1 character"),
        (written(text="a", label=None), "has neither `label` nor `entities`"),
        (written(text="a", label="book_rom"), "did you mean book_room?"),
        (written(text="a", label="xyz"), "there are book_room, get_balance, leave_request, and"),
        (written(text="a", lable="none"), "lable: Extra inputs are not permitted; a line may have"),
        (written(text="a", label="none", slots=[]), "slots: Input should be"),
        (
            written(text="a", label="book_room", slots={"who": 1}),
            "slot 'who' isn't one of book_room; book_room has when",
        ),
        (written(text="a", label="none", slots={"when": 1}), "none has no slots"),
        (written(text="a", label="none", user="eve"), "user 'eve' isn't in the directory"),
        (written(text="a", label="none", now="tomorrow"), "write it like 2026-11-18T10:00+08:00"),
        (written(text="a", label="none", now="0001-01-01T00:00+14:00"), "the year isn't one from"),
        (written(text="a", label="none", entities=[{"type": "date"}]), "entities.0.value: Field"),
        (GOOD + b"\n" + GOOD.replace(b"book_room", b"none"), "contradicts line 1"),
    ],
)
def test_a_bad_line_says_where_what_and_what_to_do(content: bytes, said: str) -> None:
    (problem,) = problems(content)
    assert problem.startswith("dev.jsonl:")
    assert said in problem


def test_all_that_is_wrong_is_said_at_once() -> None:
    found = problems(b"\n".join([b"{", GOOD, written(text="", label="x", user="eve"), b"[]"]))
    assert [problem.split(":")[1] for problem in found] == ["1", "3", "3", "3", "4"]


def test_of_very_many_problems_the_rest_are_counted() -> None:
    found = problems(b"\n".join([b"{"] * (MOST_PROBLEMS + 10)))
    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1] == f"dev.jsonl:{MOST_PROBLEMS + 1}: and 10 more from here; mend these"


@each_row(
    ("kind", "target", "labels", "expected"),
    [
        ("flow", "leave_request", {"leave_request", "none"}, "leave_request"),
        ("tool", "get_balance", {"get_balance"}, "get_balance"),
        ("skill", "advisor", {"leave_request"}, "advisor"),
        ("confirm", "book_room", {"book_room"}, "book_room"),
        ("confirm", None, {"book_room"}, "confirm"),
        ("reply", None, {"reply"}, "reply"),
        ("handoff", None, {"reply"}, "handoff"),
        # Asking whether it is meant isn't doing it.
        ("clarify", "get_balance", {"get_balance"}, "clarify"),
        # `none`: no flow, and nothing that the file has a label for.
        ("clarify", None, {"leave_request", "none"}, "none"),
        ("reply", None, {"leave_request", "none"}, "none"),
        ("tool", "get_balance", {"leave_request", "none"}, "none"),
        ("tool", "get_balance", {"get_balance", "none"}, "get_balance"),
        ("reply", None, {"reply", "none"}, "reply"),
        ("flow", "book_room", {"leave_request", "none"}, "book_room"),
    ],
)
def test_a_route_amounts_to_what_it_leads_to(
    kind: str, target: str | None, labels: set[str], expected: str
) -> None:
    route = Route.model_validate({"kind": kind, "target": target, "by": "llm"})
    assert label_of(route, labels) == expected
