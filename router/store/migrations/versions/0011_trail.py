"""The audit trail, whose lines stay as they are, and which runs are held for an operator.

Of a line only the people may be changed, into a pseudonym, and words may be taken out: that is
what erasing a person does. The database itself refuses everything else.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

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


def upgrade() -> None:
    op.create_table(
        "audit_trail",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("act", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("whose", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("request_id", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )
    op.create_index("audit_trail_newest", "audit_trail", ["tenant", "at", "id"])
    if op.get_bind().dialect.name == "sqlite":
        _keep_lines_on_sqlite()
    else:
        _keep_lines_on_postgresql()
    held = sa.Column("held", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("flow_runs", held)
    _mark_held()


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


def _mark_held() -> None:
    """Runs that are held already say so in their history, and may not be published for weeks."""
    runs = sa.table("flow_runs", *map(sa.column, ("tenant", "id", "status", "history", "held")))
    connection = op.get_bind()
    waiting = sa.select(runs).where(runs.c.status.in_(["waiting", "waiting_approval"]))
    for row in connection.execute(waiting).all():
        lines = json.loads(row.history) if isinstance(row.history, str) else row.history
        if lines and lines[-1]["event"] == "held":
            here = (runs.c.tenant == row.tenant, runs.c.id == row.id)
            connection.execute(sa.update(runs).where(*here).values(held=True))


def downgrade() -> None:
    op.drop_column("flow_runs", "held")
    op.drop_table("audit_trail")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_trail_refuses()")
