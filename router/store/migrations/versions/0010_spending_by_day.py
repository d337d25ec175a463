"""What all tenants spend on a day is looked up before a question."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_index("spending_of_day", "spending", ["day"])


def downgrade() -> None:
    op.drop_index("spending_of_day", "spending")
