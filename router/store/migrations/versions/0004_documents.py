"""What was read of files, and by what one is found again that was handed in before."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
lowest = "0001"


def upgrade() -> None:
    op.add_column("files", sa.Column("document", sa.JSON, nullable=True))
    op.add_column("files", sa.Column("preview", sa.LargeBinary, nullable=True))
    op.create_table(
        "file_marks",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tenant", "mark", "file")),
        sa.PrimaryKeyConstraint("tenant", "mark", "file"),
        sa.ForeignKeyConstraint(
            ["tenant", "file"], ["files.tenant", "files.id"], ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("file_marks")
    op.drop_column("files", "preview")
    op.drop_column("files", "document")
