"""What large tables are looked up by: indexes, days' sums, whom runs name, what is to be posted."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
lowest = "0008"
"""A program before this adds rows without what they are found by."""

_AMOUNTS = (
    *("prompt_tokens", "completion_tokens"),
    *("cached_tokens", "cache_write_tokens", "reasoning_tokens", "cost"),
)
_SUMMED = ("calls", *_AMOUNTS)
_INDEXES: tuple[tuple[str, str, list[str], str], ...] = (
    ("conversations_by_age", "conversations", ["created_at", "tenant", "id"], ""),
    ("event_log_by_age", "event_log", ["at"], ""),
    ("event_log_about", "event_log", ["tenant", "about"], "about IS NOT NULL"),
    ("event_log_turns", "event_log", ["tenant", "sequence"], "kind = 'turn'"),
    ("flow_runs_of_flow", "flow_runs", ["tenant", "flow", "created_at", "id"], ""),
    ("flow_runs_of_status", "flow_runs", ["status", "tenant", "created_at", "id"], ""),
    ("flow_runs_of_parent", "flow_runs", ["tenant", "parent"], "parent IS NOT NULL"),
    (
        *("flow_runs_of_conversation", "flow_runs", ["tenant", "conversation"]),
        "conversation IS NOT NULL",
    ),
    ("approvals_of_person", "approvals", ["tenant", "person"], ""),
    ("idempotency_keys_by_age", "idempotency_keys", ["claimed_at"], ""),
    ("spending_of_person", "spending", ["tenant", "user"], ""),
    ("spending_named", "spending", ["day", "user"], "\"user\" <> ''"),
    ("results_of_owner", "results", ["tenant", "owner"], ""),
    ("results_by_age", "results", ["kept_at"], ""),
    ("files_by_age", "files", ["at"], ""),
    ("file_marks_of_file", "file_marks", ["tenant", "file"], ""),
    ("mailboxes_of_subject", "mailboxes", ["tenant", "kind", "subject"], ""),
    ("mailboxes_waiting", "mailboxes", ["platform", "due"], "news > position"),
    ("memories_by_age", "memories", ["created_at"], ""),
    ("kept_answers_by_age", "kept_answers", ["kept_at"], ""),
    ("kept_answers_until", "kept_answers", ["until"], ""),
)


def upgrade() -> None:
    op.add_column("event_log", sa.Column("about", sa.Text, nullable=True))
    op.add_column("mailboxes", sa.Column("news", sa.BigInteger, nullable=False, server_default="0"))
    _day_sums()
    _run_people()
    for name, table, columns, where in _INDEXES:
        partial = sa.text(where) if where else None
        op.create_index(name, table, columns, sqlite_where=partial, postgresql_where=partial)
    _boolean("flow_runs_held", "flow_runs", ["tenant", "created_at", "id"], "held")
    expiring = ("approvals_expiring", "approvals", ["tenant", "expires"])
    _boolean(*expiring, "active", " AND verdict IS NULL")
    op.drop_index("spending_of_day", table_name="spending")
    by = {"key": "text_pattern_ops"}
    op.create_index("effects_by_beginning", "effects", ["key"], postgresql_ops=by)
    _fill(postgresql=op.get_bind().dialect.name == "postgresql")


def _boolean(name: str, table: str, columns: list[str], flag: str, more: str = "") -> None:
    """An index of the rows of which a flag is true, which each database spells its own way."""
    op.create_index(
        *(name, table, columns),
        sqlite_where=sa.text(f"{flag} = 1{more}"),
        postgresql_where=sa.text(f"{flag}{more}"),
    )


def _day_sums() -> None:
    op.create_table(
        "spending_days",
        sa.Column("day", sa.Date, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tenant", "currency")),
        sa.Column("calls", sa.Integer, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _AMOUNTS),
        sa.PrimaryKeyConstraint("day", "tenant", "currency"),
    )
    sums = ", ".join(f"sum({name})" for name in _SUMMED)
    op.execute(
        f"INSERT INTO spending_days (day, tenant, currency, {', '.join(_SUMMED)}) "  # noqa: S608 - names of ours
        f"SELECT day, tenant, currency, {sums} FROM spending GROUP BY day, tenant, currency"
    )


def _run_people() -> None:
    op.create_table(
        "run_people",
        *(sa.Column(n, sa.Text, nullable=False) for n in ("tenant", "person", "run")),
        sa.PrimaryKeyConstraint("tenant", "person", "run"),
        sa.ForeignKeyConstraint(["tenant", "run"], ["flow_runs.tenant", "flow_runs.id"]),
    )
    connection = op.get_bind()
    there = connection.execute(
        sa.text("SELECT tenant, id, requester, readers, history FROM flow_runs")
    )
    named = [
        {"tenant": tenant, "person": person, "run": run}
        for tenant, run, requester, readers, history in there
        for person in sorted(_people(readers, history) - {requester})
    ]
    if named:
        into = sa.table("run_people", *map(sa.column, ("tenant", "person", "run")))
        connection.execute(sa.insert(into), named)


def _people(readers: Any, history: Any) -> set[str]:
    told, lines = (json.loads(c) if isinstance(c, str) else c for c in (readers, history))
    return {*told, *(line["by"] for line in lines if line.get("by"))}


def _fill(*, postgresql: bool) -> None:
    """What rows from before are found by, as it would have been written with them."""
    requester = "data ->> 'requester'" if postgresql else "json_extract(data, '$.requester')"
    op.execute(f"UPDATE event_log SET about = {requester} WHERE recipient IS NOT NULL")  # noqa: S608
    for kind, column, kinds in (
        ("conversation", "conversation", "'message', 'turn'"),
        ("person", "recipient", "'approval'"),
    ):
        newest = (
            "SELECT max(event_log.sequence) FROM event_log "  # noqa: S608 - names of ours
            f"WHERE event_log.tenant = mailboxes.tenant AND event_log.{column} = mailboxes.subject "
            f"AND event_log.kind IN ({kinds})"
        )
        op.execute(f"UPDATE mailboxes SET news = coalesce(({newest}), 0) WHERE kind = '{kind}'")  # noqa: S608


def downgrade() -> None:
    op.drop_index("effects_by_beginning", table_name="effects")
    op.create_index("spending_of_day", "spending", ["day"])
    op.drop_index("approvals_expiring", table_name="approvals")
    op.drop_index("flow_runs_held", table_name="flow_runs")
    for name, table, *_ in reversed(_INDEXES):
        op.drop_index(name, table_name=table)
    op.drop_table("run_people")
    op.drop_table("spending_days")
    op.drop_column("mailboxes", "news")
    op.drop_column("event_log", "about")
