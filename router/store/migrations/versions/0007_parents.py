"""Which run a run was started by."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("flow_runs", sa.Column("parent", sa.Text))


def downgrade() -> None:
    op.drop_column("flow_runs", "parent")
