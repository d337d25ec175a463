"""How long a duration may be that a file, a setting or a program gives.

Everything that waits adds a duration to a moment. The calendar ends with the year 9999, and
Temporal counts durations in nanoseconds: much more than a century can't be waited for.
"""

from datetime import datetime, timedelta

MAX_DURATION = timedelta(days=36_525)
"""A hundred years."""
MAX_WORKING_DAYS = 366
"""Of a duration that is counted in somebody's working time, which is a calendar's."""


def is_far_off(moment: datetime, now: datetime) -> bool:
    """Whether a moment is further away than anything can wait for."""
    return moment - now > MAX_DURATION


def fits_working_time(duration: timedelta) -> bool:
    """Whether a duration can be counted in working days of eight hours."""
    hours = duration.seconds / 3600
    return duration.days + hours / 8 <= MAX_WORKING_DAYS
