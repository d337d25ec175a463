"""When an approval was decided, by which its person's own are listed; and which go together."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
lowest = "0001"

_DECIDED = sa.text("verdict IS NOT NULL")


def upgrade() -> None:
    op.add_column("approvals", sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True))
    bulk = sa.Column("bulk", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("approvals", bulk)
    op.create_index(
        "approvals_decided",
        "approvals",
        ["tenant", "person", "decided_at", "id"],
        sqlite_where=_DECIDED,
        postgresql_where=_DECIDED,
    )


def downgrade() -> None:
    op.drop_index("approvals_decided", table_name="approvals")
    op.drop_column("approvals", "bulk")
    op.drop_column("approvals", "decided_at")
