"""Expense claims. An invoice belongs to one standing claim; a claim's end sets it free."""

import secrets
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Row, or_, select, tuple_, update

from company.people import tables
from company.people.records import Claim, ClaimItem, ClaimStatus, MoneyAmount, Owner
from company.people.tables import cents_of, fields_of, money_of
from router.domain.errors import ArgumentsToolError, NotFound, PermanentToolError
from router.domain.locale import Localised
from router.store.database import Aggregate

_claims = tables.claims
_items = tables.claim_items

_FROM: dict[ClaimStatus, frozenset[ClaimStatus]] = {
    "settled": frozenset({"submitted"}),
    "rejected": frozenset({"submitted"}),
    # A claim that was settled can still be taken back, as an undo of its whole flow may want.
    "withdrawn": frozenset({"submitted", "settled", "rejected"}),
}
"""What a claim may come to, and from where."""

_STANDING: frozenset[ClaimStatus] = frozenset({"submitted", "settled"})


class ClaimBook(Aggregate):
    """Who claims what. Every write happens once for its key, or for the claim it names."""

    async def submit(
        self, owner: Owner, key: str, items: Sequence[ClaimItem], reason: str
    ) -> Claim:
        """Put a claim on record, or give the one that this key has made before.

        Raises `ArgumentsToolError` where the items don't go together (two currencies, one invoice
        twice), `PermanentToolError` where a standing claim has one of the invoices.
        """
        total = _total(items)
        row = {
            **owner.model_dump(),
            "id": f"claim-{secrets.token_hex(6)}",
            "key": key,
            "currency": total.currency,
            "cents": cents_of(total),
            "reason": reason,
            "status": "submitted",
            "submitted_at": datetime.now(UTC),
        }
        invoices = [item.invoice for item in items]
        locks = [f"claim/{owner.tenant}/key/{key}"]
        locks += [f"claim/{owner.tenant}/invoice/{invoice}" for invoice in invoices]

        def submit(connection: Connection) -> Claim:
            self._database.serialise(connection, *locks)
            if known := _found(connection, owner, key=key):
                return known
            if taken := _taken(connection, owner.tenant, invoices):
                zh = f"发票 {'、'.join(taken)} 已经在另一笔有效的报销里，一张发票只能报一次"
                en = f"invoice {', '.join(taken)} is in a claim that stands; one invoice, one claim"
                raise PermanentToolError(Localised(zh=zh, en=en))
            connection.execute(_claims.insert(), row)
            connection.execute(_items.insert(), _item_rows(row, items))
            return Claim.model_validate(_found(connection, owner, key=key))

        return await self._database.write(submit)

    async def withdraw(self, owner: Owner, key: str) -> Claim | None:
        """Take back the claim that `key` made; None where it made none of the owner's."""

        def withdraw(connection: Connection) -> Claim | None:
            made = _found(connection, owner, key=key)
            return self._move(connection, owner, made.id, "withdrawn") if made else None

        return await self._database.write(withdraw)

    async def settle(self, owner: Owner, claim: str, runs: Sequence[str]) -> Claim:
        """Let it be paid, if one of these runs has submitted it.

        Args:
            owner: Whose claim it is.
            claim: The claim's id.
            runs: The workflow ids of the runs of the request: see `ToolContext.own_runs`.

        Raises:
            NotFound: The owner has no such claim, or another run has submitted it.
            PermanentToolError: It has ended.
        """

        def settle(connection: Connection) -> Claim:
            _insist_on_own(connection, owner, claim, runs)
            return self._move(connection, owner, claim, "settled")

        return await self._database.write(settle)

    async def reject(self, owner: Owner, claim: str, runs: Sequence[str]) -> Claim:
        """Refuse it; its invoices are free. Takes what `settle` takes, and raises as it does."""

        def reject(connection: Connection) -> Claim:
            _insist_on_own(connection, owner, claim, runs)
            return self._move(connection, owner, claim, "rejected")

        return await self._database.write(reject)

    async def of(self, owner: Owner, limit: int = 50) -> list[Claim]:
        """The owner's claims, newest first, whatever became of them."""
        theirs = select(_claims).filter_by(**owner.model_dump())
        query = theirs.order_by(_claims.c.submitted_at.desc(), _claims.c.id).limit(limit)
        return await self._database.read(lambda c: _read(c, c.execute(query).all()))

    async def claimed(self, tenant: str, invoice: str, own_runs: Sequence[str] = ()) -> bool:
        """Return whether anybody's standing claim has this invoice number, in its one spelling.

        Claims that the runs with these workflow ids have submitted don't count.
        """
        return bool(await self._database.read(lambda c: _taken(c, tenant, [invoice], own_runs)))

    def _move(self, connection: Connection, owner: Owner, claim: str, to: ClaimStatus) -> Claim:
        self._database.serialise(connection, f"claim/{owner.tenant}/id/{claim}")
        found = _found(connection, owner, id=claim)
        if found is None:
            raise _no_such_claim(owner, claim)
        if found.status == to:
            return found
        if found.status not in _FROM[to]:
            zh = f"报销 {claim} 的状态是 {found.status}，不能再改为 {to}"
            en = f"claim {claim} is {found.status} and can't be {to} any more"
            raise PermanentToolError(Localised(zh=zh, en=en))
        this = update(_claims).filter_by(**owner.model_dump(), id=claim)
        its_items = update(_items).filter_by(tenant=owner.tenant, claim=claim)
        connection.execute(this.values(status=to))
        connection.execute(its_items.values(standing=to in _STANDING))
        return found.replace(status=to)


