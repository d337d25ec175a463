"""Conversations that were handed to a person."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
lowest = "0008"

_TEXTS = ("tenant", "id", "conversation", "requester", "cause", "reason", "state")
_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "hand_offs",
        *(sa.Column(name, sa.Text, nullable=False) for name in _TEXTS),
        sa.Column("agent", sa.Text, nullable=True),
        sa.Column("since", _MOMENT, nullable=False),
        *(
            sa.Column(name, _MOMENT, nullable=True)
            for name in ("waiting_since", "due", "taken_at", "closed_at")
        ),
        sa.Column("ending", sa.Text, nullable=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )
    op.create_index("hand_offs_by_state", "hand_offs", ["tenant", "state", "since"])
    op.create_index("hand_offs_of_conversation", "hand_offs", ["tenant", "conversation"])
    op.create_index("hand_offs_of_requester", "hand_offs", ["tenant", "requester"])
    with_agent, going_on = sa.text("agent IS NOT NULL"), sa.text("state <> 'closed'")
    op.create_index(
        "hand_offs_of_agent",
        "hand_offs",
        ["tenant", "agent"],
        sqlite_where=with_agent,
        postgresql_where=with_agent,
    )
    op.create_index(
        "hand_offs_going_on",
        "hand_offs",
        ["state", "since"],
        sqlite_where=going_on,
        postgresql_where=going_on,
    )


def downgrade() -> None:
    op.drop_table("hand_offs")
