"""Units of measure, exactly, by symbol and by name.

A table of our own rather than the package pint, which knows no Chinese names, takes half a second
to load, and reads expressions where people name units.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from difflib import get_close_matches
from fractions import Fraction

from company.tools.calculator import DIGITS
from router.domain.errors import ArgumentsToolError
from router.domain.locale import Localised


@dataclass(frozen=True)
class Unit:
    """`factor` of the dimension's own unit, counted from `zero` of it."""

    symbol: str
    dimension: str
    factor: Fraction
    zero: Fraction = Fraction(0)


# symbol, factor, names with | between; a plural s is understood.
_TABLE: dict[str, tuple[tuple[str, str, str], ...]] = {
    "length": (
        ("nm", "1/1000000000", "nanometer|nanometre|纳米"),
        ("µm", "1/1000000", "um|micron|micrometer|micrometre|微米"),
        ("mm", "1/1000", "millimeter|millimetre|毫米"),
        ("cm", "1/100", "centimeter|centimetre|厘米|公分"),
        ("dm", "1/10", "decimeter|decimetre|分米"),
        ("m", "1", "meter|metre|米|公尺"),
        ("km", "1000", "kilometer|kilometre|千米|公里"),
        ("in", "0.0254", "inch|inches|英寸"),
        ("ft", "0.3048", "foot|feet|英尺"),
        ("yd", "0.9144", "yard|码"),
        ("mi", "1609.344", "mile|英里"),
        ("nmi", "1852", "nautical mile|海里"),
        ("里", "500", "市里|华里"),
        ("丈", "10/3", "市丈"),
        ("尺", "1/3", "市尺"),
        ("寸", "1/30", "市寸"),
    ),
    "mass": (
        ("mg", "1/1000000", "milligram|毫克"),
        ("g", "1/1000", "gram|gramme|克"),
        ("kg", "1", "kilo|kilogram|kilogramme|千克|公斤"),
        ("t", "1000", "tonne|metric ton|吨|公吨"),
        ("oz", "0.028349523125", "ounce|盎司"),
        ("lb", "0.45359237", "pound|lbs|磅"),
        ("st", "6.35029318", "stone|英石"),
        ("short ton", "907.18474", "us ton|短吨"),
        ("斤", "1/2", "市斤"),
        ("两", "1/20", "市两"),
        ("钱", "1/200", ""),
    ),
    "area": (
        ("mm²", "1/1000000", "mm2|square millimeter|square millimetre|平方毫米"),
        ("cm²", "1/10000", "cm2|square centimeter|square centimetre|平方厘米"),
        ("m²", "1", "m2|sqm|square meter|square metre|平方米|平米"),
        ("ha", "10000", "hectare|公顷"),
        ("km²", "1000000", "km2|square kilometer|square kilometre|平方公里|平方千米"),
        ("in²", "0.00064516", "in2|sq in|square inch|square inches|平方英寸"),
        ("ft²", "0.09290304", "ft2|sq ft|square foot|square feet|平方英尺"),
        ("ac", "4046.8564224", "acre|英亩"),
        ("mi²", "2589988.110336", "mi2|sq mi|square mile|平方英里"),
        ("亩", "2000/3", "市亩|mu"),
    ),
    "volume": (
        ("ml", "1/1000", "mL|milliliter|millilitre|毫升|cc|cm³|cm3"),
        ("l", "1", "L|liter|litre|升|公升|dm³"),
        ("m³", "1000", "m3|cubic meter|cubic metre|立方米"),
        ("gal", "3.785411784", "gallon|us gallon|加仑"),
        ("uk gal", "4.54609", "imperial gallon|uk gallon|英制加仑"),
        ("qt", "0.946352946", "quart|夸脱"),
        ("pt", "0.473176473", "pint|品脱"),
        ("cup", "0.2365882365", "杯"),
        ("fl oz", "0.0295735295625", "fluid ounce|液盎司"),
        ("ft³", "28.316846592", "ft3|cubic foot|cubic feet|立方英尺"),
    ),
    "time": (
        ("ms", "1/1000", "millisecond|毫秒"),
        ("s", "1", "sec|second|秒|秒钟"),
        ("min", "60", "minute|分钟|分"),
        ("h", "3600", "hr|hour|小时|钟头"),
        ("d", "86400", "day|天|日"),
        ("wk", "604800", "week|周|星期"),
    ),
    "speed": (
        ("m/s", "1", "mps|meters per second|metres per second|米每秒|米/秒"),
        ("km/h", "5/18", "kmh|kph|kilometers per hour|公里每小时|公里/小时|千米每小时"),
        ("mph", "0.44704", "mi/h|miles per hour|英里每小时"),
        ("kn", "463/900", "knot|节"),
    ),
    "data": (
        ("bit", "1/8", "比特"),
        ("B", "1", "byte|字节"),
        ("kB", "1000", "KB|kilobyte|千字节"),
        ("MB", "1000000", "megabyte|兆字节"),
        ("GB", "1000000000", "gigabyte|吉字节"),
        ("TB", "1000000000000", "terabyte|太字节"),
        ("PB", "1000000000000000", "petabyte|拍字节"),
        ("KiB", "1024", "kibibyte"),
        ("MiB", "1048576", "mebibyte"),
        ("GiB", "1073741824", "gibibyte"),
        ("TiB", "1099511627776", "tebibyte"),
        ("Kbit", "125", "kb|kilobit|千比特"),
        ("Mbit", "125000", "Mb|megabit|兆比特"),
        ("Gbit", "125000000", "Gb|gigabit|吉比特"),
    ),
    "energy": (
        ("J", "1", "joule|焦耳|焦"),
        ("kJ", "1000", "kilojoule|千焦"),
        ("cal", "4.184", "calorie|卡路里|卡"),
        ("kcal", "4184", "kilocalorie|千卡|大卡"),
        ("Wh", "3600", "watt hour|瓦时"),
        ("kWh", "3600000", "kilowatt hour|千瓦时|度电"),
    ),
}
_TEMPERATURES = (
    Unit("K", "temperature", Fraction(1)),
    Unit("°C", "temperature", Fraction(1), Fraction("273.15")),
    Unit("°F", "temperature", Fraction(5, 9), Fraction("273.15") - Fraction(160, 9)),
)
_TEMPERATURE_NAMES = {
    "K": "kelvin|开尔文|开",
    "°C": "C|℃|celsius|centigrade|摄氏度|摄氏|degree celsius|degrees celsius",
    "°F": "F|℉|fahrenheit|华氏度|华氏|degree fahrenheit|degrees fahrenheit",
}


