"""What each version of each flow was, so that none changes unnoticed."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "flow_versions",
        sa.Column("flow", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("behaviour", sa.Text, nullable=False),
        sa.Column("first_seen", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("flow", "version"),
    )


def downgrade() -> None:
    op.drop_table("flow_versions")
