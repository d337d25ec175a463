"""Versions of files of workspaces that were deleted, so that none is given twice."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
lowest = "0008"


def upgrade() -> None:
    op.create_table(
        "workspace_versions",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tenant", "owner")),
        sa.Column("highest", sa.Integer, nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "owner"),
    )
    op.create_index("workspace_versions_by_age", "workspace_versions", ["deleted_at"])


def downgrade() -> None:
    op.drop_table("workspace_versions")
