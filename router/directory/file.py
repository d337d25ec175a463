"""People from a YAML file, or from JSON of the same shape.

It is checked whole and held in memory: a directory that could fail in the middle of an approval
would be worse than one that refuses to start.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from router.domain.errors import DefinitionError, MisconfiguredError, Problem, nearest, reason_of
from router.domain.locale import Locale
from router.domain.principals import (
    DEFAULT_TENANT,
    EVERYONE,
    FLOW_ROLE,
    OFFICE_HOURS,
    Absence,
    Principal,
    WorkShift,
)
from router.domain.value import Value
from router.domain.visible_text import one_line
from router.formats.yaml_document import REMEMBERED, opens_too_many

SAMPLE = Path(str(resources.files("router.directory") / "sample.yaml"))

UserId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]
Platform = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
AccountName = Annotated[str, Field(pattern=r"^[!-~]{1,100}$")]
PersonName = Annotated[str, Field(max_length=100), AfterValidator(one_line), Field(min_length=1)]
Role = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]


def _timezone(value: str) -> str:
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("write an IANA time zone, such as Asia/Shanghai") from error


SHIFT = r"^\d\d:\d\d-\d\d:\d\d$"
"""How hours are written."""


def _shift(value: object) -> object:
    return WorkShift.read(value) if isinstance(value, str) else value


def _in_order(hours: list[WorkShift]) -> list[WorkShift]:
    if any(later.begins < earlier.ends for earlier, later in pairwise(hours)):
        raise ValueError("write the hours of a day in order, none twice")
    return hours


Hours = Annotated[
    WorkShift, BeforeValidator(_shift, json_schema_input_type=Annotated[str, Field(pattern=SHIFT)])
]


class PersonEntry(Value, extra="forbid", strict=True):
    """A person as the file has them. Closed, so that a misspelt key is noticed."""

    id: UserId
    name: PersonName
    tenant: UserId = DEFAULT_TENANT
    locale: Locale = "zh"
    roles: list[Role] = []
    """Beyond `employee`, which everybody is: `hr`, `finance`, `operator`, or the house's own."""
    manager: UserId | None = None
    """Who approves what they ask for: the id of somebody listed."""
    department: Annotated[str, AfterValidator(one_line)] | None = None
    delegate: UserId | None = None
    """Who stands in while they are `away`."""
    timezone: Annotated[str, AfterValidator(_timezone)] = "Asia/Shanghai"
    accounts: dict[Platform, AccountName] = {}
    """Who they are on chat platforms: `{slack: U0123}`."""
    away: Annotated[list[Absence], Field(max_length=100, strict=False)] = []
    hours: Annotated[list[Hours], Field(min_length=1, max_length=6), AfterValidator(_in_order)] = (
        list(OFFICE_HOURS)
    )
    """The shifts of a working day, such as `09:00-12:00`."""

    @property
    def principal(self) -> Principal:
        """The person, holding the role that everybody holds."""
        fields = self.model_dump(exclude={"roles", "accounts"})
        return Principal(**fields, roles=frozenset({EVERYONE, *self.roles}))


@dataclass(frozen=True)
class Remnant:
    """Who is still listed, where what lists them can't be used: the most that may be true."""

    roles: Mapping[tuple[str, str], frozenset[str] | None]
    """By tenant and id; None for an entry that can't be read, which takes nothing away."""
    accounts: frozenset[tuple[str, str, str, str]]
    """Tenant, id, platform and account of those that can."""


@dataclass
class DirectoryError(DefinitionError):
    """A directory with faults, and what it takes away from whoever was there before."""

    remnant: Remnant = field(kw_only=True)


