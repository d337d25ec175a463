"""What is wrong with a value and its remedy are told apart whatever the value itself says."""

from typing import Annotated, NoReturn

import pytest
from pydantic import AfterValidator, BaseModel, ValidationError

from router.domain.errors import Fault, FaultyValue, reason_of
from router.formats.validation import validated
from router.outbound.guard import OutboundGuard
from tests.table import each_row

ODD = "leave; salary; secrets"


def refuse(name: str) -> NoReturn:
    raise FaultyValue(f"there is no event {name}", "name another")


def fail(name: str) -> NoReturn:
    raise ValueError(f"Value error, {name}")


class Wanted(BaseModel):
    event: Annotated[str, AfterValidator(refuse)]


class Failing(BaseModel):
    event: Annotated[str, AfterValidator(fail)]


def test_a_value_with_semicolons_is_part_of_what_is_wrong() -> None:
    (complaint,) = validated(Wanted, {"event": ODD}).complaints
    assert complaint.fault == Fault(f"there is no event {ODD}", "name another")


def test_an_error_without_a_remedy_has_its_whole_text() -> None:
    (complaint,) = validated(Failing, {"event": ODD}).complaints
    assert complaint.fault.remedy == f"Value error, {ODD}"


@each_row(
    ("model", "reason"),
    [
        (Wanted, f"there is no event {ODD}; name another"),
        (Failing, f"Value error, {ODD}"),
    ],
)
def test_a_reason_is_what_the_validator_said(model: type[BaseModel], reason: str) -> None:
    with pytest.raises(ValidationError) as raised:
        model(event=ODD)
    assert [reason_of(error) for error in raised.value.errors()] == [reason]


def test_an_address_with_a_semicolon_has_its_remedy_whole() -> None:
    fault = OutboundGuard().fault_of("https://a;b.example")
    assert fault is not None
    assert fault.remedy == "write one such as api.example.com"
