"""What tools ask for that is neither theirs nor the people system's, each under its name.

`router.assembly` says what the names stand for; a test or a company may say otherwise.
"""

from activities.calendar.work_calendar import WorkCalendar
from router.domain.ports import Results, Runs
from router.domain.principals import Directory
from router.tool.dependencies import Provider

directory: Provider[Directory] = Provider("directory")
"""Who works here."""

runs: Provider[Runs] = Provider("runs")
"""Flow runs and their approvals, as they were last published."""

results: Provider[Results] = Provider("results")
"""Results of tools that are too long to be given whole."""

work_calendar: Provider[WorkCalendar] = Provider("work_calendar")
"""Which days are worked."""
