"""What to change is asked step by step: what holds several things isn't emptied."""

from typing import Any

from router.domain.messages import ChoicesReply
from router.flow.prompts.question import question
from tests.table import each_row
from tests.unit.flow.definitions import CLAIM, Driver, flow, text

TAXI = {"amount": {"amount": "58.00", "currency": "CNY"}, "invoice": "A1"}
HOTEL = {"amount": {"amount": "300.00", "currency": "CNY"}, "invoice": "B2"}
NAMES = {"type": "list", "label": text("Names"), "of": {"type": "text"}}
CONFIRMED = flow(
    CLAIM,
    slots={**CLAIM["slots"], "names": NAMES},
    states={
        "details": {"collect": ["items", "names", "reason"], "next": "review"},
        "review": {"confirm": text("File it?"), "confirmed": "done", "declined": "details"},
        "done": {"end": "completed"},
    },
)


def declined(*items: dict[str, Any]) -> Driver:
    driver = Driver(CONFIRMED).begin(items=list(items), names=["a", "b"], reason="a trip")
    return driver.confirm(False)


def choose(driver: Driver, *values: str) -> Driver:
    for value in values:
        driver.answer(change=value)
    return driver


def offered(driver: Driver) -> list[Any]:
    asked = question(CONFIRMED, driver.run)
    assert isinstance(asked, ChoicesReply)
    return [option.value for option in asked.options]


def test_a_list_named_as_what_to_change_keeps_its_items_and_asks_which() -> None:
    driver = choose(declined(TAXI, HOTEL), "items")
    assert driver.run.form.slots["items"] == [TAXI, HOTEL]
    assert offered(driver) == ["items.0", "items.1", "items.more", "-"]


def test_an_item_named_as_what_to_change_keeps_its_fields_and_asks_which() -> None:
    driver = choose(declined(TAXI, HOTEL), "items", "items.1")
    assert driver.run.form.slots["items"] == [TAXI, HOTEL]
    assert offered(driver) == ["items.1.amount", "items.1.invoice", "items.1.-", "-"]


def test_only_the_field_that_was_chosen_is_asked_for_anew() -> None:
    driver = choose(declined(TAXI, HOTEL), "items", "items.0", "items.0.invoice")
    assert driver.run.question.path == "items.0.invoice"
    driver.answer({"items.0.invoice": "C3"})
    assert driver.run.status == "confirming"
    assert driver.run.form.slots["items"] == [{**TAXI, "invoice": "C3"}, HOTEL]


@each_row(
    ("path", "items", "asked"),
    [
        (["items", "items.more"], [TAXI, HOTEL, {}], "items.2.amount"),
        (["items", "items.0", "items.0.-"], [HOTEL], None),
        (["items", "-"], [TAXI, HOTEL], None),
        (["items", "items.1", "-"], [TAXI, HOTEL], None),
        (["items", "reason"], [TAXI, HOTEL], "reason"),
        (["items.7"], [TAXI, HOTEL], None),
        (["items.7.-"], [TAXI, HOTEL], None),
        (["items.x.-"], [TAXI, HOTEL], None),
        (["reason.more"], [TAXI, HOTEL], None),
        ([".more"], [TAXI, HOTEL], None),
    ],
)
def test_items_are_added_and_removed_one_by_one(
    path: list[str], items: list[Any], asked: str | None
) -> None:
    driver = choose(declined(TAXI, HOTEL), *path)
    assert (driver.run.form.slots["items"], driver.run.question.path) == (items, asked)


def test_the_only_item_can_not_be_removed() -> None:
    assert "items.0.-" not in offered(choose(declined(TAXI), "items", "items.0"))


def test_a_plain_value_of_a_list_is_replaced_or_removed() -> None:
    driver = choose(declined(TAXI), "names", "names.1")
    assert offered(driver) == ["names.1.=", "names.1.-", "-"]
    assert choose(driver, "names.1.=").run.question.path == "names.1"
    driver.answer({"names.1": "c"})
    assert driver.run.form.slots["names"] == ["a", "c"]


def test_each_step_is_a_question_of_its_own_so_that_a_late_button_does_nothing() -> None:
    driver = declined(TAXI, HOTEL)
    first = driver.run.question_id
    later = [choose(driver, value).run.question_id for value in ("items", "items.0")]
    assert len({first, *later}) == len([first, *later])
