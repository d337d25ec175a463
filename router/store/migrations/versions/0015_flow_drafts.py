"""Drafts of flows, by author."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
lowest = "0008"

_TEXTS = ("tenant", "author", "flow", "text", "stories")


def upgrade() -> None:
    op.create_table(
        "flow_drafts",
        *(sa.Column(name, sa.Text, nullable=False) for name in _TEXTS),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("base", sa.JSON, nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "author", "flow"),
    )
    op.create_index("flow_drafts_of_flow", "flow_drafts", ["tenant", "flow", "updated_at"])


def downgrade() -> None:
    op.drop_table("flow_drafts")
