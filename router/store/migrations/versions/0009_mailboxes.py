"""Where what is said goes besides: chat platforms, and how far each of them has it."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "mailboxes",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("face", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("place", sa.JSON, nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("due", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "face", "kind", "subject"),
    )


def downgrade() -> None:
    op.drop_table("mailboxes")
