"""The first tables, and the triggers that keep lines of the audit trail as they are.

Of a line only the people may be changed, into a pseudonym, and words may be taken out: that is
what erasing a person does. The database itself refuses everything else.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
lowest = "0001"
"""The oldest revision whose program can work with these tables: see CONTRIBUTING.md."""

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


def _part_of_run() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"])


def _index(name: str, table: str, columns: list[str], where: str = "", **more: Any) -> None:
    if where:
        more |= {"sqlite_where": sa.text(where), "postgresql_where": sa.text(where)}
    op.create_index(name, table, columns, **more)


def upgrade() -> None:
    _create_conversations()
    _create_log()
    _create_runs()
    _create_what_runs_need()
    _create_approvals()
    _create_memory()
    _create_audit()
    _create_trail()
    _create_files()


def downgrade() -> None:
    for table in (
        *("mailboxes", "flow_versions", "skill_files", "files", "results", "audit_trail", "audit"),
        *("spending", "effects", "idempotency_keys", "flow_definitions", "run_files"),
        *("approvals", "flow_runs", "event_log", "snapshots", "conversations"),
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_trail_refuses()")


def _create_conversations() -> None:
    op.create_table(
        "conversations",
        *_texts("tenant", "id", "owner", "locale"),
        _required("created_at", _MOMENT),
        _required("metadata", sa.JSON),
        _key("tenant", "id"),
    )
    _index("conversations_of_owner", "conversations", ["tenant", "owner", "created_at", "id"])
    op.create_table(
        "snapshots",
        *_texts("tenant", "conversation", "state"),
        _required("saved_at", _MOMENT),
        _key("tenant", "conversation"),
    )


def _create_log() -> None:
    op.create_table(
        "event_log",
        sa.Column("sequence", _SEQUENCE, primary_key=True),
        *_texts("tenant", "key", "kind"),
        _required("at", _MOMENT),
        *map(_optional, ("conversation", "recipient", "message_id")),
        _required("data", sa.JSON),
        sa.UniqueConstraint("tenant", "key", name="event_log_once"),
        sqlite_autoincrement=True,
    )
    _index("event_log_of_conversation", "event_log", ["tenant", "conversation", "sequence"])
    _index(
        "event_log_of_recipient",
        "event_log",
        ["tenant", "recipient", "sequence"],
        where="recipient IS NOT NULL",
    )
    _index(
        "event_log_turn",
        "event_log",
        ["tenant", "conversation", "message_id"],
        where="kind = 'turn'",
        unique=True,
    )


def _create_runs() -> None:
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
        _required("events", sa.Integer),
        _required("created_at", _MOMENT),
        _required("updated_at", _MOMENT),
        _required("readers", sa.JSON, "[]"),
        _required("files", sa.JSON, "{}"),
        *map(_optional, ("withdraws", "withdrawn_by")),
        _optional("remedy", sa.JSON),
        _required("held", sa.Boolean, sa.false()),
        _key("tenant", "id"),
    )
    _index("flow_runs_newest", "flow_runs", ["tenant", "created_at", "id"])
    _index("flow_runs_of_requester", "flow_runs", ["tenant", "requester", "created_at", "id"])


def _create_what_runs_need() -> None:
    op.create_table(
        "run_files", *_texts("tenant", "file", "run"), _key("tenant", "file", "run"), _part_of_run()
    )
    op.create_table(
        "flow_definitions", _required("fingerprint"), _required("definition"), _key("fingerprint")
    )
    op.create_table(
        "flow_versions",
        _required("flow"),
        _required("version", sa.Integer),
        _required("behaviour"),
        _required("first_seen", _MOMENT),
        _key("flow", "version"),
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
        _key("tenant", "id"),
        _part_of_run(),
    )
    _index("approvals_of_run", "approvals", ["tenant", "run"])
    op.create_index(
        "approvals_waiting",
        "approvals",
        ["tenant", "person", "since", "id"],
        sqlite_where=sa.text("active = 1 AND verdict IS NULL"),
        postgresql_where=sa.text("active AND verdict IS NULL"),
    )


def _create_memory() -> None:
    op.create_table(
        "idempotency_keys",
        *_texts("tenant", "user", "key", "digest"),
        _required("claimed_at", _MOMENT),
        _key("tenant", "user", "key"),
    )
    op.create_table(
        "effects",
        *_texts("key", "tool", "digest", "status"),
        _optional("result", sa.JSON),
        _optional("error"),
        _required("begun_at", _MOMENT),
        _optional("ended_at", _MOMENT),
        _key("key"),
    )
    op.create_table(
        "spending",
        _required("tenant"),
        _required("day", sa.Date),
        _required("user"),
        _required("calls", sa.Integer),
        _required("prompt_tokens", sa.BigInteger),
        _required("completion_tokens", sa.BigInteger),
        _key("tenant", "day", "user"),
    )
    _index("spending_of_day", "spending", ["day"])


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


def _create_trail() -> None:
    op.create_table(
        "audit_trail",
        *_texts("tenant", "id"),
        _required("at", _MOMENT),
        *_texts("who", "act", "subject", "whose", "reason", "detail"),
        *_texts("request_id", "trace_id"),
        _key("tenant", "id"),
    )
    _index("audit_trail_newest", "audit_trail", ["tenant", "at", "id"])
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


def _create_files() -> None:
    op.create_table(
        "results",
        *_texts("tenant", "id", "owner", "tool", "body"),
        _required("kept_at", _MOMENT),
        _key("tenant", "id"),
    )
    op.create_table(
        "files",
        *_texts("tenant", "id", "owner", "name", "type"),
        _required("size", sa.Integer),
        _required("sha256"),
        _required("at", _MOMENT),
        _required("content", sa.LargeBinary),
        _key("tenant", "id"),
    )
    _index("files_of_owner", "files", ["tenant", "owner", "at"])
    op.create_table(
        "skill_files",
        _required("digest"),
        _required("content", sa.LargeBinary),
        _required("used_at", _MOMENT),
        _key("digest"),
    )
    op.create_table(
        "mailboxes",
        *_texts("tenant", "platform", "kind", "subject"),
        _required("place", sa.JSON),
        _required("position", sa.BigInteger),
        _required("due", _MOMENT),
        _key("tenant", "platform", "kind", "subject"),
    )
