"""How often each slot of a run was asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
lowest = "0008"


def upgrade() -> None:
    asked = sa.Column("asked", sa.JSON, nullable=False, server_default="{}")
    op.add_column("flow_runs", asked)


def downgrade() -> None:
    op.drop_column("flow_runs", "asked")
