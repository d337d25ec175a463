"""The files of a skill, as its model is told of them."""

from collections.abc import Iterable

from router.domain.skill_files import SkillFile
from router.skill.skill import READ_FILE, Skill

MOST_LISTED = 40
"""Of those that are named in every prompt; a list of all is a call away."""


def listed(skill: Skill) -> str:
    """What stands below the instructions: which files there are, and how to read them.

    Empty where there are none.
    """
    if not skill.files:
        return ""
    first = skill.files[:MOST_LISTED]
    more = len(skill.files) - len(first)
    rest = [f"… and {more} more: {READ_FILE} without a path lists all"] if more else []
    head = f"Files that belong to these instructions; read one by {READ_FILE} when it is needed:"
    return "\n".join(["", "", head, lines(first), *rest])


def lines(files: Iterable[SkillFile]) -> str:
    """A line for each file.

    >>> lines([SkillFile(path="references/limits.md", size=3100, digest="")])
    '- references/limits.md (3.1 KB)'
    """
    return "\n".join(f"- {file.path} ({_size(file.size)})" for file in files)


def _size(size: int) -> str:
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} KB"  # noqa: PLR2004