def _entries() -> Iterator[tuple[Unit, str]]:
    for dimension, units in _TABLE.items():
        for symbol, factor, names in units:
            yield Unit(symbol, dimension, Fraction(factor)), names
    for unit in _TEMPERATURES:
        yield unit, _TEMPERATURE_NAMES[unit.symbol]


_EXACT: dict[str, Unit] = {}
_FOLDED: dict[str, set[Unit]] = {}
for _unit, _names in _entries():
    for _name in (_unit.symbol, *filter(None, _names.split("|"))):
        _EXACT[_name] = _unit
        for _spelt in {_name, f"{_name}s"} if _name.isascii() and len(_name) > 2 else {_name}:  # noqa: PLR2004
            _FOLDED.setdefault(_spelt.casefold(), set()).add(_unit)


def unit_called(name: str, field: str) -> Unit:
    """The unit of this name, case apart where it tells no two; raises `ArgumentsToolError`."""
    written = " ".join(name.split())
    if written in _EXACT:
        return _EXACT[written]
    meant = _FOLDED.get(written.casefold(), set())
    if len(meant) == 1:
        return next(iter(meant))
    near = sorted(u.symbol for u in meant) or get_close_matches(written.casefold(), _FOLDED, n=3)
    zh = f"你是指 {' 或 '.join(near)} 吗？" if near else "可以写 km、lb、斤 或 °C 这样的"
    en = f"did you mean {' or '.join(near)}?" if near else "write one like km, lb, 斤 or °C"
    zh = f"{field}：不认识“{name[:40]}”这个单位，{zh}"
    en = f"{field}: {name[:40]!r} is no unit known here; {en}"
    raise ArgumentsToolError(Localised(zh=zh, en=en))


def converted(value: Decimal, source: Unit, target: Unit) -> tuple[Decimal, bool]:
    """So many of one unit in another, and whether that had to be rounded, to 34 digits."""
    if source.dimension != target.dimension:
        zh = f"to_unit：{target.symbol} 和 {source.symbol} 量的不是一种东西，请写同类的单位"
        en = (
            f"to_unit: {target.symbol} measures {target.dimension} and {source.symbol} "
            f"{source.dimension}; name two of a kind"
        )
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    own = Fraction(value) * source.factor + source.zero
    if source.dimension == "temperature" and own < 0:
        zh = f"value：没有 {value} {source.symbol} 这么低的温度"
        en = f"value: nothing is as cold as {value} {source.symbol}"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    exact = (own - target.zero) / target.factor
    context = Context(prec=DIGITS)
    found = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return found, Fraction(found) != exact
