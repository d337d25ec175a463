"""What a check of a slot may say in words, and the expression that says the same.

A registry: whoever adds an entry to `CHECKS` gives authors one sentence more to choose from, and
expressions that are already in files are read back as it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from router.domain.locale import Localised
from router.flow.language.expressions import Token, tokens_of
from router.flow.language.functions import units_of

ParameterKind = Literal["count", "decimal", "minor_units", "slot", "currency"]
"""How a parameter stands in the expression: `30`, `5.0`; an amount of money in minor units, `5000`
for 50 yuan and for 5000 yen; the name of another slot of the type; a code such as `CNY`."""
ParameterValue = int | float | str

VALUE = "value"
"""The parameter that every check has: what is checked, as `slots.start` or `item.date`."""


@dataclass(frozen=True)
class WordedCheck:
    """One thing that may be asked of a value. Parameters stand as `{name}` in all of its texts.

    >>> CHECKS["at_most_days_ahead"].expression_of("slots.start", {"days": 366})
    'slots.start <= plus_days(day(now), 366)'
    """

    name: str
    types: tuple[str, ...]
    """The types of slots that it may be asked of."""
    label: Localised
    """The check in words: `not before today`."""
    say: Localised
    """What is said to whoever gave another value."""
    expression: str
    parameters: Mapping[str, ParameterKind]

    def expression_of(self, value: str, given: Mapping[str, ParameterValue]) -> str:
        """The expression over a value with these parameters."""
        written = {name: _written(kind, given[name]) for name, kind in self.parameters.items()}
        return self.expression.format(value=value, **written)

    def words(self, given: Mapping[str, ParameterValue], currency: str = "") -> Localised:
        """The check in words, with these parameters; `currency` is what amounts are in, if known.

        >>> CHECKS["at_most"].words({"most": 5.0}).en
        'at most 5'
        """
        units = units_of(currency)
        shown = {name: _shown(kind, given[name], units) for name, kind in self.parameters.items()}
        return Localised(zh=self.label.zh.format(**shown), en=self.label.en.format(**shown))

    def parameters_in(self, expression: str, value: str) -> dict[str, ParameterValue] | None:
        """The parameters with which the expression says this of the value; None where it doesn't.

        However it is spaced, and whatever quotes it has.
        """
        holes = {name: f"hole_{name}" for name in self.parameters}
        wanted = tokens_of(self.expression.format(value=value, **holes))
        found = tokens_of(expression)
        if len(wanted) != len(found):
            return None
        names = {hole: name for name, hole in holes.items()}
        given: dict[str, ParameterValue] = {}
        for ours, theirs in zip(wanted, found, strict=True):
            name = names.get(ours.text.strip("'\""))
            if name is None:
                if _plain(ours) != _plain(theirs):
                    return None
                continue
            read = _read(self.parameters[name], theirs)
            if read is None:
                return None
            given[name] = read
        return given


def _written(kind: ParameterKind, given: ParameterValue) -> str:
    return f"{float(given)}" if kind == "decimal" else f"{given}"


def _shown(kind: ParameterKind, given: ParameterValue, units: int) -> str:
    if isinstance(given, str):
        return given
    return f"{given / units if kind == 'minor_units' else given:,.12g}"


def _plain(token: Token) -> Token:
    """The token with one kind of quotes."""
    return Token(token.kind, token.text.strip("'\"")) if token.kind == "string" else token


def _read(kind: ParameterKind, token: Token) -> ParameterValue | None:
    """What a token gives for a parameter; None where it is something else."""
    if kind in {"slot", "currency"}:
        wanted = "name" if kind == "slot" else "string"
        return _plain(token).text if token.kind == wanted else None
    if token.kind != "number":
        return None
    try:
        return float(token.text) if kind == "decimal" else int(token.text)
    except ValueError:
        return None


DAYS = ("date", "datetime")
NUMBERS = ("number", "integer")


def _check(
    name: str,
    types: tuple[str, ...],
    label: tuple[str, str],
    say: tuple[str, str],
    expression: str,
    **parameters: ParameterKind,
) -> WordedCheck:
    return WordedCheck(
        name,
        types,
        Localised(zh=label[0], en=label[1]),
        Localised(zh=say[0], en=say[1]),
        expression,
        parameters,
    )


_ALL = (
    _check(
        "not_before_today",
        DAYS,
        ("不早于今天", "not before today"),
        ("这一天已经过去了，请换一天。", "That day has passed. Please give another one."),
        "{value} >= day(now)",
    ),
    _check(
        "after_today",
        DAYS,
        ("晚于今天", "after today"),
        ("请给今天以后的一天。", "Please give a day after today."),
        "{value} > day(now)",
    ),
    _check(
        "not_after_today",
        DAYS,
        ("不晚于今天", "not after today"),
        ("这一天还没有到，请换一天。", "That day is yet to come. Please give another one."),
        "{value} <= day(now)",
    ),
    _check(
        "at_most_days_ago",
        DAYS,
        ("最早 {days} 天前", "at most {days} days ago"),
        ("最早只能是 {days} 天前，请换一天。", "That is more than {days} days ago."),
        "{value} >= plus_days(day(now), -{days})",
        days="count",
    ),
    _check(
        "at_most_days_ahead",
        DAYS,
        ("最晚 {days} 天后", "at most {days} days ahead"),
        ("最晚只能是 {days} 天后，请换一天。", "That is more than {days} days ahead."),
        "{value} <= plus_days(day(now), {days})",
        days="count",
    ),
    _check(
        "at_least_days_ahead",
        DAYS,
        ("至少提前 {days} 天", "at least {days} days ahead"),
        ("至少要提前 {days} 天，请换一天。", "That is less than {days} days ahead."),
        "{value} >= plus_days(day(now), {days})",
        days="count",
    ),
    _check(
        "not_before",
        DAYS,
        ("不早于 {other}", "not before {other}"),
        ("这一天太早了，请换一天。", "That day is too early. Please give another one."),
        "{value} >= slots.{other}",
        other="slot",
    ),
    _check(
        "after",
        DAYS,
        ("晚于 {other}", "after {other}"),
        ("请给更晚的一天。", "Please give a later day."),
        "{value} > slots.{other}",
        other="slot",
    ),
    _check(
        "at_most_days_after",
        DAYS,
        ("最晚 {other} 之后 {days} 天", "at most {days} days after {other}"),
        ("隔得太久了，最多 {days} 天。", "That is more than {days} days later."),
        "{value} <= plus_days(slots.{other}, {days})",
        other="slot",
        days="count",
    ),
    _check(
        "not_on_a_weekend",
        ("date",),
        ("不在周末", "not on a weekend"),
        ("这一天是周末，请换一个工作日。", "That is a weekend. Please give a weekday."),
        "!(timestamp({value} + 'T00:00:00Z').getDayOfWeek() in [0, 6])",
    ),
    _check(
        "at_most",
        NUMBERS,
        ("最多 {most}", "at most {most}"),
        ("最多 {most}，请给一个小一点的数。", "{most} is the most. Please give a smaller number."),
        "{value} <= {most}",
        most="decimal",
    ),
    _check(
        "at_least",
        NUMBERS,
        ("最少 {least}", "at least {least}"),
        (
            "最少 {least}，请给一个大一点的数。",
            "{least} is the least. Please give a larger number.",
        ),
        "{value} >= {least}",
        least="decimal",
    ),
    _check(
        "between",
        NUMBERS,
        ("{least} 到 {most}", "from {least} to {most}"),
        ("请给 {least} 到 {most} 之间的数。", "Please give a number from {least} to {most}."),
        "{value} >= {least} && {value} <= {most}",
        least="decimal",
        most="decimal",
    ),
    _check(
        "more_than",
        NUMBERS,
        ("大于 {bound}", "more than {bound}"),
        ("请给大于 {bound} 的数。", "Please give a number above {bound}."),
        "{value} > {bound}",
        bound="decimal",
    ),
    _check(
        "amount_at_most",
        ("money",),
        ("最多 {most}", "at most {most}"),
        ("金额最多 {most}。", "The amount may be {most} at most."),
        "amount({value}) <= {most}",
        most="minor_units",
    ),
    _check(
        "amount_at_least",
        ("money",),
        ("最少 {least}", "at least {least}"),
        ("金额最少 {least}。", "The amount has to be {least} at least."),
        "amount({value}) >= {least}",
        least="minor_units",
    ),
    _check(
        "amount_more_than",
        ("money",),
        ("大于 {bound}", "more than {bound}"),
        ("金额要大于 {bound}。", "The amount has to be more than {bound}."),
        "amount({value}) > {bound}",
        bound="minor_units",
    ),
    _check(
        "in_currency",
        ("money",),
        ("币种是 {currency}", "in {currency}"),
        ("请用 {currency} 的金额。", "Please give the amount in {currency}."),
        "{value}.currency == '{currency}'",
        currency="currency",
    ),
    _check(
        "in_whole_days",
        ("duration",),
        ("不按小时", "not in hours"),
        ("请按天说，不按小时。", "Please say it in days, not in hours."),
        "!has({value}.hours)",
    ),
    _check(
        "agreed_to",
        ("boolean",),
        ("必须是“是”", "has to be yes"),
        ("要先同意这一点才能继续。", "This has to be agreed to before it can go on."),
        "{value} == true",
    ),
    _check(
        "each_once",
        ("list",),
        ("没有重复", "nothing comes twice"),
        ("有一项重复了。", "Something comes twice."),
        "unique({value})",
    ),
    _check(
        "not_handed_in_before",
        ("file",),
        ("以前没有用过", "not handed in before"),
        ("这份文件以前的申请里用过了。", "This was handed in with an earlier request."),
        "used_before({value}) != 'same'",
    ),
)
CHECKS: Mapping[str, WordedCheck] = {check.name: check for check in _ALL}
"""Every check that words are known for, by name."""


def worded(
    expression: str, value: str, slot_type: str
) -> Iterator[tuple[WordedCheck, dict[str, ParameterValue]]]:
    """The checks, of those for slots of a type, that the expression says of the value.

    >>> [(check.name, given) for check, given in worded("slots.n<=5.0", "slots.n", "number")]
    [('at_most', {'most': 5.0})]
    """
    for check in CHECKS.values():
        if slot_type in check.types:
            given = check.parameters_in(expression, value)
            if given is not None:
                yield check, given


def currency_in(expressions: Iterable[str], value: str) -> str:
    """What amounts of the value are in by its checks; empty where they may be in any."""
    found = (CHECKS["in_currency"].parameters_in(each, value) for each in expressions)
    return next((str(each["currency"]) for each in found if each is not None), "")
