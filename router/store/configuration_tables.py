"""The tables of what tenants have of their own.

`router.store.tables` has them all; they stand here because there are many.
"""

from sqlalchemy import JSON, BigInteger, Column, Integer, PrimaryKeyConstraint, Table, text

from router.store.columns import MomentType, index, metadata, optional, required, texts

# Each time that somebody set the shares of a job's prompts. The newest of a job that isn't taken
# back holds; where there is none, those of the settings do.
prompt_shares = Table(
    "prompt_shares",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    *texts("tenant", "job"),
    required("shares", JSON),
    required("set_by"),
    required("set_at", MomentType),
    optional("rolled_back_by"),
    optional("rolled_back_at", MomentType),
)
index("prompt_shares_of_job", prompt_shares, "tenant", "job", "sequence")

# What somebody wrote of a tenant's configuration; rows are added, and never changed.
configuration_versions = Table(
    "configuration_versions",
    metadata,
    *texts("tenant", "kind", "name"),
    required("version", Integer),
    *texts("digest", "text", "note", "author"),
    required("written_at", MomentType),
    optional("flow_version", Integer),
    optional("behaviour"),
    PrimaryKeyConstraint("tenant", "kind", "name", "version"),
)
# Which version holds from when on, and for which share of people; none where the version is null.
# Which rows count: see `router.domain.configuration_documents.standing`.
configuration_activations = Table(
    "configuration_activations",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    *texts("tenant", "kind", "name"),
    optional("version", Integer),
    required("activated_by"),
    required("activated_at", MomentType),
    optional("holds_from", MomentType),
    Column("share", Integer, nullable=False, server_default=text("100")),
    optional("review"),
    optional("taken_back_by"),
    optional("taken_back_at", MomentType),
)
index(
    *("configuration_activations_of_document", configuration_activations),
    *("tenant", "kind", "name", "sequence"),
)
