"""Drafts of flows: each author's own, of which colleagues learn that there is one."""

from sqlalchemy import Connection, delete, func, select

from router.domain.errors import Conflict
from router.domain.locale import Localised
from router.extensions.authoring.drafts import MOST_DRAFTS, DraftHead, FlowDraft
from router.extensions.authoring.tables import flow_drafts
from router.store.database import Aggregate
from router.store.rows import record, records, to_row, upsert

_drafts = flow_drafts
_HEAD = (_drafts.c.flow, _drafts.c.author, _drafts.c.updated_at)


class FlowDrafts(Aggregate):
    """What authors have written of flows and haven't published."""

    async def save(self, tenant: str, draft: FlowDraft) -> None:
        """Keep it as the revision that it says, which follows the one that is kept.

        Raises:
            Conflict: another revision was saved meanwhile, from another window perhaps; or the
                author has as many drafts as there may be. What was kept stays.
        """
        named = {"tenant": tenant, "author": draft.author, "flow": draft.flow}
        last = select(_drafts.c.revision).filter_by(**named)
        theirs = select(func.count()).select_from(_drafts)
        count = theirs.filter_by(tenant=tenant, author=draft.author)
        row = to_row(draft, tenant=tenant)

        def save(connection: Connection) -> None:
            self._database.serialise(connection, f"flow_drafts/{tenant}/{draft.author}")
            revision = connection.scalar(last)
            # Where there is none it was published meanwhile: nothing of anybody's is written over.
            if revision is not None and draft.revision != revision + 1:
                raise Conflict(_moved_on(revision))
            if revision is None and (connection.scalar(count) or 0) >= MOST_DRAFTS:
                raise Conflict(FULL)
            connection.execute(upsert(self._database.insert(_drafts), _drafts), row)

        await self._database.write(save)

    async def find(self, tenant: str, author: str, flow: str) -> FlowDraft | None:
        """The author's draft of the flow; None where there is none."""
        theirs = select(_drafts).filter_by(tenant=tenant, author=author, flow=flow)
        return await record(self._database, FlowDraft, theirs)

    async def heads(self, tenant: str, flow: str | None = None) -> list[DraftHead]:
        """Every author's, of this flow or of all, the last saved first; without their texts."""
        of = {"tenant": tenant} | ({"flow": flow} if flow is not None else {})
        all_of_it = select(*_HEAD).select_from(_drafts).filter_by(**of)
        ordered = all_of_it.order_by(_drafts.c.updated_at.desc(), _drafts.c.author, _drafts.c.flow)
        return await records(self._database, DraftHead, ordered)

    async def discard(self, tenant: str, author: str, flow: str) -> bool:
        """Delete the author's draft of the flow; False where there is none."""
        theirs = delete(_drafts).filter_by(tenant=tenant, author=author, flow=flow)
        count = await self._database.write(lambda connection: connection.execute(theirs).rowcount)
        return bool(count)


FULL = Localised(
    zh=f"你已经有 {MOST_DRAFTS} 份流程草稿，不能再多了：先发布或删除几份。",
    en=f"You have {MOST_DRAFTS} drafts of flows, and there is room for no more: publish or delete "
    "some first.",
)


def _moved_on(revision: int) -> Localised:
    return Localised(
        zh=f"这份草稿在别处已保存为第 {revision} 次修改：重新打开它，再把你的改动放进去。",
        en=f"This draft was saved elsewhere, as revision {revision}: open it again, and make your "
        "changes there.",
    )
