"""The first tables: entitlements and who changed them, leave, claims, trips, reservations."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_MOMENT = sa.DateTime(timezone=True)


def _required(name: str, kind: Any = sa.Text) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def _texts(*names: str) -> list[sa.Column[Any]]:
    return [_required(name) for name in names]


def upgrade() -> None:
    _create_leave()
    _create_adjustments()
    _create_claims()
    _create_trips()
    _create_reservations()


def downgrade() -> None:
    for table in (
        *("people_reservations", "people_trips", "people_claim_items", "people_claims"),
        *("people_adjustments", "people_leave", "people_entitlements"),
    ):
        op.drop_table(table)


def _create_leave() -> None:
    op.create_table(
        "people_entitlements",
        *_texts("tenant", "person", "leave_type"),
        _required("year", sa.Integer),
        _required("half_days", sa.Integer),
        sa.PrimaryKeyConstraint("tenant", "person", "leave_type", "year"),
    )
    op.create_table(
        "people_leave",
        *_texts("tenant", "id", "key", "person", "leave_type"),
        _required("year", sa.Integer),
        _required("start", sa.Date),
        _required("end", sa.Date),
        *_texts("start_half", "end_half"),
        _required("half_days", sa.Integer),
        *_texts("reason", "status"),
        _required("recorded_at", _MOMENT),
        sa.PrimaryKeyConstraint("tenant", "id"),
        sa.UniqueConstraint("tenant", "key", name="people_leave_once"),
        sa.CheckConstraint("half_days > 0", name="people_leave_takes_time"),
    )
    op.create_index(
        "people_leave_of_person", "people_leave", ["tenant", "person", "year", "leave_type"]
    )


def _create_adjustments() -> None:
    op.create_table(
        "people_adjustments",
        *_texts("tenant", "id", "key", "person", "leave_type"),
        _required("year", sa.Integer),
        _required("half_days", sa.Integer),
        _required("entitled_before", sa.Integer),
        *_texts("reason", "by"),
        _required("at", _MOMENT),
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


def _create_claims() -> None:
    op.create_table(
        "people_claims",
        *_texts("tenant", "id", "key", "person", "currency"),
        _required("cents", sa.BigInteger),
        *_texts("reason", "status"),
        _required("submitted_at", _MOMENT),
        sa.PrimaryKeyConstraint("tenant", "id"),
        sa.UniqueConstraint("tenant", "key", name="people_claims_once"),
    )
    op.create_index(
        "people_claims_of_person", "people_claims", ["tenant", "person", "submitted_at"]
    )
    op.create_table(
        "people_claim_items",
        *_texts("tenant", "claim"),
        _required("position", sa.Integer),
        _required("category"),
        _required("cents", sa.BigInteger),
        _required("date", sa.Date),
        _required("invoice"),
        _required("standing", sa.Boolean),
        sa.PrimaryKeyConstraint("tenant", "claim", "position"),
        sa.ForeignKeyConstraint(["tenant", "claim"], ["people_claims.tenant", "people_claims.id"]),
    )
    op.create_index(
        "people_invoice_claimed_once",
        "people_claim_items",
        ["tenant", "invoice"],
        unique=True,
        sqlite_where=sa.text("standing = 1"),
        postgresql_where=sa.text("standing"),
    )


def _create_trips() -> None:
    op.create_table(
        "people_trips",
        *_texts("tenant", "id", "key", "person", "destination"),
        _required("start", sa.Date),
        _required("end", sa.Date),
        *_texts("transport", "currency"),
        _required("cents", sa.BigInteger),
        *_texts("companions", "reason", "status"),
        _required("booked_at", _MOMENT),
        sa.PrimaryKeyConstraint("tenant", "id"),
        sa.UniqueConstraint("tenant", "key", name="people_trips_once"),
    )
    op.create_index("people_trips_of_person", "people_trips", ["tenant", "person", "start"])


def _create_reservations() -> None:
    op.create_table(
        "people_reservations",
        *_texts("tenant", "id", "key", "person", "kind"),
        _required("quantity", sa.Integer),
        *_texts("note", "status"),
        _required("reserved_at", _MOMENT),
        sa.PrimaryKeyConstraint("tenant", "id"),
        sa.UniqueConstraint("tenant", "key", name="people_reservations_once"),
        sa.CheckConstraint("quantity > 0", name="people_reservations_take_something"),
    )
    op.create_index(
        "people_reservations_of_kind", "people_reservations", ["tenant", "kind", "status"]
    )
