"""What tools were called for, and results too long to be carried."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("sequence", _SEQUENCE, primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("flow_run", sa.Text, nullable=True),
        sa.Column("conversation", sa.Text, nullable=True),
    )
    op.create_index("audit_of_person", "audit", ["tenant", "person", "tool", "at"])
    op.create_table(
        "results",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("kept_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )


def downgrade() -> None:
    op.drop_table("results")
    op.drop_table("audit")
