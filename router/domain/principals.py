"""Who is acting: people of the directory, and what they may do."""

from typing import Protocol

from pydantic import BaseModel, ConfigDict

from router.domain.texts import Locale

DEFAULT_TENANT = "default"

EVERYONE = "employee"
"""The role that everybody in the directory holds."""

FLOW_ROLE = "flow"
"""The role that only a running flow holds: no person may be given it.

A tool with `roles=["flow"]` can be reached through a flow and its approvals alone.
"""


class Principal(BaseModel):
    """A person as the directory knows them. `manager` and `delegate` are user ids."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    tenant: str = DEFAULT_TENANT
    locale: Locale = "zh"
    roles: frozenset[str] = frozenset({EVERYONE})
    manager: str | None = None
    department: str | None = None
    delegate: str | None = None
    timezone: str = "Asia/Shanghai"

    def may(self, roles: frozenset[str] | list[str]) -> bool:
        """True where one of `roles` is held, or none is asked for."""
        return not roles or bool(self.roles & set(roles))


class Directory(Protocol):
    """Where people come from: a YAML file, or a company's own source."""

    async def find(self, tenant: str, user: str) -> Principal | None:
        """The person with this id, or None."""

    async def holding(self, tenant: str, role: str) -> list[Principal]:
        """Everyone with this role, ordered by id."""
