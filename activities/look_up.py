"""Answers to the lookups of flow files: what an expression needs to know of the world."""

import json
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from datetime import UTC, date, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from pydantic import JsonValue
from temporalio import activity

from activities.execution import temporal_failures
from router.contracts.activities import LOOK_UP, LookUp, LookupAnswer
from router.documents.kinship import kinship, marks_of
from router.domain.durations import MAX_WORKING_DAYS
from router.domain.errors import ArgumentsToolError, NotDeployed
from router.domain.locale import Localised
from router.domain.principals import Directory, Principal
from router.flow.language.functions import LOOKUPS
from router.gateway.lost_runs import place_of
from router.sdk.lookups import DECLARED_LOOKUPS
from router.store.blobs import Files
from router.store.documents import Documents
from router.tool.context import Dependencies

FIRST_YEAR = 2001
LAST_YEAR = 2098
"""Beyond these calendars know neither announcements nor the moon."""
_SATURDAY = 5
_DAY = timedelta(days=1)


class Workdays(Protocol):
    """Knows which days are worked."""

    def is_workday(self, day: date) -> bool:
        """True where people work on this day."""


class Weekdays:
    """Monday to Friday: where nobody has declared a calendar."""

    def is_workday(self, day: date) -> bool:
        """True on any day but of a weekend."""
        return day.weekday() < _SATURDAY


def after_working(
    calendar: Workdays, person: Principal, start: datetime, duration: JsonValue
) -> datetime:
    """The moment at which the duration has passed in the person's working time, in UTC.

    A day leads to the same time of the next working day, hours are counted within the
    person's shifts. What begins outside of them begins with the next shift.
    Raises `ArgumentsToolError` for anything but `{"days": 1, "hours": 4}` up to a year.
    """
    days, hours = _amounts(duration)
    local = start.astimezone(ZoneInfo(person.timezone))
    if not FIRST_YEAR <= local.year < LAST_YEAR - 1:
        raise ArgumentsToolError(f"start: {start.isoformat()} is in no year with a calendar")
    at = next(begins for begins, _ in _shifts(calendar, person, local))
    for _ in range(days):
        day = at.date() + _DAY
        while not calendar.is_workday(day):
            day += _DAY
        at = datetime.combine(day, at.time(), at.tzinfo)
    left = timedelta(hours=hours)
    if not left:
        return at.astimezone(UTC)
    for begins, ends in _shifts(calendar, person, at):
        if left <= ends - begins:
            return (begins + left).astimezone(UTC)
        left -= ends - begins
    raise AssertionError("shifts never end")  # pragma: no cover


def _shifts(
    calendar: Workdays, person: Principal, since: datetime
) -> Iterator[tuple[datetime, datetime]]:
    day = since.date()
    while True:
        if calendar.is_workday(day):
            for shift in person.hours:
                ends = datetime.combine(day, shift.ends, since.tzinfo)
                begins = datetime.combine(day, shift.begins, since.tzinfo)
                if ends > since:
                    yield max(begins, since), ends
        day += _DAY


def _amounts(duration: JsonValue) -> tuple[int, float]:
    given = duration if isinstance(duration, dict) else {"": duration}
    amounts = [given.get("days", 0), given.get("hours", 0)]
    numbers = [n for n in amounts if isinstance(n, int | float) and not isinstance(n, bool)]
    numbers = [n for n in numbers if 0 <= n <= MAX_WORKING_DAYS * 24]
    if len(numbers) == len(amounts) and given.keys() <= {"days", "hours"}:
        days, hours = numbers
        if days == int(days) and days + hours / 8 <= MAX_WORKING_DAYS:
            return int(days), float(hours)
    raise ArgumentsToolError(
        f"duration: {str(duration)[:80]} isn't one of up to a year like "
        '{"days": 1, "hours": 4}, in whole days'
    )


