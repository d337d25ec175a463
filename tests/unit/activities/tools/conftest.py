"""Tools called through the gate, on behalf of a person, with what they ask for provided."""

from datetime import UTC, datetime
from typing import Any

import pytest

import activities.tools
from activities import provided
from activities.calendar.work_calendar import WorkCalendar
from activities.call_tool import run_tool
from router.contracts.activities import ToolCall
from router.directory.file import FileDirectory
from router.domain.principals import Principal
from router.tool.dependencies import Dependencies
from router.tool.registry import Registry

NOW = datetime(2026, 11, 20, 18, 30, 15, 5, tzinfo=UTC)
"""A Friday; in Shanghai it is Saturday already."""

ALICE = Principal(id="alice", name="王丽 Alice", manager="bob")
FRANK = Principal(id="frank", name="Frank Novak", locale="en", timezone="America/New_York")


class Desk:
    """Calls tools for people."""

    def __init__(self) -> None:
        self.registry = Registry().discover(activities.tools)
        self.dependencies = Dependencies()
        self.dependencies.provide(provided.directory, FileDirectory.load())
        self.dependencies.provide(provided.work_calendar, WorkCalendar.load())

    async def ask(self, tool: str, caller: Principal = ALICE, **arguments: Any) -> Any:
        """The tool's result as JSON; these tools only read, so that they need no ledger."""
        call = ToolCall(tool=tool, arguments=arguments, caller=caller, now=NOW)
        return await run_tool(self.registry, None, self.dependencies, call)  # type: ignore[arg-type]


@pytest.fixture
def desk() -> Desk:
    """A desk without a database."""
    return Desk()
