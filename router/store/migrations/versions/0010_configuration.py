"""Documents of configuration: their versions, and which of them hold."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
lowest = "0008"

_DOCUMENT = ("tenant", "kind", "name")
_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "configuration_versions",
        *(sa.Column(name, sa.Text, nullable=False) for name in _DOCUMENT),
        sa.Column("version", sa.Integer, nullable=False),
        *(sa.Column(n, sa.Text, nullable=False) for n in ("digest", "text", "note", "author")),
        sa.Column("written_at", _MOMENT, nullable=False),
        sa.Column("flow_version", sa.Integer, nullable=True),
        sa.Column("behaviour", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint(*_DOCUMENT, "version"),
    )
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "configuration_activations",
        sa.Column("sequence", number, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in _DOCUMENT),
        sa.Column("version", sa.Integer, nullable=True),
        sa.Column("activated_by", sa.Text, nullable=False),
        sa.Column("activated_at", _MOMENT, nullable=False),
    )
    op.create_index(
        "configuration_activations_of_document",
        "configuration_activations",
        [*_DOCUMENT, "sequence"],
    )


def downgrade() -> None:
    op.drop_table("configuration_activations")
    op.drop_table("configuration_versions")