class FileDirectory:
    """A `router.domain.principals.Directory` over the people of one file."""

    def __init__(
        self,
        people: Iterable[Principal],
        accounts: Mapping[tuple[str, str], Principal] | None = None,
        warnings: Sequence[Problem] = (),
    ) -> None:
        """`accounts` are the people by platform and account there."""
        self._people = {(person.tenant, person.id): person for person in people}
        self._accounts = dict(accounts or {})
        self._accounts_of: dict[tuple[str, str], dict[str, str]] = {}
        for (platform, account), one in self._accounts.items():
            self._accounts_of.setdefault((one.tenant, one.id), {})[platform] = account
        self.warnings = tuple(warnings)
        """What was passed over: managers and delegates who aren't listed are none."""

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """The directory in the file at `path`, or the sample; `DefinitionError` has all faults."""
        file = path or SAMPLE
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise MisconfiguredError(
                f"ROUTER_DIRECTORY={file} can't be read ({error}): name a readable YAML file"
            ) from error
        return cls._of(_yaml(text, str(file)), str(file))

    @classmethod
    def read(cls, text: str, source: str) -> Self:
        """The directory that was fetched as this text, JSON or YAML, from `source`.

        In JSON a problem's line is which person it is, from 1: machines write all of it on one.
        """
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return cls._of(_yaml(text, source), source)
        return cls._of(document, f"{source} users")

    @classmethod
    def _of(cls, document: Any, source: str) -> Self:
        users = document.get("users") if isinstance(document, dict) else None
        if not isinstance(users, list) or not users:
            remedy = "write `users:` and a list of people"
            raise DefinitionError([Problem(source, 1, "it lists nobody", remedy)])
        entries, problems = _entries(users, source)
        known = _known(users)
        problems += _broken_links(entries, source)
        if problems:
            ordered = sorted(problems, key=lambda problem: problem.line)
            raise DirectoryError(ordered, remnant=_remnant(known, entries))
        strangers = [*_strangers(entries, known, source)]
        people = [(entry, _without_strangers(entry, known).principal) for _, entry in entries]
        accounts = {each: one for entry, one in people for each in entry.accounts.items()}
        return cls((person for _, person in people), accounts, strangers)

    def reduced(self, remnant: Remnant) -> "FileDirectory":
        """These people less whoever is gone, and less what was taken from them.

        So nobody who left stays, or keeps a role, for a slip elsewhere in the same edit.
        One that leaves nobody is itself the slip, and takes nothing away.
        """
        if not remnant.roles.keys() & self._people.keys():
            return self

        def left(person: Principal) -> Principal:
            roles = remnant.roles[person.tenant, person.id]
            return person.replace(
                manager=remaining(person.tenant, person.manager),
                delegate=remaining(person.tenant, person.delegate),
                roles=person.roles if roles is None else person.roles & {EVERYONE, *roles},
            )

        def remaining(tenant: str, other: str | None) -> str | None:
            return other if (tenant, other) in remnant.roles else None

        people = {key: left(one) for key, one in self._people.items() if key in remnant.roles}
        accounts = {
            place: people[one.tenant, one.id]
            for place, one in self._accounts.items()
            if (one.tenant, one.id) in people
            and (
                remnant.roles[one.tenant, one.id] is None
                or (one.tenant, one.id, *place) in remnant.accounts
            )
        }
        return FileDirectory(people.values(), accounts, self.warnings)

    def each(self, changed: Callable[[Principal], Principal]) -> "FileDirectory":
        """The same people, each as `changed` has them."""
        people = {key: changed(one) for key, one in self._people.items()}
        accounts = {at: people[one.tenant, one.id] for at, one in self._accounts.items()}
        return FileDirectory(people.values(), accounts, self.warnings)

    async def find(self, tenant: str, user: str) -> Principal | None:
        """The person with this id, or None."""
        return self._people.get((tenant, user))

    async def holding(self, tenant: str, role: str) -> list[Principal]:
        """Everyone with this role, ordered by id."""
        return [person for person in self.everyone(tenant) if role in person.roles]

    def everyone(self, tenant: str = DEFAULT_TENANT) -> list[Principal]:
        """All people of a tenant, ordered by id."""
        mine = (person for person in self._people.values() if person.tenant == tenant)
        return sorted(mine, key=lambda person: person.id)

    @property
    def tenants(self) -> list[str]:
        """All that somebody is of, in order."""
        return sorted({tenant for tenant, _ in self._people})

    @property
    def roles(self) -> frozenset[str]:
        """Every role that somebody holds, in whatever tenant."""
        return frozenset(role for person in self._people.values() for role in person.roles)

    def by_account(self, platform: str, account: str) -> Principal | None:
        """Whose account it is on a chat platform (`slack`, `feishu`…); None: nobody's."""
        return self._accounts.get((platform, account))

    def accounts(self, platform: str) -> Sequence[tuple[Principal, str]]:
        """Everyone who has an account there, with it."""
        return [(one, name) for (where, name), one in self._accounts.items() if where == platform]

    def accounts_of(self, tenant: str, user: str) -> Mapping[str, str]:
        """Who the person is on each platform on which they are somebody."""
        return self._accounts_of.get((tenant, user), {})


def _yaml(text: str, source: str) -> Any:
    too_deep = Problem(source, 1, "it is nested too deep", "a directory needs less than ten")
    if opens_too_many(text):
        raise DefinitionError([too_deep])
    try:
        load = _loaded if len(text) <= REMEMBERED else _loaded.__wrapped__
        return load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what, remedy = error.problem or "it is no YAML", "write YAML 1.2"
        if "'\\t'" in what:
            what, remedy = "a line is indented with a tab", "indent with spaces"
        problem = Problem(source, mark.line + 1 if mark else 1, what, remedy)
        raise DefinitionError([problem]) from error
    except YAMLError as error:
        problem = Problem(source, 1, f"it is no YAML: {error}", "write YAML 1.2")
        raise DefinitionError([problem]) from error
    except ValueError as error:  # of what looks like a day, and is none
        what = f"something that looks like a day or time is none: {error}"
        problem = Problem(source, 1, what, "write one that there is, or put it in quotes")
        raise DefinitionError([problem]) from error
    except RecursionError:
        raise DefinitionError([too_deep]) from None


@lru_cache(maxsize=4)
def _loaded(text: str) -> Any:
    """The data with its lines, which whoever reads it leaves as it is."""
    return YAML(typ="rt").load(text)


_Entries = list[tuple[int, PersonEntry]]


