"""Calls of those functions of the store that keep configuration."""

from datetime import UTC, datetime, timedelta
from typing import Any

from router.domain.configuration_documents import Activation, DocumentVersion
from router.domain.periods import Period
from router.store.database import Database
from router.store.prompt_shares import SetShares
from router.store.store import Store
from tests.past import TENANT, Past


class ConfigurationCalls:
    """What is called, and with what."""

    def __init__(self, database: Database, store: Store, past: Past) -> None:
        self.database, self.store, self.past = database, store, past
        self.person = past.person(0)
        self.now = past.now
        days = (self.now.date() - timedelta(days=2), self.now.date())
        self.period = Period.read(*days, "UTC", self.now)

    async def prompt_shares_put(self) -> None:
        about = {"tenant": TENANT, "job": "router", "shares": {"router-3": 1}, "set_by": "olga"}
        await self.store.prompt_shares.put(SetShares.model_validate({**about, "set_at": self.now}))

    async def prompt_shares_holding(self) -> None:
        await self.store.prompt_shares.holding()

    async def prompt_shares_roll_back(self) -> None:
        (held,) = await self.store.prompt_shares.holding(TENANT)
        await self.store.prompt_shares.roll_back(held, "olga", self.now)

    async def prompt_outcomes_counted(self) -> None:
        await self.store.prompt_outcomes.counted(TENANT, self.period)

    async def configuration_write(self) -> None:
        about: dict[str, Any] = {"tenant": TENANT, "kind": "skills", "name": "a", "text": "a"}
        about |= {"digest": "d", "author": self.person, "written_at": self.now}
        seen = await self.store.configuration.mark(TENANT)
        await self.store.configuration.write(DocumentVersion(version=1, **about), seen)

    async def configuration_activate(self) -> None:
        about: dict[str, Any] = {"tenant": TENANT, "kind": "skills", "name": "a", "version": 1}
        wanted = Activation(activated_by=self.person, activated_at=self.now, **about)
        seen = await self.store.configuration.mark(TENANT)
        await self.store.configuration.activate(wanted, seen)

    async def configuration_mark(self) -> None:
        await self.store.configuration.mark()

    async def configuration_active(self) -> None:
        await self.store.configuration.active()
        await self.store.configuration.active(TENANT)

    async def configuration_holding(self) -> None:
        await self.store.configuration.holding()
        await self.store.configuration.holding(TENANT)

    async def configuration_take_back(self) -> None:
        held = await self.store.configuration.activations(TENANT, "skills", "a")
        seen = await self.store.configuration.mark(TENANT)
        await self.store.configuration.take_back(held[-1:], seen, "olga", datetime.now(UTC))

    async def configuration_heads(self) -> None:
        await self.store.configuration.heads(TENANT)

    async def configuration_head(self) -> None:
        await self.store.configuration.head(TENANT, "skills", "a")

    async def configuration_find(self) -> None:
        await self.store.configuration.find(TENANT, "skills", "a", 1)

    async def configuration_versions(self) -> None:
        await self.store.configuration.versions(TENANT, "skills", "a")

    async def configuration_activations(self) -> None:
        await self.store.configuration.activations(TENANT, "skills", "a")

    async def runs_open_by_version(self) -> None:
        await self.store.runs.open_by_version(TENANT, "leave_request")

    async def flow_versions_keep(self) -> None:
        await self.store.flow_versions.keep("one", 1, "b")

    async def flow_versions_known(self) -> None:
        await self.store.flow_versions.known("one", 1)

    async def flow_versions_flows(self) -> None:
        await self.store.flow_versions.flows()

    async def flow_versions_replace(self) -> None:
        await self.store.flow_versions.replace("one", 1, "b")
