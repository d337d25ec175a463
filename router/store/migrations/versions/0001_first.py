"""The first tables: conversations, event log, runs, approvals, keys, effects."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_MOMENT = sa.DateTime(timezone=True)


def _required(name: str, kind: Any = sa.Text) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def _optional(name: str, kind: Any = sa.Text) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def _index(name: str, table: str, columns: list[str], where: str = "", **more: Any) -> None:
    if where:
        more |= {"sqlite_where": sa.text(where), "postgresql_where": sa.text(where)}
    op.create_index(name, table, columns, **more)


def upgrade() -> None:
    _create_conversations()
    _create_log()
    _create_runs()
    _create_approvals()
    _create_memory()


def downgrade() -> None:
    for table in (
        "effects",
        "idempotency_keys",
        "approvals",
        "flow_runs",
        "event_log",
        "snapshots",
        "conversations",
    ):
        op.drop_table(table)


def _create_conversations() -> None:
    op.create_table(
        "conversations",
        _required("tenant"),
        _required("id"),
        _required("owner"),
        _required("locale"),
        _required("created_at", _MOMENT),
        _required("metadata", sa.JSON),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )
    _index("conversations_of_owner", "conversations", ["tenant", "owner", "created_at", "id"])
    op.create_table(
        "snapshots",
        _required("tenant"),
        _required("conversation"),
        _required("state"),
        _required("saved_at", _MOMENT),
        sa.PrimaryKeyConstraint("tenant", "conversation"),
    )


def _create_log() -> None:
    op.create_table(
        "event_log",
        sa.Column("sequence", _SEQUENCE, primary_key=True),
        _required("tenant"),
        _required("key"),
        _required("kind"),
        _required("at", _MOMENT),
        _optional("conversation"),
        _optional("recipient"),
        _optional("message_id"),
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
        _required("tenant"),
        _required("id"),
        _required("workflow_id"),
        _required("run_id"),
        _required("flow"),
        _required("title", sa.JSON),
        _required("version", sa.Integer),
        _required("status"),
        _required("state"),
        _required("slots", sa.JSON),
        _required("requester"),
        _optional("conversation"),
        _required("history", sa.JSON),
        _required("events", sa.Integer),
        _required("created_at", _MOMENT),
        _required("updated_at", _MOMENT),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )
    _index("flow_runs_newest", "flow_runs", ["tenant", "created_at", "id"])
    _index("flow_runs_of_requester", "flow_runs", ["tenant", "requester", "created_at", "id"])


def _create_approvals() -> None:
    op.create_table(
        "approvals",
        _required("tenant"),
        _required("id"),
        _required("run"),
        _required("workflow_id"),
        _required("flow"),
        _required("person"),
        _required("requester"),
        _required("title", sa.JSON),
        _required("summary", sa.JSON),
        _required("labels", sa.JSON),
        _required("digest"),
        _required("since", _MOMENT),
        _optional("due", _MOMENT),
        _required("active", sa.Boolean),
        _optional("verdict"),
        _optional("comment"),
        sa.PrimaryKeyConstraint("tenant", "id"),
        sa.ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"]),
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
        _required("tenant"),
        _required("user"),
        _required("key"),
        _required("digest"),
        _required("claimed_at", _MOMENT),
        sa.PrimaryKeyConstraint("tenant", "user", "key"),
    )
    op.create_table(
        "effects",
        _required("key"),
        _required("tool"),
        _required("digest"),
        _required("status"),
        _optional("result", sa.JSON),
        _optional("error"),
        _required("begun_at", _MOMENT),
        _optional("ended_at", _MOMENT),
        sa.PrimaryKeyConstraint("key"),
    )
