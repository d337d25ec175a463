"""The shares that prompts get, as people set them, and how conversations with each version went."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, exists, func, insert, literal, select, update

from router.domain.periods import Period
from router.domain.records import Record
from router.store import tables
from router.store.columns import MomentType
from router.store.database import Aggregate
from router.store.rows import records, to_row

_shares = tables.prompt_shares
_log = tables.log
_runs = tables.runs


class SetShares(Record):
    """What somebody gave the versions of a job, and whether it was taken back."""

    sequence: int | None = None
    """Assigned by the table: the order in which they were set."""
    tenant: str
    job: str
    shares: dict[str, int]
    set_by: str
    set_at: datetime
    rolled_back_by: str | None = None
    rolled_back_at: datetime | None = None


class PromptShares(Aggregate):
    """Which versions of prompts a tenant's conversations get, where somebody has set that."""

    async def put(self, wanted: SetShares) -> None:
        """Let these hold from now on; where they do already, nothing is added."""
        row = to_row(wanted)
        del row["sequence"]

        def work(connection: Any) -> None:
            self._database.serialise(connection, f"prompts/{wanted.tenant}/{wanted.job}")
            holding = connection.execute(_holding(wanted.tenant, wanted.job)).first()
            if holding is None or holding.shares != wanted.shares:
                connection.execute(insert(_shares), row)

        await self._database.write(work)

    async def holding(self, tenant: str | None = None) -> list[SetShares]:
        """The newest of each job that isn't taken back; of every tenant where none is named."""
        return await records(self._database, SetShares, _holding(tenant))

    async def roll_back(self, holding: SetShares, by: str, at: datetime) -> None:
        """Take these back, so that what held before holds; once, however often it is said."""
        taken = (
            update(_shares)
            .where(_shares.c.sequence == holding.sequence, _shares.c.rolled_back_at.is_(None))
            .values(rolled_back_by=by, rolled_back_at=at)
        )
        await self._database.write(lambda connection: connection.execute(taken))


def _holding(tenant: str | None, job: str | None = None) -> Select[Any]:
    of = {name: value for name, value in (("tenant", tenant), ("job", job)) if value is not None}
    newest = (
        select(func.max(_shares.c.sequence))
        .where(_shares.c.rolled_back_at.is_(None))
        .filter_by(**of)
        .group_by(_shares.c.tenant, _shares.c.job)
    )
    return select(_shares).where(_shares.c.sequence.in_(newest)).order_by(_shares.c.sequence)


class VersionCounts(NamedTuple):
    """What became of the messages that a model was asked about with one version of a prompt.

    `unused` are turns in which its answer was of no use; `started` are runs that it began, of which
    some are completed or cancelled by now.
    """

    version: str
    fingerprints: Sequence[str]
    conversations: int
    turns: int
    unused: int
    missed: int
    asked_back: int
    handed_off: int
    started: int
    completed: int
    cancelled: int


_DIGEST = len("@00000000")
"""What a fingerprint has behind its version."""


_WITHOUT = ("retrieval", "fallback")
"""How it was decided where a model had been asked and its answer was of no use."""


class PromptOutcomes(Aggregate):
    """How turns and runs went, by the version of the prompt that decided."""

    async def counted(self, tenant: str, period: Period) -> list[VersionCounts]:
        """Versions that were asked with in these days, by name."""
        version = func.substr(_log.c.prompt, 1, func.length(_log.c.prompt) - _DIGEST)
        each = _asked(tenant, period)
        kind = _log.c.route_kind
        turns = (
            select(
                version.label("version"),
                func.count(_log.c.conversation.distinct()),
                func.count(),
                func.count().filter(_log.c.route_by.in_(_WITHOUT)),
                func.count().filter(_log.c.missed),
                func.count().filter(kind == "clarify"),
                func.count().filter(kind == "handoff"),
            )
            .where(*each)
            .group_by(version)
            .order_by(version)
        )
        named = select(version, _log.c.prompt).where(*each).distinct().order_by(_log.c.prompt)
        runs = _begun(tenant, period, version)
        queries: tuple[Select[Any], ...] = (turns, named, runs)
        rows = await self._database.read(lambda c: [c.execute(each).all() for each in queries])
        fingerprints = defaultdict[str, list[str]](list)
        for name, fingerprint in rows[1]:
            fingerprints[name].append(fingerprint)
        begun = {name: counts for name, *counts in rows[2]}
        return [
            VersionCounts(name, fingerprints[name], *counts, *begun.get(name, (0, 0, 0)))
            for name, *counts in rows[0]
        ]


def _asked(tenant: str, period: Period) -> tuple[ColumnElement[bool], ...]:
    begins, ends = literal(period.since, MomentType), literal(period.until, MomentType)
    within = (_log.c.at >= begins, _log.c.at < ends)
    return (_log.c.tenant == tenant, _log.c.prompt.is_not(None), *within)


def _begun(tenant: str, period: Period, version: ColumnElement[str]) -> Select[Any]:
    """By version the runs that were first heard of in a turn that a model decided."""
    run = _log.c.data[("turn", "flow", "id")].as_string()
    before = _log.alias()
    known = exists().where(
        before.c.tenant == _log.c.tenant,
        before.c.conversation == _log.c.conversation,
        before.c.kind == "turn",
        before.c.sequence < _log.c.sequence,
        before.c.data[("turn", "flow", "id")].as_string() == run,
    )
    decided = and_(_log.c.route_kind == "flow", _log.c.route_by == "llm")
    its_run = and_(_runs.c.tenant == _log.c.tenant, _runs.c.id == run)
    counts: list[Any] = [
        func.count(),
        func.count().filter(_runs.c.status == "completed"),
        func.count().filter(_runs.c.status == "cancelled"),
    ]
    begun = select(version, *counts).join_from(_log, _runs, its_run)
    return begun.where(*_asked(tenant, period), decided, ~known).group_by(version)
