"""What people chose, where they were written to before, and what is held back for them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "notification_preferences",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tenant", "person")),
        sa.Column("preferences", sa.JSON, nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("channels_before", sa.JSON, nullable=True),
        sa.Column("moved_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "person"),
    )
    op.create_table(
        "deferred_posts",
        *(sa.Column(n, sa.Text, nullable=False) for n in ("tenant", "person", "platform", "run")),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("reminds", sa.Boolean, nullable=False),
        sa.Column("due", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "person", "platform", "run"),
    )
    op.create_index("deferred_posts_due", "deferred_posts", ["due"])


def downgrade() -> None:
    op.drop_table("deferred_posts")
    op.drop_table("notification_preferences")
