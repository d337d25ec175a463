"""The audit trail of entitlements that a person changed."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _required(name: str, kind: Any = sa.Text) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def upgrade() -> None:
    op.create_table(
        "people_adjustments",
        _required("tenant"),
        _required("id"),
        _required("key"),
        _required("person"),
        _required("leave_type"),
        _required("year", sa.Integer),
        _required("half_days", sa.Integer),
        _required("entitled_before", sa.Integer),
        _required("reason"),
        _required("by"),
        _required("at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("tenant", "id"),
        sa.UniqueConstraint("tenant", "key", name="people_adjustments_once"),
        sa.CheckConstraint("half_days <> 0", name="people_adjustments_change_something"),
        sa.CheckConstraint(
            "entitled_before + half_days >= 0", name="people_adjustments_keep_above_zero"
        ),
    )
    op.create_index(
        "people_adjustments_of_person",
        "people_adjustments",
        ["tenant", "person", "year", "leave_type"],
    )


def downgrade() -> None:
    op.drop_table("people_adjustments")