def _no_such_claim(owner: Owner, claim: str) -> NotFound:
    zh = f"{owner.person} 在这次报销里没有编号为“{claim}”的报销单"
    return NotFound(Localised(zh=zh, en=f"{owner.person} has no claim {claim!r} in this request"))


def _insist_on_own(connection: Connection, owner: Owner, claim: str, runs: Sequence[str]) -> None:
    """Raise `NotFound` unless one of these runs has submitted the claim."""
    query = select(_claims.c.key).filter_by(**owner.model_dump(), id=claim)
    key = connection.execute(query).scalar()
    # A flow's keys begin with the workflow id of the run that makes the call.
    if key is None or not any(key.startswith(f"{run}:") for run in runs):
        raise _no_such_claim(owner, claim)


def _found(connection: Connection, owner: Owner, **narrowed: str) -> Claim | None:
    query = select(_claims).filter_by(**owner.model_dump(), **narrowed)
    return next(iter(_read(connection, connection.execute(query).all())), None)


def _taken(
    connection: Connection, tenant: str, invoices: Sequence[str], own_runs: Sequence[str] = ()
) -> list[str]:
    standing = select(_items.c.invoice).filter_by(tenant=tenant, standing=True)
    query = standing.where(_items.c.invoice.in_(invoices)).order_by(_items.c.invoice)
    if own_runs:
        own = or_(*(_claims.c.key.startswith(f"{run}:", autoescape=True) for run in own_runs))
        query = query.where(
            _items.c.claim.not_in(select(_claims.c.id).filter_by(tenant=tenant).where(own))
        )
    return list(connection.execute(query).scalars())


def _total(items: Sequence[ClaimItem]) -> MoneyAmount:
    if not items:
        none = Localised(zh="items：报销至少要有一项", en="items: a claim has at least one")
        raise ArgumentsToolError(none)
    currency, seen = items[0].amount.currency, set[str]()
    for position, item in enumerate(items):
        where, other = f"items.{position}", item.amount.currency
        if other != currency:
            zh = f"{where}.amount：{other} 和 {currency} 不能放在一笔报销里，请按币种分开报"
            en = f"{where}.amount: {other} and {currency} can't be in one claim; "
            raise ArgumentsToolError(Localised(zh=zh, en=f"{en}claim each currency by itself"))
        if item.invoice in seen:
            zh = f"{where}.invoice：发票 {item.invoice} 出现了两次"
            en = f"{where}.invoice: {item.invoice} is there twice"
            raise ArgumentsToolError(Localised(zh=zh, en=en))
        seen.add(item.invoice)
    amount = sum((item.amount.amount for item in items), Decimal(0))
    return MoneyAmount(amount=amount, currency=currency)


def _item_rows(claim: dict[str, Any], items: Sequence[ClaimItem]) -> list[dict[str, Any]]:
    same = {"tenant": claim["tenant"], "claim": claim["id"], "standing": True}
    own = [item.model_dump(exclude={"amount"}) | {"cents": cents_of(item.amount)} for item in items]
    return [{**same, **row, "position": position} for position, row in enumerate(own)]


def _read(connection: Connection, rows: Sequence[Row[Any]]) -> list[Claim]:
    query = (
        select(_items)
        .where(tuple_(_items.c.tenant, _items.c.claim).in_([(row.tenant, row.id) for row in rows]))
        .order_by(_items.c.claim, _items.c.position)
    )
    items: dict[str, list[Row[Any]]] = defaultdict(list)
    for item in connection.execute(query):
        items[item.claim].append(item)
    return [
        Claim(
            id=row.id,
            status=row.status,
            total=money_of(row.cents, row.currency),
            reason=row.reason,
            items=[
                ClaimItem(amount=money_of(item.cents, row.currency), **fields_of(ClaimItem, item))
                for item in items[row.id]
            ],
        )
        for row in rows
    ]
