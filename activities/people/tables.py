"""The people system's tables. Days stand in half days and money in cents: both are exact."""

from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Date,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    text,
)

from router.store.database import Migrations
from router.store.tables import MomentType, required, texts

PEOPLE = Migrations(Path(__file__).parent / "migrations", "alembic_version_people", "0001")

metadata = MetaData()

entitlements = Table(
    "people_entitlements",
    metadata,
    *texts("tenant", "person", "leave_type"),
    required("year", Integer),
    required("half_days", Integer),
    PrimaryKeyConstraint("tenant", "person", "leave_type", "year"),
)

adjustments = Table(
    "people_adjustments",
    metadata,
    *texts("tenant", "id", "key", "person", "leave_type"),
    required("year", Integer),
    required("half_days", Integer),
    required("entitled_before", Integer),
    *texts("reason", "by"),
    required("at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_adjustments_once"),
    CheckConstraint("half_days <> 0", name="people_adjustments_change_something"),
    CheckConstraint("entitled_before + half_days >= 0", name="people_adjustments_keep_above_zero"),
)
"""Who changed an entitlement, by how much and why. Rows are only ever added."""
Index(
    "people_adjustments_of_person",
    *(adjustments.c[n] for n in ("tenant", "person", "year", "leave_type")),
)

leave = Table(
    "people_leave",
    metadata,
    *texts("tenant", "id", "key", "person", "leave_type"),
    required("year", Integer),
    required("start", Date),
    required("end", Date),
    *texts("start_half", "end_half"),
    required("half_days", Integer),
    *texts("reason", "status"),
    required("recorded_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_leave_once"),
    CheckConstraint("half_days > 0", name="people_leave_takes_time"),
)
Index("people_leave_of_person", *(leave.c[n] for n in ("tenant", "person", "year", "leave_type")))

claims = Table(
    "people_claims",
    metadata,
    *texts("tenant", "id", "key", "person", "currency"),
    required("cents", BigInteger),
    *texts("reason", "status"),
    required("submitted_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_claims_once"),
)
Index("people_claims_of_person", claims.c.tenant, claims.c.person, claims.c.submitted_at)

claim_items = Table(
    "people_claim_items",
    metadata,
    *texts("tenant", "claim"),
    required("position", Integer),
    required("category"),
    required("cents", BigInteger),
    required("date", Date),
    required("invoice"),
    required("standing", Boolean),
    PrimaryKeyConstraint("tenant", "claim", "position"),
    ForeignKeyConstraint(["tenant", "claim"], ["people_claims.tenant", "people_claims.id"]),
)
# The last word on an invoice being claimed once, whatever the code above it believes.
Index(
    "people_invoice_claimed_once",
    claim_items.c.tenant,
    claim_items.c.invoice,
    unique=True,
    sqlite_where=text("standing = 1"),
    postgresql_where=text("standing"),
)

trips = Table(
    "people_trips",
    metadata,
    *texts("tenant", "id", "key", "person", "destination"),
    required("start", Date),
    required("end", Date),
    *texts("transport", "currency"),
    required("cents", BigInteger),
    *texts("companions", "reason", "status"),
    required("booked_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_trips_once"),
)
Index("people_trips_of_person", *(trips.c[n] for n in ("tenant", "person", "start")))

reservations = Table(
    "people_reservations",
    metadata,
    *texts("tenant", "id", "key", "person", "kind"),
    required("quantity", Integer),
    *texts("note", "status"),
    required("reserved_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
    UniqueConstraint("tenant", "key", name="people_reservations_once"),
    CheckConstraint("quantity > 0", name="people_reservations_take_something"),
)
Index("people_reservations_of_kind", *(reservations.c[n] for n in ("tenant", "kind", "status")))
