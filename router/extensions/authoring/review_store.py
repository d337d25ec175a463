"""Reviews of drafts of flows: what was submitted is never changed, only how it stands."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from router.domain.errors import Conflict
from router.domain.locale import Localised
from router.extensions.authoring.reviews import FlowReview, ReviewHead, ReviewStatus
from router.extensions.authoring.tables import flow_reviews
from router.store.database import Aggregate
from router.store.idempotency import KeyClaim, note_claim
from router.store.rows import page, record, to_row

_reviews = flow_reviews
_HEAD = [_reviews.c[name] for name in ReviewHead.model_fields]


class FlowReviews(Aggregate):
    """What authors have submitted, of every tenant."""

    async def submit(self, review: FlowReview, claim: KeyClaim | None = None) -> None:
        """Keep it; what its author had submitted of the flow and nobody has decided is withdrawn.

        A repeat does nothing.
        """
        before = update(_reviews).filter_by(
            tenant=review.tenant, flow=review.flow, author=review.author, status="open"
        )
        there = select(_reviews.c.id).filter_by(tenant=review.tenant, id=review.id)

        def work(connection: Connection) -> None:
            self._database.serialise(connection, f"flow_reviews/{review.tenant}/{review.flow}")
            note_claim(self._database, connection, claim)
            if connection.execute(there).first() is None:
                connection.execute(before.values(status="withdrawn"))
                connection.execute(insert(_reviews), to_row(review))

        await self._database.write(work)

    async def find(self, tenant: str, review: str) -> FlowReview | None:
        """The one of this id; None where there is none."""
        named = select(_reviews).filter_by(tenant=tenant, id=review)
        return await record(self._database, FlowReview, named)

    async def listed(
        self,
        tenant: str,
        status: ReviewStatus | None,
        before: str | None,
        limit: int,
        *,
        flow: str | None = None,
    ) -> tuple[list[ReviewHead], str | None]:
        """Those of the flow that stand so, or all, newest first without texts; the next cursor."""
        wanted = {"status": status, "flow": flow}
        of = {"tenant": tenant} | {key: one for key, one in wanted.items() if one is not None}
        query = select(*_HEAD).select_from(_reviews).filter_by(**of)
        moment = _reviews.c.submitted_at
        return await page(self._database, ReviewHead, query, moment, before, limit)

    async def has_any(self, tenant: str, flow: str) -> bool:
        """True where somebody has submitted a draft of the flow."""
        its = select(_reviews.c.id).filter_by(tenant=tenant, flow=flow).limit(1)
        return await self._database.read(lambda c: c.execute(its).first()) is not None

    async def decide(
        self,
        review: ReviewHead,
        status: ReviewStatus,
        *,
        by: str,
        comment: str = "",
        at: datetime,
        claim: KeyClaim | None = None,
    ) -> None:
        """Have it stand so; raises `Conflict` where it stands otherwise than it did by now."""
        values: dict[str, Any] = {"status": status}
        if status != "withdrawn":
            values |= {"reviewer": by, "comment": comment, "decided_at": at}
        still = update(_reviews).filter_by(tenant=review.tenant, id=review.id, status=review.status)

        def work(connection: Connection) -> None:
            note_claim(self._database, connection, claim)
            if not connection.execute(still.values(**values)).rowcount:
                raise Conflict(_MEANWHILE)

        await self._database.write(work)


def publish_review(connection: Connection, tenant: str, review: str) -> None:
    """Have an approved review be published; `Conflict` if it isn't approved any more."""
    approved = update(_reviews).filter_by(tenant=tenant, id=review, status="approved")
    if not connection.execute(approved.values(status="published")).rowcount:
        raise Conflict(_UNAPPROVED)


def approve_again(connection: Connection, tenant: str, reviews: Sequence[str]) -> None:
    """Have these reviews be approved only: what was published by them never began."""
    published = update(_reviews).filter_by(tenant=tenant, status="published")
    connection.execute(published.where(_reviews.c.id.in_(reviews)).values(status="approved"))


_UNAPPROVED = Localised(
    zh="这个评审刚刚被撤回或已发布，没有发布任何内容：重新打开看看。",
    en="This review was withdrawn or published just now, and nothing was published by it: open it "
    "again.",
)
_MEANWHILE = Localised(
    zh="这个评审刚刚被别人处理了：重新打开看看。",
    en="Somebody has dealt with this review just now: open it again.",
)
