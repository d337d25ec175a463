"""Days that storms ask for."""

from datetime import date, timedelta

from activities.calendar.work_calendar import WorkCalendar


def full_week(after: date) -> date:
    """The first Monday after this day whose five days are all worked."""
    calendar, monday = WorkCalendar.load(), after + timedelta(days=7 - after.weekday())
    while not all(calendar.is_workday(monday + timedelta(days=n)) for n in range(5)):
        monday += timedelta(days=7)
    return monday
