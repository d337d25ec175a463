"""How people wish to be written to, and what is held back until they may be."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
lowest = "0008"


def upgrade() -> None:
    op.create_table(
        "notification_preferences",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tenant", "person")),
        sa.Column("preferences", sa.JSON, nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
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
