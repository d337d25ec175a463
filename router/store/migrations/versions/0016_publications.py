"""Documents that hold from a moment on, or for a share of people; reviews of drafts of flows."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
lowest = "0008"

_MOMENT = sa.DateTime(timezone=True)
_TEXTS = ("tenant", "id", "flow", "author", "note", "status")
_FILES = ("text", "stories", "digest", "held_text", "held_stories")
_ADDED = ("holds_from", "share", "review", "taken_back_by", "taken_back_at")


def upgrade() -> None:
    table = "configuration_activations"
    op.add_column(table, sa.Column("holds_from", _MOMENT, nullable=True))
    everybody = sa.Column("share", sa.Integer, nullable=False, server_default=sa.text("100"))
    op.add_column(table, everybody)
    op.add_column(table, sa.Column("review", sa.Text, nullable=True))
    op.add_column(table, sa.Column("taken_back_by", sa.Text, nullable=True))
    op.add_column(table, sa.Column("taken_back_at", _MOMENT, nullable=True))
    op.create_table(
        "flow_reviews",
        *(sa.Column(name, sa.Text, nullable=False) for name in (*_TEXTS, *_FILES)),
        sa.Column("held", sa.Text, nullable=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("submitted_at", _MOMENT, nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("passed", "failed")),
        *(sa.Column(name, sa.Text, nullable=True) for name in ("reviewer", "comment")),
        sa.Column("decided_at", _MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )
    op.create_index("flow_reviews_by_age", "flow_reviews", ["tenant", "submitted_at", "id"])
    op.create_index("flow_reviews_of_flow", "flow_reviews", ["tenant", "flow", "submitted_at"])


def downgrade() -> None:
    op.drop_table("flow_reviews")
    for name in _ADDED:
        op.drop_column("configuration_activations", name)
