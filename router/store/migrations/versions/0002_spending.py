"""What models cost, by day and user."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "spending",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("completion_tokens", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "day", "user"),
    )


def downgrade() -> None:
    op.drop_table("spending")
