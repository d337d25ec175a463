"""What people asked to have remembered, and answers that are the same for everyone."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
lowest = "0005"


def upgrade() -> None:
    op.create_table(
        "memories",
        *(sa.Column(n, sa.Text, nullable=False) for n in ("tenant", "owner", "id", "text")),
        sa.Column("locale", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "owner", "id"),
    )
    op.create_table(
        "kept_answers",
        *(sa.Column(n, sa.Text, nullable=False) for n in ("tenant", "id", "scope", "question")),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("tools", sa.JSON, nullable=False),
        sa.Column("kept_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )
    op.create_index("kept_answers_of_scope", "kept_answers", ["tenant", "scope", "kept_at"])


def downgrade() -> None:
    op.drop_table("kept_answers")
    op.drop_table("memories")
