"""Where turns went, by which the traffic of some days is counted, and when it was decided."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
lowest = "0001"

_IS_TURN = sa.text("kind = 'turn'")
_DECIDED = sa.text("verdict IS NOT NULL")
_KINDS = {"route_kind": sa.Text, "route_by": sa.Text, "missed": sa.Boolean}
_log = sa.table(
    "event_log",
    sa.column("kind", sa.Text),
    sa.column("data", sa.JSON),
    *(sa.column(name, kind) for name, kind in _KINDS.items()),
)


def upgrade() -> None:
    for name, kind in _KINDS.items():
        op.add_column("event_log", sa.Column(name, kind, nullable=True))
    kind, by, target = (_log.c.data[("turn", "route", n)].as_string() for n in _ROUTE)
    failed = _log.c.data[("turn", "status")].as_string() == "failed"
    missed = sa.or_(failed, sa.and_(kind == "clarify", target.is_(None)))
    op.execute(
        sa.update(_log)
        .where(_log.c.kind == "turn")
        .values(route_kind=kind, route_by=by, missed=sa.case((missed, True), else_=False))
    )
    op.create_index(
        "event_log_traffic",
        "event_log",
        ["tenant", "at", *_KINDS],
        sqlite_where=_IS_TURN,
        postgresql_where=_IS_TURN,
    )
    op.create_index(
        "approvals_decided_at",
        "approvals",
        ["tenant", "decided_at", "id"],
        sqlite_where=_DECIDED,
        postgresql_where=_DECIDED,
    )


_ROUTE = ("kind", "by", "target")


def downgrade() -> None:
    op.drop_index("approvals_decided_at", table_name="approvals")
    op.drop_index("event_log_traffic", table_name="event_log")
    for name in _KINDS:
        op.drop_column("event_log", name)
