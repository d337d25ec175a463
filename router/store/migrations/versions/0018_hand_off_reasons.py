"""Why a conversation was handed over, for those who speak another language."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
lowest = "0008"


def upgrade() -> None:
    op.add_column("hand_offs", sa.Column("why", sa.JSON, nullable=True))


def downgrade() -> None:
    op.drop_column("hand_offs", "why")
