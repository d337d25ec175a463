"""Documents of configuration: versions that are only added to, and which of them hold.

A tenant's activations are serialised. Whoever activates says which was the last one that they had
checked theirs against: what was checked beside other documents never holds beside these.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, func, insert, select

from router.domain.configuration_documents import (
    MOST_DOCUMENTS,
    Activation,
    DocumentHead,
    DocumentKind,
    DocumentVersion,
    behaviours,
)
from router.domain.errors import Conflict, NotFound, Outdated
from router.store import tables
from router.store.database import Aggregate
from router.store.rows import record, records, to_row

_versions = tables.configuration_versions
_activations = tables.configuration_activations
_OF = ("tenant", "kind", "name")


class ConfigurationStore(Aggregate):
    """The documents of every tenant."""

    async def mark(self, tenant: str | None = None) -> int:
        """How many activations there were, of every tenant where none is named."""
        query = _mark(tenant)
        return int(await self._database.read(lambda c: c.execute(query).scalar_one()))

    async def active(self, tenant: str | None = None) -> list[DocumentVersion]:
        """The versions that hold, by kind and name; of every tenant where none is named."""
        held = _newest(tenant)
        query = (
            select(_versions)
            .join(held, and_(*(held.c[n] == _versions.c[n] for n in (*_OF, "version"))))
            .order_by(*(_versions.c[name] for name in _OF))
        )
        return await records(self._database, DocumentVersion, query)

    async def heads(self, tenant: str, kind: DocumentKind | None = None) -> list[DocumentHead]:
        """Every document of the tenant without its text, by kind and name."""
        latest = _latest(tenant, kind).subquery()
        held = _newest(tenant)
        same = (latest.c.kind == held.c.kind, latest.c.name == held.c.name)
        shown = func.coalesce(held.c.version, latest.c.version)
        query = (
            select(
                _versions.c.kind,
                _versions.c.name,
                latest.c.version.label("latest"),
                held.c.version.label("active"),
                *(_versions.c[name] for name in ("digest", "author", "written_at")),
                held.c.activated_by,
                held.c.activated_at,
            )
            .select_from(latest)
            .outerjoin(held, and_(*same))
            .join(
                _versions,
                and_(
                    _versions.c.tenant == tenant,
                    _versions.c.kind == latest.c.kind,
                    _versions.c.name == latest.c.name,
                    _versions.c.version == shown,
                ),
            )
            .order_by(_versions.c.kind, _versions.c.name)
        )
        return await records(self._database, DocumentHead, query)

    async def find(
        self, tenant: str, kind: DocumentKind, name: str, version: int
    ) -> DocumentVersion | None:
        """The version of this number; None where there is none."""
        named = select(_versions).filter_by(tenant=tenant, kind=kind, name=name, version=version)
        return await record(self._database, DocumentVersion, named)

    async def head(self, tenant: str, kind: DocumentKind, name: str) -> DocumentHead | None:
        """The document without its text; None where there is none."""
        found = await self.heads(tenant, kind)
        return next((each for each in found if each.name == name), None)

    async def versions(self, tenant: str, kind: DocumentKind, name: str) -> list[DocumentVersion]:
        """Every version, the first one first."""
        named = select(_versions).filter_by(tenant=tenant, kind=kind, name=name)
        return await records(self._database, DocumentVersion, named.order_by(_versions.c.version))

    async def activations(self, tenant: str, kind: DocumentKind, name: str) -> list[Activation]:
        """Every activation, the first one first."""
        named = select(_activations).filter_by(tenant=tenant, kind=kind, name=name)
        ordered = named.order_by(_activations.c.sequence)
        return await records(self._database, Activation, ordered)

    async def write(self, version: DocumentVersion, seen: int | None) -> None:
        """Add a version, and with `seen`, the mark it was checked at, let it hold at once.

        Raises `Outdated` where the newest isn't the one before this, or another activation came
        after `seen`; `Conflict` where its flow's number is given to other behaviour already, or
        the tenant has too many documents. Nothing was changed then.
        """

        def work(connection: Connection) -> None:
            self._serialise(connection, version.tenant)
            self._check_new(connection, version)
            connection.execute(insert(_versions), to_row(version))
            if seen is not None:
                made = _activation(version, version.version, version.author, version.written_at)
                self._activate(connection, made, seen)

        await self._database.write(work)

    async def activate(self, wanted: Activation, seen: int) -> None:
        """Let a version hold, or with None no version; raises as `write`, and `NotFound`."""

        def work(connection: Connection) -> None:
            self._serialise(connection, wanted.tenant)
            named = wanted.model_dump(include={*_OF, "version"})
            there = select(func.count()).select_from(_versions).filter_by(**named)
            if wanted.version is not None and not connection.execute(there).scalar_one():
                raise NotFound("There is no such version.")
            self._activate(connection, wanted, seen)

        await self._database.write(work)

    def _serialise(self, connection: Connection, tenant: str) -> None:
        self._database.serialise(connection, f"configuration/{tenant}")

    def _check_new(self, connection: Connection, version: DocumentVersion) -> None:
        named = version.model_dump(include={*_OF})
        earlier = [
            DocumentVersion.model_validate(dict(row._mapping))  # noqa: SLF001 - documented
            for row in connection.execute(select(_versions).filter_by(**named))
        ]
        latest = max((each.version for each in earlier), default=0)
        if version.version != latest + 1:
            raise Outdated(
                f"The newest version of {version.path} is {latest or 'none'} by now: read it, and "
                "write yours over that one."
            )
        if not earlier:
            self._check_room(connection, version.tenant)
        known = behaviours(earlier).get(version.flow_version or 0, version.behaviour)
        if known != version.behaviour:
            raise Conflict(
                f"{version.path} does something else than version {version.flow_version} did: "
                f"raise version to {(version.flow_version or 0) + 1}, and runs that are under way "
                "keep theirs."
            )

    def _check_room(self, connection: Connection, tenant: str) -> None:
        names = select(_versions.c.kind, _versions.c.name).filter_by(tenant=tenant).distinct()
        count = connection.execute(select(func.count()).select_from(names.subquery())).scalar_one()
        if count >= MOST_DOCUMENTS:
            raise Conflict(
                f"There are {count} documents already, and that is the most there may be."
            )

    def _activate(self, connection: Connection, wanted: Activation, seen: int) -> None:
        if connection.execute(_mark(wanted.tenant)).scalar_one() != seen:
            raise Outdated(
                "Another document was activated while this one was checked: send it again."
            )
        row = to_row(wanted)
        del row["sequence"]
        connection.execute(insert(_activations), row)


def _activation(of: DocumentVersion, version: int | None, by: str, at: datetime) -> Activation:
    named = of.model_dump(include={*_OF})
    return Activation(**named, version=version, activated_by=by, activated_at=at)


def _mark(tenant: str | None) -> Select[Any]:
    of = {} if tenant is None else {"tenant": tenant}
    # Their count and not the last number: of two tenants' the later may be seen first.
    return select(func.count()).select_from(_activations).filter_by(**of)


def _newest(tenant: str | None) -> Any:
    """The activation of each document that counts, of which one without a version says: none."""
    of = {} if tenant is None else {"tenant": tenant}
    last = select(func.max(_activations.c.sequence)).filter_by(**of)
    last = last.group_by(*(_activations.c[name] for name in _OF))
    return select(_activations).where(_activations.c.sequence.in_(last)).subquery()


def _latest(tenant: str, kind: DocumentKind | None) -> Select[Any]:
    of = {"tenant": tenant} | ({"kind": kind} if kind else {})
    newest = func.max(_versions.c.version).label("version")
    grouped = (_versions.c.kind, _versions.c.name)
    return select(*grouped, newest).filter_by(**of).group_by(*grouped)
