"""What guards the house against its own operators: legal holds, and a seal of each key."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
lowest = "0001"

_MOMENT = sa.DateTime(timezone=True)


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def upgrade() -> None:
    op.create_table(
        "legal_holds",
        *_texts("tenant", "kind", "subject", "reason", "placed_by"),
        sa.Column("placed_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "kind", "subject"),
    )
    op.create_table(
        "key_seals",
        *_texts("key_id"),
        sa.Column("seal", sa.LargeBinary, nullable=False),
        sa.Column("first_seen", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("key_id"),
    )


def downgrade() -> None:
    op.drop_table("key_seals")
    op.drop_table("legal_holds")
