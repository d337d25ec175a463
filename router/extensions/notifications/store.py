"""How people wish to be written to, and what is held back until they may be."""

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, delete, select, update
from sqlalchemy.sql import ColumnElement

from router.domain.records import Record
from router.extensions.notifications.preferences import (
    DIGEST_CHANNEL,
    USUAL,
    ChannelName,
    NotificationPreferences,
)
from router.extensions.notifications.tables import deferred_posts, notification_preferences
from router.store.columns import moment_there
from router.store.database import Aggregate
from router.store.rows import records, to_row

_preferences = notification_preferences
_deferred = deferred_posts
_KEY = ("tenant", "person", "platform", "run")
NO_RUN = ""
"""The run of a digest: it is about all that wait."""
LEASE = timedelta(seconds=60)
"""For which what was claimed is one process's alone: longer than a post may take."""


class DeferredPost(Record):
    """What a run asks of a person, which waits for their hours; without a `run`, their next digest.

    `number` is that of its row in the log, or of the day of the last digest (0: none). It `reminds`
    whoever has heard of it before.
    """

    tenant: str
    person: str
    platform: str
    run: str
    number: int
    due: datetime
    reminds: bool = True

    @property
    def is_digest(self) -> bool:
        """True of a digest, which is there for as long as it is wished for."""
        return self.run == NO_RUN


class ChosenPreferences(Record):
    """What a person has chosen; what is usual where they have chosen nothing."""

    preferences: NotificationPreferences = USUAL
    channels_before: tuple[ChannelName, ...] | None = None
    """Where they were written to until `moved_at`; None where they never chose other channels."""
    moved_at: datetime | None = None

    @property
    def before(self) -> NotificationPreferences:
        """The same with the channels before these."""
        if self.channels_before is None:
            return self.preferences
        return self.preferences.replace(channels=self.channels_before)

    def at(self, moment: datetime) -> NotificationPreferences:
        """The same with the channels of then."""
        is_before = self.moved_at is not None and moment < self.moved_at
        return self.before if is_before else self.preferences


class Notifications(Aggregate):
    """What each person has chosen, and what they are told later."""

    async def chosen(self, tenant: str, person: str) -> NotificationPreferences:
        """What the person has chosen; what is usual where they have chosen nothing."""
        return (await self.choice(tenant, person)).preferences

    async def choice(self, tenant: str, person: str) -> ChosenPreferences:
        """What the person has chosen, and until when what else."""
        return await self._database.read(lambda c: _choice(c, tenant, person))

    async def choose(self, tenant: str, person: str, preferences: NotificationPreferences) -> None:
        """Keep it from now on. What is held back is looked at anew, and so is when a digest is due.

        What may be somebody's right now stays theirs: they look at it anew once it is posted.
        Choosing the same once more changes nothing.
        """
        whose = {"tenant": tenant, "person": person}
        insert = self._database.insert(_preferences)

        def choose(connection: Connection) -> None:
            now = moment_there(connection)
            row = {**whose, "preferences": preferences.model_dump(mode="json"), "changed_at": now}
            digest = DeferredPost(**whose, platform=DIGEST_CHANNEL, run=NO_RUN, number=0, due=now)
            self._database.serialise(connection, _choices(tenant, person))
            before = _choice(connection, tenant, person).preferences.channels
            moved = {"channels_before": before, "moved_at": now}
            given = row | (moved if before != preferences.channels else {})
            changed = {name: insert.excluded[name] for name in given.keys() - whose.keys()}
            keep = insert.on_conflict_do_update(index_elements=list(whose), set_=changed)
            connection.execute(keep, given)
            if preferences.digest is None:
                connection.execute(delete(_deferred).filter_by(**whose, run=NO_RUN))
            else:
                connection.execute(self._database.insert_new(_deferred), to_row(digest))
            waiting = update(_deferred).filter_by(**whose).where(_deferred.c.due > now + LEASE)
            connection.execute(waiting.values(due=now))

        await self._database.write(choose)

    async def defer(self, post: DeferredPost) -> None:
        """Hold it back; of reminders of one run that wait, the first is enough."""
        insert = self._database.insert_new(_deferred)
        await self._database.write(lambda connection: connection.execute(insert, to_row(post)))

    async def claim(
        self, platforms: Collection[str], now: datetime, limit: int
    ) -> list[DeferredPost]:
        """Those that are due and nobody else is at; the caller's alone for the length of `LEASE`.

        Those of platforms that aren't there wait until they are, or are too old to be kept.
        """
        due = select(_deferred).where(_deferred.c.due <= now)
        here = due.where(_deferred.c.platform.in_(sorted(platforms)))
        query = here.order_by(_deferred.c.due).limit(limit)
        found = await records(self._database, DeferredPost, query)

        def take(connection: Connection) -> list[DeferredPost]:
            taken = []
            for post in found:
                # Unless another process was quicker.
                free = select(_deferred.c.run).where(_this(post), _deferred.c.due <= now)
                locked = free.with_for_update(skip_locked=True)
                if connection.execute(locked).first() is not None:
                    until = update(_deferred).where(_this(post)).values(due=now + LEASE)
                    connection.execute(until)
                    taken.append(post)
            return taken

        return await self._database.write(take) if found else []

    async def again(
        self,
        post: DeferredPost,
        due: datetime,
        number: int | None = None,
        under: NotificationPreferences | None = None,
    ) -> None:
        """Have it come at another time; `number` is the digest that was sent, if one was.

        `under` is what was chosen when that was worked out: where it isn't any more, it is looked
        at anew at once.
        """
        values = {"due": due} | ({"number": number} if number is not None else {})

        def again(connection: Connection) -> None:
            if not self._holds(connection, post, under):
                values["due"] = moment_there(connection)
            connection.execute(update(_deferred).where(_this(post)).values(**values))

        await self._database.write(again)

    async def done(self, post: DeferredPost, under: NotificationPreferences | None = None) -> None:
        """It was posted, or nobody waits for it any more; `under` is as for `again`."""

        def done(connection: Connection) -> None:
            this = and_(_this(post), _deferred.c.number == post.number)
            if self._holds(connection, post, under):
                connection.execute(delete(_deferred).where(this))
            else:
                connection.execute(
                    update(_deferred).where(this).values(due=moment_there(connection))
                )

        await self._database.write(done)

    def _holds(
        self, connection: Connection, post: DeferredPost, under: NotificationPreferences | None
    ) -> bool:
        if under is None:
            return True
        self._database.serialise(connection, _choices(post.tenant, post.person))
        return _choice(connection, post.tenant, post.person).preferences == under


def _choices(tenant: str, person: str) -> str:
    return f"notifications/{tenant}/{person}"


def _choice(connection: Connection, tenant: str, person: str) -> ChosenPreferences:
    query = select(_preferences).filter_by(tenant=tenant, person=person)
    found = connection.execute(query).mappings().first()
    if found is None:
        return ChosenPreferences()
    return ChosenPreferences.model_validate(
        {name: found[name] for name in ChosenPreferences.model_fields}
    )


def _this(post: DeferredPost) -> ColumnElement[bool]:
    return and_(*(_deferred.c[name] == getattr(post, name) for name in _KEY))
