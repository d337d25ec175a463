"""Conversations that were forgotten, and files in people's own workspaces."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
lowest = "0008"


def upgrade() -> None:
    op.add_column("conversations", sa.Column("forgotten_at", sa.DateTime(timezone=True)))
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


def downgrade() -> None:
    op.drop_table("workspace_files")
    op.drop_column("conversations", "forgotten_at")
