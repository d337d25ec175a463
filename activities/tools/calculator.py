"""The calculator, as a tool: arithmetic is nothing for a language model to do in its head."""

from typing import Annotated

from pydantic import BaseModel, Field

from activities.arithmetic import LONGEST, evaluated, plainly
from router.tool.labels import Labelled
from router.tool.tool import tool


class Calculation(BaseModel):
    """An expression as it was read, and what it comes to."""

    expression: str
    value: str
    """A decimal number, as text: JSON numbers lose digits on their way through most readers."""
    rounded: bool
    """True where it is rounded to 34 digits, in the end or on the way."""


@tool(
    permission="read",
    title={"zh": "计算器", "en": "Calculator"},
    description_zh="精确计算一个算式：加减乘除、乘方、取余和百分比。",
    examples=[
        "帮我算一下 3*58+36",
        "1200 的 15% 是多少",
        "how much is 12.5 times 8",
        "add up 36, 58 and 120",
    ],
)
async def calculate(
    expression: Annotated[
        str,
        Field(
            description="Arithmetic with + - * / // ** % and parentheses",
            min_length=1,
            max_length=LONGEST,
        ),
        Labelled("算式"),
    ],
) -> Calculation:
    """Do a sum that somebody asks to have done, exactly, in decimal. For nothing else.

    It knows + - * / parentheses, // (division rounded down), ** (power), and %, which is the
    remainder before a number or a parenthesis and otherwise percent: 10 % 3 is 1, 10% is 0.1.
    """
    found = evaluated(expression)
    return Calculation(
        expression=found.expression, value=plainly(found.number), rounded=found.rounded
    )
