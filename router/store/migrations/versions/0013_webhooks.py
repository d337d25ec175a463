"""Events on their way to other systems."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
lowest = "0008"

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    named = ("tenant", "id", "consumer", "url", "event", "subject", "state", "error")
    op.create_table(
        "webhook_deliveries",
        sa.Column("sequence", number, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in named),
        sa.Column("data", sa.JSON, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("until", _MOMENT, nullable=False),
        sa.Column("due", _MOMENT, nullable=True),
        *(sa.Column(name, sa.Text, nullable=True) for name in ("requester", "person")),
        sa.UniqueConstraint("tenant", "id", name="webhook_deliveries_once"),
        sqlite_autoincrement=True,
    )
    for name, columns, where in _INDEXES:
        partial: dict[str, Any] = {
            f"{d}_where": sa.text(where) for d in ("sqlite", "postgresql") if where
        }
        op.create_index(name, "webhook_deliveries", columns, **partial)


_WAITING = "state = 'waiting'"
_INDEXES = (
    ("webhook_deliveries_due", ["consumer", "due"], _WAITING),
    (
        "webhook_deliveries_in_order",
        ["tenant", "consumer", "subject", "sequence"],
        _WAITING,
    ),
    ("webhook_deliveries_newest", ["tenant", "state", "created_at", "id"], ""),
    ("webhook_deliveries_by_age", ["created_at"], ""),
    ("webhook_deliveries_of_requester", ["tenant", "requester"], "requester IS NOT NULL"),
    ("webhook_deliveries_of_person", ["tenant", "person"], "person IS NOT NULL"),
)


def downgrade() -> None:
    op.drop_table("webhook_deliveries")
