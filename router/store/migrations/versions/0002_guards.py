"""What guards the house: its id, holds, key seals, a row to be written, and expiries."""

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
    op.add_column("approvals", sa.Column("expires", _MOMENT, nullable=True))
    op.create_table(
        "health_checks",
        *_texts("name"),
        sa.Column("at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "houses",
        *_texts("name", "id"),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("advanced_at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def downgrade() -> None:
    op.drop_table("houses")
    op.drop_table("health_checks")
    op.drop_column("approvals", "expires")
    op.drop_table("key_seals")
    op.drop_table("legal_holds")
