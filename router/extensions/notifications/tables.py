"""The tables of notification settings."""

from pathlib import Path

from sqlalchemy import JSON, BigInteger, Boolean, MetaData, PrimaryKeyConstraint, Table

from router.store.columns import MomentType, index, optional, required, texts
from router.store.erasure import PersonalRows
from router.store.extension_tables import ExtensionTables
from router.store.retention import AgedRows

metadata = MetaData()

# What each person has chosen, as `preferences.NotificationPreferences` has it.
notification_preferences = Table(
    "notification_preferences",
    metadata,
    *texts("tenant", "person"),
    required("preferences", JSON),
    required("changed_at", MomentType),
    optional("channels_before", JSON),
    optional("moved_at", MomentType),
    PrimaryKeyConstraint("tenant", "person"),
)

# What somebody is told once their hours open: what a `run` asks of them, by the number of its row
# in the log; where `run` is empty, the next digest, by the number of the day of the last one.
deferred_posts = Table(
    "deferred_posts",
    metadata,
    *texts("tenant", "person", "platform", "run"),
    required("number", BigInteger),
    # False of a request that its reader hasn't heard of yet.
    required("reminds", Boolean),
    required("due", MomentType),
    PrimaryKeyConstraint("tenant", "person", "platform", "run"),
)
index("deferred_posts_due", deferred_posts, "due")

TABLES = ExtensionTables(
    Path(__file__).parent / "migrations",
    head="0001",
    metadata=metadata,
    personal=(
        PersonalRows("notification preferences", notification_preferences, "person"),
        PersonalRows("posts held back", deferred_posts, "person"),
    ),
    aged=(AgedRows(deferred_posts, "due", "person"),),
)
