from router.entities.money import find_money
from router.entities.normalisation import normalise
from tests.table import each_row
from tests.unit.entities.tables import table


def amounts(typed: str) -> list[str]:
    found = find_money(normalise(typed).text)
    return [f"{f.value.value()['amount']} {f.value.currency}" for f in found]


@each_row(("typed", "expected"), table("money", "an amount has its currency and two decimals"))
def test_an_amount_has_its_currency_and_two_decimals(typed: str, expected: str) -> None:
    assert amounts(typed) == [expected]


@each_row("typed", table("money", "nothing is no money"))
def test_nothing_is_no_money(typed: str) -> None:
    assert amounts(typed) == []


def test_amounts_in_a_row_are_kept_apart() -> None:
    assert amounts("58块36块") == ["58.00 CNY", "36.00 CNY"]
    assert amounts("$45 taxi and $30 lunch") == ["45.00 USD", "30.00 USD"]
