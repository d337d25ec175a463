"""What retention and erasing leave alone."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
lowest = "0001"


def upgrade() -> None:
    op.create_table(
        "legal_holds",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tenant", "kind", "subject")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("reason", "placed_by")),
        sa.Column("placed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "kind", "subject"),
    )


def downgrade() -> None:
    op.drop_table("legal_holds")
