"""Who is on duty for what is handed to people, and what is known of it outside its conversation."""

from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from pydantic import JsonValue
from temporalio import activity

from activities.execution import temporal_failures
from activities.look_up import LookUps
from router.contracts import activities
from router.domain.hand_offs import Duty, HandOffDesk, NamedPerson
from router.domain.principals import Directory, Principal
from router.store.store import Store

DeskOf = Callable[[str], HandOffDesk | None]
"""Who takes what a tenant's people want a person for; None where nobody has been named."""


class HandOffActivities:
    """The activities `who_is_on_duty` and `publish_hand_off`."""

    def __init__(
        self, directory: Directory, desk_of: DeskOf, look_ups: LookUps, store: Store
    ) -> None:
        """Working time is what the lookup `working_time` says, by the company's calendar."""
        self._directory = directory
        self._desk_of = desk_of
        self._look_ups = look_ups
        self._store = store

    @activity.defn(name=activities.WHO_IS_ON_DUTY.name)
    async def who_is_on_duty(self, asked: activities.AskDuty) -> Duty:
        """Who may take it and works at that moment; nobody takes what they ask for themselves.

        Moments are in the time zone of whoever asks.
        """
        with temporal_failures():
            desk = self._desk_of(asked.tenant)
            if desk is None:
                return Duty()
            requester = await self._directory.find(asked.tenant, asked.requester)
            zone = ZoneInfo(requester.timezone if requester else "UTC")
            if asked.agent is not None:
                due = await self._after(asked, asked.agent.id, desk.answer_hours)
                return Duty(configured=True, on_duty=[asked.agent], due=due.astimezone(zone))
            opens, on_duty, dues = list[datetime](), list[NamedPerson](), list[datetime]()
            for person in await self._people(asked.tenant, desk):
                if person.id == asked.requester or person.away_at(asked.now):
                    continue
                begins = await self._after(asked, person.id, 0)
                opens.append(begins)
                dues.append(await self._after(asked, person.id, desk.answer_hours))
                if begins <= asked.now:
                    on_duty.append(NamedPerson.of(person))
            first = min(opens).astimezone(zone) if opens and not on_duty else None
            until = min(dues).astimezone(zone) if dues else None
            return Duty(configured=True, on_duty=on_duty, opens_at=first, due=until)

    async def _people(self, tenant: str, desk: HandOffDesk) -> list[Principal]:
        """Everybody who may take it, by id."""
        found = {
            person.id: person
            for role in sorted(desk.roles)
            for person in await self._directory.holding(tenant, role)
        }
        for id_ in sorted(desk.people - found.keys()):
            person = await self._directory.find(tenant, id_)
            found |= {id_: person} if person else {}
        return [found[id_] for id_ in sorted(found)]

    async def _after(self, asked: activities.AskDuty, person: str, hours: float) -> datetime:
        start, amount = asked.now.isoformat(), dict[str, JsonValue](hours=hours)
        told = await self._look_ups.answer(asked.tenant, "working_time", person, start, amount)
        return datetime.fromisoformat(str(told)).astimezone(UTC)

    @activity.defn(name=activities.PUBLISH_HAND_OFF.name)
    async def publish_hand_off(self, given: activities.PublishHandOff) -> None:
        """Have lists show how it stands, then tell of it; run again, it leaves the same."""
        with temporal_failures():
            await self._store.hand_offs.publish(given.record)
            await self._store.log.append(given.record.tenant, given.entries)
