"""What models cost, by what they were asked for, and in money."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
lowest = "0005"
"""A program before this counts by a key that isn't there any more."""

_BEFORE = "spending_before"
_NAMED = ("role", "model", "prompt", "currency")
_COUNTED = ("cached_tokens", "cache_write_tokens", "reasoning_tokens", "cost")
_OLD = ("calls", "prompt_tokens", "completion_tokens")


def _anew(columns: Sequence[sa.Column[str]], more: Sequence[sa.Column[int]], copy: str) -> None:
    """Its key changes: neither database changes one in place, with what refers to it."""
    op.execute(f"CREATE TABLE {_BEFORE} AS SELECT * FROM spending")  # noqa: S608 - a name of ours
    op.drop_table("spending")
    key = ["tenant", "day", "user", *(column.name for column in columns)]
    op.create_table(
        "spending",
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        *columns,
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("completion_tokens", sa.BigInteger, nullable=False),
        *more,
        sa.PrimaryKeyConstraint(*key),
    )
    op.create_index("spending_of_day", "spending", ["day"])
    op.execute(copy)
    op.drop_table(_BEFORE)


def upgrade() -> None:
    old, named, counted = (", ".join(names) for names in (_OLD, _NAMED, _COUNTED))
    _anew(
        [sa.Column(name, sa.Text, nullable=False) for name in _NAMED],
        [sa.Column(name, sa.BigInteger, nullable=False) for name in _COUNTED],
        f'INSERT INTO spending (tenant, day, "user", {old}, {named}, {counted}) '  # noqa: S608
        f"SELECT tenant, day, \"user\", {old}, '', '', '', '', 0, 0, 0, 0 FROM {_BEFORE}",
    )


def downgrade() -> None:
    sums = ", ".join(f"sum({name})" for name in _OLD)
    _anew(
        [],
        [],
        f'INSERT INTO spending (tenant, day, "user", {", ".join(_OLD)}) '  # noqa: S608
        f'SELECT tenant, day, "user", {sums} FROM {_BEFORE} GROUP BY tenant, day, "user"',
    )
