"""Documents of configuration: versions that are only added to, and which of them hold.

An activation that has begun counts until a later one of everybody has, or it is taken back. Where
no moment is named it is now that is asked about.

A tenant's activations are serialised. Whoever activates says which was the last one that they had
checked theirs against: what was checked beside other documents never holds beside these.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    exists,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from router.domain.configuration_documents import (
    MOST_DOCUMENTS,
    WHOLE,
    Activation,
    DocumentHead,
    DocumentKind,
    DocumentStanding,
    DocumentVersion,
    HeldVersion,
    behaviours,
    standing,
)
from router.domain.errors import Conflict, NotFound, Outdated
from router.store import tables
from router.store.database import Aggregate
from router.store.idempotency import KeyClaim, note_claim
from router.store.rows import from_row, record, records, to_row

_versions = tables.configuration_versions
_activations = tables.configuration_activations
_OF = ("tenant", "kind", "name")
TransactionStep = Callable[[Connection], None]
"""What is done in the transaction that writes something else, or undoes all of it by raising."""


def _do_nothing(_: Connection) -> None:
    """Do nothing in the transaction."""


class ConfigurationStore(Aggregate):
    """The documents of every tenant."""

    async def mark(self, tenant: str | None = None, at: datetime | None = None) -> int:
        """A number that grows with all that changes what holds.

        That is each activation, each whose moment comes, each that is taken back; of every tenant
        where none is named.
        """
        query = _mark(tenant, at or datetime.now(UTC))
        return int(await self._database.read(lambda c: c.execute(query).scalar_one()))

    async def active(
        self, tenant: str | None = None, at: datetime | None = None
    ) -> list[DocumentVersion]:
        """The versions that everybody has who isn't of a share, by kind and name.

        Of every tenant where none is named.
        """
        held = _whole(tenant, at or datetime.now(UTC))
        query = (
            select(_versions)
            .join(held, and_(*(held.c[n] == _versions.c[n] for n in (*_OF, "version"))))
            .order_by(*(_versions.c[name] for name in _OF))
        )
        return await records(self._database, DocumentVersion, query)

    async def holding(
        self, tenant: str | None = None, at: datetime | None = None
    ) -> list[HeldVersion]:
        """All that holds or is to, in order of their activations, which `standing` tells apart."""
        counting = _counting(tenant, at or datetime.now(UTC)).subquery()
        same = (counting.c[n] == _versions.c[n] for n in (*_OF, "version"))
        named = [each.label(f"held_{each.name}") for each in counting.c]
        query = select(*named, _versions).select_from(counting)
        ordered = query.outerjoin(_versions, and_(*same)).order_by(counting.c.sequence)
        rows = await self._database.read(lambda connection: connection.execute(ordered).all())
        return [_held(dict(row._mapping)) for row in rows]  # noqa: SLF001 - documented

    async def heads(
        self, tenant: str, kind: DocumentKind | None = None, at: datetime | None = None
    ) -> list[DocumentHead]:
        """Every document of the tenant without its text, by kind and name."""
        now = at or datetime.now(UTC)
        found = await records(self._database, DocumentHead, _heads(tenant, kind, now))
        counting = await records(self._database, Activation, _counting(tenant, now))
        of = defaultdict[tuple[str, str], list[Activation]](list)
        for each in counting:
            of[each.kind, each.name].append(each)
        return [_stood(head, standing(of[head.kind, head.name], now)) for head in found]

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

    async def write(
        self,
        version: DocumentVersion,
        seen: int | None,
        held: Activation | None = None,
        beside: DocumentVersion | None = None,
        claim: KeyClaim | None = None,
        along: TransactionStep = _do_nothing,
    ) -> None:
        """Add a version, and with `seen`, the mark it was checked at, let it hold.

        It holds at once, or as `held` says; what is written `beside` it holds as it does. The
        request's key is claimed, and what goes `along` is done, where it is written.

        Raises `Outdated` where the newest isn't the one before this, or another activation came
        after `seen`; `Conflict` where its flow's number is given to other behaviour already, or the
        tenant has too many documents; and what `along` raises. Nothing was changed then.
        """

        def work(connection: Connection) -> None:
            self._serialise(connection, version.tenant)
            note_claim(self._database, connection, claim)
            self._check_new(connection, version)
            connection.execute(insert(_versions), to_row(version))
            if seen is not None:
                self._activate(connection, held or _at_once(version), seen)
            if beside is not None and held is not None:
                self._check_new(connection, beside)
                connection.execute(insert(_versions), to_row(beside))
                named: dict[str, Any] = beside.model_dump(include={*_OF, "version"})
                self._insert(connection, held.replace(**named))
            along(connection)

        await self._database.write(work)

    async def activate(
        self, wanted: Activation, seen: int, beside: Activation | None = None
    ) -> None:
        """Let a version hold, or with None no version; raises as `write`, and `NotFound`.

        What is `beside` it holds as well.
        """

        def work(connection: Connection) -> None:
            self._serialise(connection, wanted.tenant)
            named = wanted.model_dump(include={*_OF, "version"})
            there = select(func.count()).select_from(_versions).filter_by(**named)
            if wanted.version is not None and not connection.execute(there).scalar_one():
                raise NotFound("There is no such version.")
            self._activate(connection, wanted, seen)
            if beside is not None:
                self._insert(connection, beside)

        await self._database.write(work)

    async def take_back(
        self,
        these: Sequence[Activation],
        seen: int,
        by: str,
        at: datetime,
        claim: KeyClaim | None = None,
        along: TransactionStep = _do_nothing,
    ) -> None:
        """Have these of one tenant's count no more; raises `Outdated` as `write`.

        What goes `along` is done in the same transaction.
        """
        tenant, numbers = these[0].tenant, [each.sequence for each in these]
        taken = (
            update(_activations)
            .filter_by(tenant=tenant, taken_back_at=None)
            .where(_activations.c.sequence.in_(numbers))
            .values(taken_back_by=by, taken_back_at=at)
        )

        def work(connection: Connection) -> None:
            self._serialise(connection, tenant)
            note_claim(self._database, connection, claim)
            _check_mark(connection, tenant, at, seen)
            connection.execute(taken)
            along(connection)

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
        _check_mark(connection, wanted.tenant, wanted.activated_at, seen)
        self._insert(connection, wanted)

    def _insert(self, connection: Connection, wanted: Activation) -> None:
        row = to_row(wanted)
        del row["sequence"]
        if wanted.holds_from is None:
            # Whatever this machine's clock says: it comes after all that has begun.
            held = _counting(wanted.tenant, wanted.activated_at)
            held = held.filter_by(kind=wanted.kind, name=wanted.name)
            begun = [
                each.moment
                for each in (from_row(Activation, row) for row in connection.execute(held))
                if each.has_begun(wanted.activated_at)
            ]
            row["activated_at"] = max([wanted.activated_at, *begun])
        connection.execute(insert(_activations), row)


def _check_mark(connection: Connection, tenant: str, at: datetime, seen: int) -> None:
    if connection.execute(_mark(tenant, at)).scalar_one() != seen:
        raise Outdated("Another document was activated while this one was checked: send it again.")


def _at_once(version: DocumentVersion) -> Activation:
    named = version.model_dump(include={*_OF, "version"})
    return Activation(**named, activated_by=version.author, activated_at=version.written_at)


def _mark(tenant: str | None, now: datetime) -> Select[Any]:
    of = {} if tenant is None else {"tenant": tenant}
    # Their count and not the last number: of two tenants' the later may be seen first.
    made, taken_back = func.count(), func.count(_activations.c.taken_back_at)
    begun = func.count().filter(_activations.c.holds_from <= now)
    return select(made + taken_back + begun).select_from(_activations).filter_by(**of)


def _counting(tenant: str | None, now: datetime) -> Select[Any]:
    """The activations that count or are to: those that no later one of everybody has replaced."""
    of = {} if tenant is None else {"tenant": tenant}
    later = _activations.alias()
    replaced = exists().where(
        *(later.c[name] == _activations.c[name] for name in _OF),
        later.c.taken_back_at.is_(None),
        later.c.share == WHOLE,
        _begun(later, now),
        tuple_(_moment(later), later.c.sequence)
        > tuple_(_moment(_activations), _activations.c.sequence),
    )
    left = select(_activations).filter_by(**of).where(_activations.c.taken_back_at.is_(None))
    return left.where(~replaced).order_by(_activations.c.sequence)


def _whole(tenant: str | None, now: datetime) -> Any:
    """Of each document the one that everybody has, of which one without a version says: none."""
    of_everybody = _activations.c.share == WHOLE
    return _counting(tenant, now).where(of_everybody, _begun(_activations, now)).subquery()


def _moment(of: Any) -> ColumnElement[datetime]:
    return func.coalesce(of.c.holds_from, of.c.activated_at)


def _begun(of: Any, now: datetime) -> ColumnElement[bool]:
    return or_(of.c.holds_from.is_(None), of.c.holds_from <= now)


def _held(row: dict[str, Any]) -> HeldVersion:
    its = {name.removeprefix("held_"): v for name, v in row.items() if name.startswith("held_")}
    there = row["digest"] is not None
    document = DocumentVersion.model_validate(row) if there else None
    return HeldVersion(activation=Activation.model_validate(its), document=document)


def _stood(head: DocumentHead, at: DocumentStanding) -> DocumentHead:
    """The head with what people of a share have, and what is to hold next."""
    shared = at.shared
    coming = at.upcoming[0] if at.upcoming else None
    return head.replace(
        shared=shared.version if shared else None,
        share=shared.share if shared else None,
        upcoming=coming.version if coming else None,
        upcoming_from=coming.moment if coming else None,
    )


def _heads(tenant: str, kind: DocumentKind | None, now: datetime) -> Select[Any]:
    latest, held = _latest(tenant, kind).subquery(), _whole(tenant, now)
    same = (latest.c.kind == held.c.kind, latest.c.name == held.c.name)
    shown = func.coalesce(held.c.version, latest.c.version)
    return (
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


def _latest(tenant: str, kind: DocumentKind | None) -> Select[Any]:
    of = {"tenant": tenant} | ({"kind": kind} if kind else {})
    newest = func.max(_versions.c.version).label("version")
    grouped = (_versions.c.kind, _versions.c.name)
    return select(*grouped, newest).filter_by(**of).group_by(*grouped)
