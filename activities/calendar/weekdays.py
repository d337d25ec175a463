"""What the days of the week are called."""

from datetime import date

from router.domain.texts import Localised

_NAMES = (
    Localised(zh="星期一", en="Monday"),
    Localised(zh="星期二", en="Tuesday"),
    Localised(zh="星期三", en="Wednesday"),
    Localised(zh="星期四", en="Thursday"),
    Localised(zh="星期五", en="Friday"),
    Localised(zh="星期六", en="Saturday"),
    Localised(zh="星期日", en="Sunday"),
)


def weekday(day: date) -> Localised:
    """The name of the weekday that `day` falls on.

    >>> weekday(date(2026, 11, 22)).within("zh")
    '星期日'
    """
    return _NAMES[day.weekday()]
