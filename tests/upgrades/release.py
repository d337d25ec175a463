"""The two releases of an upgrade: the files of each, in a folder of its own."""

import subprocess
from pathlib import Path

from router.store.tables import ROUTER

ROOT = Path(__file__).parents[2]
TAGS = "v[0-9]*"


def newest_tag() -> str | None:
    """The newest tag of a release that this tree comes after; None before the first one."""
    words = ["git", "describe", "--tags", "--abbrev=0", f"--match={TAGS}", "HEAD~1"]
    described = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return described.stdout.strip() or None


def git(*words: str) -> str:
    """What git says of this tree; `AssertionError` where it refuses, or isn't there."""
    ended = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"git {words[0]}: {ended.stderr}"
    return ended.stdout.strip()


def unpack(commit: str, folder: Path) -> Path:
    """Put the files of a commit in this folder, which is made."""
    folder.mkdir()
    archive = ["git", "archive", commit]
    packed = subprocess.run(archive, cwd=ROOT, capture_output=True, check=False)
    assert packed.returncode == 0, f"there is no {commit} here, fetch it: {packed.stderr.decode()}"
    subprocess.run(["tar", "--extract"], cwd=folder, check=True, input=packed.stdout)
    return folder


REHEARSED = f'''"""A release after this one, of which the rehearsal of an upgrade is told."""

import sqlalchemy as sa
from alembic import op

revision = "{ROUTER.next_head}"
down_revision = "{ROUTER.head}"


def upgrade() -> None:
    op.create_table(
        "rehearsals",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index("rehearsals_by_number", "rehearsals", ["number"])
    op.add_column("flow_runs", sa.Column("rehearsed", sa.Text, nullable=True))
    op.add_column("approvals", sa.Column("rehearsed", sa.Integer, server_default="0"))
    op.execute("INSERT INTO rehearsals (name, number) VALUES ('first', 1)")
    op.execute("UPDATE flow_runs SET rehearsed = status")


def downgrade() -> None:
    op.drop_column("approvals", "rehearsed")
    op.drop_column("flow_runs", "rehearsed")
    op.drop_table("rehearsals")
'''
"""The revision of a release that is made up: it adds, and fills what it has added."""


def unpack_releases(folder: Path, commit: str | None = None) -> tuple[Path, Path]:
    """Return the trees of two releases, the older one first.

    The older one is the commit, or else the newest tag; the newer one is this tree. As long as
    there is no tag, the older one is this commit, and the newer one a made-up release after it.
    """
    if commit := commit or newest_tag():
        return unpack(commit, folder / "older_tree"), ROOT
    older = unpack("HEAD", folder / "older_tree")
    return older, unpack_with_a_revision_more("HEAD", folder / "newer_tree")


def head_of(tree: Path) -> str:
    """The newest revision of the tables of a release."""
    return max((tree / "router/store/migrations/versions").glob("0*.py")).stem[:4]


def unpack_with_a_revision_more(commit: str, folder: Path) -> Path:
    """Put there what stands for the release after a commit: its files, and one more revision."""
    unpack(commit, folder)
    store = folder / "router/store"
    (store / "migrations/versions" / f"{ROUTER.next_head}_rehearsed.py").write_text(REHEARSED)
    tables = (store / "tables.py").read_text("utf-8")
    raised = tables.replace(f'"{ROUTER.head}"', f'"{ROUTER.next_head}"')
    assert raised != tables, f"router/store/tables.py doesn't name its head {ROUTER.head}"
    (store / "tables.py").write_text(raised, "utf-8")
    return folder
