"""When an approval was decided and which go together; where turns went, to be counted by day."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
lowest = "0001"

_IS_TURN = sa.text("kind = 'turn'")
_DECIDED = sa.text("verdict IS NOT NULL")
_KINDS = {"route_kind": sa.Text, "route_by": sa.Text, "missed": sa.Boolean}
_ROUTE = ("kind", "by", "target")
_log = sa.table(
    "event_log",
    sa.column("kind", sa.Text),
    sa.column("data", sa.JSON),
    *(sa.column(name, kind) for name, kind in _KINDS.items()),
)


def _index(name: str, table: str, columns: list[str], where: sa.TextClause) -> None:
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def upgrade() -> None:
    op.add_column("approvals", sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True))
    bulk = sa.Column("bulk", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("approvals", bulk)
    by_person = ["tenant", "person", "decided_at", "id"]
    _index("approvals_decided", "approvals", by_person, _DECIDED)
    _index("approvals_decided_at", "approvals", ["tenant", "decided_at", "id"], _DECIDED)
    for name, kind in _KINDS.items():
        op.add_column("event_log", sa.Column(name, kind, nullable=True))
    _fill()
    _index("event_log_traffic", "event_log", ["tenant", "at", *_KINDS], _IS_TURN)


def _fill() -> None:
    kind, by, target = (_log.c.data[("turn", "route", n)].as_string() for n in _ROUTE)
    failed = _log.c.data[("turn", "status")].as_string() == "failed"
    missed = sa.or_(failed, sa.and_(kind == "clarify", target.is_(None)))
    op.execute(
        sa.update(_log)
        .where(_log.c.kind == "turn")
        .values(route_kind=kind, route_by=by, missed=sa.case((missed, True), else_=False))
    )


def downgrade() -> None:
    op.drop_index("event_log_traffic", table_name="event_log")
    for name in _KINDS:
        op.drop_column("event_log", name)
    op.drop_index("approvals_decided_at", table_name="approvals")
    op.drop_index("approvals_decided", table_name="approvals")
    op.drop_column("approvals", "bulk")
    op.drop_column("approvals", "decided_at")
