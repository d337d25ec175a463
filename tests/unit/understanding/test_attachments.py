"""Files that come with a message, and what of the open flow they fill."""

from typing import Any

from router.domain.commands import CancelFlow, Confirm, FillSlots, Misunderstood, Repeat, ReplyText
from router.domain.messages import FlowStatus, Message
from router.flow.definition import FlowDefinition
from router.flow.paused import Situation
from router.flow.view import FormView
from router.understanding.reader import Reader
from router.understanding.slots.attachments import filled_by_files, with_files
from tests.table import each_row
from tests.unit.understanding.dialogue import NOW, asking

TEXT = {"zh": "字", "en": "text"}
FILE = {"type": "file", "ask": TEXT}


def flow(**slots: Any) -> FlowDefinition:
    return FlowDefinition.model_validate(
        {
            "flow": "claim",
            "title": {"zh": "报销", "en": "Claim"},
            "description": TEXT,
            "triggers": {"patterns": ["报销"]},
            "slots": {"day": {"type": "date", "ask": TEXT}, **slots},
            "start": "details",
            "states": {
                "details": {"collect": ["day", *slots], "next": "told"},
                "told": {"say": TEXT, "end": "completed"},
            },
        }
    )


ONE = flow(receipt=FILE)
TWO = flow(receipt=FILE, note=FILE)
ROW = flow(receipt=FILE, photos={"type": "list", "max": 3, "of": {"type": "file"}, "more": TEXT})
ITEMS = flow(
    items={
        "type": "list",
        "more": TEXT,
        "of": {
            "type": "object",
            "fields": {"amount": {"type": "money", "ask": TEXT}, "receipt": FILE},
        },
    }
)
LOOKED_UP = flow(made={"type": "file", "lookup": "slots.day"})
BARE = flow()


@each_row(
    ("of", "asked", "slots", "files", "filled"),
    [
        (ONE, "day", {}, "a", {"receipt": "a"}),
        (ONE, "receipt", {}, "a", {"receipt": "a"}),
        (ONE, None, {}, "a", {"receipt": "a"}),
        (ONE, "day", {}, "ab", {"receipt": "a"}),
        (ONE, "day", {"receipt": "a"}, "a", {}),
        (ONE, "day", {"receipt": "a"}, "b", {"receipt": "b"}),
        (ONE, "day", {"receipt": "a"}, "bc", {"receipt": "b"}),
        (ONE, "day", {"receipt": "a"}, "ab", {"receipt": "b"}),
        (TWO, "day", {}, "a", {"receipt": "a"}),
        (TWO, "note", {}, "a", {"note": "a"}),
        (TWO, "note", {}, "ab", {"note": "a", "receipt": "b"}),
        (TWO, "day", {}, "abc", {"receipt": "a", "note": "b"}),
        (TWO, "day", {"receipt": "a"}, "b", {"note": "b"}),
        (TWO, "day", {"receipt": "a", "note": "b"}, "c", {}),
        (ROW, "day", {}, "abc", {"receipt": "a", "photos.0": "b", "photos.1": "c"}),
        (ROW, "photos", {}, "ab", {"photos.0": "a", "photos.1": "b"}),
        (ROW, "photos.0", {}, "ab", {"photos.0": "a", "photos.1": "b"}),
        (ROW, "photos", {"photos": ["x"]}, "ab", {"photos.1": "a", "photos.2": "b"}),
        (ROW, "photos", {"photos": ["x", "y"]}, "abc", {"photos.2": "a", "receipt": "b"}),
        (ROW, "day", {"receipt": "a", "photos": ["x", "y", "z"]}, "b", {}),
        (ITEMS, "day", {}, "a", {}),
        (ITEMS, "day", {"items": [{}, {}]}, "a", {"items.1.receipt": "a"}),
        (ITEMS, "day", {"items": [{}, {"receipt": "x"}]}, "a", {"items.0.receipt": "a"}),
        (ITEMS, "items.0.receipt", {"items": [{}, {}]}, "a", {"items.0.receipt": "a"}),
        (ITEMS, "day", {"items": [{"receipt": "x"}]}, "a", {}),
        (LOOKED_UP, "day", {}, "a", {}),
        (BARE, "day", {}, "a", {}),
    ],
)
def test_files_fill_what_is_asked_then_what_is_empty(
    of: FlowDefinition, asked: str | None, slots: dict[str, Any], files: str, filled: dict[str, str]
) -> None:
    assert filled_by_files(asking(of, asked, slots), [*files]) == filled


def test_the_item_that_the_words_add_has_the_file() -> None:
    view = asking(ITEMS, "items", {"items": [{"amount": "1"}]})
    assert filled_by_files(view, ["a"], {"items.1.amount": "2"}) == {"items.1.receipt": "a"}


def test_what_only_goes_along_takes_what_is_empty_and_replaces_nothing() -> None:
    full, empty = asking(ONE, "day", {"receipt": "a"}), asking(ONE, "day")
    assert filled_by_files(full, ["b"], replacing=False) == {}
    assert filled_by_files(empty, ["b"], replacing=False) == {"receipt": "b"}


def test_what_the_words_themselves_give_is_not_replaced_by_a_file_beside_them() -> None:
    assert filled_by_files(asking(ONE, "receipt"), ["b"], {"receipt": "a"}) == {}


CONFIRMING: FlowStatus = "confirming"


@each_row(
    ("said", "told"),
    [
        (FillSlots(slots={"day": "d"}), FillSlots(slots={"day": "d", "receipt": "a"})),
        (Confirm(value=True), FillSlots(slots={"receipt": "a"})),
        (Confirm(value=False), Confirm(value=False, slots={"receipt": "a"})),
        (Misunderstood(), FillSlots(slots={"receipt": "a"})),
        (Repeat(), FillSlots(slots={"receipt": "a"})),
        (CancelFlow(), CancelFlow()),
        (ReplyText(text="x"), ReplyText(text="x")),
    ],
)
def test_words_beside_a_file_are_told_with_it(said: Any, told: Any) -> None:
    assert with_files([said], asking(ONE, None, status=CONFIRMING), ["a"], replacing=True) == [told]


@each_row("said", [Confirm(value=True), Misunderstood(), Repeat()])
def test_words_beside_a_file_that_has_no_place_mean_what_they_say(said: Any) -> None:
    assert with_files([said], asking(BARE, None, status=CONFIRMING), ["a"], replacing=True) == [
        said
    ]


def situation(active: FormView | None) -> Situation:
    return Situation(now=NOW, locale="zh", roles=frozenset({"employee"})).showing(active)


def test_files_alone_are_for_the_flow_that_asks() -> None:
    reading = Reader([ONE]).read(Message(files=("a",)), situation(asking(ONE, "day")))
    assert reading.commands == [Repeat()]
    assert reading.route is not None
    assert (reading.route.kind, reading.route.target, reading.route.by) == (
        "flow",
        "claim",
        "action",
    )


@each_row(("flows", "said"), [([BARE, ONE], "报销"), ([BARE], "没有")])
def test_files_alone_without_a_flow_are_told_what_they_could_be_for(
    flows: list[FlowDefinition], said: str
) -> None:
    (told,) = Reader(flows).read(Message(files=("a",)), situation(None)).commands
    assert isinstance(told, ReplyText)
    assert said in told.text


def test_messages_differ_where_their_files_do() -> None:
    said = [Message(text="x"), Message(text="x", files=("a",)), Message(text="x", files=("b",))]
    assert len({message.digest for message in said}) == len(said)