def _entries(users: list[Any], file: str) -> tuple[_Entries, list[Problem]]:
    """The people that can be read, each with its line, and what is wrong with the others."""
    good: _Entries = []
    problems: list[Problem] = []
    for index, raw in enumerate(users):
        line = users.lc.item(index)[0] + 1 if isinstance(users, CommentedSeq) else index + 1
        try:
            good.append((line, PersonEntry.model_validate(raw)))
        except ValidationError as error:
            problems += _field_problems(error, raw, line, file)
    return good, problems


def _field_problems(error: ValidationError, raw: Any, line: int, file: str) -> Iterator[Problem]:
    for fault in error.errors():
        place = fault["loc"]
        name = ".".join(map(str, place)) or "user"
        given = f"={fault['input']!r}" if fault["type"] not in {"missing", "model_type"} else ""
        where = line
        if isinstance(raw, CommentedMap) and place and place[0] in raw:
            where = int(raw.lc.key(place[0])[0]) + 1
        what, remedy = f"{name}{given} can't be used", reason_of(fault)
        if fault["type"] == "extra_forbidden":
            known = PersonEntry.model_fields
            what = f"there is no key {name}"
            remedy = nearest(name, known) or f"there are {', '.join(known)}"
        yield Problem(file, where, what, remedy)


_Ids = frozenset[tuple[str, str]]
_Managers = Mapping[tuple[str, str], str | None]


def _known(users: list[Any]) -> _Ids:
    """Tenant and id of everybody listed, those included of whom something else is wrong."""
    people = (one for one in users if isinstance(one, dict))
    ids = ((one.get("tenant", DEFAULT_TENANT), one.get("id")) for one in people)
    return frozenset((t, i) for t, i in ids if isinstance(t, str) and isinstance(i, str))


def _remnant(known: _Ids, entries: _Entries) -> Remnant:
    read = {(entry.tenant, entry.id): frozenset(entry.roles) for _, entry in entries}
    accounts = frozenset(
        (entry.tenant, entry.id, *place) for _, entry in entries for place in entry.accounts.items()
    )
    return Remnant({key: read.get(key) for key in known}, accounts)


def _broken_links(entries: _Entries, file: str) -> list[Problem]:
    """What only shows when all people are known: doubles, circles, reserved roles."""
    managers = {(entry.tenant, entry.id): entry.manager for _, entry in entries}
    lines: dict[tuple[str, str], int] = {}
    owners: dict[tuple[str, str], PersonEntry] = {}
    problems: list[Problem] = []
    for line, entry in entries:
        faults = [*_faults(entry)]
        if first := lines.get((entry.tenant, entry.id)):
            faults.append((f"id={entry.id} is there twice", f"it is on line {first} already"))
        lines.setdefault((entry.tenant, entry.id), line)
        for platform, account in entry.accounts.items():
            owner = owners.setdefault((platform, account), entry)
            # One would act as the other.
            if (owner.tenant, owner.id) != (entry.tenant, entry.id):
                what = f"{entry.id}'s account {platform}: {account} is {owner.id}'s too"
                faults.append((what, "give it to one of them"))
        if _over_themselves(entry, managers):
            what = f"{entry.id} is, over others, their own manager"
            faults.append((what, "break the circle"))
        problems += (Problem(file, line, *fault) for fault in faults)
    return problems


def _over_themselves(entry: PersonEntry, managers: _Managers) -> bool:
    """True for who is, over some steps, their own manager: approvals would never rise."""
    above, seen = entry.manager, {entry.id}
    while above is not None and above not in seen:
        seen.add(above)
        above = managers.get((entry.tenant, above))
    return above == entry.id != entry.manager


_RELATIONS = ("manager", "delegate")


def _faults(entry: PersonEntry) -> Iterator[tuple[str, str]]:
    for relation in _RELATIONS:
        if getattr(entry, relation) == entry.id:
            yield f"{entry.id}'s {relation} is {entry.id}", "leave it out or name someone else"
    if entry.away and entry.delegate is None:
        yield f"{entry.id} is away and nobody stands in", "name a delegate"
    if FLOW_ROLE in entry.roles:
        yield f"{entry.id} has the role {FLOW_ROLE}", "take it out: only running flows hold it"


def _strange(entry: PersonEntry, known: _Ids) -> dict[str, str]:
    """Who is named and not listed, by relation: whoever takes somebody out may overlook that."""
    named = {relation: getattr(entry, relation) for relation in _RELATIONS}
    return {n: who for n, who in named.items() if who and (entry.tenant, who) not in known}


def _strangers(entries: _Entries, known: _Ids, file: str) -> Iterator[Problem]:
    for line, entry in entries:
        for relation, who in _strange(entry, known).items():
            what = f"{entry.id}'s {relation}={who} isn't listed, so they have none"
            yield Problem(file, line, what, "add them or correct the id")


def _without_strangers(entry: PersonEntry, known: _Ids) -> PersonEntry:
    gone: dict[str, Any] = dict.fromkeys(_strange(entry, known))
    return entry.replace(**gone)
