"""Slots of type `file`: an id that is the requester's, shown by its name."""

import pytest
from pydantic import JsonValue

from router.domain.messages import ConfirmReply, FormReply
from router.flow.engine.events import Answered, Failed
from router.flow.prompts.question import view
from router.flow.slot_types.slot import Slot, Unfit, files_in, fitted
from tests.table import each_row
from tests.unit.flow.definitions import Driver, flow_of, text

RECEIPT, TICKET, BOBS = "a" * 24, "b" * 24, "c" * 24
NAMES = {("alice", RECEIPT): "收据.pdf", ("alice", TICKET): "ticket.png", ("bob", BOBS): "bobs.pdf"}

ITEM = {"type": "object", "fields": {"receipt": {"type": "file", "label": text("receipt")}}}
HANDED_IN = flow_of(
    "hand_in",
    slots={
        "receipt": {"type": "file", "label": text("Receipt"), "ask": text("The receipt?")},
        "others": {"type": "list", "label": text("Others"), "of": ITEM},
    },
    states={
        "details": {"collect": ["receipt"], "next": "review"},
        "review": {"confirm": text("{{ shown.receipt }}?"), "confirmed": "boss", "declined": "no"},
        "boss": {
            "approve": {"by": "manager(requester)", "title": text("{{ shown.receipt }}")},
            "approved": "done",
            "rejected": "no",
        },
        "done": {"call": "file_away", "with": {"file": "slots.receipt"}, "next": "end"},
        "end": {"end": "completed"},
        "no": {"end": "rejected"},
    },
)


def handing_in(**slots: JsonValue) -> Driver:
    driver = Driver(HANDED_IN)
    driver.world.lookups["file_name"] = lambda person, file: NAMES.get((person, file))
    return driver.begin(**slots)


def test_a_file_is_asked_for_with_a_field_that_a_screen_can_attach_one_to() -> None:
    driver = handing_in()
    (reply,) = view(driver.definition, driver.run).replies
    assert isinstance(reply, FormReply)
    (field,) = reply.fields
    assert (field.name, field.type, field.label) == ("receipt", "file", "Receipt")


def test_ones_own_file_is_taken_and_shown_by_its_name() -> None:
    driver = handing_in().answer(receipt=RECEIPT)
    assert driver.run.form.slots["receipt"] == RECEIPT
    (reply,) = view(driver.definition, driver.run).replies
    assert isinstance(reply, ConfirmReply)
    assert reply.text == "收据.pdf?"
    assert reply.summary == {"Receipt": "收据.pdf"}


def test_whoever_decides_sees_the_name_and_a_tool_gets_the_id() -> None:
    driver = handing_in().answer(receipt=RECEIPT).confirm()
    approval = driver.approval
    assert (approval.summary["receipt"].zh, approval.title.en) == ("收据.pdf", "收据.pdf")
    assert driver.decide("bob").world.calls[-1][:2] == ("file_away", {"file": RECEIPT})


@each_row("file", [BOBS, "z" * 24])
def test_what_is_nobodys_or_somebody_elses_is_asked_for_anew(file: str) -> None:
    driver = handing_in().answer(receipt=file)
    assert "receipt" not in driver.run.form.slots
    assert driver.run.question.path == "receipt"
    assert driver.said == ["There is no such file of yours; please attach it anew."]
    assert file not in driver.run.form.file_names


@each_row(
    "value", ["receipt.pdf", "", "../" + RECEIPT, RECEIPT.upper(), RECEIPT + "\n", 7, True, {}, []]
)
def test_what_is_no_id_is_refused_without_asking_the_world(value: JsonValue) -> None:
    driver = handing_in()
    driver.world.lookups.pop("file_name")
    driver.answer(receipt=value)
    assert "receipt" not in driver.run.form.slots
    assert driver.said == ["Please attach a file: a PDF or a picture."]


def test_a_file_of_an_opening_is_looked_up_too() -> None:
    assert handing_in(receipt=BOBS).run.form.slots == {}
    assert handing_in(receipt=RECEIPT).run.form.slots == {"receipt": RECEIPT}


def test_files_within_items_are_looked_up_each_and_once() -> None:
    driver = handing_in()
    asked: list[str] = []
    driver.world.lookups["file_name"] = lambda person, file: (
        asked.append(file) or NAMES.get((person, file))  # type: ignore[func-returns-value]
    )
    driver.answer(others=[{"receipt": RECEIPT}, {"receipt": TICKET}, {"receipt": RECEIPT}])
    driver.answer(receipt=RECEIPT)
    assert asked == [RECEIPT, TICKET]
    assert driver.run.form.file_names == {RECEIPT: "收据.pdf", TICKET: "ticket.png"}
    (reply,) = view(driver.definition, driver.run).replies
    assert isinstance(reply, ConfirmReply)
    assert "ticket.png" in reply.summary["Others"]


def test_one_foreign_file_among_items_refuses_them_all() -> None:
    driver = handing_in().answer(others=[{"receipt": RECEIPT}, {"receipt": BOBS}])
    assert "others" not in driver.run.form.slots


def test_a_store_that_cannot_be_asked_is_said_and_nothing_is_taken() -> None:
    driver = handing_in()
    driver.take(Answered(by="alice", slots={"receipt": RECEIPT}), answer=False)
    (task,) = driver.run.work.tasks.values()
    driver.take(Failed(task=task.id, error="the database is away"))
    assert driver.run.form.slots == {}
    assert driver.run.question.path == "receipt"
    assert driver.said == ["the database is away"]


def test_files_are_found_however_deep() -> None:
    item = Slot.model_validate(ITEM)
    value = fitted(Slot(type="list", of=item), [{"receipt": RECEIPT}, {}, {"receipt": TICKET}])
    assert list(files_in(Slot(type="list", of=item), value)) == [RECEIPT, TICKET]
    with pytest.raises(Unfit):
        fitted(item, {"receipt": "x"})
