"""Files of workspaces, and versions of those that were deleted, so that none is given twice."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "workspace_files",
        *(sa.Column(n, sa.Text, nullable=False) for n in ("tenant", "owner", "path")),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "owner", "path"),
    )
    op.create_index("workspace_files_by_age", "workspace_files", ["changed_at"])
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
    op.drop_table("workspace_files")