MAX_ANSWER_BYTES = 128 * 1024
"""Bytes of JSON of one answer: a run carries it for as long as it stands in the state."""
MOST_STAND_INS = 2
"""Steps from somebody who is away: a stand-in who is away too, or asks, is stood in for once."""


_related_runs: ContextVar[tuple[str, ...]] = ContextVar("_related_runs", default=())


def asking_runs() -> list[str]:
    """Return the workflow ids of the run that looks something up, and of its request's other runs.

    These are the runs whose branch it is, and its own branches. Outside of an activity there are
    none. The key of each call that those runs make begins with one of the ids and a colon: a lookup
    can leave out what the request has done itself.
    """
    own = activity.info().workflow_id if activity.in_activity() else None
    return [run for run in (own, *_related_runs.get()) if run]


async def weekdays_from(person: Principal, at: datetime) -> datetime:
    """The first moment from `at` on at which the person works, where there is no calendar."""
    return after_working(Weekdays(), person, at, {"days": 0})


class LookUps:
    """The activity `look_up`, with a method of its name for each of the engine's own lookups."""

    def __init__(
        self,
        directory: Directory,
        files: Files,
        documents: Documents,
        dependencies: Dependencies | None = None,
    ) -> None:
        self._directory = directory
        self._files = files
        self._documents = documents
        self._dependencies = dependencies or Dependencies()

    @activity.defn(name=LOOK_UP.name)
    async def look_up(self, asked: LookUp) -> LookupAnswer:
        """The answer to a lookup; arguments that it can't use are an `ArgumentsToolError`."""
        _related_runs.set(asked.related_runs)
        with temporal_failures():
            value = await self.answer(asked.requester.tenant, asked.name, *asked.arguments)
            size = len(json.dumps(value, ensure_ascii=False).encode())
            if size > MAX_ANSWER_BYTES:
                raise ArgumentsToolError(
                    f"{asked.name} answers {size:,} bytes, and {MAX_ANSWER_BYTES:,} are the most: "
                    "look up less at a time"
                )
            return LookupAnswer(value=value)

    async def working_from(self, person: Principal, at: datetime) -> datetime:
        """The first moment from `at` on at which the person works, by their house's calendar."""
        asked: tuple[JsonValue, ...] = (person.id, at.isoformat(), {"days": 0})
        return _moment(await self.answer(person.tenant, "working_time", *asked), "working_time")

    async def answer(self, tenant: str, name: str, *arguments: JsonValue) -> JsonValue:
        """What the lookup of this name answers; arguments that are left out have its defaults.

        Raises as `look_up` does, and `NotDeployed` where this deployment has none such.
        """
        lookup = LOOKUPS.get(name)
        if lookup is None:
            zh = f"现在的部署里没有“{name:.80}”这项查询，请管理员把它部署回来"
            en = f"this deployment has no lookup named {name[:80]!r}; deploy it again"
            raise NotDeployed(Localised(zh=zh, en=en))
        if not lookup.least <= (given := len(arguments)) <= len(lookup.takes):
            # The flow was checked against the lookup when it was loaded: another one is deployed.
            takes = ", ".join(lookup.takes)
            zh = f"“{name}”现在要的是（{takes}），而这里给了 {given} 个值，请管理员部署原来的那个"
            en = f"{name}({takes}) was given {given} arguments; deploy the one the flow began with"
            raise NotDeployed(Localised(zh=zh, en=en))
        given_or_default = lookup.filled_up([*arguments])
        declared = DECLARED_LOOKUPS.get(name)
        if declared is None:
            own: Callable[..., Awaitable[JsonValue]] = getattr(self, name)
            return await own(tenant, *given_or_default)
        async with self._dependencies.call_scope(declared.function) as scope:
            return await declared.answer(tenant, given_or_default, scope)

    async def manager(self, tenant: str, person: JsonValue) -> JsonValue:
        """The user id of the person's manager; null of null, and of whoever isn't known."""
        if person is None:
            return None
        found = await self._directory.find(tenant, _user(person))
        return found.manager if found else None

    async def names(self, tenant: str, people: JsonValue) -> JsonValue:
        """What these people are called; the id of whoever isn't known."""
        found = [(one, await self._directory.find(tenant, one)) for one in _users(people)]
        return [person.name if person else id_ for id_, person in found]

    async def stand_ins(
        self, tenant: str, people: JsonValue, requester: JsonValue, at: JsonValue
    ) -> JsonValue:
        """Who is asked in place of each; whoever has no stand-in that may decide stays asked.

        Null of whoever isn't in the directory any more: they aren't asked.
        """
        asked, moment, asking = _users(people), _moment(at, "at"), _user(requester)
        return [await self._stand_in(tenant, one, asking, moment) for one in asked]

    async def role(self, tenant: str, role: JsonValue) -> JsonValue:
        """The user ids of everyone who holds the role, ordered."""
        holders = await self._directory.holding(tenant, text(role, "role"))
        return [holder.id for holder in holders]

    async def _stand_in(
        self, tenant: str, person: str, requester: str, now: datetime
    ) -> str | None:
        current, passed = await self._directory.find(tenant, person), {person, requester}
        if current is None:
            return None
        if not current.away_at(now):
            return person
        for _ in range(MOST_STAND_INS):
            if current is None or current.delegate is None:
                break
            current = await self._directory.find(tenant, current.delegate)
            if current is not None and current.id not in passed and not current.away_at(now):
                return current.id
        return person

    async def working_time(
        self, tenant: str, person: JsonValue, start: JsonValue, duration: JsonValue
    ) -> JsonValue:
        """The moment at which so much of the person's working time has passed."""
        return await passed(self._directory, Weekdays(), tenant, person, start, duration)

    async def used_before(self, tenant: str, file: JsonValue) -> JsonValue:
        """Whether the file was put before an approver already, in a run that came to something.

        'same' where it is certain, 'alike' where another looks the same, else ''.
        """
        id_ = text(file, "file")
        document = await self._documents.find(tenant, id_)
        if document is None:
            return ""
        own_runs = {place_of(run)[1] for run in asking_runs()}
        marks = set(marks_of(document))
        others = await self._documents.handed_in(tenant, id_, marks, own_runs)
        found = {kinship(document, other) for other in others.values()}
        return "same" if "same" in found else "alike" if "alike" in found else ""

    async def file_name(self, tenant: str, person: JsonValue, file: JsonValue) -> JsonValue:
        """What the person's file with this id is called; null where they have none such."""
        owner, id_ = _user(person), text(file, "file")
        found = await self._files.find(tenant, id_)
        return found.name if found and found.owner == owner else None


