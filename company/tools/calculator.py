"""The calculator, as a tool: arithmetic is nothing for a language model to do in its head.

A Pratt parser ("Top Down Operator Precedence", 1973) works out values in decimal as it reads, and
nothing is ever run as code. The length, depth, digits and magnitude are all bounded.
"""

import re
from collections.abc import Callable
from decimal import (
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
    Underflow,
)
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field

from router.domain.errors import ArgumentsToolError
from router.domain.locale import Localised
from router.tool.labels import ChineseLabel
from router.tool.tool import tool

LONGEST = 200
DEEPEST = 30
DIGITS = 34
"""Significant digits of every value on the way; IEEE 754's decimal128 has as many."""
_MAGNITUDE = 999
_LARGEST_EXPONENT = 1000

# Not NFKC, which would read 2² as 22.
_SPELLINGS: dict[int, int | str] = {
    **{0xFF01 + offset: 0x21 + offset for offset in range(94)},  # the full-width forms of ASCII
    **{ord(sign): "*" for sign in "×✕✖·⋅"},
    **{ord(sign): "/" for sign in "÷∕"},
    **{ord(sign): "-" for sign in "−–—"},
    **{ord(sign): "**" for sign in "^＾"},
    0x3000: " ",
}

# No thousands begin with 0: 0,500 is how half is written elsewhere, and isn't read as 500.
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)"
    r"|(?P<sign>\*\*|//|[-+*/%()])|(?P<stranger>\S))"
)
_SUM, _PRODUCT, _PREFIX, _POWER = 10, 20, 30, 40


class ArithmeticValue(NamedTuple):
    """What an expression comes to."""

    expression: str
    number: Decimal
    rounded: bool
    """True where it has, or had on the way, more digits than are kept."""


def evaluated(text: str) -> ArithmeticValue:
    """The value of an expression; raises `ArgumentsToolError`, which says where it goes wrong."""
    if len(text) > LONGEST:
        zh = f"有 {len(text)} 个字符，最多 {LONGEST} 个"
        raise _wrong(zh, f"{len(text)} characters; {LONGEST} at most")
    expression = text.translate(_SPELLINGS).strip().rstrip("=? ")
    reader = _Reader(expression)
    try:
        number = reader.whole()
    except DecimalException as error:
        raise _wrong(*_reason(error)) from None
    return ArithmeticValue(expression, number, reader.rounded)


def plainly(number: Decimal) -> str:
    """A number as people write it; with a power of ten where it is very large or small."""
    shortest = number.normalize(Context(prec=DIGITS))
    return format(shortest, "f") if abs(shortest.adjusted()) <= DIGITS else str(shortest)


class _Token(NamedTuple):
    text: str
    at: int
    """The place of its first character, from 1."""
    number: bool = False


_END = "the end"
_NUMBER = Localised(zh="一个数", en="a number")
_OPERATOR = Localised(zh="一个运算符", en="an operator")
_CLOSING = Localised(zh="一个右括号", en="a closing parenthesis")


