"""Which prompt a model was asked with in a turn, and the shares that prompts get."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
lowest = "0005"

_ASKED = sa.text("prompt IS NOT NULL")
_COUNTED = ["tenant", "at", "prompt", "conversation", "route_kind", "missed"]
_TEXTS = ("tenant", "job", "set_by")
_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("event_log", sa.Column("prompt", sa.Text, nullable=True))
    op.create_index(
        *("event_log_prompt", "event_log", _COUNTED),
        sqlite_where=_ASKED,
        postgresql_where=_ASKED,
    )
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "prompt_shares",
        sa.Column("sequence", number, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in _TEXTS),
        sa.Column("shares", sa.JSON, nullable=False),
        sa.Column("set_at", _MOMENT, nullable=False),
        sa.Column("rolled_back_by", sa.Text, nullable=True),
        sa.Column("rolled_back_at", _MOMENT, nullable=True),
    )
    op.create_index("prompt_shares_of_job", "prompt_shares", ["tenant", "job", "sequence"])


def downgrade() -> None:
    op.drop_table("prompt_shares")
    op.drop_index("event_log_prompt", table_name="event_log")
    op.drop_column("event_log", "prompt")
