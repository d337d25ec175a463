"""Who may look at a run besides, which files it shows, and how a completed one is taken back."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    with op.batch_alter_table("flow_runs") as runs:
        runs.add_column(sa.Column("readers", sa.JSON, nullable=False, server_default="[]"))
        runs.add_column(sa.Column("files", sa.JSON, nullable=False, server_default="{}"))
        runs.add_column(sa.Column("withdraws", sa.Text, nullable=True))
        runs.add_column(sa.Column("withdrawn_by", sa.Text, nullable=True))
        runs.add_column(sa.Column("remedy", sa.JSON, nullable=True))
    op.create_table(
        "run_files",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "file", "run"),
        sa.ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"]),
    )
    op.create_table(
        "flow_definitions",
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("fingerprint"),
    )


def downgrade() -> None:
    op.drop_table("flow_definitions")
    op.drop_table("run_files")
    with op.batch_alter_table("flow_runs") as runs:
        for column in ("remedy", "withdrawn_by", "withdraws", "files", "readers"):
            runs.drop_column(column)
