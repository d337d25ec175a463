"""Versions that people of a share have, and that begin by themselves, in several processes."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from router.directory.tenants import LiveTenants, Tenants
from router.domain.configuration_documents import (
    Activation,
    DocumentVersion,
    digest_of,
    standing,
)
from router.domain.errors import DefinitionError
from router.domain.shares import is_of_share
from router.retrieval.index import CapabilityIndex
from router.runtime.configuration_kinds import ConfigurationKinds
from router.runtime.definitions import load_capabilities
from router.runtime.tenant_configuration import Configuration, HouseConfiguration
from router.settings import Settings
from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from router.understanding.reader import Reader
from tests.unit.runtime.documents import overtime

pytestmark = pytest.mark.slow

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
FIRST, LAST = (
    next(p for p in map(str, range(1000)) if is_of_share(50, "acme", "overtime", p) is of_it)
    for of_it in (True, False)
)
"""Somebody who is of a half of acme's people, and somebody who isn't."""


@dataclass
class Process:
    """One process over a database that others have too, with a clock that is set by hand."""

    settings: Settings
    store: Store
    now: datetime = NOW
    configuration: Configuration = field(init=False)

    def __post_init__(self) -> None:
        self.offered = load_capabilities(self.settings)
        listed = self.offered.listed(skills=False)
        reader = Reader(self.offered.flows(), self.offered.phrases(), listed)
        self.index = CapabilityIndex(None)
        self.reader = reader
        parts = (self.settings, self.offered, reader, self.index, LiveTenants(Tenants))
        house = HouseConfiguration(*parts, False, ConfigurationKinds(self.settings))
        self.configuration = Configuration(house, self.store, now=lambda: self.now)

    def version_of(self, person: str | None = None, tenant: str = "acme") -> int | None:
        flow = self.offered.of(tenant, person).catalog.get("overtime")
        return flow.version if flow else None

    async def after(self, minutes: int) -> None:
        self.now = NOW + timedelta(minutes=minutes)
        await self.configuration.refresh()


@pytest.fixture
async def store(tmp_path: Path) -> Any:
    database = Database(f"sqlite:///{tmp_path}/router.db")
    await database.migrate(ROUTER)
    store = Store(database)
    yield store
    await store.aclose()
    await database.dispose()


@pytest.fixture
def processes(store: Store) -> list[Process]:
    return [Process(Settings(_env_file=None), store) for _ in range(2)]


async def write(
    store: Store,
    version: int,
    text: str,
    name: str = "overtime",
    *,
    share: int = 100,
    after: int | None = None,
) -> None:
    named: Any = {"tenant": "acme", "kind": "flows", "name": name, "version": version}
    made = DocumentVersion(
        **named, text=text, digest=digest_of(text), author="anna", written_at=NOW
    )
    moment = None if after is None else NOW + timedelta(minutes=after)
    held = Activation(
        **named, share=share, holds_from=moment, activated_by="olga", activated_at=NOW
    )
    await store.configuration.write(made, await store.configuration.mark("acme", NOW), held)


async def test_people_of_a_share_have_a_version_in_every_process_and_the_others_what_was(
    store: Store, processes: list[Process]
) -> None:
    await write(store, 1, overtime())
    await write(store, 2, overtime(2, patterns="['^zusatzstunden']"), share=50)
    for process in processes:
        await process.configuration.refresh()
        assert [process.version_of(who) for who in (FIRST, LAST, None)] == [2, 1, 1]
        assert process.version_of(FIRST, "globex") is None
        ours, others = (process.reader.of("acme", who) for who in (FIRST, LAST))
        assert ours is not others
        assert others is process.reader.of("acme")


async def test_a_new_flow_is_there_for_the_share_alone(
    store: Store, processes: list[Process]
) -> None:
    await write(store, 1, overtime(), share=50)
    await processes[0].configuration.refresh()
    assert [processes[0].version_of(who) for who in (FIRST, LAST)] == [1, None]
    assert processes[0].offered.of("acme", LAST).catalog.get("leave_request") is not None


async def test_a_share_with_the_same_words_is_searched_by_what_is_there(
    store: Store, processes: list[Process]
) -> None:
    await write(store, 1, overtime())
    await write(store, 2, overtime(2, hours=3), share=50)
    await processes[0].configuration.refresh()
    index = processes[0].index
    assert index.of("acme", FIRST) is index.of("acme", LAST)
    await write(store, 3, overtime(3).replace('en: "Overtime"', 'en: "Extra hours"'), share=50)
    await processes[0].configuration.refresh()
    assert index.of("acme", FIRST) is not index.of("acme", LAST)


async def test_a_version_begins_at_its_moment_by_itself_and_in_a_process_that_starts_later(
    store: Store, processes: list[Process]
) -> None:
    await write(store, 1, overtime())
    await write(store, 2, overtime(2), after=5)
    running, started_later = processes
    await running.after(4)
    assert running.version_of() == 1
    await running.after(5)
    assert running.version_of() == 2
    await started_later.after(6)
    assert started_later.version_of() == 2


async def test_what_is_called_off_never_begins(store: Store, processes: list[Process]) -> None:
    await write(store, 1, overtime())
    await write(store, 2, overtime(2), after=5)
    coming = standing(await store.configuration.activations("acme", "flows", "overtime"), NOW)
    seen = await store.configuration.mark("acme", NOW)
    await store.configuration.take_back(coming.upcoming, seen, "olga", NOW)
    await processes[0].after(6)
    assert processes[0].version_of() == 1


async def test_a_share_that_is_rolled_back_is_nobody_s_any_more(
    store: Store, processes: list[Process]
) -> None:
    await write(store, 1, overtime())
    await write(store, 2, overtime(2), share=50)
    await processes[0].configuration.refresh()
    those = standing(await store.configuration.activations("acme", "flows", "overtime"), NOW)
    seen = await store.configuration.mark("acme", NOW)
    await store.configuration.take_back(those.rolled_back, seen, "olga", NOW)
    for process in processes:
        await process.configuration.refresh()
        assert [process.version_of(who) for who in (FIRST, LAST)] == [1, 1]


async def test_a_share_that_does_not_fit_is_said_and_leaves_everybody_what_was(
    store: Store, processes: list[Process]
) -> None:
    await write(store, 1, overtime())
    await write(store, 2, overtime(2).replace("next: agree", "next: nowhere"), share=50)
    await processes[0].configuration.refresh()
    assert [processes[0].version_of(who) for who in (FIRST, LAST)] == [1, 1]
    assert "nowhere" in processes[0].configuration.unfit["acme"]


@pytest.mark.parametrize("held", [{"after": 5}, {"share": 50}], ids=["to come", "of a share"])
async def test_what_a_version_to_come_or_of_a_share_needs_is_not_taken_out_of_use(
    store: Store, processes: list[Process], held: dict[str, Any]
) -> None:
    await write(store, 1, other_flow(), "extra")
    await write(store, 1, overtime())
    await write(store, 2, starting("extra"), **held)
    configuration = processes[0].configuration
    with pytest.raises(DefinitionError, match="extra"):
        await configuration.examine("acme", "flows", "extra", None)
    await configuration.examine("acme", "flows", "extra", other_flow(said="reworded"))
    await configuration.examine("acme", "flows", "overtime", overtime(said="reworded"))


async def test_what_does_not_fit_when_its_moment_comes_is_left_out_and_others_are_taken_up(
    store: Store, processes: list[Process]
) -> None:
    await write(store, 1, overtime())
    await write(store, 2, starting("extra"), after=5)
    process = processes[0]
    await process.after(4)
    await process.after(5)
    assert process.version_of() == 1
    assert "extra" in process.configuration.unfit["acme"]

    restarted = processes[1]
    await restarted.after(6)
    assert restarted.version_of() == 1
    assert "extra" in restarted.configuration.unfit["acme"]

    await write(store, 1, other_flow("aside"), "aside")
    await process.after(6)
    assert process.offered.of("acme").catalog.get("aside") is not None
    assert process.version_of() == 1
    assert "extra" in process.configuration.unfit["acme"]

    await write(store, 1, other_flow("extra"), "extra")
    for each in processes:
        await each.after(7)
        assert each.version_of() == 2
        assert each.configuration.unfit == {}


async def test_a_process_that_begins_goes_back_over_all_that_never_fitted(
    store: Store, processes: list[Process]
) -> None:
    await write(store, 1, overtime())
    await write(store, 2, starting("extra"), after=5)
    await write(store, 3, starting("more"), after=6)
    await processes[0].after(7)
    assert processes[0].version_of() == 1


def other_flow(name: str = "extra", said: str = "Noted") -> str:
    """A flow that nothing of overtime's starts."""
    text = overtime(said=said, patterns="['^extra']").replace("flow: overtime", f"flow: {name}")
    return text.replace('examples: ["log overtime", "我要报加班"]', 'examples: ["extra"]')


def starting(name: str) -> str:
    """Overtime's second version, which starts another flow first."""
    first = f"off: {{flow: {name}, detached: true, next: gather}}"
    return overtime(2).replace("start: gather\nstates:", f"start: off\nstates:\n  {first}")
