"""Where somebody was written to before: what was asked of them until then goes there."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
lowest = "0008"


def upgrade() -> None:
    op.add_column("notification_preferences", sa.Column("channels_before", sa.JSON, nullable=True))
    moved_at = sa.Column("moved_at", sa.DateTime(timezone=True), nullable=True)
    op.add_column("notification_preferences", moved_at)


def downgrade() -> None:
    op.drop_column("notification_preferences", "moved_at")
    op.drop_column("notification_preferences", "channels_before")
