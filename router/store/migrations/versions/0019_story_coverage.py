"""How much of a flow the stories take that were submitted with it."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
lowest = "0008"


def upgrade() -> None:
    op.add_column("flow_reviews", sa.Column("coverage", sa.JSON, nullable=True))


def downgrade() -> None:
    op.drop_column("flow_reviews", "coverage")
