"""Who is acting, and what they may do; what can be done here, as people and models see it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Literal, Protocol, Self
from zoneinfo import ZoneInfo

from pydantic import Field, JsonValue, model_validator

from router.domain.locale import Locale, Localised
from router.domain.shares import Shared
from router.domain.value import Value

DEFAULT_TENANT = "default"

EVERYONE = "employee"
"""The role that everybody in the directory holds."""

FLOW_ROLE = "flow"
"""The role that only a running flow holds: no person may be given it.

A tool with `roles=["flow"]` can be reached through a flow and its approvals alone.
"""

SERVICE_ROLE = "service"
"""The role of an account that isn't a person: it speaks for the people who use a chat UI."""

RESERVED_ROLES = frozenset({EVERYONE, FLOW_ROLE, SERVICE_ROLE})
"""Roles that no token may give: whoever could, could be everybody, or do what approvals guard."""


class TenantScoped:
    """What the whole house has, beside which single tenants may have theirs."""

    _own: Mapping[str, Self] = MappingProxyType({})
    _shared: Mapping[str, Shared[Self]] = MappingProxyType({})

    def of(self, tenant: str, person: str | None = None) -> Self:
        """What the tenant has: its own where it has any, else the house's.

        For a `person` of the tenant, by id, it is what they have who may be of a share.
        """
        whole = self._own.get(tenant, self)
        if person is None or tenant not in self._shared:
            return whole
        return self._shared[tenant].of(tenant, person) or whole

    def every(self) -> list[Self]:
        """The house's, and all that tenants, and shares of their people, have of their own."""
        shared = (each for of in self._shared.values() for each in of.variants.values())
        return [self, *self._own.values(), *shared]

    def give(
        self,
        own: Mapping[str, Self],
        shared: Mapping[str, Shared[Self]] = MappingProxyType({}),
    ) -> None:
        """Let exactly these tenants, and these shares of their people, have these of their own."""
        self._own, self._shared = own, shared


class Absence(Value, extra="forbid", populate_by_name=True):
    """Days on which somebody is away, both ends included, in their own time zone."""

    first: date = Field(alias="from")
    last: date = Field(alias="to")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.last < self.first:
            raise ValueError("write from before to: the last day is one of absence too")
        return self


class WorkShift(Value):
    """A part of the working day, such as 09:00-12:00; it ends on the day that it begins on."""

    begins: time
    ends: time

    @classmethod
    def read(cls, written: str) -> Self:
        """The shift that is written `09:00-12:00`; ValueError where it is none."""
        try:
            begins, ends = map(time.fromisoformat, written.split("-"))
        except ValueError:
            raise ValueError("write hours as 09:00-12:00") from None
        if begins.tzinfo or ends.tzinfo:
            raise ValueError("write hours without a time zone, as 09:00-12:00: it is the person's")
        if not begins < ends:
            raise ValueError("write hours that end after they begin, as 09:00-12:00")
        return cls(begins=begins, ends=ends)


OFFICE_HOURS = (WorkShift.read("09:00-12:00"), WorkShift.read("13:00-18:00"))
"""Who has no other hours works eight a day."""


CapabilityKind = Literal["flow", "skill", "tool"]


_ALL = ("*",)


class NameSelection(Value):
    """Names by patterns such as `leave_*`, letter for letter: those of `only` but those `besides`.

    >>> NameSelection(only=("leave_*",), besides=("leave_undo",)).has("leave_request")
    True
    """

    only: tuple[str, ...] = _ALL
    besides: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """True where the name is one of them."""
        if self.only == _ALL and not self.besides:
            return True  # asked of every capability in every turn, and so mostly answered
        chosen = any(fnmatchcase(name, pattern) for pattern in self.only)
        return chosen and not any(fnmatchcase(name, pattern) for pattern in self.besides)


ALL_NAMES = NameSelection()
"""Every name there is."""


class Entitlement(Value):
    """What there is for a tenant, whoever its people are: roles narrow it further, never widen it.

    It travels with the person, so that workflows can tell without asking, and so that a run goes on
    to its end with what there was when it began.
    """

    flows: NameSelection = NameSelection()
    skills: NameSelection = NameSelection()
    tools: NameSelection = NameSelection()

    def covers(self, kind: CapabilityKind, name: str) -> bool:
        """True where the tenant has the flow, skill or tool of this name."""
        by_kind = {"flow": self.flows, "skill": self.skills, "tool": self.tools}
        return by_kind[kind].has(name)

    def without(self, names: Iterable[str]) -> "Entitlement":
        """The same less what is called so, or by such a pattern, of any kind: never more.

        >>> EVERYTHING.without(["leave_*"]).covers("flow", "leave_request")
        False
        """
        less = tuple(sorted(names))
        kinds = {"flows": self.flows, "skills": self.skills, "tools": self.tools}
        return Entitlement(
            **{n: NameSelection(only=k.only, besides=k.besides + less) for n, k in kinds.items()}
        )


