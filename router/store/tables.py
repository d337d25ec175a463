"""The router's own tables; `router.store.rows` makes records of their rows.

JSON stands in columns of type JSON, not JSONB: what people are shown keeps the order of its keys.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    false,
    text,
)

from router.store.columns import MomentType, index, metadata, optional, required, texts
from router.store.configuration_tables import (
    configuration_activations,
    configuration_versions,
    prompt_shares,
)
from router.store.database import Migrations

__all__ = [
    "configuration_activations",
    "configuration_versions",
    "metadata",
    "prompt_shares",
]
ROUTER = Migrations(
    Path(__file__).parent / "migrations", "alembic_version_router", "0001", metadata
)

conversations = Table(
    "conversations",
    metadata,
    *texts("tenant", "id", "owner", "locale"),
    required("created_at", MomentType),
    required("metadata", JSON),
    # Set where its owner had it forgotten: the row alone is left, so that nothing brings it back.
    optional("forgotten_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
)
index("conversations_of_owner", conversations, "tenant", "owner", "created_at", "id")
index("conversations_by_age", conversations, "created_at", "tenant", "id")

snapshots = Table(
    "snapshots",
    metadata,
    *texts("tenant", "conversation", "state"),
    required("saved_at", MomentType),
    PrimaryKeyConstraint("tenant", "conversation"),
)

log = Table(
    "event_log",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    *texts("tenant", "key", "kind"),
    required("at", MomentType),
    optional("conversation"),
    optional("recipient"),
    optional("message_id"),
    required("data", JSON),
    # Of a turn, by which traffic is counted without reading what was said in it.
    optional("route_kind"),
    optional("route_by"),
    optional("missed", Boolean),
    # And by which prompts are compared: the fingerprint of what a model was asked with.
    optional("prompt"),
    # Of news of somebody's request who isn't its recipient: the person that it is about.
    optional("about"),
    UniqueConstraint("tenant", "key", name="event_log_once"),
    # Without it SQLite may give the number of a deleted last row to the next one.
    sqlite_autoincrement=True,
)
index("event_log_of_conversation", log, "tenant", "conversation", "sequence")
index(
    "event_log_of_recipient", log, "tenant", "recipient", "sequence", where="recipient IS NOT NULL"
)
index("event_log_by_age", log, "at")
index("event_log_about", log, "tenant", "about", where="about IS NOT NULL")
index("event_log_turns", log, "tenant", "sequence", where="kind = 'turn'")
index(
    "event_log_turn",
    log,
    "tenant",
    "conversation",
    "message_id",
    unique=True,
    where="kind = 'turn'",
)
index(
    *("event_log_traffic", log, "tenant", "at", "route_kind", "route_by", "missed"),
    where="kind = 'turn'",
)
index(
    *("event_log_prompt", log, "tenant", "at", "prompt", "conversation", "route_kind", "missed"),
    where="prompt IS NOT NULL",
)

runs = Table(
    "flow_runs",
    metadata,
    *texts("tenant", "id", "workflow_id", "run_id", "flow"),
    required("title", JSON),
    required("version", Integer),
    *texts("status", "state"),
    required("slots", JSON),
    required("requester"),
    optional("conversation"),
    optional("parent"),
    required("history", JSON),
    Column("asked", JSON, nullable=False, server_default="{}"),
    required("events", Integer),
    required("created_at", MomentType),
    required("updated_at", MomentType),
    Column("readers", JSON, nullable=False, server_default="[]"),
    Column("files", JSON, nullable=False, server_default="{}"),
    optional("withdraws"),
    optional("withdrawn_by"),
    optional("remedy", JSON),
    optional("incident", JSON),
    Column("held", Boolean, nullable=False, server_default=false()),
    PrimaryKeyConstraint("tenant", "id"),
)
index("flow_runs_newest", runs, "tenant", "created_at", "id")
index("flow_runs_of_requester", runs, "tenant", "requester", "created_at", "id")
index("flow_runs_of_flow", runs, "tenant", "flow", "created_at", "id")
# What goes on is asked for over all tenants too, and is few beside what has ended.
index("flow_runs_of_status", runs, "status", "tenant", "created_at", "id")
index("flow_runs_of_parent", runs, "tenant", "parent", where="parent IS NOT NULL")
index(
    *("flow_runs_of_conversation", runs, "tenant", "conversation"),
    where="conversation IS NOT NULL",
)
Index(
    "flow_runs_held",
    *(runs.c[name] for name in ("tenant", "created_at", "id")),
    sqlite_where=text("held = 1"),
    postgresql_where=text("held"),
)

# Who besides its requester is named in a run, as a reader of it or in its history.
run_people = Table(
    "run_people",
    metadata,
    *texts("tenant", "person", "run"),
    PrimaryKeyConstraint("tenant", "person", "run"),
    ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"]),
)

approvals = Table(
    "approvals",
    metadata,
    *texts("tenant", "id", "run", "workflow_id", "flow", "person", "requester"),
    required("title", JSON),
    required("summary", JSON),
    required("labels", JSON),
    required("digest"),
    required("since", MomentType),
    optional("due", MomentType),
    required("active", Boolean),
    optional("verdict"),
    optional("comment"),
    optional("expires", MomentType),
    optional("decided_at", MomentType),
    Column("bulk", Boolean, nullable=False, server_default=false()),
    PrimaryKeyConstraint("tenant", "id"),
    ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"]),
)
index("approvals_of_run", approvals, "tenant", "run")
index("approvals_of_person", approvals, "tenant", "person")
index(
    *("approvals_decided", approvals, "tenant", "person", "decided_at", "id"),
    where="verdict IS NOT NULL",
)
index(
    *("approvals_decided_at", approvals, "tenant", "decided_at", "id"),
    where="verdict IS NOT NULL",
)
for _name, _columns in (
    ("approvals_waiting", ("tenant", "person", "since", "id")),
    ("approvals_expiring", ("tenant", "expires")),
):
    Index(
        _name,
        *(approvals.c[column] for column in _columns),
        sqlite_where=text("active = 1 AND verdict IS NULL"),
        postgresql_where=text("active AND verdict IS NULL"),
    )

# Which runs show a file to those whom they ask to decide.
run_files = Table(
    "run_files",
    metadata,
    *texts("tenant", "file", "run"),
    PrimaryKeyConstraint("tenant", "file", "run"),
    ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"]),
)

# Without a tenant column: a definition is what its fingerprint says, whoever runs it.
flow_definitions = Table(
    "flow_definitions",
    metadata,
    *texts("fingerprint", "definition"),
    PrimaryKeyConstraint("fingerprint"),
)

keys = Table(
    "idempotency_keys",
    metadata,
    *texts("tenant", "user", "key", "digest"),
    required("claimed_at", MomentType),
    PrimaryKeyConstraint("tenant", "user", "key"),
)
index("idempotency_keys_by_age", keys, "claimed_at")

# Without a tenant column: a key begins with a workflow's id or a tenant and a user, and the
# port that the tools are called through knows nothing else.
effects = Table(
    "effects",
    metadata,
    *texts("key", "tool", "digest", "status"),
    optional("result", JSON),
    optional("failure", JSON),
    required("begun_at", MomentType),
    optional("ended_at", MomentType),
    PrimaryKeyConstraint("key"),
)
# Keys are found by what they begin with, for which PostgreSQL has an order of its own.
Index("effects_by_beginning", effects.c.key, postgresql_ops={"key": "text_pattern_ops"})


def _amounts() -> list[Column[Any]]:
    tokens = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens")
    counted = (*tokens, "reasoning_tokens", "cost")
    return [required("calls", Integer), *(required(name, BigInteger) for name in counted)]


spending = Table(
    "spending",
    metadata,
    required("tenant"),
    required("day", Date),
    *texts("user", "role", "model", "prompt", "currency"),
    *_amounts(),
    PrimaryKeyConstraint("tenant", "day", "user", "role", "model", "prompt", "currency"),
)
index("spending_of_person", spending, "tenant", "user")
index("spending_named", spending, "day", "user", where="\"user\" <> ''")

# The sums of `spending`, kept beside it: budgets ask for them at every call of a model.
spending_days = Table(
    "spending_days",
    metadata,
    required("day", Date),
    *texts("tenant", "currency"),
    *_amounts(),
    PrimaryKeyConstraint("day", "tenant", "currency"),
)

audit = Table(
    "audit",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    required("tenant"),
    required("at", MomentType),
    *texts("person", "tool", "digest", "decision", "outcome", "detail", "key"),
    optional("flow_run"),
    optional("conversation"),
)
index("audit_of_person", audit, "tenant", "person", "tool", "at")

# Nothing of a line is ever changed but for the sake of somebody who is erased: triggers see to it.
audit_trail = Table(
    "audit_trail",
    metadata,
    *texts("tenant", "id"),
    required("at", MomentType),
    *texts("who", "act", "subject", "whose", "reason", "detail", "request_id", "trace_id"),
    PrimaryKeyConstraint("tenant", "id"),
)
index("audit_trail_newest", audit_trail, "tenant", "at", "id")

results = Table(
    "results",
    metadata,
    *texts("tenant", "id", "owner", "tool", "body"),
    required("kept_at", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
)
index("results_of_owner", results, "tenant", "owner")
index("results_by_age", results, "kept_at")

files = Table(
    "files",
    metadata,
    *texts("tenant", "id", "owner", "name", "type"),
    required("size", Integer),
    required("sha256"),
    required("at", MomentType),
    required("content", LargeBinary),
    # What was read of it: nothing yet, or a document, in which its problems stand too.
    Column("document", JSON),
    # A small JPEG of its first page, as that was read.
    Column("preview", LargeBinary),
    PrimaryKeyConstraint("tenant", "id"),
)
index("files_of_owner", files, "tenant", "owner", "at")
index("files_by_age", files, "at")

# By what a file is found again that was handed in before: its number, pieces of its likeness.
file_marks = Table(
    "file_marks",
    metadata,
    *texts("tenant", "mark", "file"),
    PrimaryKeyConstraint("tenant", "mark", "file"),
    ForeignKeyConstraint(["tenant", "file"], ["files.tenant", "files.id"], ondelete="CASCADE"),
)

# What goes with a file is looked up by it.
index("file_marks_of_file", file_marks, "tenant", "file")

# Without a tenant too: skills are the installation's, and a digest names nobody.
skill_files = Table(
    "skill_files",
    metadata,
    required("digest"),
    required("content", LargeBinary),
    required("used_at", MomentType),
    PrimaryKeyConstraint("digest"),
)

# Flow files are the installation's as well.
flow_versions = Table(
    "flow_versions",
    metadata,
    required("flow"),
    required("version", Integer),
    required("behaviour"),
    required("first_seen", MomentType),
    PrimaryKeyConstraint("flow", "version"),
)

# What is said in a conversation, or to a person, and goes to a chat platform: how far that has it.
mailboxes = Table(
    "mailboxes",
    metadata,
    *texts("tenant", "platform", "kind", "subject"),
    required("place", JSON),
    required("position", BigInteger),
    required("due", MomentType),
    # The number of the last that is to be posted there; above `position`, something waits.
    Column("news", BigInteger, nullable=False, server_default="0"),
    PrimaryKeyConstraint("tenant", "platform", "kind", "subject"),
)
index("mailboxes_of_subject", mailboxes, "tenant", "kind", "subject")
index("mailboxes_waiting", mailboxes, "platform", "due", where="news > position")

# Conversations that were handed to a person: who has them, and what came of it.
hand_offs = Table(
    "hand_offs",
    metadata,
    *texts("tenant", "id", "conversation", "requester", "cause", "reason", "state"),
    optional("why", JSON),
    optional("agent"),
    required("since", MomentType),
    optional("waiting_since", MomentType),
    optional("due", MomentType),
    optional("taken_at", MomentType),
    optional("closed_at", MomentType),
    optional("ending"),
    required("version", Integer),
    PrimaryKeyConstraint("tenant", "id"),
)
index("hand_offs_by_state", hand_offs, "tenant", "state", "since")
index("hand_offs_of_conversation", hand_offs, "tenant", "conversation")
index("hand_offs_of_requester", hand_offs, "tenant", "requester")
index("hand_offs_of_agent", hand_offs, "tenant", "agent", where="agent IS NOT NULL")
index("hand_offs_going_on", hand_offs, "state", "since", where="state <> 'closed'")

# Without a tenant: keys are the installation's. A seal is opened by the key that it was made with.
key_seals = Table(
    "key_seals",
    metadata,
    required("key_id"),
    required("seal", LargeBinary),
    required("first_seen", MomentType),
    PrimaryKeyConstraint("key_id"),
)

# A row that is written to see that rows can be.
health_checks = Table(
    "health_checks",
    metadata,
    required("name"),
    required("at", MomentType),
    PrimaryKeyConstraint("name"),
)

# One row: which house this is, and how often it has been counted on.
houses = Table(
    "houses",
    metadata,
    *texts("name", "id"),
    required("generation", BigInteger),
    required("advanced_at", MomentType),
    PrimaryKeyConstraint("name"),
)

# What retention and erasing leave alone until somebody says that they may.
legal_holds = Table(
    "legal_holds",
    metadata,
    *texts("tenant", "kind", "subject", "reason", "placed_by"),
    required("placed_at", MomentType),
    PrimaryKeyConstraint("tenant", "kind", "subject"),
)

# What people asked to have remembered.
memories = Table(
    "memories",
    metadata,
    *texts("tenant", "owner", "id", "text", "locale"),
    required("created_at", MomentType),
    PrimaryKeyConstraint("tenant", "owner", "id"),
)
index("memories_by_age", memories, "created_at")

# Answers of models that are the same for everyone: nobody's, so that nothing of a person is in one.
kept_answers = Table(
    "kept_answers",
    metadata,
    *texts("tenant", "id", "scope", "question", "text"),
    required("tools", JSON),
    required("kept_at", MomentType),
    required("until", MomentType),
    PrimaryKeyConstraint("tenant", "id"),
)
index("kept_answers_of_scope", kept_answers, "tenant", "scope", "kept_at")
index("kept_answers_by_age", kept_answers, "kept_at")
index("kept_answers_until", kept_answers, "until")

# Events on their way to other systems: see `router.store.webhook_deliveries`.
webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    *texts("tenant", "id", "consumer", "url", "event", "subject", "state", "error"),
    required("data", JSON),
    required("attempts", Integer),
    required("created_at", MomentType),
    # When it is given up.
    required("until", MomentType),
    # NULL while an earlier one of the same subject goes to the same consumer before it.
    optional("due", MomentType),
    # Whom it names, for the sake of somebody who is erased.
    optional("requester"),
    optional("person"),
    UniqueConstraint("tenant", "id", name="webhook_deliveries_once"),
    # Numbers are the order: one that was given before must not be given again.
    sqlite_autoincrement=True,
)
_WAITING = "state = 'waiting'"
index("webhook_deliveries_due", webhook_deliveries, "consumer", "due", where=_WAITING)
index(
    *("webhook_deliveries_in_order", webhook_deliveries),
    *("tenant", "consumer", "subject", "sequence"),
    where=_WAITING,
)
index("webhook_deliveries_newest", webhook_deliveries, "tenant", "state", "created_at", "id")
index("webhook_deliveries_by_age", webhook_deliveries, "created_at")
index(
    *("webhook_deliveries_of_requester", webhook_deliveries, "tenant", "requester"),
    where="requester IS NOT NULL",
)
index(
    *("webhook_deliveries_of_person", webhook_deliveries, "tenant", "person"),
    where="person IS NOT NULL",
)
