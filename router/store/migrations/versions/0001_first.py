"""All tables, and the triggers that keep the lines of the audit trail as they are.

Of a line only the people may be changed, into a pseudonym, and words may be taken out: that is
what erasing a person does. The database itself refuses everything else.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_MOMENT = sa.DateTime(timezone=True)


def _required(name: str, kind: Any = sa.Text, default: Any = None) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, server_default=default)


def _texts(*names: str) -> list[sa.Column[Any]]:
    return [_required(name) for name in names]


def _optional(name: str, kind: Any = sa.Text) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def _key(*columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns)


def _index(name: str, table: str, columns: list[str], where: str = "", **more: Any) -> None:
    if where:
        more |= {"sqlite_where": sa.text(where), "postgresql_where": sa.text(where)}
    op.create_index(name, table, columns, **more)


def upgrade() -> None:
    _create_prompt_shares()
    _create_configuration_versions()
    _create_configuration_activations()
    _create_conversations()
    _create_snapshots()
    _create_event_log()
    _create_flow_runs()
    _create_run_people()
    _create_approvals()
    _create_run_files()
    _create_flow_definitions()
    _create_idempotency_keys()
    _create_effects()
    _create_spending()
    _create_spending_days()
    _create_audit()
    _create_audit_trail()
    _create_results()
    _create_files()
    _create_file_marks()
    _create_skill_files()
    _create_flow_versions()
    _create_mailboxes()
    _create_hand_offs()
    _create_key_seals()
    _create_health_checks()
    _create_houses()
    _create_legal_holds()
    _create_memories()
    _create_kept_answers()
    _create_webhook_deliveries()
    _keep_lines_of_the_audit_trail()


def downgrade() -> None:
    for table in (
        "webhook_deliveries",
        "kept_answers",
        "memories",
        "legal_holds",
        "houses",
        "health_checks",
        "key_seals",
        "hand_offs",
        "mailboxes",
        "flow_versions",
        "skill_files",
        "file_marks",
        "files",
        "results",
        "audit_trail",
        "audit",
        "spending_days",
        "spending",
        "effects",
        "idempotency_keys",
        "flow_definitions",
        "run_files",
        "approvals",
        "run_people",
        "flow_runs",
        "event_log",
        "snapshots",
        "conversations",
        "configuration_activations",
        "configuration_versions",
        "prompt_shares",
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_trail_refuses()")


def _create_prompt_shares() -> None:
    op.create_table(
        "prompt_shares",
        sa.Column("sequence", _SEQUENCE, primary_key=True),
        *_texts("tenant", "job"),
        _required("shares", sa.JSON),
        _required("set_by"),
        _required("set_at", _MOMENT),
        _optional("rolled_back_by"),
        _optional("rolled_back_at", _MOMENT),
    )
    _index("prompt_shares_of_job", "prompt_shares", ["tenant", "job", "sequence"])


def _create_configuration_versions() -> None:
    op.create_table(
        "configuration_versions",
        *_texts("tenant", "kind", "name"),
        _required("version", sa.Integer),
        *_texts("digest", "text", "note", "author"),
        _required("written_at", _MOMENT),
        _optional("flow_version", sa.Integer),
        _optional("behaviour"),
        _key("tenant", "kind", "name", "version"),
    )


def _create_configuration_activations() -> None:
    op.create_table(
        "configuration_activations",
        sa.Column("sequence", _SEQUENCE, primary_key=True),
        *_texts("tenant", "kind", "name"),
        _optional("version", sa.Integer),
        _required("activated_by"),
        _required("activated_at", _MOMENT),
        _optional("holds_from", _MOMENT),
        _required("share", sa.Integer, sa.text("100")),
        *map(_optional, ("review", "taken_back_by")),
        _optional("taken_back_at", _MOMENT),
    )
    _index(
        "configuration_activations_of_document",
        "configuration_activations",
        ["tenant", "kind", "name", "sequence"],
    )


def _create_conversations() -> None:
    op.create_table(
        "conversations",
        *_texts("tenant", "id", "owner", "locale"),
        _required("created_at", _MOMENT),
        _required("metadata", sa.JSON),
        _optional("forgotten_at", _MOMENT),
        _key("tenant", "id"),
    )
    _index("conversations_by_age", "conversations", ["created_at", "tenant", "id"])
    _index("conversations_of_owner", "conversations", ["tenant", "owner", "created_at", "id"])


def _create_snapshots() -> None:
    op.create_table(
        "snapshots",
        *_texts("tenant", "conversation", "state"),
        _required("saved_at", _MOMENT),
        _key("tenant", "conversation"),
    )


def _create_event_log() -> None:
    op.create_table(
        "event_log",
        sa.Column("sequence", _SEQUENCE, primary_key=True),
        *_texts("tenant", "key", "kind"),
        _required("at", _MOMENT),
        *map(_optional, ("conversation", "recipient", "message_id")),
        _required("data", sa.JSON),
        *map(_optional, ("route_kind", "route_by")),
        _optional("missed", sa.Boolean),
        *map(_optional, ("prompt", "about")),
        sa.UniqueConstraint("tenant", "key", name="event_log_once"),
        sqlite_autoincrement=True,
    )
    _index("event_log_about", "event_log", ["tenant", "about"], where="about IS NOT NULL")
    _index("event_log_by_age", "event_log", ["at"])
    _index("event_log_of_conversation", "event_log", ["tenant", "conversation", "sequence"])
    _index(
        "event_log_of_recipient",
        "event_log",
        ["tenant", "recipient", "sequence"],
        where="recipient IS NOT NULL",
    )
    _index(
        "event_log_prompt",
        "event_log",
        ["tenant", "at", "prompt", "conversation", "route_kind", "missed"],
        where="prompt IS NOT NULL",
    )
    _index(
        "event_log_traffic",
        "event_log",
        ["tenant", "at", "route_kind", "route_by", "missed"],
        where="kind = 'turn'",
    )
    _index(
        "event_log_turn",
        "event_log",
        ["tenant", "conversation", "message_id"],
        where="kind = 'turn'",
        unique=True,
    )
    _index("event_log_turns", "event_log", ["tenant", "sequence"], where="kind = 'turn'")


def _create_flow_runs() -> None:
    op.create_table(
        "flow_runs",
        *_texts("tenant", "id", "workflow_id", "run_id", "flow"),
        _required("title", sa.JSON),
        _required("version", sa.Integer),
        *_texts("status", "state"),
        _required("slots", sa.JSON),
        _required("requester"),
        *map(_optional, ("conversation", "parent")),
        _required("history", sa.JSON),
        _required("asked", sa.JSON, "{}"),
        _required("events", sa.Integer),
        _required("created_at", _MOMENT),
        _required("updated_at", _MOMENT),
        _required("readers", sa.JSON, "[]"),
        _required("files", sa.JSON, "{}"),
        *map(_optional, ("withdraws", "withdrawn_by")),
        _optional("remedy", sa.JSON),
        _optional("incident", sa.JSON),
        _required("held", sa.Boolean, sa.false()),
        _key("tenant", "id"),
    )
    _index(
        "flow_runs_held",
        "flow_runs",
        ["tenant", "created_at", "id"],
        sqlite_where=sa.text("held = 1"),
        postgresql_where=sa.text("held"),
    )
    _index("flow_runs_newest", "flow_runs", ["tenant", "created_at", "id"])
    _index(
        "flow_runs_of_conversation",
        "flow_runs",
        ["tenant", "conversation"],
        where="conversation IS NOT NULL",
    )
    _index("flow_runs_of_flow", "flow_runs", ["tenant", "flow", "created_at", "id"])
    _index("flow_runs_of_parent", "flow_runs", ["tenant", "parent"], where="parent IS NOT NULL")
    _index("flow_runs_of_requester", "flow_runs", ["tenant", "requester", "created_at", "id"])
    _index("flow_runs_of_status", "flow_runs", ["status", "tenant", "created_at", "id"])


def _create_run_people() -> None:
    op.create_table(
        "run_people",
        *_texts("tenant", "person", "run"),
        _key("tenant", "person", "run"),
        sa.ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"]),
    )


def _create_approvals() -> None:
    op.create_table(
        "approvals",
        *_texts("tenant", "id", "run", "workflow_id", "flow", "person", "requester"),
        _required("title", sa.JSON),
        _required("summary", sa.JSON),
        _required("labels", sa.JSON),
        _required("digest"),
        _required("since", _MOMENT),
        _optional("due", _MOMENT),
        _required("active", sa.Boolean),
        *map(_optional, ("verdict", "comment")),
        _optional("expires", _MOMENT),
        _optional("decided_at", _MOMENT),
        _required("bulk", sa.Boolean, sa.false()),
        _key("tenant", "id"),
        sa.ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"]),
    )
    _index(
        "approvals_decided",
        "approvals",
        ["tenant", "person", "decided_at", "id"],
        where="verdict IS NOT NULL",
    )
    _index(
        "approvals_decided_at",
        "approvals",
        ["tenant", "decided_at", "id"],
        where="verdict IS NOT NULL",
    )
    _index(
        "approvals_expiring",
        "approvals",
        ["tenant", "expires"],
        sqlite_where=sa.text("active = 1 AND verdict IS NULL"),
        postgresql_where=sa.text("active AND verdict IS NULL"),
    )
    _index("approvals_of_person", "approvals", ["tenant", "person"])
    _index("approvals_of_run", "approvals", ["tenant", "run"])
    _index(
        "approvals_waiting",
        "approvals",
        ["tenant", "person", "since", "id"],
        sqlite_where=sa.text("active = 1 AND verdict IS NULL"),
        postgresql_where=sa.text("active AND verdict IS NULL"),
    )


def _create_run_files() -> None:
    op.create_table(
        "run_files",
        *_texts("tenant", "file", "run"),
        _key("tenant", "file", "run"),
        sa.ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"]),
    )


def _create_flow_definitions() -> None:
    op.create_table(
        "flow_definitions",
        *_texts("fingerprint", "definition"),
        _key("fingerprint"),
    )


def _create_idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        *_texts("tenant", "user", "key", "digest"),
        _required("claimed_at", _MOMENT),
        _key("tenant", "user", "key"),
    )
    _index("idempotency_keys_by_age", "idempotency_keys", ["claimed_at"])


def _create_effects() -> None:
    op.create_table(
        "effects",
        *_texts("key", "tool", "digest", "status"),
        _optional("result", sa.JSON),
        _optional("failure", sa.JSON),
        _required("begun_at", _MOMENT),
        _optional("ended_at", _MOMENT),
        _key("key"),
    )
    _index("effects_by_beginning", "effects", ["key"], postgresql_ops={"key": "text_pattern_ops"})


def _create_spending() -> None:
    op.create_table(
        "spending",
        _required("tenant"),
        _required("day", sa.Date),
        *_texts("user", "role", "model", "prompt", "currency"),
        _required("calls", sa.Integer),
        _required("prompt_tokens", sa.BigInteger),
        _required("completion_tokens", sa.BigInteger),
        _required("cached_tokens", sa.BigInteger),
        _required("cache_write_tokens", sa.BigInteger),
        _required("reasoning_tokens", sa.BigInteger),
        _required("cost", sa.BigInteger),
        _key("tenant", "day", "user", "role", "model", "prompt", "currency"),
    )
    _index("spending_named", "spending", ["day", "user"], where="\"user\" <> ''")
    _index("spending_of_person", "spending", ["tenant", "user"])


def _create_spending_days() -> None:
    op.create_table(
        "spending_days",
        _required("day", sa.Date),
        *_texts("tenant", "currency"),
        _required("calls", sa.Integer),
        _required("prompt_tokens", sa.BigInteger),
        _required("completion_tokens", sa.BigInteger),
        _required("cached_tokens", sa.BigInteger),
        _required("cache_write_tokens", sa.BigInteger),
        _required("reasoning_tokens", sa.BigInteger),
        _required("cost", sa.BigInteger),
        _key("day", "tenant", "currency"),
    )


def _create_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("sequence", _SEQUENCE, primary_key=True),
        _required("tenant"),
        _required("at", _MOMENT),
        *_texts("person", "tool", "digest", "decision", "outcome", "detail", "key"),
        *map(_optional, ("flow_run", "conversation")),
    )
    _index("audit_of_person", "audit", ["tenant", "person", "tool", "at"])


def _create_audit_trail() -> None:
    op.create_table(
        "audit_trail",
        *_texts("tenant", "id"),
        _required("at", _MOMENT),
        *_texts("who", "act", "subject", "whose", "reason", "detail", "request_id", "trace_id"),
        _key("tenant", "id"),
    )
    _index("audit_trail_newest", "audit_trail", ["tenant", "at", "id"])


def _create_results() -> None:
    op.create_table(
        "results",
        *_texts("tenant", "id", "owner", "tool", "body"),
        _required("kept_at", _MOMENT),
        _key("tenant", "id"),
    )
    _index("results_by_age", "results", ["kept_at"])
    _index("results_of_owner", "results", ["tenant", "owner"])


def _create_files() -> None:
    op.create_table(
        "files",
        *_texts("tenant", "id", "owner", "name", "type"),
        _required("size", sa.Integer),
        _required("sha256"),
        _required("at", _MOMENT),
        _required("content", sa.LargeBinary),
        _optional("document", sa.JSON),
        _optional("preview", sa.LargeBinary),
        _key("tenant", "id"),
    )
    _index("files_by_age", "files", ["at"])
    _index("files_of_owner", "files", ["tenant", "owner", "at"])


def _create_file_marks() -> None:
    op.create_table(
        "file_marks",
        *_texts("tenant", "mark", "file"),
        _key("tenant", "mark", "file"),
        sa.ForeignKeyConstraint(
            ["tenant", "file"], ["files.tenant", "files.id"], ondelete="CASCADE"
        ),
    )
    _index("file_marks_of_file", "file_marks", ["tenant", "file"])


def _create_skill_files() -> None:
    op.create_table(
        "skill_files",
        _required("digest"),
        _required("content", sa.LargeBinary),
        _required("used_at", _MOMENT),
        _key("digest"),
    )


def _create_flow_versions() -> None:
    op.create_table(
        "flow_versions",
        _required("flow"),
        _required("version", sa.Integer),
        _required("behaviour"),
        _required("first_seen", _MOMENT),
        _key("flow", "version"),
    )


def _create_mailboxes() -> None:
    op.create_table(
        "mailboxes",
        *_texts("tenant", "platform", "kind", "subject"),
        _required("place", sa.JSON),
        _required("position", sa.BigInteger),
        _required("due", _MOMENT),
        _required("news", sa.BigInteger, "0"),
        _key("tenant", "platform", "kind", "subject"),
    )
    _index("mailboxes_of_subject", "mailboxes", ["tenant", "kind", "subject"])
    _index("mailboxes_waiting", "mailboxes", ["platform", "due"], where="news > position")


def _create_hand_offs() -> None:
    op.create_table(
        "hand_offs",
        *_texts("tenant", "id", "conversation", "requester", "cause", "reason", "state"),
        _optional("why", sa.JSON),
        _optional("agent"),
        _required("since", _MOMENT),
        _optional("waiting_since", _MOMENT),
        _optional("due", _MOMENT),
        _optional("taken_at", _MOMENT),
        _optional("closed_at", _MOMENT),
        _optional("ending"),
        _required("version", sa.Integer),
        _key("tenant", "id"),
    )
    _index("hand_offs_by_state", "hand_offs", ["tenant", "state", "since"])
    _index("hand_offs_going_on", "hand_offs", ["state", "since"], where="state <> 'closed'")
    _index("hand_offs_of_agent", "hand_offs", ["tenant", "agent"], where="agent IS NOT NULL")
    _index("hand_offs_of_conversation", "hand_offs", ["tenant", "conversation"])
    _index("hand_offs_of_requester", "hand_offs", ["tenant", "requester"])


def _create_key_seals() -> None:
    op.create_table(
        "key_seals",
        _required("key_id"),
        _required("seal", sa.LargeBinary),
        _required("first_seen", _MOMENT),
        _key("key_id"),
    )


def _create_health_checks() -> None:
    op.create_table(
        "health_checks",
        _required("name"),
        _required("at", _MOMENT),
        _key("name"),
    )


def _create_houses() -> None:
    op.create_table(
        "houses",
        *_texts("name", "id"),
        _required("generation", sa.BigInteger),
        _required("advanced_at", _MOMENT),
        _key("name"),
    )


def _create_legal_holds() -> None:
    op.create_table(
        "legal_holds",
        *_texts("tenant", "kind", "subject", "reason", "placed_by"),
        _required("placed_at", _MOMENT),
        _key("tenant", "kind", "subject"),
    )


def _create_memories() -> None:
    op.create_table(
        "memories",
        *_texts("tenant", "owner", "id", "text", "locale"),
        _required("created_at", _MOMENT),
        _key("tenant", "owner", "id"),
    )
    _index("memories_by_age", "memories", ["created_at"])


def _create_kept_answers() -> None:
    op.create_table(
        "kept_answers",
        *_texts("tenant", "id", "scope", "question", "text"),
        _required("tools", sa.JSON),
        _required("kept_at", _MOMENT),
        _required("until", _MOMENT),
        _key("tenant", "id"),
    )
    _index("kept_answers_by_age", "kept_answers", ["kept_at"])
    _index("kept_answers_of_scope", "kept_answers", ["tenant", "scope", "kept_at"])
    _index("kept_answers_until", "kept_answers", ["until"])


def _create_webhook_deliveries() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("sequence", _SEQUENCE, primary_key=True),
        *_texts("tenant", "id", "consumer", "url", "event", "subject", "state", "error"),
        _required("data", sa.JSON),
        _required("attempts", sa.Integer),
        _required("created_at", _MOMENT),
        _required("until", _MOMENT),
        _optional("due", _MOMENT),
        *map(_optional, ("requester", "person")),
        sa.UniqueConstraint("tenant", "id", name="webhook_deliveries_once"),
        sqlite_autoincrement=True,
    )
    _index("webhook_deliveries_by_age", "webhook_deliveries", ["created_at"])
    _index(
        "webhook_deliveries_due",
        "webhook_deliveries",
        ["consumer", "due"],
        where="state = 'waiting'",
    )
    _index(
        "webhook_deliveries_in_order",
        "webhook_deliveries",
        ["tenant", "consumer", "subject", "sequence"],
        where="state = 'waiting'",
    )
    _index(
        "webhook_deliveries_newest", "webhook_deliveries", ["tenant", "state", "created_at", "id"]
    )
    _index(
        "webhook_deliveries_of_person",
        "webhook_deliveries",
        ["tenant", "person"],
        where="person IS NOT NULL",
    )
    _index(
        "webhook_deliveries_of_requester",
        "webhook_deliveries",
        ["tenant", "requester"],
        where="requester IS NOT NULL",
    )


_FIXED = ("id", "tenant", "at", "act", "request_id", "trace_id")
_PEOPLE = ("who", "whose", "subject")
_WORDS = ("reason", "detail")
_REFUSAL = "lines of the audit trail are never changed"

_KEPT = " AND ".join(
    [
        *(f"NEW.{name} = OLD.{name}" for name in _FIXED),
        *(f"(NEW.{name} = OLD.{name} OR NEW.{name} LIKE 'erased-%')" for name in _PEOPLE),
        *(f"(NEW.{name} = OLD.{name} OR NEW.{name} = '')" for name in _WORDS),
    ]
)


def _keep_lines_of_the_audit_trail() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _keep_lines_on_sqlite()
    else:
        _keep_lines_on_postgresql()


def _keep_lines_on_sqlite() -> None:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
    op.execute(f"CREATE TRIGGER audit_trail_stays BEFORE DELETE ON audit_trail {refuse}")
    op.execute(
        "CREATE TRIGGER audit_trail_is_kept BEFORE UPDATE ON audit_trail "
        f"WHEN NOT ({_KEPT}) {refuse}"
    )


def _keep_lines_on_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION audit_trail_refuses() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_REFUSAL}' "
        "USING ERRCODE = 'restrict_violation'; END $$"
    )
    run = "EXECUTE FUNCTION audit_trail_refuses()"
    op.execute(f"CREATE TRIGGER audit_trail_stays BEFORE DELETE ON audit_trail FOR EACH ROW {run}")
    op.execute(
        "CREATE TRIGGER audit_trail_is_not_emptied BEFORE TRUNCATE ON audit_trail "
        f"FOR EACH STATEMENT {run}"
    )
    op.execute(
        "CREATE TRIGGER audit_trail_is_kept BEFORE UPDATE ON audit_trail FOR EACH ROW "
        f"WHEN (NOT ({_KEPT})) {run}"
    )
