"""Tools called through the gate, on behalf of a person, with what they ask for provided."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import activities.builtin
import company.tools
from activities import provided
from company.people.people import PeopleSystem, human_resources
from router.contracts.activities import ToolCall
from router.directory.file import FileDirectory
from router.domain.locale import Locale
from router.domain.principals import Principal
from router.domain.run_approvals import RunApproval
from router.flow.loader import load_flows
from router.store.database import Database
from router.store.store import Store
from router.tool.context import Dependencies
from router.tool.registry import Registry
from router.understanding.names import FlowNames
from tests.one_try import run_tool

NOW = datetime(2026, 11, 20, 18, 30, 15, 5, tzinfo=UTC)
"""A Friday; in Shanghai it is Saturday already."""

ALICE = Principal(id="alice", name="王丽 Alice", manager="bob")
FRANK = Principal(id="frank", name="Frank Novak", locale="en", timezone="America/New_York")


class _Kinds:
    """The sample flows, and a form that only looks something up."""

    def __init__(self) -> None:
        flows = load_flows(Path(__file__).parents[4] / "flows")
        self.names = {flow.flow: FlowNames.of(flow) for flow in flows}

    def of(self, _: str, person: str | None = None) -> "_Kinds":
        return self

    def look_ups(self) -> frozenset[str]:
        return frozenset({"get_current_time"})

    def names_of(self, flow: str) -> FlowNames | None:
        return self.names.get(flow)


KINDS = _Kinds()


RUN = "f/default/r1"
"""The run that calls for a flow; the keys of its calls begin with it."""


class Desk:
    """Calls tools for people and flows."""

    store: Store

    def __init__(self) -> None:
        self.now = NOW
        self.registry = Registry().discover(activities.builtin, company.tools)
        self.directory = FileDirectory.load()
        self.dependencies = Dependencies()
        self.dependencies.provide(provided.directory, self.directory)
        self.dependencies.provide(provided.request_kinds, KINDS)

    async def person(self, name: str) -> Principal:
        """Someone of the sample directory, with their roles."""
        found = await self.directory.find("default", name)
        assert found is not None
        return found

    async def ask(
        self, tool: str, caller: Principal = ALICE, spoken: Locale | None = None, **arguments: Any
    ) -> Any:
        """The result of a tool that only reads, and needs no ledger, as JSON."""
        call = ToolCall(tool=tool, arguments=arguments, caller=caller, locale=spoken, now=self.now)
        return await run_tool(self.registry, None, self.dependencies, call)  # type: ignore[arg-type]

    async def write(self, tool: str, caller: Principal, key: str = "k", **arguments: Any) -> Any:
        """The result of a write that the caller has confirmed, as JSON."""
        call = ToolCall(tool=tool, arguments=arguments, caller=caller, key=key, now=self.now)
        return await self._write(call, confirmed=True)

    async def flow(
        self,
        tool: str,
        key: str,
        arguments: Any,
        undoes: str = "",
        caller: Principal = ALICE,
        run: str = RUN,
    ) -> Any:
        """The result of a write of a flow, as JSON."""
        about = {"tool": tool, "arguments": arguments, "caller": caller, "now": self.now}
        approval = RunApproval(digest="seen", person="carol", state="manager")
        by_flow: dict[str, Any] = {
            "key": f"{run}:{key}",
            "undoes": undoes and f"{run}:{undoes}",
            "flow_run": run,
        }
        by_flow |= {"approvals": (approval,), "slots_digest": "seen"}
        return await self._write(ToolCall.model_validate({**about, **by_flow}))

    async def _write(self, call: ToolCall, *, confirmed: bool = False) -> Any:
        ledger = self.store.ledger
        return await run_tool(self.registry, ledger, self.dependencies, call, confirmed)


@pytest.fixture
def desk() -> Desk:
    """A desk without a database."""
    return Desk()


@pytest.fixture
def kept(desk: Desk, database: Database, people: PeopleSystem) -> Desk:
    """A desk with a database, and the people system in it."""
    desk.store = Store(database)
    desk.dependencies.provide(provided.runs, desk.store.runs)
    desk.dependencies.provide(human_resources, people)
    return desk
