"""Answers to the lookups of flow files: what an expression needs to know of the world."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from pydantic import JsonValue
from temporalio import activity

from activities.calendar import work_calendar
from activities.calendar.work_calendar import WorkCalendar, after_working
from activities.execution import temporal_failures
from activities.people.people import PeopleSystem
from activities.people.records import one_spelling
from router.contracts.activities import LOOK_UP, LookUp, LookupAnswer
from router.domain.errors import ArgumentsToolError
from router.domain.principals import Directory, Principal
from router.flow.language.functions import LOOKUPS
from router.store.files import Files

MOST_STAND_INS = 2
"""Steps from somebody who is away: a stand-in who is away too, or asks, is stood in for once."""
_HALVES = frozenset({"", "am", "pm"})


class LookUps:
    """The activity `look_up`, with one method for each of `router.flow.language.functions.LOOKUPS`.

    A method has the lookup's name, and takes the tenant and then what the lookup takes.
    """

    def __init__(
        self, directory: Directory, calendar: WorkCalendar, people: PeopleSystem, files: Files
    ) -> None:
        self._directory = directory
        self._calendar = calendar
        self._people = people
        self._files = files

    @activity.defn(name=LOOK_UP.name)
    async def look_up(self, asked: LookUp) -> LookupAnswer:
        """The answer to a lookup; arguments that it can't use are an `ArgumentsToolError`."""
        with temporal_failures():
            lookup = LOOKUPS.get(asked.name)
            if lookup is None:
                known = ", ".join(sorted(LOOKUPS))
                raise ArgumentsToolError(f"there is no lookup {asked.name!r}; there are: {known}")
            if len(asked.arguments) != len(lookup.takes):
                takes = ", ".join(lookup.takes)
                raise ArgumentsToolError(
                    f"{asked.name}({takes}) was given {len(asked.arguments)} arguments"
                )
            answer: Callable[..., Awaitable[JsonValue]] = getattr(self, asked.name)
            return LookupAnswer(value=await answer(asked.requester.tenant, *asked.arguments))

    async def manager(self, tenant: str, person: JsonValue) -> JsonValue:
        """The user id of the person's manager; null of null, and of whoever isn't known."""
        if person is None:
            return None
        found = await self._directory.find(tenant, _user(person))
        return found.manager if found else None

    async def names(self, tenant: str, people: JsonValue) -> JsonValue:
        """What these people are called; the id of whoever isn't known."""
        if not isinstance(people, list):
            raise ArgumentsToolError(f"people: {str(people)[:40]} is no list of user ids")
        found = [await self._directory.find(tenant, _user(person)) for person in people]
        return [one.name if one else id_ for one, id_ in zip(found, people, strict=True)]

    async def role(self, tenant: str, role: JsonValue) -> JsonValue:
        """The user ids of everyone who holds the role, ordered."""
        holders = await self._directory.holding(tenant, _text(role, "role"))
        return [holder.id for holder in holders]

    async def stand_ins(
        self, tenant: str, people: JsonValue, requester: JsonValue, at: JsonValue
    ) -> JsonValue:
        """Who is asked in place of each; whoever has no stand-in that may decide stays asked."""
        if not isinstance(people, list):
            raise ArgumentsToolError(f"people: {str(people)[:40]} is no list of user ids")
        moment, asking = _moment(at, "at"), _user(requester)
        return [await self._stand_in(tenant, _user(one), asking, moment) for one in people]

    async def _stand_in(self, tenant: str, person: str, requester: str, now: datetime) -> str:
        current, passed = await self._directory.find(tenant, person), {person, requester}
        if current is None or not current.away_at(now):
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
        id_ = _user(person)
        # Whoever left meanwhile is taken to work as most do: a deadline has to be some time.
        found = await self._directory.find(tenant, id_) or Principal(id=id_, name=id_)
        since = _moment(start, "start")
        return after_working(self._calendar, found, since, duration).isoformat()

    async def workdays(
        self,
        tenant: str,
        start: JsonValue,
        end: JsonValue,
        start_half: JsonValue,
        end_half: JsonValue,
    ) -> JsonValue:
        """Working days from start to end, as a number in halves."""
        del tenant  # one calendar for everyone, so far
        days = work_calendar.workdays(
            self._calendar,
            work_calendar.day(start, "start"),
            work_calendar.day(end, "end"),
            _half(start_half, "start_half"),
            _half(end_half, "end_half"),
        )
        return float(days)

    async def last_workday(self, tenant: str, start: JsonValue, duration: JsonValue) -> JsonValue:
        """The day on which a leave of this duration ends, as an ISO date."""
        del tenant
        first = work_calendar.day(start, "start")
        return work_calendar.last_workday(self._calendar, first, duration).isoformat()

    async def claimed(self, tenant: str, invoice: JsonValue) -> JsonValue:
        """True where a claim that still stands has this invoice number."""
        number = one_spelling(_text(invoice, "invoice"))
        return await self._people.claims.claimed(tenant, number)

    async def file_name(self, tenant: str, person: JsonValue, file: JsonValue) -> JsonValue:
        """What the person's file with this id is called; null where they have none such."""
        owner, id_ = _user(person), _text(file, "file")
        found = await self._files.find(tenant, id_)
        return found.name if found and found.owner == owner else None


def _user(person: JsonValue) -> str:
    """A person is a user id, or something that has one, as `requester` does."""
    return _text(person.get("id") if isinstance(person, dict) else person, "person")


def _moment(value: JsonValue, name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_text(value, name))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ArgumentsToolError(
            f"{name}: {str(value)[:40]!r} isn't a moment such as 2026-11-18T09:30:00+08:00"
        )
    return moment


def _half(value: JsonValue, name: str) -> str:
    half = "" if value is None else value
    if not isinstance(half, str) or half not in _HALVES:
        raise ArgumentsToolError(f"{name}: {str(value)[:40]!r} isn't am, pm or empty")
    return half


def _text(value: JsonValue, name: str) -> str:
    if not isinstance(value, str):
        raise ArgumentsToolError(f"{name}: {str(value)[:40]} isn't text")
    return value