async def passed(
    directory: Directory,
    calendar: Workdays,
    tenant: str,
    person: JsonValue,
    start: JsonValue,
    duration: JsonValue,
) -> str:
    """What `working_time` answers by this calendar."""
    id_ = _user(person)
    # Whoever left meanwhile is taken to work as most do: a deadline has to be some time.
    found = await directory.find(tenant, id_) or Principal(id=id_, name=id_)
    return after_working(calendar, found, _moment(start, "start"), duration).isoformat()


def _user(person: JsonValue) -> str:
    """A person is a user id, or something that has one, as `requester` does."""
    return text(person.get("id") if isinstance(person, dict) else person, "person")


def _users(people: JsonValue) -> list[str]:
    if not isinstance(people, list):
        raise ArgumentsToolError(f"people: {str(people)[:40]} is no list of user ids")
    return [_user(person) for person in people]


def _moment(value: JsonValue, name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text(value, name))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ArgumentsToolError(
            f"{name}: {str(value)[:40]!r} isn't a moment such as 2026-11-18T09:30:00+08:00"
        )
    return moment


def text(value: JsonValue, name: str) -> str:
    """The text that an argument holds; raises `ArgumentsToolError`, which calls it `name`."""
    if not isinstance(value, str):
        raise ArgumentsToolError(f"{name}: {str(value)[:40]} isn't text")
    return value