EVERYTHING = Entitlement()
"""That of a tenant of whom nothing is said."""


class Principal(Value):
    """A person as the directory knows them. `manager` and `delegate` are user ids.

    `away` is when `delegate` stands in; `hours` are the shifts of a working day, in order.
    """

    id: str
    name: str
    tenant: str = DEFAULT_TENANT
    locale: Locale = "zh"
    roles: frozenset[str] = frozenset({EVERYONE})
    manager: str | None = None
    department: str | None = None
    delegate: str | None = None
    timezone: str = "Asia/Shanghai"
    away: tuple[Absence, ...] = ()
    hours: tuple[WorkShift, ...] = OFFICE_HOURS
    entitlement: Entitlement = EVERYTHING
    """What there is for their tenant."""

    def away_at(self, now: datetime) -> bool:
        """True where the person is away at this moment; `now` is aware."""
        today = now.astimezone(ZoneInfo(self.timezone)).date()
        return any(absence.first <= today <= absence.last for absence in self.away)

    def also(self, roles: frozenset[str]) -> Self:
        """The same person with these roles too, less those that only the directory gives."""
        more = roles - RESERVED_ROLES - self.roles
        return self.replace(roles=self.roles | more) if more else self

    def speaking(self, locale: Locale) -> Self:
        """The same person, answered in this language."""
        return self if locale == self.locale else self.replace(locale=locale)

    def having(self, entitlement: Entitlement) -> Self:
        """The same person, of a tenant that has this."""
        return self.replace(entitlement=entitlement)

    def may(self, roles: frozenset[str] | list[str]) -> bool:
        """True where one of `roles` is held, or none is asked for."""
        return not roles or bool(self.roles & set(roles))

    def may_use(self, kind: CapabilityKind, name: str, roles: frozenset[str]) -> bool:
        """True where their tenant has it, and they one of the roles that it is for."""
        return self.entitlement.covers(kind, name) and self.may(roles)


ANYBODY = Principal(id="", name="")
"""Who may use what everybody may."""


class Directory(Protocol):
    """Where people come from: a YAML file, or a company's own source."""

    async def find(self, tenant: str, user: str) -> Principal | None:
        """The person with this id, or None."""

    async def holding(self, tenant: str, role: str) -> list[Principal]:
        """Everyone with this role, ordered by id."""


class PeopleDirectory(Directory, Protocol):
    """A directory that can also be leafed through."""

    def everyone(self, tenant: str = DEFAULT_TENANT) -> list[Principal]:
        """All people of a tenant, ordered by id."""

    def by_account(self, platform: str, account: str) -> Principal | None:
        """Whose account it is on a chat platform (`slack`, `feishu`…); None: nobody's."""

    def accounts(self, platform: str) -> Sequence[tuple[Principal, str]]:
        """Everyone who has an account there, with it."""

    def accounts_of(self, tenant: str, user: str) -> Mapping[str, str]:
        """Who the person is on each platform on which they are somebody."""


class Capability(Value):
    """A flow, skill or tool: enough to list it, find it, and decide who may use it."""

    kind: CapabilityKind
    name: str
    title: Localised
    description: Localised
    examples: tuple[str, ...] = ()
    roles: frozenset[str] = frozenset()
    permission: Literal["read", "write", "admin"] | None = None
    """Of a tool: whether it changes something, and whose."""
    parameters: dict[str, JsonValue] = {}
    """The JSON Schema of what it takes: a tool's arguments, a flow's slots."""
    client: bool = False
    """Of a tool: whether the front end makes the call, so that nothing here can start it."""
    suggested: bool = False
    """Of a tool: whether people who begin are shown what it is asked for with."""
    by_model: bool = True
    """Of a skill: whether a model may choose it; otherwise no model hears of it."""
    by_name: bool = True
    """Of a skill: whether people may call it by name; otherwise nobody is told of it."""
    hint: str = ""
    """Of a skill: what may be said after its name."""
