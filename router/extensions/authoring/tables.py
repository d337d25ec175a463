"""The tables of drafts of flows and of their reviews."""

from pathlib import Path

from sqlalchemy import JSON, Integer, MetaData, PrimaryKeyConstraint, Table

from router.store.columns import MomentType, index, optional, required, texts
from router.store.erasure import PersonalRows, PseudonymizedRows
from router.store.extension_tables import ExtensionTables

metadata = MetaData()

# What an author has submitted for somebody else to look at: see `reviews.FlowReview`.
flow_reviews = Table(
    "flow_reviews",
    metadata,
    *texts("tenant", "id", "flow", "author", "note", "status"),
    *texts("text", "stories", "digest", "held_text", "held_stories"),
    # The digest of what held when it was submitted; null where there was nothing.
    optional("held"),
    required("version", Integer),
    required("submitted_at", MomentType),
    required("passed", Integer),
    required("failed", Integer),
    optional("coverage", JSON),
    optional("reviewer"),
    optional("comment"),
    optional("decided_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
)
index("flow_reviews_by_age", flow_reviews, "tenant", "submitted_at", "id")
index("flow_reviews_of_flow", flow_reviews, "tenant", "flow", "submitted_at")

# What authors have written of flows and haven't published.
flow_drafts = Table(
    "flow_drafts",
    metadata,
    *texts("tenant", "author", "flow", "text", "stories"),
    required("revision", Integer),
    required("base", JSON),
    required("updated_at", MomentType),
    PrimaryKeyConstraint("tenant", "author", "flow"),
)
index("flow_drafts_of_flow", flow_drafts, "tenant", "flow", "updated_at")

TABLES = ExtensionTables(
    Path(__file__).parent / "migrations",
    head="0001",
    metadata=metadata,
    personal=(PersonalRows("drafts of flows", flow_drafts, "author"),),
    pseudonymized=(
        PseudonymizedRows(flow_reviews, "author", {"note": ""}),
        PseudonymizedRows(flow_reviews, "reviewer", {"comment": None}),
    ),
)
