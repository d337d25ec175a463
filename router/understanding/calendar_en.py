"""The English names of months, weekdays and days of the month, as expressions and as numbers."""

_MONTH_NAMES = (
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug"
    "|september sept sep|october oct|november nov|december dec"
)
_MONTHS = {
    name: number
    for number, names in enumerate(_MONTH_NAMES.split("|"), 1)
    for name in names.split()
}
MONTH_NAME = "(?:" + "|".join(_MONTHS) + ")"

_WEEKDAY_NAMES = (
    "monday mon|tuesday tues tue|wednesday wed|thursday thurs thur thu|friday fri"
    "|saturday sat|sunday sun"
)
WEEKDAYS = {
    name: number for number, names in enumerate(_WEEKDAY_NAMES.split("|")) for name in names.split()
}
WEEKDAY_NAME = "(?:" + "|".join(WEEKDAYS) + r")\b"
# Sat, sun, wed and mon are words or names too, and count only where a day is expected.
_DOUBTFUL = {"mon", "wed", "sat", "sun"}
SURE_WEEKDAY = "(?:" + "|".join(name for name in WEEKDAYS if name not in _DOUBTFUL) + ")"
SHORT_WEEKDAY = "(?:" + "|".join(sorted(_DOUBTFUL)) + ")"

_NAMES_TO_TWENTY = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_TO_TWENTY = _NAMES_TO_TWENTY.split()
_ORDINALS = {word: number for number, word in enumerate(_TO_TWENTY, 1)} | {"thirtieth": 30}
_ORDINALS |= {
    f"{tens}{gap}{word}": base + number
    for tens, base, last in (("twenty", 20, 9), ("thirty", 30, 1))
    for number, word in enumerate(_TO_TWENTY[:last], 1)
    for gap in "- "
}
ORDINAL = "(?:" + "|".join(sorted(_ORDINALS, key=len, reverse=True)) + ")"
DAY_FIGURE = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
ORDINAL_FIGURE = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)"
DAY = rf"(?:{DAY_FIGURE}|{ORDINAL})\b"

# last, this or next week and month, counted from the current one.
WHICH = {"last": -1, "this": 0, "the": 0, "current": 0, "next": 1}


def day_number(text: str) -> int:
    """The day of the month of `24`, `24th` or `twenty-fourth`."""
    return _ORDINALS.get(text) or int(text.rstrip("stndrh"))


def month_number(text: str) -> int:
    """The month of `December` or `dec`, January being 1."""
    return _MONTHS[text]