class _Reader:
    def __init__(self, expression: str) -> None:
        self._tokens = [_token(found) for found in _TOKEN.finditer(expression)]
        self._tokens.append(_Token(_END, len(expression) + 1))
        self._next = 0
        self._depth = 0
        self._context = Context(
            prec=DIGITS,
            Emax=_MAGNITUDE,
            Emin=-_MAGNITUDE,
            traps=[InvalidOperation, DivisionByZero, Overflow, Underflow],
        )
        self._infix: dict[str, tuple[int, int, Callable[[Decimal, Decimal], Decimal]]] = {
            # An operator, how tightly it binds to its left and to its right, what it does.
            "+": (_SUM, _SUM, self._context.add),
            "-": (_SUM, _SUM, self._context.subtract),
            "*": (_PRODUCT, _PRODUCT, self._context.multiply),
            "/": (_PRODUCT, _PRODUCT, self._divided),
            "//": (_PRODUCT, _PRODUCT, self._floored),
            "%": (_PRODUCT, _PRODUCT, self._modulo),
            # From right to left: 2**3**2 is 2**9.
            "**": (_POWER, _POWER - 1, self._power),
        }

    @property
    def rounded(self) -> bool:
        return bool(self._context.flags[Inexact])

    def whole(self) -> Decimal:
        value = self._expression(0)
        if self._peek.text != _END:
            raise _unexpected(self._peek, _OPERATOR)
        return self._context.plus(value)  # -0 is 0

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _expression(self, power: int) -> Decimal:
        self._depth += 1
        if self._depth > DEEPEST:
            zh = f"括号套了超过 {DEEPEST} 层，请拆开来算"
            raise _wrong(zh, f"it nests deeper than {DEEPEST}; take it apart")
        value = self._operand()
        while (operator := self._infix.get(self._peek.text)) and operator[0] > power:
            self._take()
            value = operator[2](value, self._expression(operator[1]))
        self._depth -= 1
        return value

    def _operand(self) -> Decimal:
        token = self._take()
        if token.number:
            value = self._context.create_decimal(token.text.replace(",", ""))
        elif token.text in ("+", "-"):
            inner = self._expression(_PREFIX)
            return self._context.minus(inner) if token.text == "-" else inner
        elif token.text == "(":
            value = self._expression(0)
            if self._take().text != ")":
                raise _unexpected(self._tokens[self._next - 1], _CLOSING)
        else:
            raise _unexpected(token, _NUMBER)
        return self._percent(value)

    def _percent(self, value: Decimal) -> Decimal:
        """`5%` is five hundredths; before a number or a parenthesis, `%` is the remainder."""
        while self._peek.text == "%":
            following = self._tokens[self._next + 1]
            if following.number or following.text == "(":
                break
            self._take()
            value = self._context.divide(value, Decimal(100))
        return value

    def _divided(self, left: Decimal, right: Decimal) -> Decimal:
        return self._context.divide(left, _not_zero(right))

    def _floored(self, left: Decimal, right: Decimal) -> Decimal:
        """Rounded towards minus infinity, as in Python; Decimal itself rounds towards zero."""
        whole, rest = self._context.divmod(left, _not_zero(right))
        down = rest and (rest < 0) != (right < 0)
        return self._context.subtract(whole, Decimal(1)) if down else whole

    def _modulo(self, left: Decimal, right: Decimal) -> Decimal:
        rest = self._context.remainder(left, _not_zero(right))
        return self._context.add(rest, right) if rest and (rest < 0) != (right < 0) else rest

    def _power(self, base: Decimal, exponent: Decimal) -> Decimal:
        if abs(exponent) > _LARGEST_EXPONENT:
            given, most = plainly(exponent), _LARGEST_EXPONENT
            zh = f"指数 {given} 不在 {-most} 到 {most} 之间"
            raise _wrong(zh, f"the exponent {given} isn't between {-most} and {most}")
        if exponent < 0:
            _not_zero(base)
        return self._context.power(base, exponent)


def _token(found: re.Match[str]) -> _Token:
    kind = found.lastgroup or "stranger"
    if kind == "stranger":
        at = found.start(kind) + 1
        raise _wrong(
            f"第 {at} 个字符“{found[kind]}”不是算式，请用数字、+ - * / // % ** 和括号",
            f"{found[kind]!r} at {at} isn't arithmetic; "
            "use numbers, + - * / // % ** and parentheses",
        )
    return _Token(found[kind], found.start(kind) + 1, kind == "number")


def _not_zero(divisor: Decimal) -> Decimal:
    if not divisor:
        raise _wrong("除以了零", "it divides by zero")
    return divisor


def _unexpected(token: _Token, wanted: Localised) -> ArgumentsToolError:
    before = "末尾" if token.text == _END else token.text
    return _wrong(
        f"第 {token.at} 个字符（{before}）之前缺{wanted.zh}",
        f"{wanted.en} is missing at {token.at}, before {token.text}",
    )


def _reason(error: DecimalException) -> tuple[str, str]:
    if isinstance(error, Overflow):
        digits = _MAGNITUDE + 1
        en = f"a value in it is too large, with more than {digits} digits"
        return f"其中有个数太大，超过 {digits} 位", en
    if isinstance(error, Underflow):
        return "其中有个数太接近零", "a value in it is too close to zero"
    en = f"it has no value, or one that takes more than {DIGITS} digits to tell"
    return f"它没有值，或者要超过 {DIGITS} 位才说得清", en


def _wrong(zh: str, en: str) -> ArgumentsToolError:
    return ArgumentsToolError(Localised(zh=f"expression：{zh}", en=f"expression: {en}"))


class Calculation(BaseModel):
    """An expression as it was read, and what it comes to."""

    expression: str
    value: str
    """A decimal number, as text: JSON numbers lose digits on their way through most readers."""
    rounded: bool


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
        ChineseLabel("算式"),
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
