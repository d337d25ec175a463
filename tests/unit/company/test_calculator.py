"""Arithmetic: what it comes to, how it may be typed, and what gets nowhere."""

from decimal import Decimal
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from company.tools.calculator import LONGEST, evaluated, plainly
from router.domain.errors import ArgumentsToolError
from tests.table import each_row
from tests.unit.activities.tools.conftest import Desk


async def test_it_says_what_it_read_and_what_that_comes_to(desk: Desk) -> None:
    assert await desk.ask("calculate", expression="３×58＋36 = ？") == {
        "expression": "3*58+36",
        "value": "210",
        "rounded": False,
    }


@each_row(
    ("expression", "value"),
    [
        ("3*58+36", "210"), ("0.1+0.2", "0.3"), ("2+3*4", "14"), ("(2+3)*4", "20"), ("10-4-3", "3"),
        ("100/10/5", "2"), ("2**3**2", "512"), ("-2**2", "-4"), ("(-2)**2", "4"), ("2**-2", "0.25"),
        ("--3", "3"), ("2--3", "5"), ("7//2", "3"), ("-7//2", "-4"), ("-7%2", "1"),
        ("7%(-2)", "-1"), ("-6%2", "0"), ("5.5//2", "2"), ("10 % 3", "1"), ("10%", "0.1"),
        ("200*10%", "20"), ("(1+5%)**2", "1.1025"), ("100%-1%", "0.99"), ("5%%", "0.0005"),
        ("1,234,567.50+.5", "1234568"), ("1000*1000", "1000000"), ("0*-1", "0"),
        ("10**60", "1E+60"), ("（１，０００ － ５８）÷ ２", "471"), ("6✖7", "42"), ("9−4", "5"),
        ("2^10", "1024"), ("8÷2×4", "16"), ("　1 +\t1 ", "2"),
    ],
)  # fmt: skip
def test_it_works_out_what_people_type(expression: str, value: str) -> None:
    found = evaluated(expression)
    assert (plainly(found.number), found.rounded) == (value, False)


def test_it_says_where_digits_were_lost() -> None:
    third = evaluated("1/3")
    assert plainly(third.number) == f"0.{'3' * 34}"
    assert third.rounded
    assert evaluated("1/3*0").rounded
    assert not evaluated("1/8").rounded


REFUSED = {
    "divides by zero": ["1/0", "1//0", "1%(1-1)", "0/0", "0**-1"],
    "has no value": ["0**0", "(-8)**0.5"],
    "exponent 387420489 isn't between": ["9**9**9"],
    "exponent": ["9**9**9**9**9"],
    "exponent 1000.5": ["2**1000.5"],
    "too large": ["(9**1000)**1000", "10**999*10", "1" + "0" * 99 + "**100"],
    "too close to zero": ["(0.1**999)**999", "10**-999/10**50"],
    "more than 34 digits": ["10**40//3", "10**40%3"],
    "nests deeper": [
        "(" * 60 + "1" + ")" * 60, "-" * 150 + "1", "**".join("1" * 60), "((((((((((" * 20,
    ],
    "200 at most": ["1+" * LONGEST],
    "a number is missing at 1, before the end": [""],
    "a number is missing": ["   ", "="],
    "a number is missing at 3": ["1+"],
    "a number is missing at 1, before *": ["*1"],
    r"a number is missing at 2, before \)": ["()"],
    "closing parenthesis is missing at 3, before the end": ["(1"],
    r"an operator is missing at 2, before \)": ["1)"],
    "an operator is missing at 3, before 2": ["1 2"],
    "an operator is missing": ["2(3)"],
    "isn't arithmetic|missing": ["1..2"],
    "',' at 2 isn't arithmetic": ["1,00", "1,2345", "0,500", "1,234567"],
    "',' at 3 isn't arithmetic": ["00,123", "12,34,567"],
    "',' at 6 isn't arithmetic": ["1.234,56"],
    "an operator is missing at 6": ["1.234.567"],
    "isn't arithmetic": [
        "1'000", "1，00", "१+२", "𝟏+𝟏", "Ⅳ+1", "三加四", "①+1", "1\u200b+1", "1\u202e+1", "inf-inf",
        "½", "٣+٤", "Infinity", "1 if 1 else 2", "[1 for _ in range(9)]", "lambda: 0", "{{7*7}}",
        "${7*7}", "=cmd|' /C calc'!A0",
    ],
    "an operator is missing at 3": ["1 000"],
    "exponent 65536 isn't between": ["2**(2**(2**(2**2)))"],
    "exponent 1000000": ["1.0000001**1000**2"],
    "a number is missing at 1": ["%" * 100],
    "'²' at 2 isn't arithmetic": ["2²"],
    "'e' at 2 isn't arithmetic": ["1e999999999"],
    "'x' at 2 isn't arithmetic": ["0x10"],
    "'_' at 2 isn't arithmetic": ["1_000"],
    "'N' at 1 isn't arithmetic": ["NaN"],
    "'_' at 1 isn't arithmetic": ["__import__('os').system('id')"],
    "';' at 2 isn't arithmetic": ["1;2"],
    "'=' at 2 isn't arithmetic": ["1==1"],
    "'&' at 2 isn't arithmetic": ["7&3"],
    "'<' at 2 isn't arithmetic": ["1<<99"],
}  # fmt: skip
"""What is said of which expressions."""


@each_row(
    ("expression", "said"), [(each, said) for said, those in REFUSED.items() for each in those]
)
def test_what_is_no_arithmetic_or_too_much_is_refused_at_once(expression: str, said: str) -> None:
    began = thread_time()
    with pytest.raises(ArgumentsToolError, match=said):
        evaluated(expression)
    assert thread_time() - began < 0.5


async def test_the_gate_refuses_what_is_too_long_before_it_is_read(desk: Desk) -> None:
    with pytest.raises(ArgumentsToolError, match="calculate: expression: "):
        await desk.ask("calculate", expression="1+" * LONGEST)


@given(st.text(alphabet="0123456789.,+-*/%()^×÷ 　=e√a", max_size=60))
def test_whatever_is_typed_has_a_value_or_a_reason(text: str) -> None:
    reason, number = "", None
    try:
        number = evaluated(text).number
    except ArgumentsToolError as error:
        reason = str(error)
    assert (number is None) == reason.startswith("expression: ")
    assert number is None or (number.is_finite() and Decimal(plainly(number)) == number)


@pytest.mark.slow
@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9).filter(bool))
def test_whole_division_and_what_it_leaves_are_pythons(left: int, right: int) -> None:
    whole, rest = evaluated(f"({left})//({right})"), evaluated(f"({left})%({right})")
    assert (int(whole.number), int(rest.number)) == divmod(left, right)
