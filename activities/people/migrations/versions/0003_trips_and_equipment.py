"""Business trips, and what is set aside in the warehouse."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_MOMENT = sa.DateTime(timezone=True)


def _required(name: str, kind: Any = sa.Text) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def upgrade() -> None:
    _create_trips()
    _create_reservations()


def downgrade() -> None:
    op.drop_table("people_reservations")
    op.drop_table("people_trips")


def _create_trips() -> None:
    op.create_table(
        "people_trips",
        _required("tenant"),
        _required("id"),
        _required("key"),
        _required("person"),
        _required("destination"),
        _required("start", sa.Date),
        _required("end", sa.Date),
        _required("transport"),
        _required("currency"),
        _required("cents", sa.BigInteger),
        _required("companions"),
        _required("reason"),
        _required("status"),
        _required("booked_at", _MOMENT),
        sa.PrimaryKeyConstraint("tenant", "id"),
        sa.UniqueConstraint("tenant", "key", name="people_trips_once"),
    )
    op.create_index("people_trips_of_person", "people_trips", ["tenant", "person", "start"])


def _create_reservations() -> None:
    op.create_table(
        "people_reservations",
        _required("tenant"),
        _required("id"),
        _required("key"),
        _required("person"),
        _required("kind"),
        _required("quantity", sa.Integer),
        _required("note"),
        _required("status"),
        _required("reserved_at", _MOMENT),
        sa.PrimaryKeyConstraint("tenant", "id"),
        sa.UniqueConstraint("tenant", "key", name="people_reservations_once"),
        sa.CheckConstraint("quantity > 0", name="people_reservations_take_something"),
    )
    op.create_index(
        "people_reservations_of_kind", "people_reservations", ["tenant", "kind", "status"]
    )
