"""The tables of workspaces."""

from pathlib import Path

from sqlalchemy import Integer, LargeBinary, MetaData, PrimaryKeyConstraint, Table

from router.store.columns import MomentType, index, required, texts
from router.store.erasure import PersonalRows
from router.store.extension_tables import ExtensionTables
from router.store.retention import AgedRows

metadata = MetaData()

workspace_files = Table(
    "workspace_files",
    metadata,
    *texts("tenant", "owner", "path"),
    required("content", LargeBinary),
    required("size", Integer),
    required("version", Integer),
    required("changed_at", MomentType),
    PrimaryKeyConstraint("tenant", "owner", "path"),
)
index("workspace_files_by_age", workspace_files, "changed_at")

# The highest version of an owner's files that were deleted: a file that is new begins above it.
workspace_versions = Table(
    "workspace_versions",
    metadata,
    *texts("tenant", "owner"),
    required("highest", Integer),
    required("deleted_at", MomentType),
    PrimaryKeyConstraint("tenant", "owner"),
)
index("workspace_versions_by_age", workspace_versions, "deleted_at")

TABLES = ExtensionTables(
    Path(__file__).parent / "migrations",
    head="0001",
    metadata=metadata,
    personal=(
        PersonalRows("workspace files", workspace_files, "owner"),
        PersonalRows("workspaces with deleted files", workspace_versions, "owner"),
    ),
    aged=(
        AgedRows(workspace_files, "changed_at", "owner"),
        AgedRows(workspace_versions, "deleted_at", "owner"),
    ),
)
