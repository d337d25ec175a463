"""Drafts of flows, and what was submitted for review with what held then."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_REVIEW_TEXTS = (
    *("tenant", "id", "flow", "author", "note", "status"),
    *("text", "stories", "digest", "held_text", "held_stories"),
)
_DRAFT_TEXTS = ("tenant", "author", "flow", "text", "stories")


def upgrade() -> None:
    op.create_table(
        "flow_reviews",
        *(sa.Column(name, sa.Text, nullable=False) for name in _REVIEW_TEXTS),
        sa.Column("held", sa.Text, nullable=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("passed", "failed")),
        sa.Column("coverage", sa.JSON, nullable=True),
        *(sa.Column(name, sa.Text, nullable=True) for name in ("reviewer", "comment")),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )
    op.create_index("flow_reviews_by_age", "flow_reviews", ["tenant", "submitted_at", "id"])
    op.create_index("flow_reviews_of_flow", "flow_reviews", ["tenant", "flow", "submitted_at"])
    op.create_table(
        "flow_drafts",
        *(sa.Column(name, sa.Text, nullable=False) for name in _DRAFT_TEXTS),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("base", sa.JSON, nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "author", "flow"),
    )
    op.create_index("flow_drafts_of_flow", "flow_drafts", ["tenant", "flow", "updated_at"])


def downgrade() -> None:
    op.drop_table("flow_drafts")
    op.drop_table("flow_reviews")
