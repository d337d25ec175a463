"""Answers of models that are the same for everyone, kept for whoever asks the same again."""

from datetime import datetime

from sqlalchemy import Connection, delete, func, select

from router.domain.records import KeptAnswer
from router.store import tables
from router.store.database import Aggregate
from router.store.rows import records, to_row, upsert

_answers = tables.kept_answers
MOST_ANSWERS = 500
"""Of one scope; the oldest go first."""


class KeptAnswers(Aggregate):
    """What was answered, by tenant and by all that it depends on besides the question."""

    async def keep(self, tenant: str, answer: KeptAnswer) -> None:
        """Keep it, instead of one with the same id; what is out of date or too much goes."""
        row = to_row(answer, tenant=tenant)
        kept = upsert(self._database.insert(_answers), _answers)
        oldest = (
            select(_answers.c.kept_at)
            .filter_by(tenant=tenant, scope=answer.scope)
            .order_by(_answers.c.kept_at.desc())
            .offset(MOST_ANSWERS)
            .limit(1)
        )

        def keep(connection: Connection) -> None:
            connection.execute(kept, row)
            connection.execute(delete(_answers).where(_answers.c.until < answer.kept_at))
            if (last := connection.scalar(oldest)) is not None:
                of_scope = delete(_answers).filter_by(tenant=tenant, scope=answer.scope)
                connection.execute(of_scope.where(_answers.c.kept_at <= last))

        await self._database.write(keep)

    async def of(self, tenant: str, scope: str, now: datetime) -> list[KeptAnswer]:
        """Those of this scope that may be given at this moment, the newest first."""
        those = select(_answers).filter_by(tenant=tenant, scope=scope)
        good = those.where(_answers.c.until > now).order_by(_answers.c.kept_at.desc())
        return await records(self._database, KeptAnswer, good)

    async def count(self, tenant: str) -> int:
        """How many there are of a tenant."""
        theirs = select(func.count()).select_from(_answers).filter_by(tenant=tenant)
        return await self._database.read(lambda connection: connection.scalar(theirs) or 0)
